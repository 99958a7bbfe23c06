"""Tables of predicates come back from their columns; columns that are not such are refused."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest

from penstock import DataError, QuerySet, Schema
from penstock.gen.predicates import OPERATORS, PredicateTable
from penstock.gen.table_columns import PREDICATE, from_columns, to_columns

SCHEMA = Schema.of({"n": "INT", "s": "STRING", "m": "INT", "d": "DECIMAL(5,2)"})
ROWS = [
    ("b", "n", ">=", ["5"], 2),
    ("a", "d", "IN", ["1", "2.50"], 0),
    ("b", "s", "NOT IN", ["", "x", "y"], 1),
    ("c", "m", "IS NULL", [], 7),
    ("b", "m", "BETWEEN", ["1", "2"], 0),
    ("c", "n", "=", ["-2147483648"], 0),
]
NAMES = ("id", "attribute", "operator", "operands", "weight")


def checked(weights: bool = True) -> PredicateTable:
    columns = dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True))
    if not weights:
        del columns["weight"]
    queries = QuerySet(SCHEMA)
    queries.add_predicates(pa.table(columns))
    ((table, _),) = queries.tables
    return table


def there_and_back(table: PredicateTable, kept: list[int]) -> PredicateTable:
    return from_columns(to_columns(table, np.array(kept, np.int64)), SCHEMA, "file")


@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("kept", [[0, 1, 2], [1], [0, 2], [2], []])
def test_subscriptions_come_back_as_they_were(weights: bool, kept: list[int]) -> None:
    table = checked(weights)
    again = there_and_back(table, kept)
    wanted = [table.subscription(index) for index in kept]
    assert [again.subscription(index) for index in range(len(again))] == wanted
    assert [again.ids[n].as_py() for n in range(len(again))] == [s.id for s in wanted]


def test_columns_are_as_documented() -> None:
    columns = to_columns(checked(), np.arange(3))
    assert columns.column_names == [
        "id", "predicates", "operands DECIMAL(5,2)", "operands INT", "operands STRING"
    ]  # fmt: skip
    first = columns.slice(0, 1).to_pylist()[0]
    assert first["id"] == "b" and first["operands INT"] == [5, 1, 2]
    assert first["predicates"][1] == {
        "attribute": 1, "operator": OPERATORS.index("NOT IN"), "operands": 3, "weight": 1
    }  # fmt: skip


def replaced(row: int, place: int, **fields: int | None) -> Callable[[pa.Table], pa.Table]:
    def change(columns: pa.Table) -> pa.Table:
        lists = columns["predicates"].to_pylist()
        lists[row][place] |= fields
        at = columns.schema.get_field_index("predicates")
        return columns.set_column(at, "predicates", pa.array(lists, pa.list_(PREDICATE)))

    return change


def with_column(name: str, values: list[object]) -> Callable[[pa.Table], pa.Table]:
    def change(columns: pa.Table) -> pa.Table:
        at = columns.schema.get_field_index(name)
        return columns.set_column(at, name, pa.array(values, columns.schema.field(at).type))

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda columns: columns.drop_columns(["id"]), "not predicates on stream 'events'"),
        (lambda columns: columns.append_column("more", [[1, 2, 3]]), "not predicates on stream"),
        (replaced(0, 0, attribute=4), "a number of attribute is not from 0 to 3"),
        (replaced(0, 0, attribute=-1), "a number of attribute is not from 0 to 3"),
        (replaced(0, 0, operator=11), "a number of operator is not from 0 to 10"),
        (replaced(0, 0, weight=-1), "a number of weight is not from 0 to 2147483647"),
        (replaced(0, 0, operands=2), "a predicate has too few or too many operands"),
        (replaced(0, 1, operands=2), "a subscription has too few or too many operands"),
        (replaced(0, 1, operands=-3), "a predicate has too few or too many operands"),
        (replaced(0, 0, attribute=1), "a subscription has too few or too many operands"),
        (replaced(0, 0, weight=None), "a value is missing"),
        (with_column("id", ["a", None, "c"]), "a value is missing"),
        (with_column("id", ["a", "b", "a"]), "an id is there twice"),
        (with_column("predicates", [[], [], []]), "a subscription has no predicates"),
        (with_column("predicates", [None, [], []]), "a value is missing"),
        (with_column("operands INT", [[5, 1, None], [], [0]]), "a value is missing"),
        (with_column("operands INT", [[5, 1], [], [2, 0]]), "too few or too many operands"),
    ],
)
def test_columns_that_are_no_predicates_are_refused(
    change: Callable[[pa.Table], pa.Table], message: str
) -> None:
    columns = to_columns(checked(), np.arange(3))
    with pytest.raises(DataError, match=f"^file: .*{message}"):
        from_columns(change(columns), SCHEMA, "file")
