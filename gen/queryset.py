"""A set of subscriptions over one stream."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, KeysView
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.gen.errors import DataError, Problem, QueryError, nearest
from penstock.gen.expr import MAX_WEIGHT, Subscription, attributes_of, leaves_of
from penstock.gen.instants import in_utc
from penstock.gen.language.script import parse_subscription
from penstock.gen.normalise import normalise, verdict
from penstock.gen.policed_table import policed
from penstock.gen.policy import Policy
from penstock.gen.predicates import Integers, PredicateTable
from penstock.gen.read_predicates import read_predicates
from penstock.gen.schema import Attribute, Schema

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called now and then with the stage of the work, how much is done and of how much."""

PROGRESS_STEP = 1000


class QuerySet:
    """Subscriptions by id, all over one schema.

        queries = QuerySet(Schema.of({"price": "DECIMAL(10,2)", "symbol": "STRING"}))
        queries.add("cheap", "price < 10 AND symbol = 'A'")

    Ids are strings. Subscriptions from a table of predicates stay in the table until they
    are asked for, so that a set of millions costs what its columns cost.

    A policy says what the owners of subscriptions may use, and its row filters become part of
    their conditions, whichever way they are added.
    """

    def __init__(self, schema: Schema, *, policy: Policy | None = None) -> None:
        self.schema = schema
        self.policy = policy
        self._bound_policy = policy.bind(schema) if policy else None
        self._entries: dict[str, Subscription | int] = {}
        self._tables: list[PredicateTable] = []
        self._table_starts: list[int] = []
        self._rows = 0

    @classmethod
    def from_spark(cls, frame: Any, schema: Schema, *, policy: Policy | None = None) -> QuerySet:
        """The subscriptions of a DataFrame, whose rows come to the driver.

        Its columns are those of a table of texts, or of predicates, as `penstock.load` reads them.
        """
        from penstock.gen.load import add_table  # it imports this module

        queries = cls(schema, policy=policy)
        add_table(queries, frame.toArrow(), "the DataFrame of rules")
        return queries

    def empty(self) -> QuerySet:
        """A set over the same schema, under the same policy, with nothing in it."""
        return QuerySet(self.schema, policy=self.policy)

    def copy(self) -> QuerySet:
        """A set of the same subscriptions; changes to one do not reach the other."""
        return self._of(self._entries.copy())

    def add(
        self,
        id: str,
        text: str,
        *,
        weight: int = 0,
        owner: str = "",
        expires: datetime | None = None,
    ) -> None:
        """Add a subscription from its condition; QueryError says what is wrong with it."""
        self.add_text(id, text, "<text>", weight=weight, owner=owner, expires=expires)

    def add_text(
        self,
        id: str,
        text: str,
        name: str,
        *,
        weight: int = 0,
        owner: str = "",
        expires: datetime | None = None,
    ) -> None:
        """The same, where ``name`` is how errors call the text."""
        policy = self._bound_policy
        try:
            made = parse_subscription(
                id, text, self.schema, name, weight, owner=owner, expires=expires, policy=policy
            )
        except QueryError as error:
            raise QueryError([replace(p, subscription=id) for p in error.problems]) from None
        self.insert(made)

    def insert(self, subscription: Subscription) -> None:
        """Add a subscription that is bound already; what the policy says of it is done here."""
        if not isinstance(subscription.id, str):
            raise TypeError(f"an id is a string, not {subscription.id!r}")
        if not subscription.id.isascii() and any(
            "\ud800" <= c <= "\udfff" for c in subscription.id
        ):
            raise ValueError(f"the id {subscription.id!r} is no Unicode text")
        if not isinstance(subscription.owner, str):
            raise TypeError(f"an owner is a string, not {subscription.owner!r}")
        weight = subscription.weight
        if not isinstance(weight, int) or not 0 <= weight <= MAX_WEIGHT:
            raise ValueError(f"a weight is a whole number from 0 to {MAX_WEIGHT}, not {weight!r}")
        if subscription.id in self._entries:
            raise ValueError(f"subscription {subscription.id!r} is in the set already")
        if subscription.expires is not None:
            subscription = replace(subscription, expires=in_utc(subscription.expires))
        if self._bound_policy is not None:
            subscription = self._bound_policy.filtered(subscription)
        self._entries[subscription.id] = subscription

    def add_predicates(self, table: pa.Table, *, source: str = "table") -> None:
        """Add all subscriptions of a table of predicates, or none if anything is wrong."""
        checked = read_predicates(table, self.schema, source)
        try:
            self.insert_table(checked)
        except ValueError as error:
            raise DataError(f"{source}: {error}") from None

    def insert_table(self, table: PredicateTable) -> None:
        """Add all subscriptions of a table that is checked already, or none if an id is here."""
        ids = table.ids.to_pylist()
        self.check_new(ids)
        if self._bound_policy is not None:
            table = policed(table, self._bound_policy)
        self._entries.update(zip(ids, range(self._rows, self._rows + len(ids)), strict=True))
        self._tables.append(table)
        self._table_starts.append(self._rows)
        self._rows += len(ids)

    def extend(self, other: QuerySet) -> None:
        """Add all of a set over the same schema and policy, or none if an id is here already."""
        self.check_new(other._entries)
        self._entries.update(
            (id, entry if isinstance(entry, Subscription) else entry + self._rows)
            for id, entry in other._entries.items()
        )
        self._tables += other._tables
        self._table_starts += [start + self._rows for start in other._table_starts]
        self._rows += other._rows

    def split(self, count: int) -> list[QuerySet]:
        """So many sets that have the subscriptions between them, about as many each, or none.

        All ids of one lie before those of the next. Each set keeps the order of adding.
        """
        if count < 1:
            raise ValueError(f"a set is split into 1 or more, not {count}")
        ids, entries = (
            np.fromiter(values, object, len(self))
            for values in (self._entries, self._entries.values())
        )
        order = np.asarray(pc.sort_indices(pa.array(ids, pa.large_string())))
        sets = []
        for number in range(count):
            first, stop = (len(self) * n // count for n in (number, number + 1))
            chosen = np.sort(order[first:stop])
            sets.append(self._of(dict(zip(ids[chosen], entries[chosen], strict=True))))
        return sets

    def remove(self, id: str) -> None:
        """Take a subscription out; KeyError if there is none of this id."""
        self.check_known(id)
        del self._entries[id]

    def check_new(self, ids: Iterable[str]) -> None:
        """ValueError if one of the ids is in the set already."""
        clash = next((id for id in ids if id in self._entries), None) if self._entries else None
        if clash is not None:
            raise ValueError(f"subscription {clash!r} is in the set already")

    def check_known(self, id: str) -> None:
        """KeyError, with what is near, if there is no subscription of this id."""
        if id not in self._entries:
            raise KeyError(self._unknown(id))

    def __getitem__(self, id: str) -> Subscription:
        self.check_known(id)
        return self._made(self._entries[id])

    def __iter__(self) -> Iterator[Subscription]:
        """The subscriptions, in the order in which they were added."""
        return (self._made(entry) for entry in self._entries.values())

    def __contains__(self, id: object) -> bool:
        return id in self._entries

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        noun = "subscription" if len(self) == 1 else "subscriptions"
        return f"QuerySet({len(self):,} {noun} on {self.schema.stream})"

    @property
    def ids(self) -> KeysView[str]:
        """The ids, in the order in which they were added."""
        return self._entries.keys()

    @property
    def tested(self) -> list[Attribute]:
        """The attributes that some condition looks at, in the order of the schema."""
        found = {i for table, _ in self.tables for i in np.unique(table.attributes).tolist()}
        for single in self.singles:
            for leaf in leaves_of(single.condition):
                found.update(attribute.index for attribute in attributes_of(leaf))
        return [attribute for attribute in self.schema if attribute.index in found]

    @property
    def singles(self) -> list[Subscription]:
        """The subscriptions that are in none of `tables`, in the order in which they were added."""
        beyond: set[int] = set()
        for start, (table, rows) in zip(self._table_starts, self._rows_by_table, strict=True):
            beyond.update((start + rows[~table.is_whole(rows)]).tolist())
        return [
            self._made(entry)
            for entry in self._entries.values()
            if isinstance(entry, Subscription) or entry in beyond
        ]

    @property
    def tables(self) -> list[tuple[PredicateTable, Integers]]:
        """The tables of predicates, each with the subscriptions in the set that it says all of."""
        return [(table, rows[table.is_whole(rows)]) for table, rows in self._rows_by_table]

    @property
    def _rows_by_table(self) -> list[tuple[PredicateTable, Integers]]:
        """The tables, each with the subscriptions that are still in the set."""
        rows = (entry for entry in self._entries.values() if not isinstance(entry, Subscription))
        kept: Integers = np.sort(np.fromiter(rows, np.int64))
        bounds = [*self._table_starts, self._rows]
        ends = np.searchsorted(kept, bounds)
        return [
            (table, kept[ends[number] : ends[number + 1]] - bounds[number])
            for number, table in enumerate(self._tables)
        ]

    @property
    def _by_itself(self) -> Iterator[Subscription]:
        """The subscriptions that came one by one."""
        return (entry for entry in self._entries.values() if isinstance(entry, Subscription))

    def owned_by(self, owner: str) -> pa.Array:
        """The ids of the owner's subscriptions, in order."""
        singles = [single.id for single in self._by_itself if single.owner == owner]
        owned = [table.owned_by(owner, rows) for table, rows in self._rows_by_table]
        return pa.concat_arrays([pa.array(singles, pa.string()), *owned]).sort()

    def expiries(self) -> Iterator[tuple[datetime, str]]:
        """When each subscription expires that ever does, and its id; in no order."""
        for single in self._by_itself:
            if single.expires is not None:
                yield single.expires, single.id
        for table, rows in self._rows_by_table:
            yield from table.expiries(rows)

    def warnings(self, progress: Progress | None = None) -> list[Problem]:
        """The subscriptions that always or never match, each as a problem."""
        found = []
        for done, subscription in enumerate(self):
            if progress and done % PROGRESS_STEP == 0:
                progress("checking subscriptions", done, len(self))
            certain = verdict(normalise(subscription.condition))
            if certain is not None:
                message = "matches every event" if certain else "can never match"
                found.append(Problem(message, subscription.place, subscription=subscription.id))
        return found

    def _of(self, entries: dict[str, Subscription | int]) -> QuerySet:
        """A set of some entries of this one, whose tables they share."""
        made = self.empty()
        made._entries, made._rows = entries, self._rows
        made._tables, made._table_starts = self._tables.copy(), self._table_starts.copy()
        return made

    def _made(self, entry: Subscription | int) -> Subscription:
        if isinstance(entry, Subscription):
            return entry
        table = bisect_right(self._table_starts, entry) - 1
        return self._tables[table].subscription(entry - self._table_starts[table])

    def _unknown(self, id: str) -> str:
        few = list(self._entries) if len(self._entries) <= 10_000 else []
        hint = f"; {nearest(str(id), few)}" if few else ""
        return f"no subscription {id!r} among {len(self)}{hint}"
