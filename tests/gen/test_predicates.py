"""Tables of predicates: the same meaning as text, checked whole, errors with their row."""

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from penstock import DataError, QuerySet, Schema
from penstock.gen.expr import MAX_WEIGHT, And, Comparison, Constant
from penstock.gen.predicates import COLUMNS, OPERATORS

SCHEMA = Schema.of(
    {"n": "INT", "s": "STRING", "d": "DECIMAL(10,2)", "f": "DOUBLE", "r": "FLOAT", "t": "TINYINT",
     "day": "DATE", "at": "TIMESTAMP", "flag": "BOOLEAN", "none": "BIGINT"}
)  # fmt: skip


def table(*rows, operands=None, **columns):
    """Rows of id, attribute, operator and operands."""
    names = dict(zip(COLUMNS, zip(*rows, strict=True), strict=True))
    return pa.table({**names, "operands": pa.array(names["operands"], operands), **columns})


def read(made, schema=SCHEMA):
    queries = QuerySet(schema)
    queries.add_predicates(made)
    return queries


def refuse(made, message):
    queries = QuerySet(SCHEMA)
    with pytest.raises(DataError, match=message):
        queries.add_predicates(made)
    assert len(queries) == 0


def texts(condition):
    """The set that has the condition's text, to compare nodes with."""
    queries = QuerySet(SCHEMA)
    queries.add("q", condition)
    return queries["q"].condition


@pytest.mark.parametrize(
    ("operator", "operands", "text"),
    [
        ("<", [5], "n < 5"),
        ("<=", [5], "n <= 5"),
        ("=", [5], "n = 5"),
        ("==", [5], "n = 5"),
        ("<>", [5], "n <> 5"),
        ("!=", [5], "n <> 5"),
        (">=", [5], "n >= 5"),
        (">", [5], "n > 5"),
        ("IN", [1, 2, 3], "n IN (1, 2, 3)"),
        ("in", [1], "n IN (1)"),
        ("Not In", [1, 2], "NOT (n IN (1, 2))"),
        ("BETWEEN", [1, 9], "n BETWEEN 1 AND 9"),
        ("between", [9, 1], "n BETWEEN 9 AND 1"),
        ("is null", [], "n IS NULL"),
        ("IS NULL", None, "n IS NULL"),
        ("IS NOT NULL", [], "NOT (n IS NULL)"),
    ],
)
def test_operator_means_what_the_text_means(operator, operands, text):
    queries = read(table(("q", "n", operator, operands), operands=pa.list_(pa.int32())))
    assert queries["q"].condition == texts(text)


def test_every_operator_is_tested_above():
    (mark,) = test_operator_means_what_the_text_means.pytestmark
    assert {case[0].upper() for case in mark.args[1]} >= set(OPERATORS)


@pytest.mark.parametrize(
    ("attribute", "arrow", "given", "value"),
    [
        ("n", pa.int64(), 7, 7),
        ("n", pa.float64(), 7.0, 7),
        ("n", pa.string(), "7", 7),
        ("n", pa.uint8(), 7, 7),
        ("t", pa.decimal128(5, 1), Decimal("7.0"), 7),
        ("s", pa.string(), "7", "7"),
        ("s", pa.large_string(), "", ""),
        ("d", pa.int32(), 7, Decimal(7)),
        ("d", pa.string(), "7.25", Decimal("7.25")),
        ("d", pa.decimal128(30, 5), Decimal("7.25"), Decimal("7.25")),
        ("f", pa.int8(), 7, 7.0),
        ("f", pa.string(), "7.25", 7.25),
        ("r", pa.float64(), 0.5, 0.5),
        ("r", pa.string(), "0.5", 0.5),
        ("day", pa.date32(), datetime.date(1970, 1, 3), 2),
        ("day", pa.string(), "1970-01-03", 2),
        ("at", pa.timestamp("ms"), datetime.datetime(1970, 1, 1, 0, 0, 1), 10**6),  # noqa: DTZ001
        ("at", pa.string(), "1970-01-01T00:00:01Z", 10**6),
        ("flag", pa.bool_(), True, True),
        ("flag", pa.string(), "false", False),
    ],
)
def test_operand_is_read_in_the_type_of_its_attribute(attribute, arrow, given, value):
    made = table(("q", attribute, "=", [given]), operands=pa.list_(arrow))
    of = SCHEMA[attribute]
    want = Comparison("=", of, Constant(of.type, value), of.type)
    assert read(made)["q"].condition == want


