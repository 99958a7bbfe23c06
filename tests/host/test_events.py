"""Events in any form become one batch: a typed column per attribute that any of them carries."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from penstock import DataError, Schema
from penstock.host import map_events
from penstock.host.events import Batch, rows_of, to_table

SCHEMA = Schema.of(
    {"n": "INT", "s": "STRING", "d": "DECIMAL(10,2)", "f": "DOUBLE", "day": "DATE",
     "at": "TIMESTAMP", "flag": "BOOLEAN", "big": "BIGINT"}
)  # fmt: skip
NUMBERS = pa.map_(pa.string(), pa.int32())
TEXTS = pa.map_(pa.string(), pa.string())


def wide(events):
    return Batch.of(to_table(events, SCHEMA), SCHEMA).wide()


def rows(events):
    """Each event as a dict from attribute name to value."""
    batch = wide(events)
    assert all(
        batch.schema.field(n).type == SCHEMA.to_arrow().field(n).type for n in batch.schema.names
    )
    return [{SCHEMA.attributes[i].name: v for i, v in r.items()} for r in rows_of(batch, SCHEMA)]


def maps(values, of=NUMBERS):
    return pa.table({"attributes": pa.array(values, of)})


def refuse(events, message):
    with pytest.raises(DataError, match=message):
        wide(events)


WANTED = [{"n": 1, "s": "x"}, {}, {"n": 3}]


@pytest.mark.parametrize(
    "events",
    [
        pa.table({"n": [1, None, 3], "s": ["x", None, None]}),
        pa.record_batch({"n": [1, None, 3], "s": ["x", None, None]}),
        pa.table({"n": [1, None, 3], "s": ["x", None, None]}).to_reader(),
        pd.DataFrame({"n": pd.array([1, None, 3], "Int64"), "s": ["x", None, None]}),
        pd.DataFrame({"n": [1.0, float("nan"), 3.0], "s": ["x", None, None]}, index=list("abc")),
        [{"n": 1, "s": "x"}, {}, {"n": 3, "s": None}],
        ({"n": 1, "s": "x"}, {"other": 5}, {"n": 3}),
        maps([[("n", "1"), ("s", "x")], [], [("N", "3"), ("s", None)]], TEXTS),
        maps([[("n", "1"), ("s", "x")], None, [("n", "3")]], TEXTS),
    ],
    ids=["table", "batch", "reader", "pandas", "floats", "dicts", "tuple", "map", "null map"],
)
def test_every_form_of_events_says_the_same(events):
    assert rows(events) == WANTED


def test_order_of_columns_is_the_schema_s_and_the_rest_is_left_out():
    batch = wide(pa.table({"S": ["x"], "other": [1], "N": [1], "": [2]}))
    assert batch.schema.names == ["n", "s"]


def test_chunks_slices_and_dictionaries_change_nothing():
    whole = pa.table({"n": range(10), "s": [f"v{n % 3}" for n in range(10)]})
    cut = pa.concat_tables([whole.slice(0, 3), whole.slice(3, 0), whole.slice(3)])
    encoded = pa.table({"n": whole["n"].dictionary_encode(), "s": whole["s"].dictionary_encode()})
    parts = pa.concat_tables([encoded.slice(0, 4), encoded.slice(4)])
    for form in (
        cut,
        encoded,
        parts,
        pd.DataFrame({"n": range(10), "s": pd.Categorical(whole["s"])}),
    ):
        assert rows(form) == rows(whole)
    assert rows(cut.slice(2, 5)) == rows(whole)[2:7]


def test_sliced_and_chunked_maps_are_read_from_where_they_start():
    values = [[("zz", 1)], None, [("n", 1), ("big", 2)], [], [("big", 3), ("n", None)], [("zz", 2)]]
    want = [{}, {"n": 1, "big": 2}, {}, {"big": 3}]
    assert rows(maps(values).slice(1, 4)) == want
    assert rows(maps(values).slice(2, 3)) == want[1:]
    assert rows(maps(values).slice(4, 1)) == want[3:]
    assert rows(pa.concat_tables([maps(values[1:3]), maps(values[3:5])])) == want


@pytest.mark.parametrize("of", [pa.large_string(), pa.string_view(), pa.binary()])
def test_keys_of_maps_may_be_any_text(of):
    keys = pa.array(["n", "big", "n"]).cast(of)
    made = pa.MapArray.from_arrays(pa.array([0, 2, 3], pa.int32()), keys, pa.array([1, 2, 3]))
    assert rows(pa.table({"m": made})) == [{"n": 1, "big": 2}, {"n": 3}]


def test_keys_of_maps_may_be_a_dictionary():
    names = pa.array(["unused", "n", "big", "N"])
    keys = pa.DictionaryArray.from_arrays(pa.array([1, 2, 3], pa.int8()), names)
    made = pa.MapArray.from_arrays(pa.array([0, 2, 3], pa.int32()), keys, pa.array([1, 2, 3]))
    assert rows(pa.table({"m": made})) == [{"n": 1, "big": 2}, {"n": 3}]
    keys = pa.DictionaryArray.from_arrays(pa.array([1, 2, 0], pa.int8()), names)
    made = pa.MapArray.from_arrays(pa.array([0, 2, 3], pa.int32()), keys, pa.array([1, 2, 3]))
    refuse(pa.table({"m": made}), "event 1 has an unknown attribute 'unused'")


def test_columns_of_sparse_events_are_their_entries_in_order_of_events():
    events = maps([[("big", 5), ("n", 1)], None, [("n", None)], [], [("n", 3)]])
    batch = Batch.of(events, SCHEMA)
    assert batch.rows == 5 and list(batch.columns) == [SCHEMA["n"].index, SCHEMA["big"].index]
    n, big = batch.columns.values()
    assert n.values.equals(pa.array([1, None, 3], pa.int32()))
    assert n.events.tolist() == [0, 2, 4] and n.events.dtype == np.int64
    assert big.values.equals(pa.array([5], pa.int64())) and big.events.tolist() == [0]


def test_columns_of_wide_events_have_a_value_per_event():
    batch = Batch.of(pa.table({"big": [1, None], "n": [3, 4]}), SCHEMA)
    assert list(batch.columns) == [SCHEMA["n"].index, SCHEMA["big"].index]
    assert all(column.events is None for column in batch.columns.values())
    assert batch.wide() is batch.wide()
    assert batch.wide().to_pydict() == {"n": [3, 4], "big": [1, None]}


@pytest.mark.parametrize(
    ("events", "count"),
    [
        ([], 0),
        ([{}, {}], 2),
        ([{"": 1}], 1),
        (pa.table({}), 0),
        (pa.table({"n": pa.array([], pa.int32())}), 0),
        (maps([]), 0),
        (maps([None, None]), 2),
        (maps([[], []]), 2),
        (maps([[("zz", 1)], None]).slice(1), 1),
        (pd.DataFrame({"n": []}), 0),
    ],
)
def test_events_without_values_keep_their_count(events, count):
    assert wide(events).num_rows == count
    assert rows(events) == [{}] * count


def test_values_of_every_type_are_held_as_the_language_holds_them():
    moment = datetime.datetime(1970, 1, 1, 0, 0, 1, tzinfo=datetime.UTC)
    event = {
        "n": np.int16(7), "s": "\u00e9", "d": Decimal("1.5"), "f": 2, "flag": np.bool_(True),
        "day": datetime.date(1970, 1, 2), "at": moment, "big": 2**63 - 1,
    }  # fmt: skip
    want = {
        "n": 7, "s": "\u00e9", "d": Decimal("1.50"), "f": 2.0, "flag": True,
        "day": 1, "at": 10**6, "big": 2**63 - 1,
    }  # fmt: skip
    assert rows([event]) == [want]
    texts = {"n": "7", "d": "1.5", "f": "2", "flag": "true", "day": "1970-01-02",
             "at": "1970-01-01 00:00:01", "s": "\u00e9", "big": str(2**63 - 1)}  # fmt: skip
    assert rows([texts]) == rows(maps([list(texts.items())], TEXTS)) == [want]


def test_decimals_may_stand_beside_integers_and_absent_ones():
    assert rows([{"d": 1}, {"d": Decimal("2.25")}, {}]) == [{"d": 1}, {"d": Decimal("2.25")}, {}]


def test_nan_is_a_value_in_arrow_and_absent_in_pandas():
    nan = float("nan")
    assert rows([{"f": nan}])[0]["f"] != 0
    assert rows(pa.table({"f": [nan]}))[0]["f"] != rows(pa.table({"f": [nan]}))[0]["f"]
    assert rows(pd.DataFrame({"f": [nan, 1.0]})) == [{}, {"f": 1.0}]


def test_no_known_column_is_refused_with_a_hint():
    message = (
        r"no column of the events \(nn, zz\) is an attribute of stream 'events'\nhint: did you"
    )
    refuse(pa.table({"nn": [1], "zz": [2]}), message)
    refuse([{"nn": 1}, {"zz": 2}], message)
    refuse(pd.DataFrame({"nn": [1], "zz": [2]}), message)


def test_two_columns_for_one_attribute_are_refused():
    doubled = pa.table([pa.array([1]), pa.array([2])], names=["n", "N"])
    refuse(doubled, "two columns for attribute 'n'")
    refuse([{"n": 1, "N": 2}], "two columns for attribute 'n'")
    refuse(pd.DataFrame([[1, 2]], columns=["n", "n"]), "no table of Arrow values: Duplicate column")


def test_unknown_attribute_in_a_map_names_the_event_and_what_is_near():
    events = maps([[("n", 1)], None, [("n", 2), ("bigg", 1)], [("bigg", 2)]])
    refuse(events, r"^event 2 has an unknown attribute 'bigg'\nhint: did you mean 'big'")
    with pytest.raises(DataError, match=r"^event 102 has an unknown attribute 'bigg'"):
        Batch.of(events, SCHEMA, first=100).wide()


def test_attribute_that_is_twice_in_a_map_names_the_event():
    refuse(maps([[("n", 1)], [("n", 1), ("s", None), ("N", 2)]]), "event 1 has attribute 'n' twice")
    refuse(maps([[("n", 1), ("big", 1)], [("big", 1), ("big", 1)]]), "1 has attribute 'big' twice")
    # The last event with one attribute may be the first with the next.
    assert rows(maps([[("n", 1), ("big", 2)]])) == [{"n": 1, "big": 2}]


@pytest.mark.parametrize("keys", [pa.array([b"\xff"]), pa.array([[1]])])
def test_keys_that_are_no_text_are_refused(keys):
    made = pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), keys, pa.array([1]))
    refuse(pa.table({"m": made}), "its key holds text or numbers")


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({"n": 2**31}, "'n': 2147483648 does not fit INT"),
        ({"n": 1.5}, "'n': 1.5 does not fit INT"),
        ({"n": float("nan")}, "'n': nan does not fit INT"),
        ({"n": True}, "'n' has values of Arrow type bool, but is INT"),
        ({"n": "x"}, "'n': 'x' does not fit INT"),
        ({"n": [1]}, "'n' has values of Arrow type list"),
        ({"n": object()}, "attribute 'n' is INT: Could not convert"),
        ({"big": 2**70}, "attribute 'big' is BIGINT: Python int too large"),
        ({"d": 1.5}, "'d' has values of Arrow type double, but is DECIMAL"),
        ({"d": Decimal("1.005")}, "attribute 'd' is DECIMAL.*data loss"),
        ({"d": Decimal("NaN")}, "attribute 'd' is DECIMAL"),
        ({"s": b"x"}, "'s' has values of Arrow type binary, but is STRING"),
        ({"s": "\ud800"}, "attribute 's' is STRING: .*surrogates not allowed"),
        ({"s": 1}, "'s' has values of Arrow type int64, but is STRING"),
        ({"at": datetime.date(2024, 1, 1)}, "Arrow type date32.* but is TIMESTAMP"),
        ({"day": "soon"}, "'soon' is not a date"),
    ],
)
def test_value_that_does_not_fit_is_refused_by_name(event, message):
    refuse([event], message)


def test_values_that_do_not_go_together_are_refused():
    refuse([{"n": 1}, {"n": "2"}], "attribute 'n' is INT: Could not convert '2'")
    refuse(pd.DataFrame({"n": [1, "x"]}), "the events are no table of Arrow values")
    refuse(pd.DataFrame({"s": ["\ud800"]}), "the events are no table of Arrow values")
    refuse(maps([[("n", "x")]], TEXTS), "attribute 'n': 'x' does not fit INT")
    refuse(pa.table({"n": [{"x": 1}]}), "column 'n' has values of Arrow type struct")


@pytest.mark.parametrize(
    "events",
    [
        None,
        "n",
        5,
        {"n": [1]},
        [1],
        [{"n": 1}, None],
        iter([{"n": 1}]),
        pd.Series([1]),
        pa.array([1]),
    ],
    ids=lambda events: type(events).__name__,
)
def test_what_is_no_events_is_refused_by_its_type(events):
    refuse(events, f"a list of dicts, not as {type(events).__name__}")


def test_chunked_array_is_no_table():
    refuse(pa.chunked_array([[1]]), "the events are no table of Arrow values")


@pytest.mark.parametrize("many", [False, True])
def test_keys_of_maps_are_found_whatever_their_case_and_number(monkeypatch, many):
    """Names to the letter take one road where there are many, all others another."""
    monkeypatch.setattr(map_events, "MANY_KEYS", 1 if many else 1 << 30)
    schema = Schema.of({"a": "INT", "ab": "INT", "": "INT", "\u00e9t\u00e9": "INT", "B": "INT"})
    maps = [{"a": 1, "ab": 2}, {"": 3, "\u00e9t\u00e9": 4}, None, {"B": 5, "a": 6}]
    for keys in (maps, [*maps, {"AB": 7, "b": 8}]):
        column = pa.array([m and list(m.items()) for m in keys], pa.map_(pa.string(), pa.int32()))
        rows = rows_of(Batch.of(pa.table({"m": column[1:]}), schema).wide(), schema)
        assert rows == [
            {schema[name].index: value for name, value in (m or {}).items()} for m in keys[1:]
        ]
    wrong = pa.array([[("a", 1), ("abc", 2)]], pa.map_(pa.string(), pa.int32()))
    with pytest.raises(DataError, match="event 0 has an unknown attribute 'abc'"):
        Batch.of(pa.table({"m": wrong}), schema)


@pytest.mark.parametrize("many", [False, True])
def test_entries_of_maps_are_those_of_their_columns(monkeypatch, many):
    monkeypatch.setattr(map_events, "MANY_KEYS", 1 if many else 1 << 30)
    schema = Schema.of({"a": "INT", "b": "INT", "long": "BIGINT"})
    maps = [[("b", 1), ("a", None)], None, [], [("a", 2), ("b", None)], [("b", 3), ("a", 4)]]
    column = pa.array([[("a", 0)], *maps], pa.map_(pa.string(), pa.int32()))[1:]
    batch = Batch.of(pa.table({"m": column}), schema)
    assert batch.is_sparse
    assert [part.tolist() for part in batch.short_entries] == [
        [1, 0, 1, 0],
        [0, 3, 4, 4],
        [1, 2, 3, 4],
    ]
    by_column = Batch(schema, batch.rows, batch.columns)
    assert sorted(zip(*by_column.short_entries, strict=True)) == sorted(
        zip(*batch.short_entries, strict=True)
    )
    assert [*batch.columns] == [0, 1] and len(batch.columns) == 2
    mixed = pa.array([[("long", 1), ("a", 2)]], pa.map_(pa.string(), pa.int32()))
    batch = Batch.of(pa.table({"m": mixed}), schema)
    assert batch.entries is None
    assert [part.tolist() for part in batch.short_entries] == [[0, 2], [0, 0], [2, 1]]


@pytest.mark.parametrize("many", [False, True])
def test_an_attribute_twice_is_refused_even_without_a_value(monkeypatch, many):
    monkeypatch.setattr(map_events, "MANY_KEYS", 1 if many else 1 << 30)
    schema = Schema.of({"a": "INT", "b": "INT"})
    maps = [[("a", 1)], [("a", 2), ("b", 1)], [("b", 1), ("a", 3), ("b", None)]]
    column = pa.array(maps, pa.map_(pa.string(), pa.int32()))
    with pytest.raises(DataError, match="event 12 has attribute 'b' twice"):
        Batch.of(pa.table({"m": column}), schema, first=10)
