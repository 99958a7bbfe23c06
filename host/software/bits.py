"""Words of 64 bits in compiled loops: what takes an instruction or two, said so that it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

WORDS = 8
"""Words of a row, which go into one vector."""
ONE = np.uint64(1)
_ROW = ir.VectorType(ir.IntType(64), WORDS)


@intrinsic
def _lowest_bit(typing: Any, word: Any) -> Any:
    """The number of the lowest bit that is set in a word; 64 if none is."""
    if word != types.uint64:
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, False))

    return types.int64(types.uint64), generate


@intrinsic
def _count_bits(typing: Any, word: Any) -> Any:
    """How many bits of a word are set."""
    if word != types.uint64:
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), generate


def _row_by_row(joined: Callable[[Any, Any, Any], Any]) -> Any:
    """``into[place] = joined(into[place], rows[row])`` for rows of `WORDS`."""

    @intrinsic
    def apply(typing: Any, into: Any, place: Any, rows: Any, row: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            source = _pointer(context, builder, signature.args[2], args[2], args[3])
            target = _pointer(context, builder, signature.args[0], args[0], args[1])
            mine, theirs = (builder.load(at, align=8) for at in (target, source))
            builder.store(joined(builder, mine, theirs), target, align=8)
            return context.get_dummy_value()

        return _on_rows(types.void, into, place, rows, row), generate

    return apply


RowLoop: TypeAlias = Callable[[Any, Any, Any, Any], None]
copy_row: RowLoop = _row_by_row(lambda builder, mine, theirs: theirs)
and_row: RowLoop = _row_by_row(lambda builder, mine, theirs: builder.and_(mine, theirs))
or_row: RowLoop = _row_by_row(lambda builder, mine, theirs: builder.or_(mine, theirs))


@intrinsic
def _all_of_rows(
    typing: Any, into: Any, place: Any, start: Any, row: Any, rows: Any, base: Any,
    asked: Any, at: Any,
) -> Any:  # fmt: skip
    """``into[place]`` is ``start[row]`` and ``rows[base + n]`` for all n in ``asked[at]``.

    The result has a bit for each word that is not 0 then.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        first = _pointer(context, builder, kinds[2], args[2], args[3])
        initial = builder.load(first, align=8)
        one = cgutils.alloca_once_value(builder, initial)  # type: ignore[no-untyped-call]
        data = _pointer(context, builder, kinds[4], args[4], args[5])
        numbers = context.make_array(kinds[6])(context, builder, args[6])
        count = builder.extract_value(numbers.shape, 1)
        begin = builder.gep(numbers.data, [builder.mul(args[7], count)])
        with cgutils.for_range(builder, count) as step:
            number = builder.load(builder.gep(begin, [step.index]))
            number = builder.sext(number, count.type)
            theirs = builder.load(builder.gep(data, [number]), align=8)
            builder.store(builder.and_(builder.load(one), theirs), one)
        made = builder.load(one)
        target = _pointer(context, builder, kinds[0], args[0], args[1])
        builder.store(made, target, align=8)
        return _filled(builder, made)

    if asked.dtype != types.int32 or asked.ndim != 2 or asked.layout != "C":
        return None
    signature = _on_rows(types.uint64, into, place, start, row, rows, base)
    return signature and types.uint64(*signature.args, asked, types.int64), generate


@intrinsic
def _filled_words(typing: Any, rows: Any, row: Any) -> Any:
    """A bit for each word of a row that is not 0."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source = _pointer(context, builder, signature.args[0], args[0], args[1])
        return _filled(builder, builder.load(source, align=8))

    return _on_rows(types.uint64, rows, row), generate


@intrinsic
def _fetch(typing: Any, words: Any, row: Any) -> Any:
    """Have a row of words brought near, for a loop that comes to it soon."""
    if words.dtype != types.uint64 or words.ndim != 2 or words.layout != "C":
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        width = builder.extract_value(array.shape, 1)
        at = builder.gep(array.data, [builder.mul(args[1], width)])
        bytes_ = ir.IntType(8).as_pointer()
        of = ir.FunctionType(ir.VoidType(), [bytes_, *[ir.IntType(32)] * 3])
        name = "llvm.prefetch.p0"
        fetch = builder.module.globals.get(name) or ir.Function(builder.module, of, name)
        read, keep, data = (ir.Constant(ir.IntType(32), value) for value in (0, 3, 1))
        builder.call(fetch, [builder.bitcast(at, bytes_), read, keep, data])
        return context.get_dummy_value()

    return types.void(words, types.int64), generate


@intrinsic
def _write_words(typing: Any, data: Any, place: Any, first: Any, second: Any) -> Any:
    """Write two words into bytes, from any place on, the lowest byte first."""
    if data.dtype != types.uint8 or data.ndim != 1 or data.layout != "C":
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bytes_ = context.make_array(signature.args[0])(context, builder, args[0]).data
        for word, offset in ((args[2], 0), (args[3], 8)):
            at = builder.gep(bytes_, [builder.add(args[1], args[1].type(offset))])
            builder.store(word, builder.bitcast(at, word.type.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(data, types.int64, types.uint64, types.uint64), generate


@intrinsic
def _read_word(typing: Any, data: Any, place: Any) -> Any:
    """Eight bytes from any place on as a word, the first byte lowest."""
    if data.dtype != types.uint8 or data.ndim != 1 or data.layout != "C":
        return None

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bytes_ = context.make_array(signature.args[0])(context, builder, args[0]).data
        word = builder.bitcast(builder.gep(bytes_, [args[1]]), ir.IntType(64).as_pointer())
        return builder.load(word, align=1)

    return types.uint64(data, types.int64), generate


all_of_rows = cast("Callable[[Any, Any, Any, Any, Any, Any, Any, Any], int]", _all_of_rows)
count_bits = cast("Callable[[Any], int]", _count_bits)
lowest_bit = cast("Callable[[Any], int]", _lowest_bit)
filled_words = cast("Callable[[Any, Any], int]", _filled_words)
fetch = cast("Callable[[Any, Any], None]", _fetch)
read_word = cast("Callable[[Any, Any], int]", _read_word)
write_words = cast("Callable[[Any, Any, Any, Any], None]", _write_words)


def aligned(rows: int) -> npt.NDArray[np.uint64]:
    """Room for rows, each in a line of the cache: half the traffic of one across two lines."""
    room = np.zeros((rows + 1) * WORDS, np.uint64)
    skipped = -room.ctypes.data // room.itemsize % WORDS
    return room[skipped : skipped + rows * WORDS].reshape(rows, WORDS)


def _filled(builder: Any, row: Any) -> Any:
    """A bit for each word of a row that is not 0."""
    flags = builder.icmp_unsigned("!=", row, ir.Constant(_ROW, None))
    return builder.zext(builder.bitcast(flags, ir.IntType(WORDS)), ir.IntType(64))


def _on_rows(result: Any, *args: Any) -> Any:
    """A signature on arrays of rows, each with the number of a row; None for other arrays."""
    for array in args[::2]:
        if array.dtype != types.uint64 or array.ndim != 2 or array.layout != "C":
            return None
    return result(*(types.int64 if n % 2 else array for n, array in enumerate(args)))


def _pointer(context: Any, builder: Any, of: Any, array: Any, row: Any) -> Any:
    data = context.make_array(of)(context, builder, array).data
    first = builder.gep(data, [builder.mul(row, row.type(WORDS))])
    return builder.bitcast(first, _ROW.as_pointer())
