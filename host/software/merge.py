"""Several segments as one: their subscriptions packed together, without those that are gone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.host.keys import has_short_keys
from penstock.host.software.cuts import Codes, Cuts
from penstock.host.software.ids import in_order
from penstock.host.software.pack_normal import FieldKey, field_key
from penstock.host.software.packed import (
    CutField,
    Field,
    Flags,
    Integers,
    Literals,
    Packed,
    Programs,
    ranges,
)
from penstock.host.software.segment import Segment


def merged(
    segments: Sequence[Segment], kept: Sequence[Flags], *, is_lasting: bool
) -> tuple[Segment, list[Integers]]:
    """A segment of what is kept; for each old one its subscriptions' new numbers, -1 if dropped."""
    ids, order = in_order(
        pa.concat_arrays(
            [s.ids.array.filter(pa.array(flags)) for s, flags in zip(segments, kept, strict=True)]
        )
    )
    fields = _fields(segments)
    parts = [_over(segment.packed, fields) for segment in segments]
    joined = _joined(parts, fields)
    chosen = np.flatnonzero(np.concatenate(kept))[order]
    numbers = np.full(sum(len(segment) for segment in segments), -1, np.int64)
    numbers[chosen] = np.arange(len(chosen))
    bounds = np.cumsum([0, *(len(segment) for segment in segments)])
    of_each = [numbers[bounds[n] : bounds[n + 1]] for n in range(len(segments))]
    residuals = {
        int(new[number]): condition
        for segment, new in zip(segments, of_each, strict=True)
        for number, condition in segment.residuals.items()
        if new[number] >= 0
    }
    packed = _taken(joined, chosen, numbers)
    packed = _over(packed, _needed(packed))
    return Segment(ids, packed, dict(sorted(residuals.items())), is_lasting), of_each


def _fields(segments: Sequence[Segment]) -> tuple[Field, ...]:
    """All fields, each with the cuts that any segment has in it."""
    found: dict[FieldKey, list[Field]] = {}
    for segment in segments:
        for field in segment.packed.fields:
            found.setdefault(field_key(field), []).append(field)
    cut = [same for same in found.values() if isinstance(same[0], CutField)]
    others = [same[0] for same in found.values() if not isinstance(same[0], CutField)]
    fields = [_united([field for field in same if isinstance(field, CutField)]) for same in cut]
    return (*sorted(fields, key=lambda field: field.attribute.index), *others)


def _needed(packed: Packed) -> tuple[Field, ...]:
    """The fields less the cuts at which no literal begins or ends to hold any more."""
    literals = Literals.joined([packed.literals, packed.programs.literals])
    sets, field = literals.is_set, literals.field.astype(np.int64)
    starts = np.cumsum([0, *(f.codes + 1 for f in packed.fields), 2])
    used = np.zeros(int(starts[-1]), bool)
    for column in (literals.low, literals.high):
        used[starts[field[~sets]] + column[~sets]] = True
    low, high = literals.low[sets].astype(np.int64), literals.high[sets].astype(np.int64)
    used[
        starts[np.repeat(field[sets], 2 * (high - low))] + packed.pool[ranges(2 * low, 2 * high)]
    ] = True
    return tuple(
        CutField(
            f.attribute, Cuts(f.cuts.keys[used[first + 2 : first + f.codes]], f.attribute.type)
        )
        if isinstance(f, CutField)
        else f
        for f, first in zip(packed.fields, starts[:-1].tolist(), strict=False)
    )


def _united(same: Sequence[CutField]) -> CutField:
    attribute = same[0].attribute
    if has_short_keys(attribute.type):
        keys = np.unique(np.concatenate([field.cuts.keys for field in same]))
        return CutField(attribute, Cuts(keys, attribute.type))
    long_keys = (key for field in same for key in field.cuts.keys.tolist())
    return CutField(attribute, Cuts.of(long_keys, attribute.type))


