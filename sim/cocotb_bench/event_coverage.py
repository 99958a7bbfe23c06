"""What the events of a stream make of predicates, of codes and of chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.gen.expr import (
    Always,
    And,
    Between,
    Comparison,
    Expression,
    InList,
    IsNull,
    Like,
    Not,
    Or,
)
from penstock.gen.plan import CHUNK_BITS, CodeField, Field
from penstock.gen.schema import Attribute
from penstock.gen.types import Value
from penstock.sim.cocotb_bench.coverage import Bin, Coverage
from penstock.sim.cocotb_bench.stimulus import Chunks
from penstock.sim.oracle import evaluate

Row = Mapping[int, Value]

OPERATORS = "operators, where they decide"
COMPARISONS = ("<", "<=", "=", ">=", ">", "<>", "<=>")
OPERATOR_NAMES = (
    *COMPARISONS,
    *("BETWEEN", "IN", "NOT IN", "IS NULL", "IS NOT NULL", "LIKE"),
    *(f"attribute {operator} attribute" for operator in COMPARISONS),
)
CHUNKS = "events by their chunks"
NONE, ONE, SEVERAL = "none", "exactly one", "several"
FULL, ALL = "one with every bit set", "every chunk of the circuit"
ATTRIBUTES = "events by their attributes"
EMPTY, SOME, WHOLE = "none is there", "some are there", "all are there"

EVENT_BINS = (
    *(Bin(OPERATORS, name, verdict) for name in OPERATOR_NAMES for verdict in ("true", "false")),
    *(Bin(CHUNKS, row) for row in (NONE, ONE, SEVERAL, FULL, ALL)),
    *(Bin(ATTRIBUTES, row) for row in (EMPTY, SOME, WHOLE)),
)


@dataclass(frozen=True, slots=True)
class _Part:
    """A predicate within a condition, and the condition with it always true or always false."""

    operator: str
    predicate: Expression
    if_true: Expression
    if_false: Expression


class OperatorCoverage:
    """Counts a predicate's verdict on an event only where the other one would change the answer."""

    def __init__(self, coverage: Coverage, conditions: Sequence[Expression]) -> None:
        self._coverage = coverage
        self._parts = [part for condition in conditions for part in _parts(condition)]

    def event(self, row: Row) -> None:
        for part in self._parts:
            verdict = evaluate(part.predicate, row)
            sure, never = evaluate(part.if_true, row) is True, evaluate(part.if_false, row) is True
            if verdict is not None and sure != never:
                self._coverage.hit(Bin(OPERATORS, part.operator, str(verdict).lower()))


def _parts(condition: Expression) -> Iterator[_Part]:
    for operator, predicate, put in _predicates(condition, lambda other: other):
        yield _Part(operator, predicate, put(Always(True)), put(Always(False)))


Put = Callable[[Expression], Expression]


def _predicates(node: Expression, put: Put) -> Iterator[tuple[str, Expression, Put]]:
    """Each predicate with its name and the way to put something else in its place."""
    match node:
        case Not(child=InList()):
            yield "NOT IN", node, put
        case Not(child=IsNull()):
            yield "IS NOT NULL", node, put
        case Not(child):
            yield from _predicates(child, lambda other: put(Not(other)))
        case And() | Or():
            for place, child in enumerate(node.children):
                yield from _predicates(child, _put_beside(node, place, put))
        case Comparison(op, left, right):
            is_pair = isinstance(left, Attribute) and isinstance(right, Attribute)
            yield f"attribute {op} attribute" if is_pair else op, node, put
        case Between() | InList() | IsNull() | Like():
            names = {Between: "BETWEEN", InList: "IN", IsNull: "IS NULL", Like: "LIKE"}
            yield names[type(node)], node, put


def _put_beside(node: And | Or, place: int, put: Put) -> Put:
    """The way to put something in the place of a child."""
    before, behind = node.children[:place], node.children[place + 1 :]
    return lambda other: put(type(node)((*before, other, *behind)))


def field_bins(workload: str, fields: Sequence[Field]) -> list[Bin]:
    """The bins of a workload's fields: absence and the ends of the codes."""
    columns = ("absent", "lowest", "highest")
    return [Bin(f"codes of {workload}", field.name, c) for field in fields for c in columns]


def cover_fields(
    coverage: Coverage, workload: str, fields: Sequence[Field], row: Row, codes: int
) -> None:
    """Count an event, from its values and from its codes side by side."""
    for field in fields:
        sides = (field.attribute,) if isinstance(field, CodeField) else (field.left, field.right)
        code = codes & (1 << field.width) - 1
        codes >>= field.width
        for column, is_seen in (
            ("absent", any(side.index not in row for side in sides)),
            ("lowest", code == 0),
            ("highest", code == field.highest),
        ):
            coverage.hit(Bin(f"codes of {workload}", field.name, column), int(is_seen))


def cover_chunks(coverage: Coverage, answer: Chunks, chunk_numbers: int) -> None:
    """Count an event by its chunks; the circuit fills so many chunk numbers."""
    for row, is_seen in (
        (NONE, not answer),
        (ONE, len(answer) == 1),
        (SEVERAL, len(answer) > 1),
        (FULL, any(bits == 2**CHUNK_BITS - 1 for _, bits in answer)),
        (ALL, chunk_numbers > 1 and len(answer) == chunk_numbers),
    ):
        coverage.hit(Bin(CHUNKS, row), int(is_seen))


def cover_attributes(coverage: Coverage, row: Row, attribute_count: int) -> None:
    """Count an event by how many of the schema's attributes it has."""
    present = WHOLE if len(row) == attribute_count else SOME if row else EMPTY
    coverage.hit(Bin(ATTRIBUTES, present))
