"""From a query set to a plan: one rewrite per file, their order in one tuple."""

from __future__ import annotations

from collections.abc import Callable

from penstock.gen.errors import DeviceError
from penstock.gen.passes.cluster import cluster
from penstock.gen.passes.encode import encode
from penstock.gen.passes.place_encoders import place_encoders
from penstock.gen.passes.share import share
from penstock.gen.plan import ENCODERS, Plan
from penstock.gen.queryset import Progress, QuerySet

PASSES: tuple[Callable[[Plan], Plan], ...] = (
    encode,
    cluster,  # after encoding: neighbours are told by their codes
)


def plan_of(queries: QuerySet, progress: Progress | None = None, *, encode: str = "host") -> Plan:
    """The global plan of a query set; codes are made by the host or, if possible, the device."""
    if encode not in ENCODERS:
        raise DeviceError(f"codes are made by {' or '.join(ENCODERS)}, not by {encode!r}")
    plan = share(queries, progress)
    for rewrite in PASSES:
        plan = rewrite(plan)
    return place_encoders(plan) if encode == "device" else plan
