"""How many wide events per second does the software engine take on one core?

10 INT columns of 1,000,000 values, all present; 3 to 5 BETWEEN each, as in rules over a data
frame, at which an event matches one in a thousand of them, or one in a hundred. The scan in C is
timed in turn, and so is writing the answers alone, the ids of each event as an Arrow list: what
any engine has to do, so that where it takes most of the time it is what bounds the rate.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa
from bench_software import Scanned, check
from c_scan import Answer, Scan, compiled_with
from timing import Figure, enough, in_turn, merge, one_core
from workloads import ENGINE, wide

import penstock

TARGETS = {100: 10_000_000, 1_000: 4_000_000, 10_000: 1_500_000}
MATCH_RATES = (0.001, 0.01)
EVENTS = 500_000
QUESTION = (__doc__ or "").splitlines()[0]


def written(ids: pa.Array, answer: Answer) -> pa.Array:
    """The answer of a scan as engines give it."""
    offsets = np.concatenate([[0], answer.ends]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), ids.take(pa.array(answer.numbers)))


def measure(size: int, match_rate: float) -> list[Figure]:
    made = wide(size, events=EVENTS, match_rate=match_rate)
    scan = Scan(made.expressions, made.schema)
    events = scan.events(made.sparse)
    with penstock.open(made.load(), engine=ENGINE) as matcher:
        check(matcher, made.wide, made, scan, events)
        scanned = Scanned(scan, events)
        few = enough(lambda count: scanned.run(events.first(count)), len(events))
        scanned.prepare(few)
        count = enough(lambda count: matcher.match(made.wide.slice(0, count)), len(made.wide))
        table, answer = made.wide.slice(0, count), scan.match(events.first(count))
        works = (lambda: matcher.match(table), scanned.again, lambda: written(scan.ids, answer))
        samples = in_turn(works)
    facts = {
        "expressions": size,
        "match_rate": match_rate,
        "events": count,
        "scanned_events": few,
        "matches_per_event": len(answer.numbers) / count,
        "scan": compiled_with(),
    }
    target = TARGETS.get(size)
    return [
        Figure(
            f"{size:,} expressions, {match_rate:.1%} match: {what}",
            [events / sample for sample in taken],
            unit="events/s",
            target=target if what == "engine" else None,
            at_most=False,
            parameters={**facts, "what": what},
        )
        for what, events, taken in zip(
            ("engine", "scan", "writing answers"), (count, few, count), samples, strict=True
        )
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=QUESTION)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(TARGETS), metavar="N")
    chosen = parser.parse_args()
    one_core()
    for size in chosen.sizes:
        for match_rate in MATCH_RATES:
            merge("wide", QUESTION, measure(size, match_rate), key=("expressions", "match_rate"))


if __name__ == "__main__":
    main()
