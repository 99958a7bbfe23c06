"""How functions are compiled here: kept on disk for the next process, and without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numba

Scalar: TypeAlias = Any
"""A number or a verdict, in whatever type it comes."""
Function = TypeVar("Function", bound=Callable[..., Any])


def compiled(function: Function) -> Function:
    """A loop that takes tuples of arrays, or makes arrays; to be called now and then."""
    return cast(Function, numba.njit(cache=True, nogil=True)(function))


def loop(function: Function) -> Function:
    """A loop over arrays that it is given, which makes none.

    So it need not count references to them, which takes longer than what a short loop does.
    """
    return cast(Function, numba.njit(cache=True, nogil=True, _nrt=False)(function))  # type: ignore[call-overload]


def inlined(function: Function) -> Function:
    """A piece of loops, which becomes part of each of them."""
    return cast(Function, numba.njit(nogil=True, forceinline=True, _nrt=False)(function))  # type: ignore[call-overload]
