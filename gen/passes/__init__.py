"""From a query set to a plan: one rewrite per file, their order in one tuple."""

from __future__ import annotations

from collections.abc import Callable

from penstock.gen.errors import DeviceError
from penstock.gen.passes.cluster import TILE_SIZE, TILE_SIZES, cluster, sizes_text
from penstock.gen.passes.encode import encode
from penstock.gen.passes.host_only import host_only
from penstock.gen.passes.place_encoders import place_encoders
from penstock.gen.passes.rank import rank
from penstock.gen.passes.reserve import reserve
from penstock.gen.passes.share import share
from penstock.gen.plan import ENCODERS, MOST_BEST, Plan
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
    k: int | None = None,
    tile_size: int = TILE_SIZE,
) -> Plan:
    """The global plan of a query set, with room for ``spare`` subscriptions that come later.

    Tiles have up to ``tile_size`` subscriptions. Codes are made by the host or, where it can, by
    the device. With ``k`` it ranks the k best.
    """
    if spare < 0:
        raise ValueError(f"spare must not be negative, not {spare}")
    if encode not in ENCODERS:
        raise DeviceError(f"codes are made by {' or '.join(ENCODERS)}, not by {encode!r}")
    if k is not None and not 1 <= k <= MOST_BEST:
        raise ValueError(f"k must be from 1 to {MOST_BEST} in a circuit, not {k}")
    if tile_size not in TILE_SIZES:
        raise ValueError(f"a tile has {sizes_text()} subscriptions, not {tile_size}")
    plan = share(queries, progress)
    for rewrite in PASSES:
        plan = cluster(plan, tile_size) if rewrite is cluster else rewrite(plan)
    if encode == "device":
        plan = place_encoders(plan)
    if spare:
        plan = reserve(plan, spare)
    return rank(plan, k) if k is not None else plan
