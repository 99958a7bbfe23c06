"""Query sets from files and folders: everything that is wrong is told, nothing half is loaded."""

import json

import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from penstock import DataError, QueryError, Schema, load, load_schema

STREAM = "CREATE STREAM trades (price DECIMAL(10,2), symbol STRING, n INT);\n"
SCHEMA = Schema.of({"price": "DECIMAL(10,2)", "symbol": "STRING", "n": "INT"}, stream="trades")
TEXTS = {"id": ["cheap", "named"], "text": ["price < 10", "symbol = 'A' AND\n  n = 1"]}
PREDICATES = {
    "id": ["cheap", "named", "named"],
    "attribute": ["price", "symbol", "n"],
    "operator": ["<", "=", "="],
    "operands": [["10"], ["A"], ["1"]],
}


def write(path, columns):
    """The columns as a table of the kind that the path's ending names."""
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pa.parquet.write_table(table, path)
    elif path.suffix in (".arrow", ".feather"):
        pa.feather.write_feather(table, path)
    elif path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    return path


def loaded(path, **options):
    queries = load(path, **options)
    assert [subscription.id for subscription in queries] == ["cheap", "named"]
    return queries


@pytest.fixture
def beside(tmp_path):
    (tmp_path / "schema.sql").write_text(STREAM)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["q.csv", "q.jsonl", "q.json", "q.parquet", "q.arrow", "q.PARQUET"]
)
def test_texts_load_from_every_kind_of_table(beside, name):
    path = beside / name
    write(path.with_suffix(path.suffix.lower()), TEXTS).rename(path)
    queries = loaded(path)
    assert queries.schema == SCHEMA
    assert str(queries["named"].place) == f"{path} row 2:1:1"


@pytest.mark.parametrize("name", ["q.jsonl", "q.ndjson", "q.parquet", "q.feather"])
def test_predicates_load_from_every_kind_that_has_lists(beside, name):
    queries = loaded(write(beside / name, PREDICATES))
    assert len(queries["named"].condition.children) == 2


def test_predicates_in_csv_are_refused_as_it_has_no_lists(beside):
    columns = {**PREDICATES, "operands": ["10", "A", "1"]}
    with pytest.raises(DataError, match="column operands must hold lists, not string"):
        load(write(beside / "q.csv", columns))


@pytest.mark.parametrize("name", ["expressions.parquet", "subscriptions.parquet"])
def test_folder_holds_a_table_and_its_schema(beside, name):
    write(beside / name, PREDICATES)
    loaded(beside)
    loaded(str(beside))


def test_folder_without_a_table_says_what_it_looked_for(tmp_path):
    with pytest.raises(DataError, match=r"holds no query set: none of expressions\.parquet, "):
        load(tmp_path)


def test_schema_may_be_given_as_a_path_or_as_itself(tmp_path):
    path = write(tmp_path / "q.csv", TEXTS)
    (tmp_path / "other.sql").write_text(STREAM)
    for schema in (SCHEMA, tmp_path / "other.sql", str(tmp_path / "other.sql")):
        assert loaded(path, schema=schema).schema == SCHEMA
    assert load_schema(tmp_path / "other.sql") == SCHEMA


def test_given_schema_goes_before_the_one_beside(beside):
    path = write(beside / "q.csv", {"id": ["x"], "text": ["other = 1"]})
    assert "x" in load(path, schema=Schema.of({"other": "INT"}))


def test_table_without_a_schema_says_where_one_may_be(tmp_path):
    path = write(tmp_path / "q.csv", TEXTS)
    with pytest.raises(DataError, match=r"q\.csv needs a schema: pass one, or put CREATE STREAM"):
        load(path)
    with pytest.raises(DataError, match=r"there is no file '.*none\.sql'"):
        load(path, schema=tmp_path / "none.sql")


@pytest.mark.parametrize(
    "text", ["", STREAM * 2, STREAM + "CREATE SUBSCRIPTION x ON trades WHERE n=1"]
)
def test_schema_file_declares_one_stream_and_nothing_else(tmp_path, text):
    (tmp_path / "schema.sql").write_text(text)
    with pytest.raises(QueryError, match=r"one CREATE STREAM statement|declared twice"):
        load(write(tmp_path / "q.csv", TEXTS))


