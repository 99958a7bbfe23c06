"""How many clock cycles does an event take, with no matches and with one non-empty chunk?

8 attributes of 1,000 values, all present, 4 predicates each. Of the generated events, those with
no match and those with exactly one, and so one non-empty chunk, are put into batches of their own
and sent without a pause. A batch also takes the circuit's latency once, until its last event is
answered; that is told apart. Cycles are counted by the simulated circuit, so the machine's speed
does not matter.
"""

import sys

import pyarrow as pa
import pyarrow.compute as pc
from bench_simulated import workload
from timing import Figure, report

import penstock

SIZES = (100, 1_000, 10_000)
BATCH_EVENTS = 4_000
"""Few enough for all to go to a single copy of the circuit."""


def cycles(matcher: penstock.Matcher, events: pa.Table) -> int:
    """How many cycles a batch takes, the latency of its last event included."""
    before = matcher.counters["cycles"]
    matcher.match(events)
    return matcher.counters["cycles"] - before


def measure(count: int) -> list[Figure]:
    queries, events = workload(count)
    figures = []
    with penstock.open(queries, engine="simulated") as matcher:
        matches = pc.list_value_length(matcher.match(events)["matches"])
        for wanted, what in enumerate(("no match", "one non-empty chunk")):
            batch = events.filter(pc.equal(matches, wanted)).slice(0, BATCH_EVENTS)
            latency = cycles(matcher, batch.slice(0, 1)) - 1
            taken = cycles(matcher, batch) - latency
            figures.append(
                Figure(
                    f"{count:,} subscriptions, events with {what}",
                    [taken / len(batch)],
                    unit="cycles/event",
                    target=1,
                    parameters={
                        "subscriptions": count,
                        "events": len(batch),
                        "cycles": taken,
                        "latency_cycles": latency,
                    },
                )
            )
    return figures


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or list(SIZES)
    figures = [figure for size in sizes for figure in measure(size)]
    report("throughput", (sys.modules[__name__].__doc__ or "").splitlines()[0], figures)


if __name__ == "__main__":
    main()
