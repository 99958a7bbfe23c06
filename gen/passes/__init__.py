"""From a query set to a plan: one rewrite per file, their order in one tuple."""

from __future__ import annotations

from collections.abc import Callable

from penstock.gen.errors import DeviceError
from penstock.gen.passes.cluster import cluster
from penstock.gen.passes.encode import encode
from penstock.gen.passes.host_only import host_only
from penstock.gen.passes.place_encoders import place_encoders
from penstock.gen.passes.reserve import reserve
from penstock.gen.passes.share import share
from penstock.gen.plan import ENCODERS, Plan
from penstock.gen.queryset import Progress, QuerySet

PASSES: tuple[Callable[[Plan], Plan], ...] = (
    host_only,
    encode,  # after that: what is on the host alone needs no codes
    cluster,  # after encoding: neighbours are told by their codes
)


def plan_of(
    queries: QuerySet,
    progress: Progress | None = None,
    *,
    spare: int = 0,
    encode: str = "host",
) -> Plan:
    """The global plan of a query set, with room for ``spare`` subscriptions that come later.

    Codes are made by the host or, where it can, by the device.
    """
    if spare < 0:
        raise ValueError(f"spare must not be negative, not {spare}")
    if encode not in ENCODERS:
        raise DeviceError(f"codes are made by {' or '.join(ENCODERS)}, not by {encode!r}")
    plan = share(queries, progress)
    for rewrite in PASSES:
        plan = rewrite(plan)
    if encode == "device":
        plan = place_encoders(plan)
    return reserve(plan, spare) if spare else plan