def test_rows_of_one_id_are_one_subscription_though_others_stand_between():
    queries = read(
        table(
            ("b", "n", ">", ["1"]),
            ("a", "s", "IN", ["x", "y"]),
            ("b", "d", "<", ["2.50"]),
            ("a", "n", "IS NULL", []),
            ("c", "flag", "=", ["true"]),
            ("b", "s", "=", ["z"]),
        )
    )
    assert [subscription.id for subscription in queries] == ["b", "a", "c"]
    assert isinstance(queries["b"].condition, And)
    leaves = queries["b"].condition.children
    assert [(leaf.left.name, leaf.right.value) for leaf in leaves] == [
        ("n", 1),
        ("d", Decimal("2.5")),
        ("s", "z"),
    ]
    assert queries["a"].condition == texts("s IN ('x', 'y') AND n IS NULL")
    assert queries["c"].condition.right.value is True


def test_chunks_slices_and_dictionaries_change_nothing():
    rows = [(f"q{n % 7}", "ns"[n % 2], ("=", "IN")[n % 3 == 0], [str(n)]) for n in range(50)]
    plain = read(table(*rows))
    whole = table(*rows)
    cut = pa.concat_tables([whole.slice(0, 13), whole.slice(13, 0), whole.slice(13, 37)])
    encoded = whole
    for place, column in enumerate(("id", "attribute", "operator")):
        encoded = encoded.set_column(place, column, encoded[column].dictionary_encode())
    mixed = pa.concat_tables([encoded.slice(0, 3), encoded.slice(3)])
    padded = pa.concat_tables([table(("x", "n", "=", ["0"])), whole]).slice(1)
    for other in (cut, encoded, mixed, padded):
        assert list(read(other)) == list(plain)


def dictionary(indices, of, names):
    return pa.DictionaryArray.from_arrays(pa.array(indices, of), pa.array(names))


@pytest.mark.parametrize("of", [pa.int8(), pa.uint8(), pa.uint32(), pa.int64()])
def test_dictionary_indices_may_have_any_width(of):
    attributes = dictionary([0, 1], of, ["n", "t"])
    made = table(("a", "", "=", [1]), ("b", "", "=", [2])).set_column(1, "attribute", attributes)
    assert [s.condition.left.name for s in read(made)] == ["n", "t"]


@pytest.mark.parametrize("column", ["id", "attribute", "operator"])
@pytest.mark.parametrize(
    ("indices", "names"), [([0, None], ["none"]), ([0, 1], ["none", None])], ids=["index", "name"]
)
def test_missing_name_is_refused_even_where_an_attribute_is_called_none(column, indices, names):
    names = ["=" if column == "operator" and n else n for n in names]
    made = table(("a", "none", "=", [1]), ("b", "none", "=", [2]))
    at = made.column_names.index(column)
    message = rf"row 2.*: the {column} is missing"
    refuse(made.set_column(at, column, dictionary(indices, pa.int32(), names)), message)
    refuse(made.set_column(at, column, dictionary(indices, None, names).cast("string")), message)


def test_names_are_found_whatever_their_case():
    queries = read(table(("q", "FLAG", "Is Not Null", []), operands=pa.list_(pa.null())))
    assert queries["q"].condition == texts("NOT (flag IS NULL)")


@pytest.mark.parametrize(
    ("ids", "texts"),
    [([1, 20], ["1", "20"]), ([1.5, -2.0], ["1.5", "-2"]), ([b"x", b"y"], ["x", "y"])],
)
def test_ids_may_be_numbers_and_become_text(ids, texts):
    made = table(("", "n", "=", [1]), ("", "n", "=", [1])).set_column(0, "id", pa.array(ids))
    assert [subscription.id for subscription in read(made)] == texts


