"""Events by number: any stretch of an endless sequence, drawn without what comes before it.

The sequence is drawn in chunks, each from a stream of random numbers of its own, so that an event
is the same whoever asks for it, and in whatever pieces.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from penstock.gen.arrow import from_values
from penstock.gen.normal import Pattern, Test, leaves_of
from penstock.gen.normalise import normalise
from penstock.gen.queryset import QuerySet
from penstock.gen.schema import Attribute, Schema
from penstock.gen.types import Key, Type, Value
from penstock.sim.workload.attributes import CHUNK
from penstock.sim.workload.draw import stream
from penstock.sim.workload.events import EVENT_TYPE, event_chunk, to_wide
from penstock.sim.workload.spec import WorkloadSpec, schema_for

RULE_STREAM = 4
MOST_RULES = 10_000
"""Of a query set, how many subscriptions are looked at for constants."""
MOST_VALUES = 4096
"""Of an attribute, how many values occur."""
MOST_KEPT = 2


class Numbered(Protocol):
    """An endless sequence of events; the same digest, the same events."""

    @property
    def digest(self) -> str: ...
    @property
    def columns(self) -> pa.Schema: ...
    def chunk(self, number: int) -> pa.Table:
        """Events ``number * CHUNK`` to ``(number + 1) * CHUNK``."""
        ...


@dataclass(frozen=True)
class WorkloadEvents:
    """The events of a workload, of which there are as many as anybody asks for.

    The first ones are those of `generate_events`, as far as its chunks are full.
    """

    spec: WorkloadSpec
    is_wide: bool = False

    @property
    def digest(self) -> str:
        fields = {name: value for name, value in self.spec.to_dict().items() if name != "events"}
        return _digest({"spec": fields, "wide": self.is_wide})

    @property
    def columns(self) -> pa.Schema:
        sparse = pa.schema([("attributes", EVENT_TYPE)])
        return schema_for(self.spec).to_arrow() if self.is_wide else sparse

    def chunk(self, number: int) -> pa.Table:
        events = event_chunk(self.spec, number)
        return to_wide(events, schema_for(self.spec)) if self.is_wide else events


@dataclass(frozen=True)
class RuleEvents:
    """Wide events over any schema, their values drawn evenly from those given for each attribute.

    ``absent`` is the chance that an event lacks an attribute.
    """

    schema: Schema
    values: tuple[pa.Array, ...]
    seed: int = 1
    absent: float = 0.05

    @classmethod
    def of(cls, rules: QuerySet, *, seed: int = 1, absent: float = 0.05) -> RuleEvents:
        """Values at which the conditions of rules change their verdict, and just below."""
        found = values_in(rules)
        values = tuple(
            from_values(found.get(a.index) or _usual_values(a), a.type) for a in rules.schema
        )
        return cls(rules.schema, values, seed, absent)

    @property
    def digest(self) -> str:
        # As text: the bytes of Arrow's files may differ from one version to the next.
        held = [column.cast(pa.string()).to_pylist() for column in self.values]
        return _digest(
            {"schema": str(self.schema), "values": held, "seed": self.seed, "absent": self.absent}
        )

    @property
    def columns(self) -> pa.Schema:
        return self.schema.to_arrow()

    def chunk(self, number: int) -> pa.Table:
        rng = stream(self.seed, RULE_STREAM, number)
        columns = []
        for values in self.values:
            places = rng.integers(len(values), size=CHUNK)
            lacking = rng.random(CHUNK) < self.absent
            columns.append(values.take(pa.array(places, mask=lacking)))
        return pa.table(columns, schema=self.columns)


def numbered(events: Numbered, first: int, stop: int) -> Iterator[tuple[int, pa.Table]]:
    """The events from one number up to another, in pieces, each with its first number.

    A process keeps the chunks it drew last: short stretches mostly follow each other.
    """
    digest = events.digest
    while first < stop:
        number, place = divmod(first, CHUNK)
        rows = min(stop - first, CHUNK - place)
        chunk = _KEPT.pop((digest, number), None)
        if chunk is None:
            chunk = events.chunk(number)
        _KEPT[digest, number] = chunk
        while len(_KEPT) > MOST_KEPT:
            _KEPT.popitem(last=False)
        yield first, chunk.slice(place, rows)
        first += rows


_KEPT: OrderedDict[tuple[str, int], pa.Table] = OrderedDict()


def values_in(rules: QuerySet) -> dict[int, list[Value]]:
    """By attribute index, values that conditions tell apart, in order."""
    found: dict[int, set[Value]] = {}
    for _, rule in zip(range(MOST_RULES), rules, strict=False):
        for leaf in leaves_of(normalise(rule.condition)):
            if isinstance(leaf, Test):
                of = leaf.attribute.type
                for cut in (cut for cut in leaf.values.cuts if cut != of.lowest):
                    below = cut - 1 if isinstance(cut, int) else cut
                    found.setdefault(leaf.attribute.index, set()).update(
                        _spelled(of.value(key)) for key in (cut, below) if _is_key(key, of)
                    )
            elif isinstance(leaf, Pattern):
                text = leaf.pattern.replace("%", "").replace("_", "a")
                found.setdefault(leaf.attribute.index, set()).add(text)
    return {
        index: _thinned(sorted(values, key=rules.schema.attributes[index].type.key))
        for index, values in found.items()
    }


def _is_key(key: Key, of: Type) -> bool:
    """Whether a cut is a value's own key, not just beyond the last."""
    return of.highest is None or not key > of.highest


def _spelled(value: Value) -> Value:
    """Texts without the zero byte that marks what comes just after one."""
    return value.rstrip("\0") if isinstance(value, str) else value


def _thinned(values: Sequence[Value]) -> list[Value]:
    step = -(-len(values) // MOST_VALUES)
    return list(values[::step])


def _usual_values(attribute: Attribute) -> list[Value]:
    """Some values for an attribute of which nothing is known but its type."""
    of = attribute.type
    if of.name == "BOOLEAN":
        return [False, True]
    if of.name == "STRING":
        return [f"v{number:02}" for number in range(100)]
    if of.is_floating:
        return [number / 2 for number in range(200)]
    start, step = {"DATE": (20454, 1), "TIMESTAMP": (1767225600 * 10**6, 60 * 10**6)}.get(
        of.name, (0, 1)
    )  # from the start of 2026, by days or minutes
    highest = of.highest
    assert highest is not None
    keys = (start + step * number for number in range(100))
    return [of.value(key) for key in keys if key <= highest]


def _digest(fields: Mapping[str, object]) -> str:
    text = json.dumps({"chunk": CHUNK, **fields}, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
