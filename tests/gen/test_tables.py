"""Tables and texts from files: read as they are, refused with the file named, written whole."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from penstock.gen import tables
from penstock.gen.errors import DataError
from penstock.gen.schema import Schema
from penstock.gen.tables import TABLE_SUFFIXES, read_table, read_text, write_table

TABLE = pa.table({"event": [0, 1, 2], "matches": [["a", "b"], [], ["\u00e9\n"]]})
WRITTEN = (".parquet", ".arrow", ".feather", ".jsonl")


def read_of(tmp_path, name, content, schema=None):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(path, schema)


def rows_of(tmp_path, name, content, schema=None):
    return read_of(tmp_path, name, content, schema).to_pylist()


def test_csv_columns_are_text_whatever_they_look_like(tmp_path):
    content = "id,day,flag,price\n007,2024-01-31,true,1.50\n"
    (row,) = rows_of(tmp_path, "t.csv", content)
    assert row == {"id": "007", "day": "2024-01-31", "flag": "true", "price": "1.50"}


def test_csv_blank_is_null_and_quoted_blank_is_the_empty_string(tmp_path):
    rows = rows_of(tmp_path, "t.csv", 'id,text\nx,""\ny,\n,z\nNULL,NaN\n')
    assert [tuple(row.values()) for row in rows] == [
        ("x", ""),
        ("y", None),
        (None, "z"),
        ("NULL", "NaN"),
    ]


def test_csv_quotes_newlines_and_byte_order_mark(tmp_path):
    content = '\ufeffid,text\r\n"q ""1""","a\nAND b, c"\r\n"x\ny",\'\r\n'
    rows = rows_of(tmp_path, "t.csv", content)
    assert rows == [{"id": 'q "1"', "text": "a\nAND b, c"}, {"id": "x\ny", "text": "'"}]


def test_csv_newlines_in_values_past_the_first_block(tmp_path):
    lines = "".join(f'q{n},"a = {n}\n  AND b = 2"\n' for n in range(60_000))
    table = read_of(tmp_path, "t.csv", "id,text\n" + lines)
    assert table.num_rows == 60_000
    assert table["text"][59_999].as_py() == "a = 59999\n  AND b = 2"


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl"])
def test_one_row_may_be_megabytes_long(tmp_path, name):
    text = "x" * 3_000_000
    content = f"id,text\nq,{text}\n" if name == "t.csv" else json.dumps({"id": "q", "text": text})
    assert rows_of(tmp_path, name, content) == [{"id": "q", "text": text}]


def test_csv_with_a_header_only_has_its_columns(tmp_path):
    table = read_of(tmp_path, "t.csv", "id,text\n")
    assert table.column_names == ["id", "text"] and table.num_rows == 0


def test_json_text_that_looks_like_a_time_stays_text(tmp_path):
    content = '{"id": "2024-01-31", "at": "2024-01-31 12:00:00", "operands": ["2024-01-31"]}\n'
    (row,) = rows_of(tmp_path, "t.jsonl", content)
    assert row == {
        "id": "2024-01-31",
        "at": "2024-01-31 12:00:00",
        "operands": ["2024-01-31"],
    }


def test_json_numbers_for_decimal_attributes_keep_their_digits(tmp_path):
    schema = Schema.of({"price": "DECIMAL(20,2)", "rate": "DOUBLE"})
    content = '{"PRICE": 123456789012345678.91, "rate": 0.1}\n{"PRICE": 5, "rate": 2}\n'
    table = read_of(tmp_path, "t.jsonl", content, schema)
    assert [str(value) for value in table["PRICE"].to_pylist()] == ["123456789012345678.91", "5.00"]
    assert table["rate"].to_pylist() == [0.1, 2.0]
    with pytest.raises(DataError, match=r"t\.jsonl cannot be read as jsonl: .*0\.005"):
        read_of(tmp_path, "t.jsonl", '{"price": 0.005}\n', schema)


def test_json_lines_may_lack_keys(tmp_path):
    rows = rows_of(tmp_path, "t.ndjson", '{"a": 1}\n\n{"b": "x"}\n')
    assert rows == [{"a": 1, "b": None}, {"a": None, "b": "x"}]


