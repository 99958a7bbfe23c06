"""How long do the ten best matches take on the software engine, beside all matches?

Workload `uni`, each predicate with a weight of 1 to 10; both on one core, in turn, the same events.
"""

from __future__ import annotations

import argparse

import numpy as np
import pyarrow as pa
from timing import Figure, enough, in_turn, merge, one_core
from workloads import ENGINE, Workload, generated

import penstock
from penstock.sim.workload import PRESETS, WorkloadSpec

K = 10
TARGET = 1.0
SIZES = (10_000, 1_000_000)
EVENTS = 100_000
CHECKED_EVENTS = 200
QUESTION = (__doc__ or "").splitlines()[0]


def workload(size: int) -> Workload:
    spec = WorkloadSpec(**PRESETS["uni"], expressions=size, events=EVENTS, max_weight=10)
    return generated(f"weighted-{size}", spec)


def measure(size: int) -> list[Figure]:
    made = workload(size)
    with penstock.open(made.load(), engine=ENGINE) as matcher:
        check(matcher, made)
        events = made.sparse
        count = enough(lambda count: matcher.match(events.slice(0, count)), len(events))
        some = events.slice(0, count)
        all_of_them, best = in_turn([lambda: matcher.match(some), lambda: matcher.top_k(some, K)])
    facts = {"expressions": size, "k": K, "events": count}
    times = {
        what: [sample / count * 1e6 for sample in samples]
        for what, samples in (("all matches", all_of_them), (f"top {K}", best))
    }
    return [
        *(
            Figure(
                f"{size:,} expressions: {what}",
                samples,
                unit="us/event",
                parameters={**facts, "what": what},
            )
            for what, samples in times.items()
        ),
        Figure(
            f"{size:,} expressions: top {K} by all matches",
            [one / other for one, other in zip(best, all_of_them, strict=True)],
            unit="x",
            target=TARGET,
            parameters={**facts, "what": "ratio"},
        ),
    ]


def check(matcher: penstock.Matcher, made: Workload) -> None:
    """The best are those of all matches, by what the table of predicates says they earn."""
    events = made.sparse.slice(0, CHECKED_EVENTS)
    scores = np.add.reduceat(np.asarray(made.expressions["weight"]), made.starts[:-1])
    ids = made.expressions["id"].combine_chunks().take(pa.array(made.starts[:-1]))
    numbers = {id: number for number, id in enumerate(ids.to_pylist())}
    found = matcher.match(events)["matches"].to_pylist()
    best = matcher.top_k(events, K)["matches"].to_pylist()
    for matches, ranked in zip(found, best, strict=True):
        earned = [{"id": id, "score": int(scores[numbers[id]])} for id in matches]
        assert ranked == sorted(earned, key=lambda one: (-one["score"], one["id"]))[:K]


def main() -> None:
    parser = argparse.ArgumentParser(description=QUESTION)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    chosen = parser.parse_args()
    one_core()
    for size in chosen.sizes:
        merge("top_k", QUESTION, measure(size), key=("expressions",))


if __name__ == "__main__":
    main()
