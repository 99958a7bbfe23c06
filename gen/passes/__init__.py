"""From a query set to a plan: one rewrite per file, their order in one tuple."""

from __future__ import annotations

from collections.abc import Callable

from penstock.gen.passes.cluster import cluster
from penstock.gen.passes.encode import encode
from penstock.gen.passes.host_only import host_only
from penstock.gen.passes.reserve import reserve
from penstock.gen.passes.share import share
from penstock.gen.plan import Plan
from penstock.gen.queryset import Progress, QuerySet

PASSES: tuple[Callable[[Plan], Plan], ...] = (
    host_only,
    encode,  # after that: what is on the host alone needs no codes
    cluster,  # after encoding: neighbours are told by their codes
)


def plan_of(queries: QuerySet, progress: Progress | None = None, *, spare: int = 0) -> Plan:
    """The global plan of a query set, with room for ``spare`` subscriptions that come later."""
    if spare < 0:
        raise ValueError(f"spare must not be negative, not {spare}")
    plan = share(queries, progress)
    for rewrite in PASSES:
        plan = rewrite(plan)
    return reserve(plan, spare) if spare else plan
