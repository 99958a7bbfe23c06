"""Drive a component in Amaranth's simulator, with stalls, and never forever."""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from amaranth.sim import Simulator

CYCLE = 1e-6
STALLS = [(0.0, 0.0), (0.4, 0.4), (0.1, 0.7), (0.7, 0.1)]
"""Chances that a source and that a sink stalls in a cycle."""


@dataclass
class Traffic:
    """What went through a port, and in which cycle each item did."""

    items: list[Any] = field(default_factory=list)
    cycles: list[int] = field(default_factory=list)


def simulate(
    dut: Any, *benches: Callable[[Any], Awaitable[None]], limit_cycles: int = 20_000
) -> None:
    """Run until every bench is done; AssertionError if that takes longer than the limit."""

    async def watch(ctx: Any) -> None:
        for _ in range(limit_cycles):
            await ctx.tick()
        raise AssertionError(f"not done after {limit_cycles} cycles")

    simulator = Simulator(dut)
    simulator.add_clock(CYCLE)
    for bench in benches:
        simulator.add_testbench(bench)
    simulator.add_testbench(watch, background=True)
    simulator.run()


def run_streams(
    dut: Any,
    sources: Mapping[str, Sequence[Any]],
    sinks: Mapping[str, int],
    *,
    stalls: tuple[float, float] = (0.0, 0.0),
    seed: int = 7,
    limit_cycles: int = 20_000,
    spare_cycles: int = 12,
) -> dict[str, Traffic]:
    """Send items into each source and take so many from each sink, and see that no more come."""
    traffic = {name: Traffic() for name in (*sources, *sinks)}
    unfinished = {*sources, *sinks}

    async def source(ctx: Any, name: str, items: Sequence[Any]) -> None:
        rng = random.Random(f"{seed} {name}")
        await _send(ctx, getattr(dut, name), items, traffic[name], rng, stalls[0])
        unfinished.discard(name)

    async def sink(ctx: Any, name: str, count: int) -> None:
        rng, port, cycle, spare = random.Random(f"{seed} {name}"), getattr(dut, name), 0, 0
        while spare < spare_cycles:
            cycle += 1
            await _receive(ctx, port, traffic[name], cycle, rng.random() >= stalls[1])
            if len(traffic[name].items) >= count:
                unfinished.discard(name)
            spare += not unfinished

    benches = [partial(source, name=name, items=items) for name, items in sources.items()]
    takers = [partial(sink, name=name, count=count) for name, count in sinks.items()]
    simulate(dut, *benches, *takers, limit_cycles=limit_cycles)
    served = {name: len(traffic[name].items) for name in sinks}
    assert served == sinks, "a sink got more than it should"
    return traffic


async def _send(
    ctx: Any, port: Any, items: Sequence[Any], traffic: Traffic, rng: random.Random, stall: float
) -> None:
    cycle = 0
    for item in items:
        while rng.random() < stall:
            await ctx.tick()
            cycle += 1
        ctx.set(port.payload, item)
        ctx.set(port.valid, 1)
        is_taken = False
        while not is_taken:
            *_, is_taken = await ctx.tick().sample(port.ready)
            cycle += 1
        ctx.set(port.valid, 0)
        traffic.items.append(item)
        traffic.cycles.append(cycle)


async def _receive(ctx: Any, port: Any, traffic: Traffic, cycle: int, is_ready: bool) -> None:
    ctx.set(port.ready, is_ready)
    *_, is_valid, payload = await ctx.tick().sample(port.valid, port.payload)
    if is_ready and is_valid:
        traffic.items.append(payload)
        traffic.cycles.append(cycle)


def run_enabled(
    dut: Any,
    inputs: Sequence[Mapping[str, int]],
    outputs: Sequence[str],
    *,
    stall: float = 0.0,
    seed: int = 7,
    limit_cycles: int = 20_000,
) -> list[tuple[Any, ...]]:
    """The outputs in each cycle with ``enable`` high; the inputs of cycle ``n`` are item ``n``.

    With ``enable`` low, the inputs are other ones, and the outputs must stay what they are.
    """
    got: list[tuple[Any, ...]] = []
    ports = [getattr(dut, name) for name in outputs]

    async def bench(ctx: Any) -> None:
        rng = random.Random(f"{seed} enable")
        for values in inputs:
            seen: list[tuple[Any, ...]] = []
            is_enabled = False
            while not is_enabled:
                is_enabled = rng.random() >= stall
                ctx.set(dut.enable, is_enabled)
                for name, value in (values if is_enabled else rng.choice(inputs)).items():
                    ctx.set(getattr(dut, name), value)
                _, _, *sampled = await ctx.tick().sample(*ports)
                seen.append(tuple(sampled))
            assert len(set(seen)) == 1, "an output changed while enable was low"
            got.append(seen[0])

    simulate(dut, bench, limit_cycles=limit_cycles)
    return got
