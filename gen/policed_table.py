"""Hold a table of predicates to a policy, and put the row filters into it.

A row filter that a few predicates can say becomes rows of the table, before those of each
subscription that it is for. Where it says more, only `PredicateTable.subscription` has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from penstock.gen.arrow import from_values
from penstock.gen.errors import Problem, QueryError
from penstock.gen.policy import Grant, StreamPolicy
from penstock.gen.predicates import OPERATORS, Integers, PredicateTable, RowFilter
from penstock.gen.row_filters import Row, rows_of
from penstock.gen.types import Type


def policed(table: PredicateTable, policy: StreamPolicy) -> PredicateTable:
    """The table under a policy.

    QueryError tells what the policy forbids, once for each owner, or owner and attribute.
    """
    owners = _owners(table)
    names = owners.dictionary.to_pylist()
    owner_of: Integers = np.asarray(owners.indices).astype(np.int64)
    _raise_any(
        (policy.about_owner(names[owner]), table, index, count)
        for owner, index, count in _distinct(owner_of)
    )
    found = [policy.grant(name) for name in names]
    grants = list({id(grant): grant for grant in found if grant}.values())
    numbers = {id(grant): number for number, grant in enumerate(grants)}
    grant_of: Integers = np.array([numbers.get(id(g), -1) for g in found], np.int64)[owner_of]
    _check_attributes(table, policy, names, owner_of, grants, grant_of)
    rows = [rows_of(grant.row_filter) if grant.row_filter else () for grant in grants]
    filters = tuple(
        RowFilter(grant.row_filter, None if said is None else len(said))
        if grant.row_filter
        else None
        for grant, said in zip(grants, rows, strict=True)
    )
    added = _Added.to(table, [said or () for said in rows], grant_of)
    return replace(added.table(table), filters=filters, filter_of=grant_of)


def _owners(table: PredicateTable) -> pa.DictionaryArray:
    """The owner of each subscription; nobody, if the table does not say."""
    if table.owners is not None:
        return table.owners
    nobody = pa.array(np.zeros(len(table), dtype=np.int32))
    return pa.DictionaryArray.from_arrays(nobody, pa.array([""]))


def _distinct(codes: Integers) -> Iterator[tuple[int, int, int]]:
    """The codes in the order of their first places, with these and how often each occurs."""
    found, firsts, counts = np.unique(codes, return_index=True, return_counts=True)
    for place in np.argsort(firsts):
        yield int(found[place]), int(firsts[place]), int(counts[place])


def _check_attributes(
    table: PredicateTable,
    policy: StreamPolicy,
    names: Sequence[str],
    owner_of: Integers,
    grants: Sequence[Grant],
    grant_of: Integers,
) -> None:
    attributes = table.schema.attributes
    allowed = np.zeros((len(grants), len(attributes)), dtype=bool)
    for number, grant in enumerate(grants):
        allowed[number, list(grant.attributes)] = True
    subscription_of = np.repeat(np.arange(len(table)), np.diff(table.starts))
    forbidden = np.flatnonzero(~allowed[grant_of[subscription_of], table.attributes])
    subscription_of = subscription_of[forbidden]
    pairs = owner_of[subscription_of] * len(attributes) + table.attributes[forbidden]
    _raise_any(
        (
            policy.about_attribute(
                names[pair // len(attributes)], attributes[pair % len(attributes)]
            ),
            table,
            int(subscription_of[index]),
            count,
        )
        for pair, index, count in _distinct(pairs)
    )


def _raise_any(found: Iterable[tuple[Problem | None, PredicateTable, int, int]]) -> None:
    """Raise the problems, each as that of the first subscription that has it."""
    problems = [
        replace(
            problem,
            message=problem.message + (f" ({count:,} times in this table)" if count > 1 else ""),
            subscription=table.ids[index].as_py(),
        )
        for problem, table, index, count in found
        if problem
    ]
    if problems:
        raise QueryError(problems)


@dataclass(frozen=True, slots=True)
class _Added:
    """Rows to be put into a table, and where in the table that comes of it each has to stand."""

    starts: Integers
    """Where each subscription's rows begin then."""
    rows: tuple[Row, ...]
    places: tuple[Integers, ...]

    @classmethod
    def to(
        cls, table: PredicateTable, rows: Sequence[tuple[Row, ...]], grant_of: Integers
    ) -> _Added:
        """The rows of each subscription's grant, before its own."""
        counts = np.array([len(said) for said in rows], dtype=np.int64)[grant_of]
        starts = table.starts + np.append(0, np.cumsum(counts))
        by_grant = np.argsort(grant_of, kind="stable")
        ends = np.searchsorted(grant_of[by_grant], np.arange(len(rows) + 1))
        found = [
            (row, starts[by_grant[ends[number] : ends[number + 1]]] + place)
            for number, said in enumerate(rows)
            for place, row in enumerate(said)
        ]
        return cls(starts, tuple(row for row, _ in found), tuple(places for _, places in found))

    def table(self, table: PredicateTable) -> PredicateTable:
        """The table with these rows in it."""
        is_own = np.ones(int(self.starts[-1]), dtype=bool)
        for places in self.places:
            is_own[places] = False

        def spread(own: Integers, added: Sequence[int]) -> Integers:
            column: Integers = np.empty(len(is_own), dtype=own.dtype)
            column[is_own] = own
            for places, value in zip(self.places, added, strict=True):
                column[places] = value
            return column

        operands, operand_starts = self._operands(table)
        return replace(
            table,
            starts=self.starts,
            attributes=spread(table.attributes, [row.attribute.index for row in self.rows]),
            operators=spread(table.operators, [OPERATORS.index(row.operator) for row in self.rows]),
            operand_starts=spread(table.operand_starts, operand_starts),
            operand_counts=spread(table.operand_counts, [len(row.operands) for row in self.rows]),
            operands=operands,
            weights=None if table.weights is None else spread(table.weights, [0] * len(self.rows)),
        )

    def _operands(self, table: PredicateTable) -> tuple[dict[Type, pa.Array], list[int]]:
        """Those of the table and, once each, of the rows; and where those of each row begin."""
        parts = {of: [column] for of, column in table.operands.items()}
        lengths = {of: len(column) for of, column in table.operands.items()}
        starts = []
        for row in self.rows:
            of = row.attribute.type
            starts.append(lengths.get(of, 0))
            if row.operands:
                parts.setdefault(of, []).append(from_values(row.operands, of))
                lengths[of] = starts[-1] + len(row.operands)
        return {of: pa.concat_arrays(columns) for of, columns in parts.items()}, starts
