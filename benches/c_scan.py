"""The baseline: a plain scan in C, compiled on the spot with the machine's own compiler.

    scan = Scan(expressions, schema)          # a table of predicates over INT attributes
    events = scan.events(sparse)              # one map column, into the scan's own arrays
    answer = scan.match(events)               # this is what benches time

See c_scan.c for what it does, which is nothing clever.
"""

from __future__ import annotations

import ctypes
import shlex
import subprocess
import tempfile
from copy import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock import Schema
from penstock.sim.simulated.compile import compiler

SOURCE = Path(__file__).with_suffix(".c")
FLAGS = ("-O3", "-march=native", "-shared", "-fPIC")
OPERATORS = ("<", "<=", "=", "<>", ">=", ">", "IN", "NOT IN", "BETWEEN")
LT, LE, _, NE, GE, GT, IN, NOT_IN, _ = range(len(OPERATORS))
EMPTY = 1, 0
"""The interval of what no value satisfies, such as ``> 2147483647``."""
INT = np.iinfo(np.int32)

Integers = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Events:
    """Event ``e`` has the pairs ``starts[e]`` up to ``starts[e + 1]``."""

    starts: Integers
    attributes: Integers
    values: Integers

    def __len__(self) -> int:
        return len(self.starts) - 1

    def first(self, count: int) -> Events:
        """The first of them, no more than there are."""
        return Events(self.starts[: count + 1], self.attributes, self.values)


@dataclass
class Answer:
    """Event ``e`` matches the expressions ``numbers[ends[e - 1]:ends[e]]``."""

    numbers: Integers
    ends: npt.NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.ends)

    def of(self, event: int) -> Integers:
        return self.numbers[self.ends[event - 1] if event else 0 : self.ends[event]]


class Scan:
    """Expressions in the order in which they are given, predicates too."""

    def __init__(self, expressions: pa.Table, schema: Schema) -> None:
        self._schema = schema
        ids = expressions["id"].combine_chunks()
        differs = pc.not_equal(ids.slice(1), ids.slice(0, len(ids) - 1)).to_numpy(False)
        first = np.concatenate([[0], np.flatnonzero(differs) + 1])
        self.ids = ids.take(pa.array(first))
        """Of each expression, by its number."""
        self._starts = np.append(first, len(ids)).astype(np.int32)
        self._predicates, self._lists = _packed(expressions, schema)
        self._scratch = np.empty(len(schema), np.int64)

    def rarest_first(self, events: Events) -> Scan:
        """The same expressions, their predicates in the order in which most are left soonest:

        those whose attribute the fewest of these events have come first.
        """
        having = np.bincount(events.attributes, minlength=len(self._scratch))
        expressions = np.repeat(np.arange(len(self.ids)), np.diff(self._starts))
        order = np.lexsort((having[self._predicates[:, 0]], expressions))
        ordered = copy(self)
        ordered._predicates = np.ascontiguousarray(self._predicates[order])
        return ordered

    def events(self, sparse: pa.Table) -> Events:
        """Sparse events, which name no attribute twice, as pairs of attribute and value."""
        maps = pa.concat_arrays(sparse.column(0).chunks)
        first, last = maps.offsets[0].as_py(), maps.offsets[-1].as_py()
        keys = pa.chunked_array([maps.keys.slice(first, last - first)])
        names = {attribute.name: attribute.index for attribute in self._schema}
        items = maps.items.slice(first, last - first).cast(pa.int32())
        return Events(
            np.asarray(maps.offsets) - np.int32(first),
            _numbers(keys, names),
            np.ascontiguousarray(items),
        )

    def match(self, events: Events, into: Answer | None = None) -> Answer:
        """Test all; the answer goes to the arrays of an earlier one of the same events."""
        if into is None:
            into = Answer(np.empty(0, np.int32), np.zeros(len(events), np.int64))
        self._run(events, into)
        if len(events) and into.ends[-1] > len(into.numbers):  # now it is known how much room
            into.numbers = np.zeros(into.ends[-1], np.int32)
            self._run(events, into)
        return into

    def _run(self, events: Events, into: Answer) -> None:
        _library().scan(
            *(len(self.ids), self._starts, self._predicates.ravel(), self._lists),
            *(len(events), events.starts, events.attributes, events.values),
            *(len(self._scratch), self._scratch),
            *(len(into.numbers), into.numbers, into.ends),
        )


def _packed(expressions: pa.Table, schema: Schema) -> tuple[Integers, Integers]:
    """The predicates as c_scan.c declares them, and the values of all lists."""
    operators = _numbers(expressions["operator"], {name: i for i, name in enumerate(OPERATORS)})
    operands = expressions["operands"].combine_chunks()
    starts = np.asarray(operands.offsets)[:-1] - operands.offsets[0].as_py()
    lengths = np.asarray(pc.list_value_length(operands))
    values = np.ascontiguousarray(operands.flatten().cast(pa.int32()))
    low, high = values[starts].astype(np.int64), values[starts + lengths - 1].astype(np.int64)
    low = np.select([operators <= LE, operators == GT], [INT.min, low + 1], low)
    high = np.select([operators == LT, _any(operators, GE, GT)], [high - 1, INT.max], high)
    empty = low > high
    low[empty], high[empty] = EMPTY
    listed = _any(operators, IN, NOT_IN)
    packed = np.empty((len(operators), 4), np.int32)
    packed[:, 0] = _numbers(expressions["attribute"], {a.name: a.index for a in schema})
    packed[:, 1] = 2 * listed + _any(operators, NE, NOT_IN)
    packed[:, 2] = np.where(listed, starts, low)
    packed[:, 3] = np.where(listed, lengths, high)
    return packed, values


def _any(operators: Integers, *of: int) -> npt.NDArray[np.bool_]:
    return np.isin(operators, of)


def _numbers(column: pa.ChunkedArray, known: dict[str, int]) -> Integers:
    """A column of names as numbers; the distinct names are looked up once each."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    encoded = pa.concat_arrays(column.unify_dictionaries().chunks)
    numbers = [known[name] for name in encoded.dictionary.to_pylist()]
    return np.array(numbers, np.int32)[np.asarray(encoded.indices)]


def command(target: Path) -> list[str]:
    """How the scan is compiled; any C++ compiler takes C if told so."""
    return [*compiler(), "-x", "c", *FLAGS, "-o", str(target), str(SOURCE)]


def compiled_with() -> str:
    """The compiler and its options, for the results."""
    version = subprocess.run([*compiler(), "--version"], capture_output=True, text=True, check=True)
    return f"{version.stdout.splitlines()[0]}: {shlex.join(FLAGS)}"


@cache
def _library() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "c_scan.so")
        subprocess.run(command(target), check=True)
        library = ctypes.CDLL(str(target))
    numbers = np.ctypeslib.ndpointer(np.int32, ndim=1, flags="C")
    longs = np.ctypeslib.ndpointer(np.int64, ndim=1, flags="C")
    count = ctypes.c_int64
    library.scan.restype = None
    library.scan.argtypes = [
        *(count, numbers, numbers, numbers),
        *(count, numbers, numbers, numbers),
        *(count, longs, count, numbers, longs),
    ]
    return library
