"""Reaching a match rate: how many topics, how many events in them, how wide the ranges.

An event matches an expression when it has its attributes and its values satisfy every
predicate. Values are independent, so the second chance is the exact product of the
predicates' selectivities; the first is exact within a topic and sampled outside of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from penstock.sim.workload.attributes import (
    CHUNK,
    EXPRESSION_STREAM,
    PILOT_STREAM,
    Shape,
    draw_counts,
    draw_shape,
    topic_head,
    topic_table,
)
from penstock.sim.workload.draw import Floats, draw_distinct, stream
from penstock.sim.workload.predicates import Draws, draw_predicates, operands, selectivity
from penstock.sim.workload.spec import WorkloadSpec

PILOT_EXPRESSIONS = 1 << 14
PILOT_EVENTS = 1 << 12
TOPIC_CELLS = 1 << 24
SHARPEST = 2.0**10
WIDEST = 2.0**-10


@dataclass(frozen=True)
class Calibration:
    """How a workload is generated so that its match rate comes out."""

    topics: int = 0
    """0: attributes are drawn independently."""
    topic_share: float = 0.0
    """The share of events that belong to a topic."""
    sharpness: float = 1.0
    """Exponent on the width of ranges: below 1 widens, above 1 narrows."""
    expected_rate: float | None = None


@dataclass(frozen=True)
class Pilot:
    """The first expressions of the workload, as they will be but for their width."""

    spec: WorkloadSpec
    topics: int
    shape: Shape
    draws: Draws
    inside: Floats
    """Chance that an event of the expression's own topic has its attributes."""
    outside: Floats
    """Chance that any other event has them."""

    def holds(self, sharpness: float) -> Floats:
        """Chance that the values of an event satisfy each expression, attributes granted."""
        held = selectivity(self.spec, self.draws, operands(self.spec, self.draws, sharpness))
        starts = np.cumsum(self.shape.counts) - self.shape.counts
        return np.multiply.reduceat(held, starts)

    def rate(self, sharpness: float, topic_share: float = 1.0) -> float:
        """Expected match rate."""
        own = topic_share / self.topics if self.topics else 0.0
        covered = own * self.inside + (1 - own) * self.outside
        return float(np.mean(self.holds(sharpness) * covered))

    def sharpness_for(self, wanted: float) -> float:
        """The sharpness that gives the rate, or the limit nearest to it."""
        return _bisect(self.rate, wanted)

    def share_for(self, wanted: float, sharpness: float) -> float:
        """The share of events in topics that gives the rate, or the limit nearest to it."""
        none, every = self.rate(sharpness, 0.0), self.rate(sharpness, 1.0)
        return min(1.0, max(0.0, (wanted - none) / (every - none))) if every > none else 1.0


