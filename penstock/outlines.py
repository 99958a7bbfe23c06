"""`outline`: what an engine makes of a query set, for people."""

from __future__ import annotations

from penstock.engines import ENGINES
from penstock.gen.errors import DeviceError
from penstock.gen.queryset import Progress, QuerySet


def outline(
    queries: QuerySet, *, engine: str = "software", progress: Progress | None = None
) -> str:
    """What an engine decides by its index or circuit, what it leaves to the host, and why.

    `penstock explain` prints the same. It takes about as long as opening the set does, without
    compiling a circuit.
    """
    if engine not in ENGINES:
        raise DeviceError(f"unknown engine {engine!r}; the engines are {', '.join(ENGINES)}")
    if engine == "software":
        from penstock.host.software.outline import outline as of_software

        return of_software(queries, progress)
    if engine == "simulated":
        from penstock.gen.explain import plan_text
        from penstock.gen.passes import plan_of

        return plan_text(plan_of(queries, progress))
    noun = "subscription" if len(queries) == 1 else "subscriptions"
    return (
        f"stream {queries.schema.stream}: {len(queries):,} {noun} on engine {engine}\n"
        "all of them decided as a whole, none finished elsewhere"
    )