SCRIPT = """-- two streams
CREATE STREAM trades (n INT);
CREATE STREAM Quotes (m INT);
CREATE SUBSCRIPTION a ON trades WEIGHT 4 WHERE n = 1;
CREATE SUBSCRIPTION a ON quotes WHERE m = 1;
CREATE SUBSCRIPTION `b c` ON QUOTES WHERE m = 2;
"""


def test_script_loads_the_chosen_stream(tmp_path):
    (tmp_path / "q.sql").write_text(SCRIPT)
    trades, quotes = (load(tmp_path / "q.sql", stream=name) for name in ("TRADES", "quotes"))
    assert [(s.id, s.weight) for s in trades] == [("a", 4)]
    assert [s.id for s in quotes] == ["a", "b c"]
    assert quotes.schema.stream == "Quotes"


def test_several_streams_need_a_choice(tmp_path):
    (tmp_path / "q.sql").write_text(SCRIPT)
    with pytest.raises(DataError, match="declares 2 streams; choose one: trades, Quotes"):
        load(tmp_path / "q.sql")
    with pytest.raises(DataError, match="declares no stream 'x', only trades, Quotes"):
        load(tmp_path / "q.sql", stream="x")


def test_stream_of_a_table_is_checked_too(beside):
    path = write(beside / "q.csv", TEXTS)
    loaded(path, stream="TRADES")
    with pytest.raises(DataError, match="is that of stream 'trades', not 'quotes'"):
        load(path, stream="quotes")


def test_script_declares_its_own_schema(tmp_path):
    (tmp_path / "q.sql").write_text(STREAM)
    assert len(load(tmp_path / "q.sql")) == 0
    with pytest.raises(DataError, match="declares its own stream; a schema is for tables only"):
        load(tmp_path / "q.sql", schema=SCHEMA)


@pytest.mark.parametrize("text", ["", " \n\t", "-- nothing\n", ";;"])
def test_script_without_a_stream_says_how_to_start(tmp_path, text):
    (tmp_path / "q.sql").write_text(text)
    with pytest.raises(QueryError, match="no stream is declared\nhint: start with CREATE STREAM"):
        load(tmp_path / "q.sql")


def test_every_problem_of_a_script_is_reported_with_its_place(tmp_path):
    bad = "CREATE SUBSCRIPTION {} ON trades WHERE {};\n"
    script = STREAM + "".join(
        bad.format(f"q{n}", "pirce < 1" if n in (3, 7) else "n = 1") for n in range(10)
    )
    (tmp_path / "q.sql").write_text(script)
    with pytest.raises(QueryError) as caught:
        load(tmp_path / "q.sql")
    found = [(p.subscription, p.place.line, p.place.column) for p in caught.value.problems]
    assert found == [("q3", 5, 40), ("q7", 9, 40)]


def test_every_problem_of_a_table_is_reported_with_its_row(beside):
    columns = {
        "id": ["ok", "typo", None, "ok", "empty", "weight", "more"],
        "text": ["n = 1", "m = 1", "n = 1", "n = 2", None, "n = 1", "n ="],
        "weight": [1, None, 0, 0, 0, -1, 0],
    }
    path = write(beside / "q.parquet", columns)
    with pytest.raises(QueryError) as caught:
        load(path)
    told = [str(problem).splitlines()[0] for problem in caught.value.problems]
    rows = [line.removeprefix(f"{path} row ") for line in told]
    assert rows[0].startswith("2:1:1: subscription 'typo': unknown attribute 'm'")
    assert rows[1:4] == [
        "3: id and text must both be there",
        "4: subscription 'ok' is in the set already",
        "5: id and text must both be there",
    ]
    assert rows[4].startswith("6: a weight is a whole number from 0 to")
    assert rows[5].startswith("7:1:")
    assert len(rows) == 6


def test_weights_come_from_their_column(beside):
    columns = {**TEXTS, "weight": ["7", None]}
    queries = loaded(write(beside / "q.csv", columns))
    assert [subscription.weight for subscription in queries] == [7, 0]
    with pytest.raises(DataError, match=r"q\.csv: column weight: 'high' does not fit BIGINT"):
        load(write(beside / "q.csv", {**TEXTS, "weight": ["high", "1"]}))


def test_ids_that_are_numbers_become_text(beside):
    path = write(beside / "q.parquet", {"id": [7, 10**12], "text": ["n = 1", "n = 2"]})
    assert [subscription.id for subscription in load(path)] == ["7", "1000000000000"]
    (beside / "q.csv").write_text("id,text\n007,n = 1\n")
    assert "007" in load(beside / "q.csv")


