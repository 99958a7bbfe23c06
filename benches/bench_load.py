"""How long does it take to load 1M expressions, as a table of predicates and as text?

The table of predicates is what `penstock generate` writes; the time is that of
`penstock.load`: reading Parquet, checking names, operators, operand counts and types, and
grouping by id. The baseline is the same expressions as a table of id and text, which must be
parsed: a tenth and a hundredth of them, since a million would take minutes.
"""

import tempfile
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from timing import Figure, report, seconds

import penstock
from penstock.sim.workload import PRESETS, WorkloadSpec, write

TARGET_SECONDS = 30.0
EXPRESSIONS = 1_000_000
PRESET = "uni"
MOST_PREDICATES = 10
"""In one expression of the preset."""


def text_of(predicate: dict[str, Any]) -> str:
    """One row of the table of predicates as SQL."""
    subject = f"{predicate['attribute']} {predicate['operator']}"
    operands = predicate["operands"]
    if predicate["operator"] == "BETWEEN":
        return f"{subject} {operands[0]} AND {operands[1]}"
    if predicate["operator"] in ("IN", "NOT IN"):
        return f"{subject} ({', '.join(map(str, operands))})"
    return f"{subject} {operands[0]}"


def write_texts(table: Path, count: int) -> Path:
    """The first expressions of a table of predicates as a table of id and text."""
    rows = pyarrow.parquet.read_table(table).slice(0, count * MOST_PREDICATES).to_pylist()
    texts: dict[str, str] = {}
    for id, predicates in islice(groupby(rows, key=itemgetter("id")), count):
        texts[id] = " AND ".join(text_of(predicate) for predicate in predicates)
    path = table.with_name(f"texts_{count}.parquet")
    pyarrow.parquet.write_table(pa.table({"id": list(texts), "text": list(texts.values())}), path)
    return path


def write_sql(texts: Path, schema: Path) -> Path:
    """The same subscriptions as a query file."""
    rows = pyarrow.parquet.read_table(texts).to_pylist()
    lines = (f"CREATE SUBSCRIPTION {row['id']} ON events WHERE {row['text']};" for row in rows)
    path = texts.with_suffix(".sql")
    path.write_text("\n".join([schema.read_text().rstrip(";\n") + ";", *lines]))
    return path


def measure(what: str, path: Path, count: int, *, target: float | None, repeats: int) -> Figure:
    def load() -> None:
        assert len(penstock.load(path)) == count

    samples = seconds(load, repeats=repeats)
    return Figure(
        f"{what}, {count:,} expressions",
        samples,
        target=target,
        parameters={"preset": PRESET, "expressions": count, "bytes": path.stat().st_size},
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "workload")
        write(WorkloadSpec(**PRESETS[PRESET], expressions=EXPRESSIONS), folder)
        table = folder / "expressions.parquet"
        texts = {count: write_texts(table, count) for count in (10_000, 100_000)}
        figures = [
            measure("predicates", table, EXPRESSIONS, target=TARGET_SECONDS, repeats=5),
            measure("text", texts[10_000], 10_000, target=None, repeats=3),
            measure("text", texts[100_000], 100_000, target=None, repeats=1),
            *(
                measure(
                    "query file",
                    write_sql(texts[n], folder / "schema.sql"),
                    n,
                    target=None,
                    repeats=1,
                )
                for n in (10_000, 100_000)
            ),
        ]
    question = "How long does it take to load 1M expressions, as predicates and as text?"
    report("load", question, figures)


if __name__ == "__main__":
    main()
