"""How many clock cycles does an event take, with no matches and with one non-empty chunk?

8 attributes of 1,000 values, all present, 4 predicates each. Of the generated events, those with
no non-empty chunk and those with exactly one are put into batches of their own and sent without
a pause. A batch also takes the circuit's latency once, until its last event is answered; that is
told apart. Cycles are counted by the simulated circuit, so the machine's speed does not matter.
"""

import sys

import numpy as np
from bench_simulated import workload
from timing import Figure, report

from penstock.gen.build import build
from penstock.host.encode import Encoder, Words
from penstock.sim.simulated.circuit import SPREAD_EVENTS, Circuit
from penstock.sim.simulated.lanes import LANES

SIZES = (100, 1_000, 10_000)
BATCH_EVENTS = SPREAD_EVENTS * LANES - 1
"""As many as still go to a single copy of the circuit."""


def cycles(circuit: Circuit, events: Words) -> int:
    """How many cycles a batch takes, the latency of its last event included."""
    before = circuit.counters()["cycles"]
    circuit.match(events)
    return circuit.counters()["cycles"] - before


def measure(count: int) -> list[Figure]:
    queries, events = workload(count)
    built = build(queries)
    encoder = Encoder(built.manifest, built.event_bits)
    circuit = Circuit(built, encoder.words, None, None)
    words = encoder.encode(events.combine_chunks().to_batches()[0])
    chunks = np.bincount(circuit.match(words)["event"], minlength=len(words))
    latency = cycles(circuit, words[:1]) - 1
    figures = []
    for wanted, what in enumerate(("no match", "one non-empty chunk")):
        batch = np.ascontiguousarray(words[chunks == wanted][:BATCH_EVENTS])
        taken = cycles(circuit, batch) - latency
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
                    "tiles": len(built.plan.tiles),
                },
            )
        )
    circuit.close()
    return figures


def main() -> None:
    sizes = [int(size) for size in sys.argv[1:]] or list(SIZES)
    figures = [figure for size in sizes for figure in measure(size)]
    report("throughput", (sys.modules[__name__].__doc__ or "").splitlines()[0], figures)


if __name__ == "__main__":
    main()