def _over(packed: Packed, fields: Sequence[Field]) -> Packed:
    """The same subscriptions, with codes of other fields that have all the cuts of their own."""
    places = {field_key(field): number for number, field in enumerate(fields)}
    numbers = np.array([*(places[field_key(f)] for f in packed.fields), len(fields)], np.uint32)
    tables = [_new_codes(field, fields[places[field_key(field)]]) for field in packed.fields]
    tables.append(np.arange(2, dtype=np.uint32))
    starts = np.cumsum([0, *(len(table) for table in tables)])
    table = np.concatenate(tables)
    pool = packed.pool.copy()
    of_sets = Literals.joined([packed.literals, packed.programs.literals])
    sets = of_sets.is_set
    low, high = of_sets.low[sets].astype(np.int64), of_sets.high[sets].astype(np.int64)
    owners = np.repeat(of_sets.field[sets].astype(np.int64), 2 * (high - low))
    pool[ranges(2 * low, 2 * high)] = table[starts[owners] + packed.pool[ranges(2 * low, 2 * high)]]
    return Packed(
        tuple(fields),
        packed.starts,
        _recoded(packed.literals, numbers, table, starts),
        pool,
        packed.programs.with_literals(_recoded(packed.programs.literals, numbers, table, starts)),
        packed.base,
    )


def _new_codes(old: Field, new: Field) -> Codes:
    """For each old code, and the one after the last, the new code that begins where it does."""
    if not isinstance(old, CutField) or not isinstance(new, CutField):
        return np.arange(old.codes + 1, dtype=np.uint32)
    begun = new.cuts.code_at(old.cuts.keys)
    return np.concatenate([np.arange(2, dtype=np.uint32), begun, [np.uint32(new.codes)]])


def _recoded(literals: Literals, numbers: Codes, table: Codes, starts: Integers) -> Literals:
    field, sets = literals.field.astype(np.int64), literals.is_set
    # What is no code, but a place in the pool, is looked up in vain and left as it is.
    low, high = (
        np.where(sets, column, table[starts[field] + np.where(sets, 0, column)])
        for column in (literals.low, literals.high)
    )
    return Literals.of(numbers[field], low, high, sets, literals.weight)


def _joined(parts: Sequence[Packed], fields: tuple[Field, ...]) -> Packed:
    """One after the other, over the same fields."""
    literals, programs, base, starts = [], [], [], [np.zeros(1, np.int64)]
    pool_size = count = literal_count = 0
    for part in parts:
        literals.append(part.literals.moved(pool_size))
        programs.append(
            part.programs.with_literals(part.programs.literals.moved(pool_size)).owned(
                part.programs.owner + count
            )
        )
        base.append(part.base)
        starts.append(part.starts[1:] + literal_count)
        pool_size += len(part.pool) // 2
        count += len(part)
        literal_count += len(part.literals)
    return Packed(
        fields,
        np.concatenate(starts),
        Literals.joined(literals),
        np.concatenate([part.pool for part in parts]),
        Programs.joined(programs),
        np.concatenate(base),
    )


def _taken(packed: Packed, chosen: Integers, numbers: Integers) -> Packed:
    """Only some subscriptions, in another order; ``numbers`` are their new ones, or -1."""
    starts, stops = packed.starts[chosen], packed.starts[chosen + 1]
    literals = packed.literals.take(ranges(starts, stops))
    owners = numbers[packed.programs.owner]
    programs = packed.programs.taken(np.flatnonzero(owners >= 0))
    programs = programs.owned(numbers[programs.owner])
    new_starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(stops - starts)])
    literals, programs, pool = _compacted(literals, programs, packed.pool)
    return Packed(packed.fields, new_starts, literals, pool, programs, packed.base[chosen])


def _compacted(
    literals: Literals, programs: Programs, pool: Codes
) -> tuple[Literals, Programs, Codes]:
    """A pool of nothing but what literals refer to."""
    both = Literals.joined([literals, programs.literals])
    sets = both.is_set
    low, high = both.low[sets].astype(np.int64), both.high[sets].astype(np.int64)
    kept = pool[ranges(2 * low, 2 * high)]
    columns = both.columns.copy()
    ends = np.cumsum(high - low)
    columns[sets, Literals.LOW] = ends - (high - low)
    columns[sets, Literals.HIGH] = ends
    moved = Literals(columns, both.weight)
    own, others = np.split(np.arange(len(both)), [len(literals)])
    return moved.take(own), programs.with_literals(moved.take(others)), kept
