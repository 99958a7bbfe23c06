"""Tables of predicates as literals, whole columns at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from penstock.gen.predicates import OPERATORS, PredicateTable
from penstock.gen.schema import Attribute
from penstock.gen.types import Type
from penstock.host.keys import has_short_keys, keys_of, short_attributes
from penstock.host.software.compiled import Scalar, compiled
from penstock.host.software.cuts import LOWEST, Codes, Cuts, Keys
from penstock.host.software.flat_cuts import FlatCuts
from penstock.host.software.packed import Flags, Integers, Literals, ranges

AT_ONCE = 1 << 19
"""Subscriptions that are packed together."""
_FROM = ("<", "=", "<>", ">=", "IN", "NOT IN", "BETWEEN")
_AFTER = ("<=", "=", "<>", ">", "IN", "NOT IN", "BETWEEN")
_CUTS_FROM = np.array([name in _FROM for name in OPERATORS])
"""By operator, whether its operands are cuts; of BETWEEN the first."""
_CUTS_AFTER = np.array([name in _AFTER for name in OPERATORS])
"""By operator, whether a cut comes just after its operands; of BETWEEN after the second."""
_BETWEEN = OPERATORS.index("BETWEEN")
_IS_SET = np.array([name in ("<>", "IN", "NOT IN") for name in OPERATORS])


@dataclass(frozen=True, eq=False)
class TableRows:
    """Some subscriptions of a table: their predicates one after the other, and all operands."""

    table: PredicateTable
    rows: Integers
    """Ascending."""

    @classmethod
    def split(cls, table: PredicateTable, rows: Integers) -> Iterator[TableRows]:
        """Rows, some at a time: many together would take more memory than what is made of them."""
        for first in range(0, len(rows), AT_ONCE):
            yield cls(table, rows[first : first + AT_ONCE])

    @cached_property
    def counts(self) -> Integers:
        """How many predicates each subscription has."""
        starts = self.table.starts
        return starts[self.rows + 1] - starts[self.rows]

    @cached_property
    def predicates(self) -> Integers | slice:
        """The rows of the table that hold them; without a list where they stand side by side."""
        starts, rows = self.table.starts, self.rows
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
            return slice(int(starts[rows[0]]), int(starts[rows[-1] + 1]))
        return ranges(starts[rows], starts[rows + 1])

    @cached_property
    def operators(self) -> Integers:
        return self.table.operators[self.predicates]

    @cached_property
    def attributes(self) -> Integers:
        return self.table.attributes[self.predicates]

    @cached_property
    def operand_counts(self) -> Integers:
        return self.table.operand_counts[self.predicates]

    @cached_property
    def operands(self) -> Integers:
        """Where, among the operands of its attribute's type, each operand is."""
        starts = self.table.operand_starts[self.predicates]
        return ranges(starts, starts + self.operand_counts)

    @cached_property
    def operand_starts(self) -> Integers:
        """Where in `operands` those of each predicate begin."""
        return np.cumsum(self.operand_counts) - self.operand_counts

    @cached_property
    def owners(self) -> Integers:
        """The attribute of each operand."""
        return np.repeat(self.attributes, self.operand_counts)

    def _keys(self, chosen: Integers | Flags, of: Type) -> Keys:
        """The keys of some of `operands`, which are of one type."""
        return keys_of(self.table.operands[of].take(pa.array(self.operands[chosen])), of)

    @cached_property
    def _short(self) -> tuple[Flags, Keys]:
        """Which of `operands` have short keys, and these; any key for the others."""
        types = [attribute.type for attribute in self.table.schema]
        is_short = np.zeros(len(self.owners), bool)
        keys = np.zeros(len(self.owners), np.int64)
        for of in self.table.operands:
            if has_short_keys(of):
                mine = np.array([type == of for type in types])[self.owners]
                is_short |= mine
                keys[mine] = self._keys(mine, of)
        return is_short, keys

    def _long(self) -> Iterator[tuple[Attribute, Integers, Keys]]:
        """For each attribute with long keys, which of `operands` are of it, and their keys."""
        long = np.flatnonzero(~self._short[0])
        for index in np.unique(self.owners[long]).tolist():
            attribute = self.table.schema.attributes[index]
            mine = long[self.owners[long] == index]
            yield attribute, mine, self._keys(mine, attribute.type)

    @cached_property
    def _cuts(self) -> tuple[Flags, Flags]:
        """At which of `operands` there is a cut, and after which."""
        operators = np.repeat(self.operators, self.operand_counts)
        is_first = np.zeros(len(self.operands), bool)
        is_first[self.operand_starts[self.operand_counts > 0]] = True
        is_between = operators == _BETWEEN
        begins = _CUTS_FROM[operators] & (is_first | ~is_between)
        ends = _CUTS_AFTER[operators] & ~(is_first & is_between)
        return begins, ends

    def forget(self) -> None:
        """Give up the memory of what can be worked out again."""
        for name in {*self.__dict__} - {"table", "rows"}:
            del self.__dict__[name]

    def short_cuts(self) -> tuple[Integers, Keys]:
        """Where predicates cut the values of attributes with short keys: attributes and keys."""
        is_short, keys = self._short
        begins, ends = (cuts & is_short for cuts in self._cuts)
        ends &= keys < short_attributes(self.table.schema)[1][self.owners]
        attributes = np.concatenate([self.owners[begins], self.owners[ends]])
        return attributes, np.concatenate([keys[begins], keys[ends] + 1])

    def long_cuts(self) -> Iterator[tuple[Attribute, Keys]]:
        """Where predicates cut the values of each attribute with long keys."""
        begins, ends = self._cuts
        for attribute, mine, keys in self._long():
            yield attribute, keys[begins[mine]]
            yield attribute, _after(keys[ends[mine]], attribute.type)

    def literals(
        self, fields: Mapping[int, int], cuts: Mapping[int, Cuts], short: FlatCuts
    ) -> Packable:
        """A literal per predicate, given the field and the cuts of each attribute."""
        begin, end = short.codes(self.owners, self._short[1])
        for attribute, mine, keys in self._long():
            begin[mine] = cuts[attribute.index].code_at(keys)
            end[mine] = cuts[attribute.index].code_after(keys)
        size = len(self.table.schema)
        numbers = np.array([fields.get(index, 0) for index in range(size)], np.uint32)
        sizes = np.array([cuts[i].codes if i in cuts else 2 for i in range(size)], np.uint32)
        low, high, pool = self._ranges(begin, end, sizes[self.attributes])
        weights = self.table.weights
        literals = Literals.of(
            numbers[self.attributes], low, high, _IS_SET[self.operators],
            np.zeros(len(low), np.int64) if weights is None else weights[self.predicates],
        )  # fmt: skip
        return Packable(literals, pool)

    def _ranges(self, begin: Codes, end: Codes, beyond: Codes) -> tuple[Codes, Codes, Codes]:
        """The range of each predicate, or where its ranges lie in a pool."""
        first = np.minimum(self.operand_starts, max(0, len(begin) - 1))
        begin, end = (np.append(codes, np.uint32(0)) for codes in (begin, end))
        at, after = begin[first], end[first]
        second = end[np.minimum(first + 1, len(end) - 1)]
        low = np.full(len(first), LOWEST, np.uint32)
        high = beyond.copy()
        for name, (lows, highs) in {
            "<": (low, at),
            "<=": (low, after),
            "=": (at, after),
            ">=": (at, high),
            ">": (after, high),
            "BETWEEN": (at, second),
            "IS NULL": (np.zeros_like(low), np.ones_like(low)),
        }.items():
            mine = self.operators == OPERATORS.index(name)
            low[mine], high[mine] = lows[mine], highs[mine]
        high = np.maximum(low, high)
        sets = np.flatnonzero(_IS_SET[self.operators])
        is_in = self.operators == OPERATORS.index("IN")
        pool = np.empty(2 * int((self.operand_counts[sets] + 1).sum()), np.uint32)
        used = _fill_sets(
            sets,
            is_in,
            self.operand_starts,
            self.operand_counts,
            begin,
            end,
            beyond,
            low,
            high,
            pool,
        )
        return low, high, pool[:used]


