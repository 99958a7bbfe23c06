"""How many times as fast as a plain C scan is the software engine?

The workloads of the BE-Tree papers: `uni` and `zipf` with sparse events of 12 to 18 of 400
attributes, `dense` with wide events of 20. Both are timed in one process on one core, in turn. The
engine's time is that of `matcher.match`: an Arrow table of events in, a table of ids out. The
scan's is that of matching alone, of events that lie in its own arrays already, to numbers.

The scan tests predicates in the order in which they are given, and that is hard on it under zipf:
in order of attribute the most frequent come first, and few predicates fail for want of a value. So
it is timed again with each expression's rarest attribute first. Targets hold against both.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from c_scan import Answer, Events, Scan, compiled_with
from timing import Figure, enough, in_turn, merge, one_core
from workloads import ENGINE, Workload, preset

import penstock

TARGETS = {
    "uni": {1_000: 2, 10_000: 10, 100_000: 40, 1_000_000: 80},
    "zipf": {1_000: 3, 10_000: 10, 100_000: 20, 1_000_000: 40},
    "dense": {1_000: 4, 10_000: 15, 100_000: 25, 1_000_000: 40},
}
EVENTS = 200_000
CHECKED_EVENTS = 200
ORACLE_EXPRESSIONS, ORACLE_EVENTS = 500, 20
QUESTION = (__doc__ or "").splitlines()[0]


def measure(name: str, size: int) -> list[Figure]:
    workload = preset(name, size, EVENTS)
    table = workload.wide if name == "dense" else workload.sparse
    scan = Scan(workload.expressions, workload.schema)
    events = scan.events(workload.sparse)
    started = time.perf_counter()
    with penstock.open(workload.load(), engine=ENGINE) as matcher:
        opening = time.perf_counter() - started
        check(matcher, table, workload, scan, events)
        runs = [Scanned(scan, events), Scanned(scan.rarest_first(events), events)]
        few = enough(lambda count: runs[1].run(events.first(count)), len(events))
        for run in runs:
            run.prepare(few)
        count = enough(lambda count: matcher.match(table.slice(0, count)), len(table))
        some = table.slice(0, count)
        matches = pc.mean(pc.list_value_length(matcher.match(some)["matches"])).as_py()
        samples = in_turn([runs[0].again, runs[1].again, lambda: matcher.match(some)])
    facts = {
        "workload": name,
        "expressions": size,
        "events": count,
        "scanned_events": few,
        "matches_per_event": matches,
        "scan": compiled_with(),
        "seconds_to_open": opening,
    }
    given, rarest, ours = (
        [sample / events * 1e6 for sample in taken]
        for taken, events in zip(samples, (few, few, count), strict=True)
    )
    return list(_figures(name, size, facts, given, rarest, ours))


class Scanned:
    """A scan that is run over and over; it writes to the same arrays every time."""

    def __init__(self, scan: Scan, events: Events) -> None:
        self._scan = scan
        self._events = events
        self._answer: Answer | None = None

    def run(self, events: Events) -> Answer:
        return self._scan.match(events)

    def prepare(self, count: int) -> None:
        """Choose the first events, and find room for their matches."""
        self._events = self._events.first(count)
        self._answer = self.run(self._events)

    def again(self) -> None:
        self._scan.match(self._events, self._answer)


def _figures(
    name: str,
    size: int,
    facts: dict[str, object],
    given: list[float],
    rarest: list[float],
    ours: list[float],
) -> Iterator[Figure]:
    times = {"scan": given, "scan, rarest first": rarest, "engine": ours}
    for what, samples in times.items():
        yield Figure(
            f"{name}, {size:,} expressions: {what}",
            samples,
            unit="us/event",
            parameters={**facts, "what": what},
        )
    for what in ("scan", "scan, rarest first"):
        yield Figure(
            f"{name}, {size:,} expressions: times the {what}",
            [scan / engine for scan, engine in zip(times[what], ours, strict=True)],
            unit="x",
            target=TARGETS[name].get(size),
            at_most=False,
            parameters={**facts, "what": f"times the {what}"},
        )


def check(
    matcher: penstock.Matcher, table: pa.Table, workload: Workload, scan: Scan, events: Events
) -> None:
    """Hold the engine to the scan, and both to the oracle, on as many events as that can take."""
    found = matcher.match(table.slice(0, CHECKED_EVENTS))["matches"].to_pylist()
    scanned = scan.match(events.first(CHECKED_EVENTS))
    numbers = [scanned.of(event) for event in range(len(scanned))]
    assert found == [scan.ids.take(pa.array(some)).to_pylist() for some in numbers]
    part = workload.part(0, ORACLE_EXPRESSIONS)
    queries = penstock.QuerySet(workload.schema)
    queries.add_predicates(part)
    with penstock.open(queries, engine="oracle") as oracle:
        expected = oracle.match(table.slice(0, ORACLE_EVENTS))["matches"].to_pylist()
    few = [[id for id in ids if id in queries] for ids in found[:ORACLE_EVENTS]]
    assert few == expected, "engine and scan agree with each other, but not with the oracle"


def main() -> None:
    parser = argparse.ArgumentParser(description=QUESTION)
    parser.add_argument("--workloads", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--sizes", type=int, nargs="+", default=list(TARGETS["uni"]), metavar="N")
    chosen = parser.parse_args()
    one_core()
    for name in chosen.workloads:
        for size in chosen.sizes:
            figures = measure(name, size)
            merge("software", QUESTION, figures, key=("workload", "expressions"))


if __name__ == "__main__":
    main()
