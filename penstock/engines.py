"""The engines by name, and `open`, which puts a query set on one of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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


def _simulated(
    queries: QuerySet,
    progress: Progress | None,
    *,
    waves: Path | None = None,
    encode: str = "host",
    k: int | None = None,
) -> Device:
    try:
        from penstock.sim.simulated.device import SimulatedDevice
    except ModuleNotFoundError as error:
        raise DeviceError(
            f"the simulated engine needs {error.name}: pip install 'penstock[circuit]'"
        ) from None
    return SimulatedDevice(queries, progress, waves=waves, encode=encode, k=k)


ENGINES: dict[str, Callable[[QuerySet, Progress | None], Device]] = {
    "reference": _reference,  # BE-Tree, the model that everything is verified against
    "oracle": _oracle,  # every condition on every event: the definition
    "simulated": _simulated,  # the circuit, cycle by cycle
}


def open(
    queries: QuerySet,
    *,
    engine: str = "reference",
    waves: str | Path | None = None,
    encode: str = "host",
    k: int | None = None,
    progress: Progress | None = None,
) -> Matcher:
    """Open a query set on an engine; close the matcher, or use it in a ``with`` block.

    The simulated engine records every signal to the VCD file ``waves``, if one is named. With
    ``encode="device"`` its circuit takes values and makes codes of them itself; with ``k`` it can
    rank, and send only the k best matches of each event.
    """
    if engine not in ENGINES:
        raise DeviceError(f"unknown engine {engine!r}; the engines are {', '.join(ENGINES)}")
    if engine == "simulated":
        path = None if waves is None else Path(waves)
        return Matcher(queries, _simulated(queries, progress, waves=path, encode=encode, k=k))
    if waves is not None:
        raise DeviceError(f"engine {engine!r} has no signals to record; use engine='simulated'")
    if encode != "host":
        raise DeviceError(f"engine {engine!r} has no codes to make; use engine='simulated'")
    if k is not None:
        raise DeviceError(
            f"engine {engine!r} has no circuit that ranks; use engine='simulated'\n"
            "hint: top_k works without it, for any k"
        )
    return Matcher(queries, ENGINES[engine](queries, progress))