def test_weight_belongs_to_the_predicate_and_null_is_none():
    made = table(("q", "n", "=", [1]), ("q", "n", "IN", [1]), weight=[MAX_WEIGHT, None])
    first, second = read(made)["q"].condition.children
    assert (first.weight, second.weight) == (MAX_WEIGHT, 0)
    made = table(("q", "n", "NOT IN", [1]), weight=["7"])
    assert read(made)["q"].condition.child.weight == 7


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (("y", "m", "=", [1]), r"table row 2, subscription 'y': unknown attribute 'm'\nhint: "),
        (("y", "n", "~", [1]), r"row 2, subscription 'y': unknown operator '~'\nhint: known: <, "),
        (("y", "n", "=", []), "row 2, subscription 'y': = takes 1 operand, not 0"),
        (("y", "n", "=", None), "= takes 1 operand, not 0"),
        (("y", "n", "<", [1, 2]), "< takes 1 operand, not 2"),
        (("y", "n", "BETWEEN", [1]), "BETWEEN takes 2 operands, not 1"),
        (("y", "n", "IN", []), "IN takes at least 1 operand, not 0"),
        (("y", "n", "NOT IN", None), "NOT IN takes at least 1 operand, not 0"),
        (("y", "n", "IS NULL", [1]), "IS NULL takes 0 operands, not 1"),
        (("y", "n", "IS NOT NULL", [1]), "IS NOT NULL takes 0 operands, not 1"),
        (("y", "n", "=", [None]), "row 2, subscription 'y': an operand is NULL; use .* IS NULL"),
        (("y", "n", "IN", [1, None]), "row 2, subscription 'y': an operand is NULL"),
        (("y", "n", "=", [2**31]), r"row 2, subscription 'y': attribute 'n': 2147483648 does not"),
        (("y", "t", "IN", [1, 127, 128]), "row 2, .*'t': 128 does not fit TINYINT"),
        (("y", "flag", "=", [1]), "row 2, .*'flag' has values of Arrow type int64, but is BOOLEAN"),
        (("y", "s", "=", [1]), "row 2, .*'s' has values of Arrow type int64, but is STRING"),
        (("y", "at", "=", [1]), "row 2, .* int64, but is TIMESTAMP"),
    ],
)
def test_what_is_wrong_is_told_with_row_and_subscription(row, message):
    refuse(table(("x", "n", "=", [1]), row, ("z", "n", "=", [3])), message)


@pytest.mark.parametrize(
    ("attribute", "text", "message"),
    [
        ("n", "1.5", "'1.5' does not fit INT"),
        ("n", "0x10", "does not fit INT"),
        ("n", "x", "'x' does not fit INT"),
        ("d", "1.005", r"'1.005' does not fit DECIMAL\(10,2\) exactly"),
        ("day", "soon", "'soon' is not a date; write '2024-01-31'"),
        ("at", "2024-13-01", "is not a date: month must be in"),
        ("flag", "maybe", "'maybe' does not fit BOOLEAN"),
    ],
)
def test_misfit_far_down_a_long_table_is_found(attribute, text, message):
    good = [(f"q{n}", "n", "IN", [str(n), "1"]) for n in range(500)]
    fine = {"n": "1", "d": "1", "day": "2024-01-31", "at": "2024-01-31", "flag": "true"}[attribute]
    rows = [*good, ("f", attribute, "=", [fine]), ("bad", attribute, "IN", [fine, text]), *good]
    refuse(table(*rows), f"table row 502, subscription 'bad': attribute '{attribute}': .*{message}")


def test_float_that_changes_in_single_precision_is_refused():
    refuse(table(("q", "r", "=", [0.1])), "'r': 0.1 does not fit FLOAT exactly")


@pytest.mark.parametrize("weight", [[-1], [MAX_WEIGHT + 1]])
def test_weight_out_of_range_is_refused(weight):
    refuse(table(("q", "n", "=", [1]), weight=weight), f"whole numbers from 0 to {MAX_WEIGHT}")


@pytest.mark.parametrize("weight", [[1.5], ["x"], [True], [[1]]])
def test_weight_that_is_no_whole_number_is_refused(weight):
    refuse(table(("q", "n", "=", [1]), weight=weight), "table: column weight")


@pytest.mark.parametrize("column", COLUMNS)
def test_column_that_is_missing_or_there_twice_is_named(column):
    made = table(("q", "n", "=", [1]))
    refuse(made.drop_columns([column]), f"needs the columns .*; missing: {column}$")
    refuse(made.append_column(column, made[column]), f"there twice: {column}$")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("id", [["x"]]),
        ("id", [b"\xff"]),
        ("attribute", [["n"]]),
        ("attribute", [{"n": 1}]),
        ("operator", [["="]]),
        ("operands", ["1"]),
        ("operands", [1]),
        ("operands", [{"a": 1}]),
        ("operands", [[[1]]]),
    ],
)
def test_column_of_a_wrong_kind_is_refused(column, values):
    made = table(("q", "n", "=", [1]))
    at = made.column_names.index(column)
    refuse(made.set_column(at, column, pa.array(values)), r"table( row 1, .*)?: (column|attribute)")
