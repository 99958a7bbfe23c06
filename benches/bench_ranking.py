"""How many cycles does an event take when the circuit keeps the ten best of its matches?

1,000 subscriptions of 4 weighted predicates on 8 attributes of 1,000 values, all present, and match
rates at which an event matches about half a subscription, 5 and 50. Ranking is held against sending
all matches on the same circuit. What the ranking adds to the circuit is told in cells, as Yosys
counts them for an ECP5.
"""

import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
from timing import Figure, report

import penstock
from penstock.gen.build import build
from penstock.gen.synthesis import synthesise
from penstock.sim.workload import WorkloadSpec, write

OPERATORS = {"<": 1, "<=": 1, "=": 1, ">=": 1, ">": 1, "BETWEEN": 1}
COUNT = 1_000
EVENTS = 5_000
CHECKED_EVENTS = 100
K = 10
MATCHES = (0.5, 5, 50)


def workload(matches: float) -> tuple[penstock.QuerySet, pa.Table]:
    spec = WorkloadSpec(
        expressions=COUNT, events=EVENTS, attributes=8, pairs=8, pair_spread=0, predicates=4,
        predicate_spread=0, cardinality=1000, match_rate=matches / COUNT, operators=OPERATORS,
        max_weight=100,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "workload")
        write(spec, folder)
        return penstock.load(folder), pa.parquet.read_table(folder / "events.parquet")


def cycles(matcher: penstock.Matcher, events: pa.Table, *, ranked: bool) -> tuple[float, pa.Table]:
    """Cycles per event, and the answer."""
    before = matcher.counters["cycles"]
    answer = matcher.top_k(events, K) if ranked else matcher.match(events)
    return (matcher.counters["cycles"] - before) / events.num_rows, answer


def measure_cycles(matches: float) -> list[Figure]:
    queries, events = workload(matches)
    few = events.slice(0, CHECKED_EVENTS)
    with penstock.open(queries, engine="reference") as matcher:
        expected = matcher.top_k(few, K)
    with penstock.open(queries, engine="simulated", k=K) as matcher:
        assert matcher.top_k(few, K).equals(expected), "the engines disagree"
        ranking, _ = cycles(matcher, events, ranked=True)
        matching, answer = cycles(matcher, events, ranked=False)
    found = pc.sum(pc.list_value_length(answer["matches"])).as_py() / EVENTS
    parameters = {"subscriptions": COUNT, "events": EVENTS, "k": K, "matches_per_event": found}
    what = f"{COUNT:,} subscriptions, {found:.3g} matches per event"
    return [
        Figure(f"{what}: the {K} best", [ranking], unit="cycles/event", parameters=parameters),
        Figure(f"{what}: all", [matching], unit="cycles/event", parameters=parameters),
    ]


def measure_area() -> list[Figure]:
    queries, _ = workload(MATCHES[0])
    cells = {k: synthesise(build(queries, k=k).circuit).cells for k in (None, K)}
    kinds = sorted({kind for counted in cells.values() for kind in counted})
    return [
        Figure(
            f"{COUNT:,} subscriptions: {kind} that ranking adds",
            [cells[K].get(kind, 0) - cells[None].get(kind, 0)],
            unit="cells",
            parameters={"subscriptions": COUNT, "k": K, "without": cells[None].get(kind, 0)},
        )
        for kind in kinds
    ]


def main() -> None:
    figures = [figure for matches in MATCHES for figure in measure_cycles(matches)]
    figures += measure_area()
    report("ranking", (sys.modules[__name__].__doc__ or "").splitlines()[0], figures)


if __name__ == "__main__":
    main()
