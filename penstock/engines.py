"""The engines by name, and `open`, which puts a query set on one of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

from penstock.gen.errors import DeviceError
from penstock.gen.queryset import Progress, QuerySet
from penstock.host.device import Device
from penstock.host.expiries import Clock, ForwardClock, expire, system_clock
from penstock.host.matcher import Matcher
from penstock.host.one_at_a_time import OneAtATime
from penstock.host.saved.folder import SavedSet

Engine: TypeAlias = Callable[[QuerySet, Progress | None], Device]
"""Opens a device; what it needs of the query set it takes then, as that changes later."""


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
    k: int | None = None,
) -> Device:
    try:
        from penstock.sim.simulated.device import SimulatedDevice
    except ModuleNotFoundError as error:
        raise DeviceError(
            f"the simulated engine needs {error.name}: pip install 'penstock[circuit]'"
        ) from None
    software = _software(queries.empty(), None)  # for what the circuit has no room for
    return OneAtATime(
        SimulatedDevice(
            queries, progress, software=software, waves=waves, spare=spare, encode=encode, k=k
        )
    )


ENGINES: dict[str, Engine] = {
    "reference": _reference,  # BE-Tree, the model that everything is verified against
    "oracle": _oracle,  # every condition on every event: the definition
    "software": _software,  # compiled loops on the CPU
    "simulated": _simulated,  # the circuit, cycle by cycle
}


def open(
    queries: QuerySet | str | Path,
    *,
    engine: str = "software",
    threads: int = 1,
    waves: str | Path | None = None,
    encode: str = "host",
    spare: int = 0,
    k: int | None = None,
    clock: Clock = system_clock,
    progress: Progress | None = None,
) -> Matcher:
    """Open a query set on an engine; close the matcher, or use it in a ``with`` block.

    A path is that of a saved set: it is opened as it was last, and changes are logged in it. A
    query set itself is not changed, whatever becomes of the matcher's.

    The software engine matches on so many ``threads``.

    The simulated engine records every signal to the VCD file ``waves``, if one is named. With
    ``encode="device"`` its circuit takes values and makes codes of them itself; with ``k`` it can
    rank, and send only the k best matches of each event. It is built with a table for about
    ``spare`` subscriptions that are added later.

    What has expired by ``clock`` is matched no more.
    """
    make = _engine(engine, threads=threads, waves=waves, encode=encode, spare=spare, k=k)
    if isinstance(queries, QuerySet):
        current, saved = queries.copy(), None
    else:
        saved, current = SavedSet.open(Path(queries))
    try:
        forward = ForwardClock(clock)
        expire(current, forward())
        return Matcher(current, make(current, progress), saved=saved, clock=forward)
    except BaseException:
        if saved:
            saved.close()
        raise


def _engine(
    engine: str,
    *,
    threads: int,
    waves: str | Path | None,
    encode: str,
    spare: int,
    k: int | None,
) -> Engine:
    """The engine of a name with its options; DeviceError if it is unknown or lacks one of them."""
    if engine not in ENGINES:
        raise DeviceError(f"unknown engine {engine!r}; the engines are {', '.join(ENGINES)}")
    if threads != 1 and engine != "software":
        raise DeviceError(f"engine {engine!r} has one thread; use engine='software'")
    if engine == "simulated":
        path = None if waves is None else Path(waves)
        return partial(_simulated, waves=path, encode=encode, spare=spare, k=k)
    if waves is not None:
        raise DeviceError(f"engine {engine!r} has no signals to record; use engine='simulated'")
    if encode != "host":
        raise DeviceError(f"engine {engine!r} has no codes to make; use engine='simulated'")
    if spare:
        raise DeviceError(f"engine {engine!r} has room for any number; leave spare out")
    if k is not None:
        raise DeviceError(
            f"engine {engine!r} has no circuit that ranks; use engine='simulated'\n"
            "hint: top_k works without it, for any k"
        )
    return partial(_software, threads=threads) if engine == "software" else ENGINES[engine]