def truncated_parquet(tmp_path):
    pyarrow.parquet.write_table(pa.table({"a": range(1000)}), tmp_path / "whole.parquet")
    whole = (tmp_path / "whole.parquet").read_bytes()
    return whole[: len(whole) // 2]


@pytest.mark.parametrize("suffix", sorted(TABLE_SUFFIXES))
@pytest.mark.parametrize("content", [b"", b"PAR1\xff\nbut no more"])
def test_bad_file_is_a_data_error_that_names_it(tmp_path, suffix, content):
    with pytest.raises(DataError, match=rf"bad\{suffix} cannot be read as {suffix[1:]}: "):
        read_of(tmp_path, f"bad{suffix}", content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", b"id,text\nx,\xff\n"),
        ("t.csv", b"id,text\nx\n"),
        ("t.jsonl", b'{"a": "\xff"}\n'),
        ("t.jsonl", b'{"a": 1'),
        ("t.jsonl", b'[{"a": 1}]'),
        ("t.jsonl", b'{"a": 1}\n{"a": "x"}\n'),
        ("t.jsonl", b'{"a": 1, "a": 2}\n'),
    ],
)
def test_malformed_text_is_a_data_error(tmp_path, name, content):
    with pytest.raises(DataError, match=f"{name} cannot be read as "):
        read_of(tmp_path, name, content)


def test_truncated_parquet_is_a_data_error(tmp_path):
    with pytest.raises(DataError, match=r"t\.parquet cannot be read as parquet"):
        read_of(tmp_path, "t.parquet", truncated_parquet(tmp_path))


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_text_in_a_binary_table_must_be_utf_8_too(tmp_path, suffix):
    data = pa.py_buffer(b"\xff\xfe")
    text = pa.StringArray.from_buffers(1, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), data)
    write_table(pa.table({"id": ["q"], "text": text}), tmp_path / f"t{suffix}")
    with pytest.raises(DataError, match=rf"t\{suffix} cannot be read .*UTF8"):
        read_table(tmp_path / f"t{suffix}")


def test_missing_file_and_unknown_ending():
    with pytest.raises(DataError, match=r"there is no file 'nowhere\.csv'"):
        read_table(Path("nowhere.csv"))
    with pytest.raises(DataError, match=r"x\.xls: tables are \.arrow, \.csv, .* files"):
        read_table(Path("x.xls"))


def test_ending_is_read_whatever_its_case(tmp_path):
    assert rows_of(tmp_path, "T.CSV", "a\n1\n") == [{"a": "1"}]


def test_text_loses_its_byte_order_mark_only(tmp_path):
    path = tmp_path / "t.sql"
    path.write_bytes("\ufeff-- \u00e9\r\n\0".encode())
    assert read_text(path) == "-- \u00e9\n\0"


def test_text_that_is_not_utf_8_names_the_byte(tmp_path):
    (tmp_path / "t.sql").write_bytes(b"ab\xff")
    with pytest.raises(DataError, match=r"t\.sql is not UTF-8 text: byte 2"):
        read_text(tmp_path / "t.sql")
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_text(tmp_path)
    with pytest.raises(DataError, match="there is no file"):
        read_text(tmp_path / "none.sql")


@pytest.mark.parametrize("suffix", WRITTEN)
def test_written_table_reads_back(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    write_table(TABLE, path)
    assert read_table(path).to_pylist() == TABLE.to_pylist()
    write_table(TABLE.slice(1, 1), path)
    assert read_table(path).to_pylist() == TABLE.slice(1, 1).to_pylist()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", WRITTEN)
@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_failing_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, suffix, failure):
    path = tmp_path / f"out{suffix}"
    path.write_text("old")

    def fail(table, partial):
        partial.write_text("half")
        raise failure

    monkeypatch.setitem(tables._WRITERS, suffix, fail)
    with pytest.raises((DataError, KeyboardInterrupt)) as caught:
        write_table(TABLE, path)
    if isinstance(failure, OSError):
        assert str(caught.value) == f"{path} cannot be written: No space left on device"
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_file_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.jsonl").mkdir()
    for path, message in [
        (tmp_path / "out.xlsx", "results are written as .arrow, .feather, .jsonl, .parquet files"),
        (tmp_path / "file" / "out.jsonl", "there is no folder '.*file'"),
        (tmp_path / "none" / "out.jsonl", "there is no folder '.*none'"),
        (tmp_path / "folder.jsonl", "cannot be written: Is a directory"),
    ]:
        with pytest.raises(DataError, match=message):
            write_table(TABLE, path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "folder.jsonl"]
