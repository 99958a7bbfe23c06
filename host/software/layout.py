"""Which subscriptions an event is held against: all of them, or those that its values lead to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.host.software.access import NOWHERE, Access, Floats, access_of, chances_of
from penstock.host.software.blocks import WIDTH, Blocks, blocks_of
from penstock.host.software.compiled import Scalar, compiled
from penstock.host.software.cost import Cost, cost_of
from penstock.host.software.cuts import Codes
from penstock.host.software.formulas import Formulas, formulas_of
from penstock.host.software.grid import NO_GRID, Grid, grid_of
from penstock.host.software.grouping import Groups, grouped, padded
from penstock.host.software.packed import Integers, Numbers, Packed

ENTRIES = 8
"""How many entries in the lists of a field a subscription may have on average."""


class Lists(NamedTuple):
    """For each access field and cell of its codes, the blocks and single subscriptions there.

    The cells of field ``f`` are ``cells[f]`` up to ``cells[f + 1]``, each ``1 << shift[f]`` codes.
    """

    fields: Numbers
    """Those that have any."""
    shift: Integers
    cells: Integers
    block_starts: Integers
    blocks: Numbers
    single_starts: Integers
    singles: Numbers


class Layout(NamedTuple):
    """All subscriptions of a `Packed`, in blocks or single."""

    blocks: Blocks
    formulas: Formulas
    """The conditions in the very first blocks, which have no rows."""
    always: int
    """The first blocks up to this one are for every event, the others are in the lists."""
    lists: Lists
    grid: Grid


def layout_of(packed: Packed, is_lasting: bool) -> tuple[Layout, Cost]:
    """The layout that is thought to be the faster one, and why.

    For what is not there to last, nobody looks which subscriptions belong together.
    """
    chances = chances_of(packed)
    access = access_of(packed, chances)
    order = np.lexsort((access.high, access.low, access.field)).astype(np.int32)
    is_formula = np.zeros(len(packed), bool)
    is_formula[packed.programs.owner] = True
    is_formula &= access.field == NOWHERE
    formulas, others = padded(order[is_formula[order]]), order[~is_formula[order]]
    cost = cost_of(packed, access, others, chances)
    if cost.is_flat:
        return _flat(packed, formulas, others, chances), cost
    groups = grouped(packed, access, others, is_lasting)
    return _led(packed, access, formulas, groups, chances), cost


def _flat(packed: Packed, formulas: Numbers, others: Numbers, chances: Floats) -> Layout:
    """Every event against all blocks, which have their members in order."""
    members = np.concatenate([formulas, padded(np.sort(others))])
    count, bare = len(members) // WIDTH, len(formulas) // WIDTH
    blocks = blocks_of(packed, members, chances, count)
    grid = grid_of(packed, members, bare, blocks.rough)
    return Layout(blocks, formulas_of(packed, formulas), count, _no_lists(packed), grid)


def _led(
    packed: Packed, access: Access, formulas: Numbers, groups: Groups, chances: Floats
) -> Layout:
    """Events are led to blocks by their values, but for those that are for every event."""
    members = np.concatenate([formulas, groups.members])
    bare = len(formulas) // WIDTH
    always = bare + groups.always
    blocks = blocks_of(packed, members, chances, bare)
    lists = _lists(packed, access, members, always, groups.single)
    return Layout(blocks, formulas_of(packed, formulas), always, lists, NO_GRID)


def _lists(packed: Packed, access: Access, members: Numbers, always: int, single: Numbers) -> Lists:
    listed = members[always * WIDTH :]
    numbers = np.concatenate([listed[listed >= 0], single])
    count = len(packed.fields)
    sizes = np.bincount(access.field[numbers], minlength=count)
    codes = np.array([field.codes for field in packed.fields], np.int64)
    shift = _shifts(sizes, codes, np.sort(numbers), access)
    cells = np.zeros(count + 1, np.int64)
    cells[1:] = np.cumsum(np.where(sizes > 0, ((codes - 1) >> shift) + 1, 0))
    fields = np.flatnonzero(sizes).astype(np.int32)
    blocks = _entries(listed, WIDTH, always, packed, access, shift, cells)
    singles = _entries(single, 1, 0, packed, access, shift, cells)
    return Lists(fields, shift, cells, *blocks, *singles)


def _no_lists(packed: Packed) -> Lists:
    none, zeros = np.zeros(0, np.int32), np.zeros(len(packed.fields) + 1, np.int64)
    return Lists(none, zeros[1:], zeros, np.zeros(1, np.int64), none, np.zeros(1, np.int64), none)


def _shifts(sizes: Integers, codes: Integers, numbers: Integers, access: Access) -> Integers:
    """For each field, how coarse its cells are, so that its lists stay short."""
    shift = np.zeros(len(sizes), np.int64)
    field, low, high = access.field[numbers], access.low[numbers], access.high[numbers]
    waiting = sizes > 0
    while waiting.any():
        span = ((high.astype(np.int64) - 1) >> shift[field]) - (low >> shift[field]) + 1
        entries = np.bincount(field, weights=span, minlength=len(sizes))
        cells = ((codes - 1) >> shift) + 1
        waiting = (entries > ENTRIES * sizes) | (cells > ENTRIES * sizes + 64)
        waiting &= (sizes > 0) & (cells > 1)
        shift[waiting] += 1
    return shift


def _entries(
    members: Numbers,
    width: int,
    first: int,
    packed: Packed,
    access: Access,
    shift: Integers,
    cells: Integers,
) -> tuple[Integers, Numbers]:
    """The lists of units of so many members: in every cell where one of them may hold."""
    starts = np.zeros(int(cells[-1]) + 1, np.int64)
    literals = packed.literals.columns, packed.pool
    columns = (members, width, *literals, access.literal, access.field, shift, cells)
    last = np.full(int(cells[-1]), -1, np.int64)
    _list_units(*columns, last, starts, np.zeros(0, np.int32), first)
    np.cumsum(starts, out=starts)
    units = np.zeros(int(starts[-1]), np.int32)
    last[:] = -1
    _list_units(*columns, last, starts[:-1].copy(), units, first)
    return starts, units


@compiled
def _list_units(
    members: Numbers,
    width: Scalar,
    literals: Codes,
    pool: Codes,
    access: Integers,
    fields: Numbers,
    shift: Integers,
    cells: Integers,
    last: Integers,
    places: Integers,
    units: Numbers,
    first: Scalar,
) -> None:
    """Count the units of each cell, one further on; or, given room for them, write them down."""
    for at in range(len(members)):
        number = members[at]
        if number < 0:
            continue
        unit = at // width
        place = access[number]
        field = fields[number]
        begin, end = np.int64(literals[place, 1]), np.int64(literals[place, 2])
        for n in range(end - begin if literals[place, 3] else 1):
            low, high = begin, end
            if literals[place, 3]:
                low = np.int64(pool[2 * (begin + n)])
                high = np.int64(pool[2 * (begin + n) + 1])
            for cell in range(low >> shift[field], ((high - 1) >> shift[field]) + 1):
                key = cells[field] + cell
                if last[key] == unit:
                    continue
                last[key] = unit
                if len(units):
                    units[places[key]] = number if width == 1 else first + unit
                    places[key] += 1
                else:
                    places[key + 1] += 1
