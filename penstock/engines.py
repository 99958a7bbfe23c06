"""The engines by name, and `open`, which puts a query set on one of them."""

from __future__ import annotations

from collections.abc import Callable

from penstock.gen.errors import DeviceError
from penstock.gen.queryset import Progress, QuerySet
from penstock.host.device import Device
from penstock.host.matcher import Matcher


def _oracle(queries: QuerySet, progress: Progress | None) -> Device:
    from penstock.sim.reference import OracleDevice

    return OracleDevice(queries, progress)


def _reference(queries: QuerySet, progress: Progress | None) -> Device:
    from penstock.sim.reference import ReferenceDevice

    return ReferenceDevice(queries, progress)


ENGINES: dict[str, Callable[[QuerySet, Progress | None], Device]] = {
    "reference": _reference,  # BE-Tree, the model that everything is verified against
    "oracle": _oracle,  # every condition on every event: the definition
}


def open(
    queries: QuerySet, *, engine: str = "reference", progress: Progress | None = None
) -> Matcher:
    """Open a query set on an engine; close the matcher, or use it in a ``with`` block."""
    if engine not in ENGINES:
        raise DeviceError(f"unknown engine {engine!r}; the engines are {', '.join(ENGINES)}")
    return Matcher(queries, ENGINES[engine](queries, progress))
