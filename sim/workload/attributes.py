"""Which attributes expressions and events have: independent draws, or topics they share.

Drawn independently from many attributes, an expression almost never lies within an event:
7 of 400 attributes inside 15 of 400, one time in 48 billion. A *topic* is an order of
attributes. Events of a topic have the first attributes of that order and expressions of
it draw theirs from among them, so that they meet.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penstock.sim.workload.draw import Distribution, Integers, draw_distinct, stream
from penstock.sim.workload.spec import WorkloadSpec

TOPIC_STREAM, EXPRESSION_STREAM, EVENT_STREAM, PILOT_STREAM = range(4)
CHUNK = 1 << 16
"""Expressions or events per stream of random numbers. Changing it changes all data."""


@dataclass(frozen=True)
class Shape:
    """Attribute counts and attributes of a run of expressions.

    ``attributes`` is sorted in each row; places past the count hold the number of
    attributes. ``reach`` is how long an event's prefix of the topic must be to cover it.
    """

    counts: Integers
    attributes: Integers
    reach: Integers | None

    @property
    def used(self) -> npt.NDArray[np.bool_]:
        return np.arange(self.attributes.shape[1]) < self.counts[:, None]


def topic_head(spec: WorkloadSpec) -> int:
    """How many attributes of a topic its expressions draw from."""
    return max(spec.pair_range[0], spec.predicate_range[1])


def topic_table(spec: WorkloadSpec, topics: int) -> Integers:
    """One row of attributes per topic, the first ones first."""
    rng = stream(spec.seed, TOPIC_STREAM)
    head = topic_head(spec)
    length = max(head, spec.pair_range[1])
    draw = spec.attribute_draw
    if draw.exponent:
        return draw_distinct(rng, draw, topics, length)
    # Cut permutations into heads, the last one wrapping round: no attribute is left out.
    heads = -(-spec.attributes // head)
    ordered = np.tile(np.arange(spec.attributes), (-(-topics // heads), 1))
    shuffled = rng.permuted(ordered, axis=1)
    places = (head * np.arange(heads)[:, None] + np.arange(length)) % spec.attributes
    return np.asarray(shuffled[:, places].reshape(-1, length)[:topics])


def draw_counts(rng: np.random.Generator, low_high: tuple[int, int], rows: int) -> Integers:
    """Uniform counts, both ends included."""
    low, high = low_high
    return rng.integers(low, high, size=rows, endpoint=True)


def draw_shape(
    rng: np.random.Generator, spec: WorkloadSpec, topics: Integers | None, first: int, rows: int
) -> Shape:
    """The attributes of expressions ``first`` to ``first + rows``; topics take turns."""
    counts = draw_counts(rng, spec.predicate_range, rows)
    most = spec.predicate_range[1]
    unused = np.arange(most) >= counts[:, None]
    if topics is None:
        attributes, reach = draw_distinct(rng, spec.attribute_draw, rows, most), None
    else:
        places = draw_distinct(rng, Distribution(topic_head(spec)), rows, most)
        own = (first + np.arange(rows)) % len(topics)
        attributes = topics[own[:, None], places]
        reach = np.where(unused, -1, places).max(axis=1) + 1
    attributes[unused] = spec.attributes
    return Shape(counts, np.sort(attributes, axis=1), reach)


def chunks(total: int) -> list[tuple[int, int, int]]:
    """``(number, first, rows)`` of each chunk of a total."""
    starts = range(0, total, CHUNK)
    return [(i, start, min(CHUNK, total - start)) for i, start in enumerate(starts)]
