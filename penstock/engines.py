"""The engines by name, and `open`, which puts a query set on one of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from penstock.gen.errors import DeviceError
from penstock.gen.queryset import Progress, QuerySet
from penstock.host.device import Device
from penstock.host.matcher import Matcher
from penstock.host.one_at_a_time import OneAtATime


def _software(queries: QuerySet, progress: Progress | None, *, threads: int = 1) -> Device:
    from penstock.host.software.device import SoftwareDevice

    return SoftwareDevice(queries, progress, threads=threads)


def _oracle(queries: QuerySet, progress: Progress | None) -> Device:
    from penstock.sim.reference import OracleDevice

    return OneAtATime(OracleDevice(queries, progress))


def _reference(queries: QuerySet, progress: Progress | None) -> Device:
    from penstock.sim.reference import ReferenceDevice

    return OneAtATime(ReferenceDevice(queries, progress))


def _simulated(
    queries: QuerySet,
    progress: Progress | None,
    *,
    waves: Path | None = None,
    encode: str = "host",
    spare: int = 0,
) -> Device:
    try:
        from penstock.sim.simulated.device import SimulatedDevice
    except ModuleNotFoundError as error:
        raise DeviceError(
            f"the simulated engine needs {error.name}: pip install 'penstock[circuit]'"
        ) from None
    software = _oracle(QuerySet(queries.schema), None)  # for what the circuit has no room for
    return OneAtATime(
        SimulatedDevice(
            queries, progress, software=software, waves=waves, spare=spare, encode=encode
        )
    )


ENGINES: dict[str, Callable[[QuerySet, Progress | None], Device]] = {
    "reference": _reference,  # BE-Tree, the model that everything is verified against
    "oracle": _oracle,  # every condition on every event: the definition
    "software": _software,  # compiled loops on the CPU
    "simulated": _simulated,  # the circuit, cycle by cycle
}


def open(
    queries: QuerySet,
    *,
    engine: str = "reference",
    waves: str | Path | None = None,
    encode: str = "host",
    spare: int = 0,
    progress: Progress | None = None,
) -> Matcher:
    """Open a query set on an engine; close the matcher, or use it in a ``with`` block.

    The simulated engine records every signal to the VCD file ``waves``, if one is named. With
    ``encode="device"`` its circuit takes values and makes codes of them itself. It is built with
    a table for about ``spare`` subscriptions that are added later.
    """
    if engine not in ENGINES:
        raise DeviceError(f"unknown engine {engine!r}; the engines are {', '.join(ENGINES)}")
    if engine == "simulated":
        path = None if waves is None else Path(waves)
        device = _simulated(queries, progress, waves=path, encode=encode, spare=spare)
        return Matcher(queries, device)
    if waves is not None:
        raise DeviceError(f"engine {engine!r} has no signals to record; use engine='simulated'")
    if encode != "host":
        raise DeviceError(f"engine {engine!r} has no codes to make; use engine='simulated'")
    if spare:
        raise DeviceError(f"engine {engine!r} has room for any number; leave spare out")
    return Matcher(queries, ENGINES[engine](queries, progress))
