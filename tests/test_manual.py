"""The conditions, constants, types and refusals in docs/language.md are as it says.

- In a ``sql`` block without statements each line is a condition on the stream that the page
  declares first; "-- true" at its end says what it comes to.
- In a ``sql refused`` block each line is refused.
- Tables are told apart by their headers.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from markdown_blocks import ROOT, Block, blocks, code_spans, tables
from spark_answers import Refused, select_answers

import penstock
from penstock import QueryError, QuerySet, Schema
from penstock.gen.expr import Constant, IsNull
from penstock.gen.language.script import parse_script
from penstock.gen.types import parse_type
from penstock.host.events import Batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = ROOT / "docs" / "language.md"
BLOCKS = blocks(PAGE)
VERDICTS = {"true": True, "false": False, "unknown": None}


def is_script(block: Block) -> bool:
    return block.text.lstrip().startswith("CREATE")


SCHEMA = penstock.parse_schema(next(b.text for b in BLOCKS if b.info == "sql" and is_script(b)))
SCRIPTS = [b for b in BLOCKS if b.info == "sql" and is_script(b)]


def lines_of(info: str) -> list[str]:
    """The conditions in blocks of a kind."""
    found = (b.text.splitlines() for b in BLOCKS if b.info == info and not is_script(b))
    return [line for lines in found for line in lines if line.strip()]


def rows_under(*header: str) -> list[list[str]]:
    """The rows of all tables whose header starts like this."""
    found = [row for head, rows in tables(PAGE) if head[: len(header)] == [*header] for row in rows]
    assert found, f"docs/language.md has no table headed {header}"
    return found


def said(text: str) -> str | None:
    """Why a condition is refused, or None."""
    try:
        QuerySet(SCHEMA).add("q", text)
    except QueryError as error:
        return error.problems[0].message
    return None


def verdict(text: str, event: pa.Table) -> bool | None:
    """What a condition comes to for one event."""
    queries = QuerySet(SCHEMA)
    queries.add("q", text)
    return penstock.explain(queries, event, index=0, id="q").condition.verdict


def predicates() -> list[str]:
    return [span for cell, *_ in rows_under("Predicate") for span in code_spans(cell)]


def instead() -> list[str]:
    return [span for _, _, cell in rows_under("Refused", "Because") for span in code_spans(cell)]


def decided() -> Iterator[tuple[str, pa.Table, bool | None]]:
    """The condition, the event and the verdict of each cell in the tables of verdicts."""
    for (first, *values), rows in tables(PAGE):
        if not first.startswith("Condition on"):
            continue
        (name,) = code_spans(first)
        for cell, *answers in rows:
            (text,) = code_spans(cell)
            for value, answer in zip(values, answers, strict=True):
                column = pa.array([None if value == "absent" else value], pa.string())
                yield text, pa.table({name: column}), VERDICTS[answer]


DECIDED = list(decided())
ACCEPTED = [*lines_of("sql"), *predicates(), *instead(), *dict.fromkeys(t for t, _, _ in DECIDED)]
REFUSED = [code_spans(cell)[0] for cell, *_ in rows_under("Refused", "Because")]


@pytest.mark.parametrize("block", SCRIPTS, ids=lambda block: f"line {block.line}")
def test_query_files_load(block: Block) -> None:
    assert not parse_script(block.text, "manual").problems


@pytest.mark.parametrize("text", ACCEPTED)
def test_conditions_are_accepted(text: str) -> None:
    assert said(text) is None


@pytest.mark.parametrize("text", [t for t in lines_of("sql") if re.search(r"-- (true|false)$", t)])
def test_lines_come_to_what_their_comment_says(text: str) -> None:
    nothing = pa.table({"symbol": pa.nulls(1)})
    assert verdict(text, nothing) is VERDICTS[text.rpartition("-- ")[2]]


@pytest.mark.parametrize(("text", "event", "answer"), DECIDED)
def test_verdicts_are_as_in_the_tables(text: str, event: pa.Table, answer: bool | None) -> None:
    assert verdict(text, event) is answer


@pytest.mark.parametrize("row", rows_under("Refused", "Because"), ids=lambda row: row[0])
def test_refusals_say_what_the_table_says(row: list[str]) -> None:
    assert said(code_spans(row[0])[0]) == row[1]


@pytest.mark.parametrize("text", lines_of("sql refused"))
def test_what_is_shown_as_refused_is(text: str) -> None:
    assert said(text)


@pytest.mark.parametrize("row", rows_under("Constant", "Type"), ids=lambda row: row[0])
def test_constants_have_the_type_in_the_table(row: list[str]) -> None:
    queries = QuerySet(SCHEMA)
    queries.add("q", f"({code_spans(row[0])[0]}) IS NULL")
    condition = queries["q"].condition
    assert isinstance(condition, IsNull) and isinstance(condition.operand, Constant)
    assert condition.operand.type == parse_type(row[1])


@pytest.mark.parametrize("row", rows_under("Left", "Right", "Compared in"), ids=" ".join)
def test_types_meet_where_the_table_says(row: list[str]) -> None:
    queries = QuerySet(Schema.of({"a": row[0], "b": row[1]}))
    for text in ("a = b", "b >= a"):
        queries.add(text, text)
        assert queries[text].condition.common == parse_type(row[2])


@pytest.mark.parametrize("row", rows_under("Type", "Also written"), ids=lambda row: row[0])
def test_types_have_the_other_names_in_the_table(row: list[str]) -> None:
    names, others = code_spans(row[0]), code_spans(row[1])
    if names == ["DECIMAL(p,s)"]:
        names, others = ["DECIMAL(10,2)"] * 2, [f"{other}(10,2)" for other in others]
    for name in names:
        parse_type(name)
    for name, other in zip(names, others, strict=True) if others else ():
        assert parse_type(name) == parse_type(other)


@pytest.mark.xdist_group("spark")
def test_spark_agrees_with_the_manual(spark: "SparkSession") -> None:
    texts = [text for text in dict.fromkeys(ACCEPTED) if not text.startswith("weight(")]
    events = pa.concat_tables([event for _, event, _ in DECIDED], promote_options="default")
    wide = pa.Table.from_batches([Batch.of(events, SCHEMA).wide()])
    for attribute in SCHEMA:
        if attribute.name not in wide.column_names:
            empty = pa.nulls(len(wide), SCHEMA.to_arrow().field(attribute.name).type)
            wide = wide.append_column(attribute.name, empty)
    numbered = wide.append_column("row number", pa.array(range(len(wide))))
    frame = spark.createDataFrame(numbered).alias(SCHEMA.stream)
    for text, answers in zip(texts, select_answers(frame, texts), strict=True):
        assert not isinstance(answers, Refused), f"Spark refuses {text!r}"
        for row, answer in enumerate(answers):
            assert verdict(text, wide.slice(row, 1)) is answer, (text, wide.slice(row, 1))
    # Refused "though Spark takes it".
    taken = select_answers(frame, [*REFUSED, *lines_of("sql refused")])
    assert not [answer for answer in taken if isinstance(answer, Refused)]
