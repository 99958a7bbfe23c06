"""A pipelined network of AND and OR over comparisons of codes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from operator import and_, or_
from typing import Any

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from penstock.rtl_lib.logic import Enabled, Gate, InRange, Logic
from penstock.rtl_lib.predecoder import Predecoder


class Network(wiring.Component):
    """Evaluate every output of a `Logic` on each set of codes.

    There is a register behind every gate. What a gate takes straight from a comparison is made
    in the same stage, from predecoded wires that wait for it: so a comparison costs no more than
    its share of the gate's inputs, three, however late it is used. A stage has two LUT levels
    where gates have at most two comparisons or four other inputs.

    Latency: ``1 + stages`` cycles in which ``enable`` is high. Throughput: 1 set of codes per
    cycle with ``enable`` high.

    Parameters
    ----------
    widths : sequence of int
        Bits of each code.
    logic : Logic
        What to compute.
    stages : int, optional
        Pipeline stages after predecoding; more than needed delays the outputs.

    Members
    -------
    codes : In(sum(widths))
        The codes side by side, field 0 lowest.
    enable : In(1)
        Whether all stages move on in this cycle.
    enabled : In(len(logic.outputs))
        The enable bits, for the codes that came in the cycle before.
    outputs : Out(len(logic.outputs))
        One bit per output, from registers; a comparison as an output is made behind them.
    """

    def __init__(self, widths: Iterable[int], logic: Logic, *, stages: int | None = None) -> None:
        self.widths = tuple(widths)
        self.logic = logic
        self.stages = logic.stages if stages is None else stages
        logic.require_stages(self.stages)
        if not logic.outputs:
            raise ValueError("a network needs at least one output")
        super().__init__(
            {
                "codes": In(sum(self.widths)),
                "enable": In(1),
                "enabled": In(len(logic.outputs)),
                "outputs": Out(len(logic.outputs)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ranges = [node for node in self.logic.used() if isinstance(node, InRange)]
        m.submodules.predecoder = predecoder = Predecoder(self.widths, ranges)
        m.d.comb += [predecoder.codes.eq(self.codes), predecoder.enable.eq(self.enable)]
        stages = _Stages(self, predecoder)
        for index in range(len(self.logic.nodes)):
            stages.place(index)
        m.d.comb += self.outputs.eq(
            Cat(*(stages.literal(out, self.stages) for out in self.logic.outputs))
        )
        with m.If(self.enable):
            m.d.sync += stages.updates
        return m


class _Stages:
    """Where each value is made, and the registers that keep it for later stages."""

    def __init__(self, network: Network, predecoder: Predecoder) -> None:
        self.network = network
        self.updates: list[Any] = []
        self.predecoder = predecoder
        self.levels = network.logic.levels()
        self.kept: dict[object, list[Value]] = {
            ("wire", index): [wire] for index, wire in enumerate(predecoder.wires)
        }

    def place(self, index: int) -> None:
        """Make what a gate or an enable bit is; comparisons are made where they are used."""
        match self.network.logic.nodes[index]:
            case Enabled(output):
                self.kept[index] = [self.network.enabled[output]]
            case Gate(inputs, is_or):
                stage = self.levels[index] - 1
                values = [self.literal(literal, stage) for literal in inputs]
                made = self.register(reduce(or_ if is_or else and_, values), f"n{index}")
                self.kept[index] = [made]

    def literal(self, literal: int, stage: int) -> Value:
        """The value of a literal as logic of a stage sees it."""
        node = self.network.logic.nodes[literal >> 1]
        if isinstance(node, InRange):
            value = self.predecoder.in_range(lambda wire: self.at(("wire", wire), stage), node)
        else:
            value = self.at(literal >> 1, stage - self.levels[literal >> 1])
        return ~value if literal & 1 else value

    def at(self, key: object, delay: int) -> Value:
        """A value so many cycles after it was made."""
        kept = self.kept[key]
        while len(kept) <= delay:
            name = f"n{key}" if isinstance(key, int) else "w" + str(key[1])  # type: ignore[index]
            kept.append(self.register(kept[-1], f"{name}_{len(kept)}"))
        return kept[delay]

    def register(self, value: Value, name: str) -> Signal:
        held = Signal(name=name, reset_less=True)
        self.updates.append(held.eq(value))
        return held