def test_header_alone_is_an_empty_set(beside):
    (beside / "q.csv").write_text("id,text\n")
    assert len(load(beside / "q.csv")) == 0
    assert len(load(write(beside / "q.parquet", pa.table(TEXTS).slice(0, 0).to_pydict()))) == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"name": ["x"]}, "has the columns name; a query set has either id and text, or id, attr"),
        ({f"c{n}": ["x"] for n in range(99)}, "has the columns c0, .*, c7, ...; a query set"),
        ({"attribute": ["n"]}, "missing: id, operator, operands"),
        ({"id": [["x"]], "text": ["n = 1"]}, "column id holds text or numbers, not list"),
        ({"id": ["x"], "text": [1]}, "column text has values of Arrow type int64, but is STRING"),
    ],
)
def test_table_of_other_columns_is_refused(beside, columns, message):
    with pytest.raises(DataError, match=message):
        load(write(beside / "q.parquet", columns))


@pytest.mark.parametrize("column", ["id", "text", "weight"])
def test_column_that_is_there_twice_is_named(beside, column):
    table = pa.table({**TEXTS, "weight": [1, 2]})
    pa.feather.write_feather(
        table.append_column(column, table[column]), beside / "q.arrow", version=2
    )
    with pytest.raises(DataError, match=f"has the column {column} twice"):
        load(beside / "q.arrow")


def test_missing_file_and_unknown_kind(tmp_path):
    with pytest.raises(DataError, match=r"there is no file '.*none\.sql'"):
        load(tmp_path / "none.sql")
    (tmp_path / "q.txt").write_text("x")
    with pytest.raises(
        DataError, match=r"query sets are \.sql files, folders, or tables \(\.arrow"
    ):
        load(tmp_path / "q.txt")


CONDITION = STREAM + "CREATE SUBSCRIPTION x ON trades WHERE "
MALFORMED = {
    "deep.sql": CONDITION + "(" * 50_000 + "n = 1" + ")" * 50_000,
    "nots.sql": CONDITION + "NOT " * 50_000 + "n = 1",
    "minus.sql": CONDITION + "n = " + "- " * 50_000 + "1",
    "digits.sql": CONDITION + "n = " + "9" * 50_000,
    "quote.sql": CONDITION + "symbol = 'x",
    "python.sql": CONDITION + "__import__('os').system('true')",
    "bytes.sql": bytes(range(256)),
    "deep.csv": "id,text\nx," + "(" * 50_000 + "n = 1" + ")" * 50_000,
    "nulls.csv": b"id,text\nx,\0\0\0\n",
    "empty.csv": "",
    "deep.jsonl": '{"id":' * 50_000,
    "array.jsonl": "[" * 50_000,
    "pickle.parquet": b"\x80\x04\x95\x1f\0\0\0\0\0\0\0\x8c\x05posix\x8c\x06system\x93.",
    "pickle.arrow": b"\x80\x04\x95\x1f\0\0\0\0\0\0\0\x8c\x05posix\x8c\x06system\x93.",
    "footer.parquet": b"PAR1" + b"\xff" * 64 + b"\xff\xff\xff\x7fPAR1",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_file_is_an_error_that_names_it(beside, name):
    content = MALFORMED[name]
    (beside / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises((DataError, QueryError)) as caught:
        load(beside / name)
    assert str(caught.value).startswith(str(beside / name))


def test_long_conditions_load(beside):
    (beside / "q.sql").write_text(CONDITION + " OR ".join(f"n = {n}" for n in range(5_000)))
    assert len(load(beside / "q.sql")["x"].condition.children) == 5_000


def test_progress_tells_the_stages(beside):
    seen = []
    columns = {"id": [f"q{n}" for n in range(1500)], "text": ["n = 1"] * 1500}
    load(write(beside / "q.parquet", columns), progress=lambda *step: seen.append(step))
    parsing = "parsing subscriptions"
    assert seen == [("reading the file", 0, 0), (parsing, 0, 1500), (parsing, 1000, 1500)]
    seen.clear()
    load(write(beside / "q.parquet", PREDICATES), progress=lambda *step: seen.append(step))
    assert seen == [("reading the file", 0, 0), ("checking predicates", 0, 3)]
