"""What is worked out when it is first asked for, and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class once(Generic[Value]):
    """A property like `functools.cached_property`, without its lock.

    Up to Python 3.11 that has one lock for all objects of a class: who asks one object for what is
    found at once would wait for what takes another object long. Here, two threads that ask at the
    same time may both work it out; the first answer is kept.
    """

    def __init__(self, function: Callable[[Any], Value]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> once[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> Value | once[Value]:
        if instance is None:
            return self
        value: Value = instance.__dict__.setdefault(self._name, self._function(instance))
        return value
