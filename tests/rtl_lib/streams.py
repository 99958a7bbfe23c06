"""Drive a component's streams in Amaranth's simulator, with stalls, and never forever."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from amaranth.sim import Simulator

CYCLE = 1e-6


def run_streams(
    dut: Any,
    sources: dict[str, Sequence[Any]],
    sinks: dict[str, int],
    *,
    stall: float,
    seed: int = 7,
    limit_cycles: int = 20_000,
    until: Callable[[Any, Any], bool] | None = None,
) -> dict[str, list[Any]]:
    """Send items into each source and take so many from each sink.

    A side stalls in each cycle with the given chance, source and sink apart. AssertionError if
    the sinks are not served within the limit.
    """
    got: dict[str, list[Any]] = {name: [] for name in sinks}
    done = {name: count == 0 for name, count in sinks.items()}

    def source(name: str, items: Sequence[Any]):
        rng = random.Random(f"{seed} {name}")
        port = getattr(dut, name)

        async def bench(ctx):
            for item in items:
                while rng.random() < stall:
                    await ctx.tick()
                ctx.set(port.payload, item)
                ctx.set(port.valid, 1)
                await ctx.tick().until(port.ready)
                ctx.set(port.valid, 0)

        return bench

    def sink(name: str, count: int):
        rng = random.Random(f"{seed} {name}")
        port = getattr(dut, name)

        async def bench(ctx):
            while len(got[name]) < count:
                ready = rng.random() >= stall
                ctx.set(port.ready, ready)
                _, _, valid, payload = await ctx.tick().sample(port.valid, port.payload)
                if ready and valid:
                    got[name].append(payload)
            ctx.set(port.ready, 1)
            done[name] = True

        return bench

    simulator = Simulator(dut)
    simulator.add_clock(CYCLE)
    for name, items in sources.items():
        simulator.add_testbench(source(name, items))
    for name, count in sinks.items():
        simulator.add_testbench(sink(name, count))
    simulator.run_until(limit_cycles * CYCLE)
    served = {name: len(items) for name, items in got.items()}
    assert all(done.values()), f"after {limit_cycles} cycles the sinks got {served} of {sinks}"
    return got
