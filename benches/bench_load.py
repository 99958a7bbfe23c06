"""How long does it take to load 1M expressions, as predicates and as text, and to open them?

The table of predicates is what `penstock generate` writes; the time is that of
`penstock.load`: reading Parquet, checking names, operators, operand counts and types, and
grouping by id. The baseline is the same expressions as a table of id and text, which must be
parsed: a tenth and a hundredth of them, since a million would take minutes.

Then a process of its own loads the million, opens it on the software engine and matches a first
batch of events; told are its time, from after its imports, and the most memory it had. The engine's
kernels are compiled before, on a small set, as they are once on every machine.
"""

import multiprocessing
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from timing import Figure, peak_bytes, report, seconds
from workloads import ENGINE, Workload, preset

import penstock
from penstock.sim.workload import PRESETS, WorkloadSpec, write

TARGET_SECONDS = 30.0
TARGET_GB = 2.0
FIRST_EVENTS = 1_000
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


def opened(made: Workload) -> tuple[float, int]:
    """Seconds until a set is loaded, opened and has answered, and the peak of memory in bytes."""
    started = time.perf_counter()
    with penstock.open(made.load(), engine=ENGINE) as matcher:
        matcher.match(made.sparse)
    return time.perf_counter() - started, peak_bytes()


def measure_open(count: int, *, target: float | None, repeats: int) -> list[Figure]:
    made = preset(PRESET, count, FIRST_EVENTS)
    spawn = multiprocessing.get_context("spawn")  # a fork would have our memory too
    runs = []
    for _ in range(repeats):
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            runs.append(pool.submit(opened, made).result())
    facts = {"preset": PRESET, "expressions": count, "events": FIRST_EVENTS}
    name = f"loaded, opened and matched once, {count:,} expressions"
    taken, peaks = zip(*runs, strict=True)
    return [
        Figure(name, list(taken), target=target, parameters=facts),
        Figure(
            f"{name}: memory",
            [peak / 1e9 for peak in peaks],
            unit="GB",
            target=TARGET_GB if target else None,
            parameters=facts,
        ),
    ]


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
    measure_open(10_000, target=None, repeats=1)  # compiles the kernels
    figures += measure_open(EXPRESSIONS, target=TARGET_SECONDS, repeats=3)
    report("load", (sys.modules[__name__].__doc__ or "").splitlines()[0], figures)


if __name__ == "__main__":
    main()