@lru_cache(maxsize=8)
def calibrate(spec: WorkloadSpec) -> Calibration:
    """How to reach ``spec.match_rate``; a rate out of reach is a ValueError that says why.

    In this order: independent draws with narrower ranges where these match too often;
    topics, as many as give the rate; wider ranges, so that the topics together still use
    every attribute; fewer topics.
    """
    if spec.match_rate is None:
        return Calibration()
    spread = max(1, -(-spec.attributes // topic_head(spec)))
    loose = make_pilot(spec, 0)
    everything_present = spec.pair_range[0] == spec.attributes
    if everything_present or loose.rate(1.0) >= spec.match_rate:
        found = Calibration(sharpness=loose.sharpness_for(spec.match_rate))
        return _checked(spec, loose, found)
    topics = _topics_for(spec, sharpness=1.0)
    if topics < spread:
        topics = min(spread, _topics_for(spec, sharpness=WIDEST))
        pilot = make_pilot(spec, max(1, int(topics)))
    else:
        pilot = make_pilot(spec, min(int(np.ceil(topics)), _most_topics(spec)))
    widened = 1.0 if pilot.rate(1.0) >= spec.match_rate else pilot.sharpness_for(spec.match_rate)
    found = Calibration(pilot.topics, pilot.share_for(spec.match_rate, widened), widened)
    return _checked(spec, pilot, found)


def make_pilot(spec: WorkloadSpec, topics: int) -> Pilot:
    """Draw what the first chunk will draw, and the chances of having its attributes."""
    rows = min(spec.expressions, CHUNK)
    rng = stream(spec.seed, EXPRESSION_STREAM, 0)
    table = topic_table(spec, topics) if topics else None
    shape = draw_shape(rng, spec, table, 0, rows)
    draws = draw_predicates(rng, spec, int(shape.counts.sum()))
    shape, draws = _first(shape, draws, PILOT_EXPRESSIONS)
    low, high = spec.pair_range
    inside = np.zeros(len(shape.counts))
    if shape.reach is not None:
        inside = np.clip((high - np.maximum(shape.reach, low) + 1) / (high - low + 1), 0, 1)
    return Pilot(spec, topics, shape, draws, inside, _outside(spec, shape))


def _first(shape: Shape, draws: Draws, rows: int) -> tuple[Shape, Draws]:
    """Only the first expressions."""
    reach = None if shape.reach is None else shape.reach[:rows]
    kept = Shape(shape.counts[:rows], shape.attributes[:rows], reach)
    count = int(kept.counts.sum())
    codes = draws.operators[:count]
    lists = {
        code: lists[: int(np.count_nonzero(codes == code))] for code, lists in draws.lists.items()
    }
    return kept, Draws(codes, draws.first[:count], draws.second[:count], lists)


def _outside(spec: WorkloadSpec, shape: Shape) -> Floats:
    """The share of independently drawn events that have each expression's attributes."""
    rng = stream(spec.seed, PILOT_STREAM)
    counts = draw_counts(rng, spec.pair_range, PILOT_EVENTS)
    drawn = draw_distinct(rng, spec.attribute_draw, PILOT_EVENTS, spec.pair_range[1])
    used = np.arange(drawn.shape[1]) < counts[:, None]
    # One row of event bits per attribute, and one of ones for the unused places.
    present = np.zeros((spec.attributes + 1, PILOT_EVENTS), dtype=np.bool_)
    present[drawn[used], np.nonzero(used)[0]] = True
    present[spec.attributes] = True
    bits = np.packbits(present, axis=1).view(np.uint64)
    covered = bits[shape.attributes[:, 0]]
    for column in shape.attributes[:, 1:].T:
        covered &= bits[column]
    return np.asarray(np.bitwise_count(covered).sum(axis=1) / PILOT_EVENTS)


def _topics_for(spec: WorkloadSpec, sharpness: float) -> float:
    """How many topics give the wanted rate at this sharpness."""
    assert spec.match_rate is not None
    pilot = make_pilot(spec, _most_topics(spec))
    held = pilot.holds(sharpness)
    both, loose = float(np.mean(held * pilot.inside)), float(np.mean(held * pilot.outside))
    return max(0.0, both - loose) / max(spec.match_rate - loose, 1e-300)


def _most_topics(spec: WorkloadSpec) -> int:
    return max(1, min(spec.expressions, CHUNK, TOPIC_CELLS // spec.attributes))


def _bisect(rate: Callable[[float], float], wanted: float) -> float:
    """The sharpness whose rate is wanted; rates fall as sharpness grows."""
    low, high = np.log2(WIDEST), np.log2(SHARPEST)
    if abs(rate(1.0) - wanted) <= 0.01 * wanted or rate(WIDEST) == rate(SHARPEST):
        return 1.0  # near enough, or no ranges at all: leave the operands as drawn
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if rate(2.0**middle) > wanted else (low, middle)
    return float(2.0 ** ((low + high) / 2))


def _checked(spec: WorkloadSpec, pilot: Pilot, found: Calibration) -> Calibration:
    assert spec.match_rate is not None
    rate = pilot.rate(found.sharpness, found.topic_share)
    if abs(rate - spec.match_rate) > 0.1 * spec.match_rate:
        raise ValueError(
            f"match_rate {spec.match_rate:g} is out of reach: the nearest is {rate:.3g}; "
            "ask for that, or give operators with a range (<, <=, >=, >, BETWEEN) more weight"
            + (", or use fewer predicates" if rate < spec.match_rate else ", or more predicates")
        )
    return replace(found, expected_rate=rate)
