"""The subscriptions of a device as they come and go, and its answers in their terms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.gen.errors import DeviceError
from penstock.gen.expr import Subscription
from penstock.gen.language.script import parse_subscription
from penstock.gen.manifest import Manifest
from penstock.gen.normal import Normal, holds, make_event
from penstock.gen.normalise import normalise
from penstock.gen.plan import CHUNK_BITS
from penstock.host.config_words import ConfigWord, Update
from penstock.host.decode import Decoder, Integers
from penstock.host.encode import Words
from penstock.host.events import rows_of
from penstock.host.scoring import Scoring
from penstock.host.table import Table


class Subscribers:
    """Knows where each subscription is and what the host does for it.

    Those that the circuit was built with are in its tiles, and can only be turned off. Later ones
    go into its table, if it has one. Both can also be on the host alone.
    """

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self._table = Table(manifest.table) if manifest.table else None
        self._built = set(manifest.ids)
        """Those built in that have not been removed."""
        self._bits = {
            manifest.ids[entry]: tile.first_chunk * CHUNK_BITS + position
            for tile in manifest.tiles
            for position, entry in enumerate(tile.entries)
        }
        self._off: dict[int, int] = {}
        """By chunk, the match bits of tiles that are turned off."""
        conditions = {id: self._parsed(id, text) for id, text in manifest.residuals.items()}
        self._scoring = Scoring(manifest)
        self._finished = {id: c for id, c in conditions.items() if id in self._bits}
        self._alone = {id: c for id, c in conditions.items() if id not in self._bits}
        self._is_stale = True

    def add(self, subscription: Subscription) -> Update:
        """Take in a subscription; DeviceError, and nothing changed, if there is no room for it."""
        id = subscription.id
        if self._table is None:
            raise DeviceError(
                f"subscription {id!r} has no place: the circuit was built without spare ones\n"
                "hint: open it with spare=N, for N more subscriptions"
            )
        if id in self._built:
            raise ValueError(f"subscription {id!r} is on the device already")
        update = self._table.add(id, subscription.condition)
        self._scoring.add(subscription)
        self._is_stale = True
        return update

    def remove(self, id: str) -> Update:
        """Take out a subscription; KeyError if there is none of this id."""
        if id in self._built:
            self._built.remove(id)
            self._finished.pop(id, None)
            self._alone.pop(id, None)
            update = self._turned_off(id)
        elif self._table is not None and id in self._table:
            update = self._table.remove(id)
        else:
            raise KeyError(f"no subscription {id!r} on the device")
        self._scoring.remove(id)
        self._is_stale = True
        return update

    def where(self, id: str) -> str | None:
        """Whether a subscription is in gates, in the table, on the host alone or not here."""
        if id in self._built:
            return "host" if id in self._alone else "gates"
        if self._table is None or id not in self._table:
            return None
        return "host" if id in self._table.alone else "table"

    def stats(self) -> dict[str, int]:
        """How many subscriptions are where."""
        on_host, in_table = len(self._alone), 0
        if self._table is not None:
            on_host += len(self._table.alone)
            in_table = len(self._table) - len(self._table.alone)
        gates = len(self._built) - len(self._alone)
        return {"gates": gates, "table": in_table, "host": on_host}

    def table_codes(self, events: pa.RecordBatch) -> list[Words | None]:
        """The codes of the table, which follow those of the manifest's fields."""
        return self._table.codes(events) if self._table is not None else []

    def answers(
        self,
        events: pa.RecordBatch,
        numbers: Integers,
        chunks: Integers,
        bits: npt.NDArray[np.uint32],
    ) -> pa.Array:
        """For each event the ids that match, from the chunks that came for a batch."""
        numbers, places = self._matches(events, numbers, chunks, bits)
        return self._decoder.lists(numbers, places, events.num_rows)

    def best(
        self,
        events: pa.RecordBatch,
        chunks: npt.NDArray[np.void],
        ranked: npt.NDArray[np.void],
        k: int,
        weights: Mapping[int, int],
        only: pa.Array | None = None,
    ) -> pa.Array:
        """For each event the k best, from the chunks that came, and those the circuit ranked.

        Chunks have ``event``, ``chunk`` and ``bits``, what was ranked ``event``, ``rank`` and
        ``score``: at least the k best of what is not in chunks. With ``only`` the circuit is to
        have ranked nothing, as it cannot leave out the others.
        """
        assert only is None or not len(ranked), "the circuit ranked what nobody asked for"
        found = (chunks["event"], chunks["chunk"].astype(np.int64), chunks["bits"])
        numbers, places = self._matches(events, *map(np.ascontiguousarray, found))
        if only is not None:
            is_asked = np.asarray(pc.is_in(self._decoder.ids, value_set=only))[places]
            numbers, places = numbers[is_asked], places[is_asked]
        scores = self._scoring.scores(events, numbers, places, self._decoder.ids, weights)
        return self._decoder.best(
            np.append(numbers, ranked["event"]),
            np.append(places, self._ranked_places[ranked["rank"]]),
            np.append(scores, ranked["score"]),
            count=events.num_rows,
            k=k,
        )

    def _matches(
        self,
        events: pa.RecordBatch,
        numbers: Integers,
        chunks: Integers,
        bits: npt.NDArray[np.uint32],
    ) -> tuple[Integers, Integers]:
        """Event and place of the id for every match, in order of both."""
        if self._is_stale:
            self._refresh()
        numbers, places = self._decoder.pairs(numbers, chunks, bits)
        if self._finished_places:
            kept = self._exactly(events, numbers, places)
            numbers, places = numbers[kept], places[kept]
        if self._alone_places:
            more_numbers, more_places = self._by_host(events)
            numbers, places = np.append(numbers, more_numbers), np.append(places, more_places)
            order = np.lexsort((places, numbers))
            numbers, places = numbers[order], places[order]
        return numbers, places

    def _turned_off(self, id: str) -> Update:
        """Clear the valid bit of a subscription in a tile; a word brings those of a whole chunk."""
        if id not in self._bits:
            return Update()
        chunk, bit = divmod(self._bits[id], CHUNK_BITS)
        self._off[chunk] = self._off.get(chunk, 0) | 1 << bit
        return Update(before=(ConfigWord(chunk, ~self._off[chunk] & 2**CHUNK_BITS - 1),))

    def _refresh(self) -> None:
        """Number the ids anew, as they sort, and the conditions of the host with them."""
        self._is_stale = False
        finished, alone = dict(self._finished), dict(self._alone)
        if self._table is not None:
            finished |= self._table.residuals
            alone |= self._table.alone
        table_ids = self._table.ids if self._table is not None else ()
        self._decoder = Decoder(self._manifest, table_ids, alone)
        places = {id: place for place, id in enumerate(self._decoder.ids.to_pylist())}
        ranking = self._manifest.ranking
        ranked = [places[self._manifest.ids[n]] for n in ranking.entries] if ranking else []
        self._ranked_places = np.array(ranked, dtype=np.int64)
        """By the number that the circuit has for what it ranks."""
        self._finished_places = {places[id]: condition for id, condition in finished.items()}
        self._alone_places = {places[id]: condition for id, condition in alone.items()}

    def _exactly(
        self, events: pa.RecordBatch, numbers: Integers, places: Integers
    ) -> npt.NDArray[np.bool_]:
        """Which of the matches the circuit let through hold under the whole condition."""
        kept = np.ones(len(places), dtype=bool)
        doubtful = np.flatnonzero(np.isin(places, list(self._finished_places)))
        if len(doubtful):
            schema = self._manifest.schema
            rows = rows_of(events, schema)
            for index in doubtful.tolist():
                event = make_event(rows[numbers[index]], schema.attributes)
                kept[index] = holds(self._finished_places[int(places[index])], event)
        return kept

    def _by_host(self, events: pa.RecordBatch) -> tuple[Integers, Integers]:
        """Event and place of the id for every match that the circuit has no part in."""
        schema = self._manifest.schema
        made = [make_event(row, schema.attributes) for row in rows_of(events, schema)]
        found = [
            (number, place)
            for number, event in enumerate(made)
            for place, condition in self._alone_places.items()
            if holds(condition, event)
        ]
        numbers, places = np.array(found, dtype=np.int64).reshape(-1, 2).T
        return numbers, places

    def _parsed(self, id: str, text: str) -> Normal:
        return normalise(parse_subscription(id, text, self._manifest.schema, id).condition)
