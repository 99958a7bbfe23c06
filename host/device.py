"""What every engine is to the host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import pyarrow as pa

from penstock.gen.queryset import QuerySet
from penstock.host.events import Batch


class Device(Protocol):
    """A loaded query set that answers for batches of events, in the order of the events.

    Threads may share a device. A batch is answered by the subscriptions of one moment, which
    lies between the call and its return.
    """

    @property
    def batch_events(self) -> int:
        """How many events are worth a batch: few where each takes long, so that progress shows."""

    def match(self, events: Batch, only: pa.Array | None = None) -> pa.Array:
        """For each event the ids that match, in order of id: ``list<string>``.

        ``only``, distinct ids in order, leaves all others out. While threads change the device
        it may name one that has just gone, which then matches nothing.
        """

    def top_k(
        self, events: Batch, k: int, weights: Mapping[int, int], only: pa.Array | None = None
    ) -> pa.Array:
        """For each event the k best matches, best first: ``list<struct<id, score>>``.

        ``weights`` gives attributes, by index, a weight other than 1; ``only`` is as in `match`.
        """

    def add(self, queries: QuerySet) -> None:
        """Answer for more subscriptions, from the next batch on, or for none of them.

        DeviceError if there is no room for one; ValueError if its id is here already.
        """

    def remove(self, ids: Sequence[str]) -> None:
        """Answer for some subscriptions no more; KeyError, and all stay, if one is not here."""

    def where(self, id: str) -> str:
        """In which part of the device a subscription lives; KeyError if it is not here."""

    def counters(self) -> Mapping[str, int]:
        """What the device has counted since it was opened, such as clock cycles."""

    def stats(self) -> Mapping[str, int]:
        """How many subscriptions live in each part, and ``bytes`` of memory where known."""

    def close(self) -> None:
        """Give back what the device holds; closing twice is harmless."""


@runtime_checkable
class NumberedDevice(Device, Protocol):
    """A device that need not spell ids to say which match."""

    def match_numbers(self, events: Batch) -> pa.Array:
        """As `match`, each id as its place among all ids in order, from 0: ``list<int32>``."""


MATCHES = pa.list_(pa.string())
NUMBERS = pa.list_(pa.int32())
SCORED_MATCHES = pa.list_(pa.struct([("id", pa.string()), ("score", pa.int64())]))
