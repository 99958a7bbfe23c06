"""How many events per second and per clock does the simulated circuit take?

8 attributes of 1,000 values, all present, 4 predicates each, all six comparisons alike; a match
rate at which an event matches about half a subscription. Rates include encoding and decoding, on
one core; the time to compile the circuit is told apart. The baseline is the BE-Tree on the same
events.
"""

import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
from timing import Figure, one_core, report, seconds

import penstock
from penstock.sim.workload import WorkloadSpec, write

TARGETS = {100: 2_000_000, 1_000: 300_000, 5_000: 70_000}
OPERATORS = {"<": 1, "<=": 1, "=": 1, ">=": 1, ">": 1, "BETWEEN": 1}
EVENTS = 200_000
BASELINE_EVENTS = 500


def workload(count: int) -> tuple[penstock.QuerySet, pa.Table]:
    spec = WorkloadSpec(
        expressions=count, events=EVENTS, attributes=8, pairs=8, pair_spread=0, predicates=4,
        predicate_spread=0, cardinality=1000, match_rate=0.5 / count, operators=OPERATORS,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "workload")
        write(spec, folder)
        queries = penstock.load(folder)
        sparse = pa.parquet.read_table(folder / "events.parquet")
    return queries, wide(sparse, queries.schema)


def wide(sparse: pa.Table, schema: penstock.Schema) -> pa.Table:
    """A column per attribute, as a data frame would have it."""
    names = [attribute.name for attribute in schema]
    maps = sparse.column(0).to_pylist()
    columns = {name: [] for name in names}
    for event in maps:
        found = dict(event)
        for name in names:
            columns[name].append(found.get(name))
    return pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()})


def measure(count: int, target: float | None) -> list[Figure]:
    queries, events = workload(count)
    with penstock.open(queries, engine="reference") as matcher:
        few = events.slice(0, BASELINE_EVENTS)
        expected = matcher.match(few)
        tree = seconds(lambda: matcher.match(few), repeats=3)
    started = time.perf_counter()
    with penstock.open(queries, engine="simulated") as matcher:
        opening = time.perf_counter() - started
        assert matcher.match(few).equals(expected), "the engines disagree"
        before = matcher.counters
        samples = seconds(lambda: matcher.match(events), repeats=3)
        after = matcher.counters
    parameters = {"subscriptions": count, "events": EVENTS, "seconds_to_open": opening}
    taken = after["events"] - before["events"]
    return [
        Figure(
            f"{count:,} subscriptions, simulated circuit",
            [EVENTS / sample for sample in samples],
            unit="events/s", target=target, at_most=False, parameters=parameters,
        ),
        Figure(
            f"{count:,} subscriptions, BE-Tree",
            [BASELINE_EVENTS / sample for sample in tree],
            unit="events/s", parameters=parameters,
        ),
        Figure(
            f"{count:,} subscriptions, cycles of the circuit",
            [(after["cycles"] - before["cycles"]) / taken],
            unit="cycles/event",
            parameters={
                **parameters,
                "chunks_per_event": (after["chunks"] - before["chunks"]) / taken,
            },
        ),
    ]  # fmt: skip


def main() -> None:
    one_core()
    sizes = [int(size) for size in sys.argv[1:]] or list(TARGETS)
    figures = [figure for size in sizes for figure in measure(size, TARGETS.get(size))]
    report("simulated", (sys.modules[__name__].__doc__ or "").splitlines()[0], figures)


if __name__ == "__main__":
    main()
