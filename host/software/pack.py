"""Subscriptions, from tables or one by one, as one `Packed`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from penstock.gen.normal import Leaf, Normal, Pair, Test, leaves_of
from penstock.gen.schema import Schema
from penstock.gen.types import Key
from penstock.host.keys import has_short_keys
from penstock.host.software.cuts import Codes, Cuts, Keys
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
    literals, pools = _table_literals(conditions.tables, numbers, cuts, short)
    pool_size = sum(map(len, pools)) // 2
    packer = NormalPacker(fields, pool_size)
    for condition, _ in conditions.singles:
        packer.add(condition)
    literals = Literals.joined([literals, packer.literals()])
    pools.append(np.array(packer.pool, np.uint32))
    counts = np.concatenate(
        [*(table.counts for table in conditions.tables), np.array(packer.counts, np.int64)]
    )
    return _ordered(conditions, fields, literals, counts, np.concatenate(pools), packer)


def _table_literals(
    tables: Sequence[TableRows],
    fields: Mapping[int, int],
    cuts: Mapping[int, Cuts],
    short: FlatCuts,
) -> tuple[Literals, list[Codes]]:
    """The literals of tables, one table after the other, and what their sets refer to."""
    total = sum(int(table.counts.sum()) for table in tables)
    into = Literals(np.empty((total, 4), np.uint32), np.empty(total, np.int64))
    pools: list[Codes] = []
    at, used = 0, 0
    for table in tables:
        made = table.literals(fields, cuts, short)
        stop = at + len(made.literals)
        into.columns[at:stop] = made.literals.moved(used).columns
        into.weight[at:stop] = made.literals.weight
        pools.append(made.pool)
        at, used = stop, used + len(made.pool) // 2
        table.forget()
    return into, pools


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
    parts: Iterable[tuple[Integers, Keys]] = _table_cuts(conditions.tables)
    if own:
        attributes, keys = zip(*own, strict=True)
        parts = chain(parts, [(np.array(attributes, np.int64), np.array(keys, np.int64))])
    return FlatCuts.joined(parts, len(schema))


def _table_cuts(tables: Sequence[TableRows]) -> Iterator[tuple[Integers, Keys]]:
    for table in tables:
        yield table.short_cuts()
        if len(tables) > 1:
            table.forget()
