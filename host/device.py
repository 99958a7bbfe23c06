"""What every engine is to the host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa


class Device(Protocol):
    """A loaded query set that answers for batches of events, in the order of the events.

    A batch has one column per attribute that any of its events carries, under the
    attribute's name and in the Arrow type of its type; NULL is absent.
    """

    batch_events: int
    """How many events are worth a batch: few where each takes long, so that progress shows."""

    def match(self, events: pa.RecordBatch) -> pa.Array:
        """For each event the ids that match, in order of id: ``list<string>``."""

    def top_k(self, events: pa.RecordBatch, k: int, weights: Mapping[int, int]) -> pa.Array:
        """For each event the k best matches, best first: ``list<struct<id, score>>``.

        ``weights`` gives attributes, by index, a weight other than 1.
        """

    def counters(self) -> Mapping[str, int]:
        """What the device has counted since it was opened, such as clock cycles."""

    def close(self) -> None:
        """Give back what the device holds; closing twice is harmless."""


MATCHES = pa.list_(pa.string())
SCORED_MATCHES = pa.list_(pa.struct([("id", pa.string()), ("score", pa.int64())]))
