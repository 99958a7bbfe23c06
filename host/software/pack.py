"""Subscriptions, from tables or one by one, as one `Packed`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain

import numpy as np

from penstock.gen.normal import Leaf, Normal, Pair, Test, leaves_of
from penstock.gen.schema import Schema
from penstock.gen.types import Key
from penstock.host.keys import has_short_keys
from penstock.host.software.cuts import Cuts, Keys
from penstock.host.software.flat_cuts import FlatCuts
from penstock.host.software.pack_normal import FieldKey, NormalPacker, field_key, relation_field
from penstock.host.software.pack_tables import TableRows
from penstock.host.software.packed import CutField, Field, Integers, Literals, Packed


@dataclass(frozen=True, eq=False)
class Conditions:
    """The subscriptions of a `Packed`, numbered: first those of the tables, then the single ones.

    ``order[i]`` is the number that subscription ``i`` of that row gets.
    """

    schema: Schema
    tables: tuple[TableRows, ...]
    singles: tuple[tuple[Normal, int], ...]
    """Condition and base score."""
    order: Integers


def pack(conditions: Conditions) -> Packed:
    """The subscriptions as flat arrays."""
    fields, short = _fields(conditions)
    numbers = {f.attribute.index: n for n, f in enumerate(fields) if isinstance(f, CutField)}
    cuts = {f.attribute.index: f.cuts for f in fields if isinstance(f, CutField)}
    parts: list[Literals] = []
    pools = []
    pool_size = 0
    for table in conditions.tables:
        packable = table.literals(numbers, cuts, short)
        moved = packable.literals.is_set * np.uint32(pool_size)
        of = packable.literals
        parts.append(Literals.of(of.field, of.low + moved, of.high + moved, of.is_set, of.weight))
        pools.append(packable.pool)
        pool_size += len(packable.pool) // 2
    packer = NormalPacker(fields, pool_size)
    for condition, _ in conditions.singles:
        packer.add(condition)
    parts.append(packer.literals())
    pools.append(np.array(packer.pool, np.uint32))
    counts = np.concatenate(
        [*(table.counts for table in conditions.tables), np.array(packer.counts, np.int64)]
    )
    return _ordered(
        conditions, fields, Literals.joined(parts), counts, np.concatenate(pools), packer
    )


def _ordered(
    conditions: Conditions,
    fields: tuple[Field, ...],
    literals: Literals,
    counts: Integers,
    pool: Keys,
    packer: NormalPacker,
) -> Packed:
    """Put subscriptions where their numbers say."""
    order = conditions.order
    if (np.diff(order) < 0).any():
        literals = literals.take(np.argsort(np.repeat(order, counts), kind="stable"))
    starts = np.zeros(len(order) + 1, np.int64)
    sizes = np.zeros(len(order), np.int64)
    sizes[order] = counts
    np.cumsum(sizes, out=starts[1:])
    base = np.zeros(len(order), np.int64)
    first_single = len(order) - len(conditions.singles)
    base[order[first_single:]] = [weight for _, weight in conditions.singles]
    programs = packer.programs()
    owned = order[first_single:][programs.owner] if len(programs) else programs.owner
    return Packed(fields, starts, literals, pool, programs.owned(owned), base)


def _fields(conditions: Conditions) -> tuple[tuple[Field, ...], FlatCuts]:
    """A field for each attribute that is tested, and for each pair; and all short cuts."""
    tested: dict[int, list[Keys]] = {}
    for table in conditions.tables:
        for index in np.unique(table.attributes).tolist():
            tested.setdefault(index, [])
        for attribute, keys in table.long_cuts():
            tested[attribute.index].append(keys)
    single: dict[int, set[Key]] = {}
    others: dict[FieldKey, Field] = {}
    leaves = chain.from_iterable(leaves_of(condition) for condition, _ in conditions.singles)
    for leaf in leaves:
        _collect(leaf, single, others)
    attributes = conditions.schema.attributes
    short = _short_cuts(conditions, single)
    found = []
    for index in sorted({*tested, *single}):
        attribute = attributes[index]
        if has_short_keys(attribute.type):
            cuts = Cuts(short.keys_of(index), attribute.type)
        else:
            long = chain.from_iterable(array.tolist() for array in tested.get(index, ()))
            cuts = Cuts.of({*single.get(index, ()), *long}, attribute.type)
        found.append(CutField(attribute, cuts))
    return (*found, *others.values()), short


def _collect(leaf: Leaf, single: dict[int, set[Key]], others: dict[FieldKey, Field]) -> None:
    if isinstance(leaf, Test):
        single.setdefault(leaf.attribute.index, set()).update(leaf.values.cuts)
    elif field_key(leaf) not in others:
        assert isinstance(leaf, Pair), "patterns are the host's to test"
        others[field_key(leaf)] = relation_field(leaf)


def _short_cuts(conditions: Conditions, single: Mapping[int, set[Key]]) -> FlatCuts:
    """The cuts of attributes with short keys, by tables and by single conditions."""
    schema = conditions.schema
    own = [
        (index, key)
        for index, keys in single.items()
        if has_short_keys(schema.attributes[index].type)
        for key in keys
    ]
    parts = [table.short_cuts() for table in conditions.tables]
    attributes = [np.array([index for index, _ in own], np.int64), *(part[0] for part in parts)]
    keys = [np.array([key for _, key in own], np.int64), *(part[1] for part in parts)]
    return FlatCuts.of(np.concatenate(attributes), np.concatenate(keys), len(schema))