@dataclass(frozen=True, eq=False)
class Packable:
    """Literals with the pool that their sets refer to."""

    literals: Literals
    pool: Codes


def _after(keys: Keys, of: Type) -> Keys:
    """The next long key up of each, but of the highest."""
    kept = [of.after(key) for key in set(keys.tolist()) if of.highest is None or key < of.highest]
    made = np.empty(len(kept), dtype=object)
    made[:] = kept
    return made


@compiled
def _fill_sets(
    sets: Integers,
    is_in: Flags,
    starts: Integers,
    counts: Integers,
    begin: Codes,
    end: Codes,
    beyond: Codes,
    low: Codes,
    high: Codes,
    pool: Codes,
) -> Scalar:
    """The ranges of each IN, or between the values of each NOT IN, in order and merged."""
    used = 0
    for row in sets:
        first, stop = starts[row], starts[row] + counts[row]
        order = first + np.argsort(begin[first:stop])
        low[row] = used // 2
        free = np.uint32(1)
        for place in order:
            if is_in[row]:
                if used > 2 * low[row] and pool[used - 1] >= begin[place]:
                    pool[used - 1] = max(pool[used - 1], end[place])
                else:
                    pool[used], pool[used + 1] = begin[place], end[place]
                    used += 2
            else:
                if free < begin[place]:
                    pool[used], pool[used + 1] = free, begin[place]
                    used += 2
                free = max(free, end[place])
        if not is_in[row] and free < beyond[row]:
            pool[used], pool[used + 1] = free, beyond[row]
            used += 2
        high[row] = used // 2
    return used
