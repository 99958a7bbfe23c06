"""What harnesses are made of: the component, its inside, and a book of what went in."""

from __future__ import annotations

from collections.abc import Iterator

from amaranth import Array, Module, ResetSignal, Signal, Value
from amaranth.hdl import Assert, Assume, Const, Cover, Fragment, MemoryInstance
from amaranth.lib import wiring
from amaranth.lib.wiring import connect, flipped

INVARIANT = "inside: "
"""What the texts of invariants begin with. Bounded proofs leave them out."""


class Inside:
    """The registers and memories of a component, for the invariants of an induction.

    An induction starts in any state at all, so what the hidden registers hold has to be said.
    """

    def __init__(self, component: wiring.Component | Fragment) -> None:
        self.fragment = Fragment.get(component, None)

    def __getitem__(self, name: str) -> Signal:
        """The one signal of this name."""
        (signal,) = self.all(name)
        return signal

    def all(self, name: str) -> list[Signal]:
        """The signals of this name that are driven here, in order of their statements."""
        found = [signal for signal in self._driven() if signal.name == name]
        if not found:
            known = ", ".join(sorted({signal.name for signal in self._driven()}))
            raise ValueError(f"there is no signal {name!r} inside; there are {known}")
        return list({id(signal): signal for signal in found}.values())

    def part(self, name: str) -> Inside:
        """The inside of a submodule."""
        return Inside(self.fragment.find_subfragment(name))

    def rows(self, depth: int) -> list[Value]:
        """The rows of a memory, each read by a port of its own."""
        assert isinstance(self.fragment, MemoryInstance), "rows are those of a memory"
        rows = []
        for address in range(depth):
            row = Signal(self.fragment._data.shape, name=f"row_{address}")
            self.fragment.read_port(
                domain="comb",
                addr=Const(address, (depth - 1).bit_length()),
                data=Value.cast(row),
                en=Const(1),
                transparent_for=(),
            )
            rows.append(row)
        return rows

    def _driven(self) -> Iterator[Signal]:
        for statements in self.fragment.statements.values():
            yield from statements._lhs_signals()


class Proof(wiring.Component):
    """A component with any inputs at all and no reset but the first; a subclass says the rest."""

    def __init__(self, dut: wiring.Component) -> None:
        self.dut = dut
        super().__init__(dut.signature)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        inside = Inside(self.dut)
        m.submodules.dut = inside.fragment
        connect(m, flipped(self), self.dut)
        m.d.comb += Assume(~ResetSignal())
        self.state(m, inside)
        return m

    def state(self, m: Module, inside: Inside) -> None:
        """Assert, assume and cover."""
        raise NotImplementedError


def claim(m: Module, text: str, *conditions: Value) -> None:
    """Assert what the component promises; the text tells which assertion failed."""
    for condition in conditions:
        m.d.comb += Assert(condition, text)


def invariant(m: Module, text: str, *conditions: Value) -> None:
    """Assert what nobody is promised, but an induction needs to know of the hidden registers."""
    claim(m, INVARIANT + text, *conditions)


def assume(m: Module, condition: Value) -> None:
    """Let only such inputs in."""
    m.d.comb += Assume(condition)


def cover(m: Module, text: str, condition: Value) -> None:
    """Have it shown that this can come about."""
    m.d.comb += Cover(condition, text)


def implies(condition: Value, consequence: Value) -> Value:
    """Whether the consequence holds, where the condition does."""
    return ~Value.cast(condition).bool() | Value.cast(consequence).bool()


def named(m: Module, value: Value, width: int, name: str) -> Signal:
    """The value as a signal: worked out once, however often it is used, and shown in traces."""
    signal = Signal(width, name=name)
    m.d.comb += signal.eq(value)
    return signal


def before(m: Module, value: Value, init: int = 0) -> Signal:
    """The value in the cycle before; ``init`` in the first."""
    earlier = Signal(len(Value.cast(value)), init=init, name="before")
    m.d.sync += earlier.eq(value)
    return earlier


def moves(link: wiring.PureInterface) -> Value:
    """Whether an item goes over a stream in this cycle."""
    return link.valid & link.ready


def waits_steadily(m: Module, link: wiring.PureInterface) -> Value:
    """Whether an item that was not taken is still there, unchanged."""
    payload = Value.cast(link.payload)
    return implies(
        before(m, link.valid & ~link.ready), link.valid & (payload == before(m, payload))
    )


class Book:
    """The items that went in and have not come out, oldest first.

    It has room for ``2**index_bits - 1``. The invariants must say how many there are.
    """

    def __init__(
        self, m: Module, name: str, index_bits: int, *, put: Value, item: Value, take: Value
    ) -> None:
        self._bits = index_bits
        self._rows = Array(
            Signal(len(item), name=f"{name}_{index}") for index in range(2**index_bits)
        )
        self._first = Signal(index_bits, name=f"{name}_first")
        self.count = Signal(index_bits, name=f"{name}_count")
        with m.If(put):
            m.d.sync += self[self.count].eq(item)
        m.d.sync += [
            self._first.eq(self._first + take),
            self.count.eq(self.count + put - take),
        ]

    def __getitem__(self, index: Value | int) -> Value:
        """The item so many after the oldest."""
        return self._rows[(self._first + index)[: self._bits]]
