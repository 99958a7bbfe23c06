"""Random draws: numbered streams, uniform and zipf distributions, distinct draws."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

HEAD = 1 << 16
"""Zipf ranks with an exact probability; beyond, the sum is taken as an integral."""
KEYED_CELLS = 1 << 22
KEYED_SIZE = 1 << 12
SCARCE = 0.1
"""Mass left for the last draw below which drawing again would take too many rounds."""


def stream(seed: int, *key: int) -> np.random.Generator:
    """The generator of one task. ``key`` names the task, never the thread that runs it."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


@dataclass(frozen=True)
class Distribution:
    """Zipf over 0 to size - 1: P(v) is proportional to (v + 1) ** -exponent; 0 is uniform."""

    size: int
    exponent: float = 0.0

    @cached_property
    def _head(self) -> Floats:
        ranks = np.arange(1, min(self.size, HEAD) + 1, dtype=np.float64)
        return np.asarray(np.cumsum(ranks**-self.exponent))

    def _tail(self, rank: Floats) -> Floats:
        """The integral of ``x ** -exponent`` from the end of the head to a rank."""
        start, power = HEAD + 0.5, 1 - self.exponent
        if power == 0:
            return np.log(rank / start)
        return np.asarray((rank**power - start**power) / power)

    def _tail_rank(self, mass: Floats) -> Floats:
        """The inverse of `_tail`."""
        start, power = HEAD + 0.5, 1 - self.exponent
        if power == 0:
            return np.asarray(start * np.exp(mass))
        return np.asarray((start**power + power * mass) ** (1 / power))

    @cached_property
    def _total(self) -> float:
        head = float(self._head[-1])
        return head if self.size <= HEAD else head + float(self._tail(np.array(self.size + 0.5)))

    def quantile(self, chance: Floats) -> Integers:
        """The value below which a share ``chance`` of the mass lies; ``chance`` may be 1."""
        if not self.exponent:
            values = (chance * self.size).astype(np.int64)
        else:
            mass = chance * self._total
            values = np.searchsorted(self._head, mass, side="right")
            beyond = values >= HEAD
            if self.size > HEAD and beyond.any():
                rank = self._tail_rank(mass[beyond] - self._head[-1])
                values[beyond] = np.floor(rank - 0.5)
        return np.minimum(values, self.size - 1)

    def cdf(self, values: Integers) -> Floats:
        """P(drawn <= value); 0 below the least value, 1 from the greatest on."""
        clipped = np.clip(values, 0, self.size - 1)
        if not self.exponent:
            share = (clipped + 1) / self.size
        else:
            mass = self._head[np.minimum(clipped, len(self._head) - 1)]
            if self.size > HEAD:
                tail = self._head[-1] + self._tail(np.maximum(clipped + 1.5, HEAD + 0.5))
                mass = np.where(clipped < HEAD, mass, tail)
            share = mass / self._total
        return np.where(values < 0, 0.0, share)

    def mass(self, values: Integers) -> Floats:
        """P(drawn = value)."""
        return self.cdf(values) - self.cdf(values - 1)

    def left_after(self, count: int) -> float:
        """The mass that remains when the ``count`` likeliest values are taken."""
        return 1.0 - float(self.cdf(np.array(count - 1))) if count else 1.0


def draw_distinct(rng: np.random.Generator, of: Distribution, rows: int, count: int) -> Integers:
    """Rows of ``count`` distinct values, in the order in which an urn would give them.

    Any prefix of a row is therefore a fair smaller draw.
    """
    assert count <= of.size, "more distinct values than there are"
    if of.size < 2 * count or of.left_after(count - 1) < SCARCE:
        return _draw_by_keys(rng, of, rows, count)
    values = of.quantile(rng.random((rows, count)))
    at = np.arange(rows)
    repeated = _repeats(values)
    while repeated.any():
        # Later copies are drawn again, which is what an urn without replacement does.
        stale = repeated.any(axis=1)
        at, repeated = at[stale], repeated[stale]
        redrawn = values[at]
        redrawn[repeated] = of.quantile(rng.random(int(repeated.sum())))
        values[at] = redrawn
        repeated = _repeats(redrawn)
    return values


def _repeats(values: Integers) -> npt.NDArray[np.bool_]:
    """Marks each value that stands further left in its row already."""
    marked = np.zeros(values.shape, dtype=np.bool_)
    ordered = np.sort(values, axis=1)
    suspects = np.flatnonzero((ordered[:, 1:] == ordered[:, :-1]).any(axis=1))
    if len(suspects):
        rows = values[suspects]
        order = np.argsort(rows, axis=1, kind="stable")
        ordered = np.take_along_axis(rows, order, axis=1)
        found = np.zeros(rows.shape, dtype=np.bool_)
        np.put_along_axis(found, order[:, 1:], ordered[:, 1:] == ordered[:, :-1], axis=1)
        marked[suspects] = found
    return marked


def _draw_by_keys(rng: np.random.Generator, of: Distribution, rows: int, count: int) -> Integers:
    """For draws that take most of the mass: each value waits an exponential time.

    Only a steep zipf over a large domain comes here with more than `KEYED_SIZE` values;
    the rest of them, each far rarer than the values drawn, are then left out.
    """
    size = min(of.size, max(KEYED_SIZE, count))
    rate = of.mass(np.arange(size))
    block = max(1, KEYED_CELLS // size)
    drawn = np.empty((rows, count), dtype=np.int64)
    for start in range(0, rows, block):
        here = drawn[start : start + block]
        waits = -np.log1p(-rng.random((len(here), size))) / rate
        here[:] = np.argsort(waits, axis=1)[:, :count]
    return drawn
