"""A pipelined network of AND and OR over comparisons of codes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from amaranth import Cat, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from penstock.rtl_lib.formula import ALWAYS, Formula, bit, by_shape, joined, picked, side_by_side
from penstock.rtl_lib.logic import Enabled, Gate, InRange, Logic
from penstock.rtl_lib.predecoder import Predecoder, bounds_of


class Network(wiring.Component):
    """Evaluate every output of a `Logic` on each set of codes.

    Each stage has one wide register, with a bit behind every gate. What a gate takes straight
    from a comparison is made in the same stage, from predecoded wires that wait for it: so a
    comparison costs no more than its share of the gate's inputs, three, however late it is used.
    How many LUT levels a stage has depends on the gates alone: one of ``n`` wires takes ``(n - 1) /
    3`` LUTs of four inputs, as a chain or in fewer levels.

    Latency: ``1 + logic.stages`` cycles in which ``enable`` is high. Throughput: 1 set of codes per
    cycle with ``enable`` high.

    Parameters
    ----------
    widths : sequence of int
        Bits of each code.
    logic : Logic
        What to compute.

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

    def __init__(self, widths: Iterable[int], logic: Logic) -> None:
        self.widths = tuple(widths)
        self.logic = logic
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
        uses = _Uses(self.logic, predecoder)
        here = _Vector(
            Signal(len(predecoder.wires) + len(self.enabled), name="stage_0"),
            {
                **{_wire(index): index for index in range(len(predecoder.wires))},
                **{
                    index: len(predecoder.wires) + node.output
                    for index, node in enumerate(self.logic.nodes)
                    if isinstance(node, Enabled)
                },
            },
        )
        m.d.comb += here.signal.eq(Cat(predecoder.wires, self.enabled))
        for stage in uses.gates:
            here = self._stage(m, stage, uses, here)
        outputs = here.over([uses.literal(literal) for literal in self.logic.outputs])
        made, positions = _made(outputs, here)
        found = Signal(len(outputs), name="found")
        places = {position: place for place, position in enumerate(positions)}
        m.d.comb += [
            found.eq(Cat(*made)),
            self.outputs.eq(picked(found, [places[n] for n in range(len(outputs))])),
        ]
        return m

    def _stage(self, m: Module, stage: int, uses: _Uses, before: _Vector) -> _Vector:
        """One register: the gates of this level, and what later stages want of the one before."""
        gates = uses.gates[stage]
        made, order = _gates(m, stage, [uses.gate(index) for index in gates], before)
        kept = [key for key in before.places if uses.last[key] >= stage]
        keys = [*(gates[n] for n in order), *kept]
        register = Signal(len(keys), name=f"stage_{stage}", reset_less=True)
        with m.If(self.enable):
            m.d.sync += register.eq(
                Cat(*made, picked(before.signal, [before.places[key] for key in kept]))
            )
        return _Vector(register, {key: place for place, key in enumerate(keys)})


@dataclass(frozen=True)
class _Gate:
    """What a gate takes, as formulas of values."""

    inputs: tuple[Formula, ...]
    is_or: bool


@dataclass(frozen=True)
class _Vector:
    """What a stage sees: which bit of a signal holds which value."""

    signal: Signal
    places: dict[int, int]

    def over(self, formulas: Iterable[Formula]) -> list[Formula]:
        """Formulas of values as formulas of this signal's bits."""
        return [Formula(f.shape, tuple(self.places[key] for key in f.bits)) for f in formulas]


def _gates(
    m: Module, stage: int, gates: Sequence[_Gate], before: _Vector
) -> tuple[list[Value], list[int]]:
    """The gates as vectors, and their numbers in that order.

    What they take is made first, once, beside the bits of the stage before: few shapes of
    comparisons and few of gates come out as fewer, wider vectors than all ways to combine them.
    """
    wanted = list(dict.fromkeys(f for gate in gates for f in gate.inputs if f.shape != "x"))
    made, order = _made(before.over(wanted), before)
    width = len(before.signal)
    source = Signal(width + len(wanted), name=f"inputs_{stage}")
    m.d.comb += source.eq(Cat(before.signal, *made))
    places = {wanted[n]: width + place for place, n in enumerate(order)}
    places |= {bit(key): place for key, place in before.places.items()}
    formulas = [
        joined((bit(places[formula]) for formula in gate.inputs), "|" if gate.is_or else "&")
        for gate in gates
    ]
    return _made(formulas, _Vector(source, {}))


def _made(formulas: Sequence[Formula], source: _Vector) -> tuple[list[Value], list[int]]:
    """The formulas as vectors, those of a shape together, and their numbers in that order."""
    vectors: list[Value] = []
    order: list[int] = []
    for group in by_shape(formulas).values():
        group.sort(key=lambda n: formulas[n].bits)  # so that neighbours stay neighbours
        vectors.append(side_by_side([formulas[n] for n in group], source.signal))
        order += group
    return vectors, order


def _wire(index: int) -> int:
    """The number of a predecoded wire, beside those of nodes."""
    return -1 - index


class _Uses:
    """Which stage uses what last. A gate of level n is made on the way into stage n."""

    def __init__(self, logic: Logic, predecoder: Predecoder) -> None:
        self._logic = logic
        self._predecoder = predecoder
        self.last = dict.fromkeys(map(_wire, range(len(predecoder.wires))), 0)
        self.last |= dict.fromkeys(range(len(logic.nodes)), 0)
        levels, stages = logic.levels(), logic.stages
        self.gates: dict[int, list[int]] = {stage: [] for stage in range(1, stages + 1)}
        for literal in logic.outputs:
            self._use(self.literal(literal), stages)
        for index in range(len(logic.nodes) - 1, -1, -1):  # users come after what they use
            if isinstance(logic.nodes[index], Gate) and self.last[index]:
                for formula in self.gate(index).inputs:
                    self._use(formula, levels[index] - 1)
                self.gates[levels[index]].append(index)

    def _use(self, formula: Formula, stage: int) -> None:
        for key in formula.bits:
            self.last[key] = max(self.last[key], stage)

    def gate(self, index: int) -> _Gate:
        node = self._logic.nodes[index]
        assert isinstance(node, Gate)
        return _Gate(tuple(map(self.literal, node.inputs)), node.is_or)

    def literal(self, literal: int) -> Formula:
        node = self._logic.nodes[literal >> 1]
        if not isinstance(node, InRange):
            formula = bit(literal >> 1)
        elif bounds_of(node):
            formula = self._predecoder.in_range(lambda wire: bit(_wire(wire)), node)
        else:
            formula = ALWAYS
        return ~formula if literal & 1 else formula
