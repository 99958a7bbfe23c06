"""Take off the device what it cannot narrow down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.gen.plan import Entry, Gate, Node, Plan

ALWAYS = Gate(())


def host_only(plan: Plan) -> Plan:
    """Leave to the host alone what would come through on every event and be tested there anyway.

    n0: always                                       n0: price from 6
    n1: price from 6
    same: n0, then the host: buyer <=> seller   ->   same: the host: buyer <=> seller
    hot: n1                                          hot: n0

    Its match bit would cost a chunk per event and say nothing. What truly holds always stays on
    the device: it is a match of every event like any other, and needs no rule of its own.
    """
    always = next((index for index, node in enumerate(plan.nodes) if node == ALWAYS), None)
    if always is None:
        return plan
    entries = tuple(
        replace(entry, root=None) if entry.root == always and entry.residual is not None else entry
        for entry in plan.entries
    )
    if any(entry.root == always for entry in entries):
        return replace(plan, entries=entries)
    return replace(plan, nodes=_without(always, plan.nodes), entries=_moved(always, entries))


def _without(unused: int, nodes: Sequence[Node]) -> tuple[Node, ...]:
    """The nodes less one that no gate uses, as after merging none uses what always holds."""
    kept = (node for index, node in enumerate(nodes) if index != unused)
    return tuple(
        replace(node, inputs=tuple(i - (i > unused) for i in node.inputs))
        if isinstance(node, Gate)
        else node
        for node in kept
    )


def _moved(unused: int, entries: Sequence[Entry]) -> tuple[Entry, ...]:
    return tuple(
        replace(entry, root=entry.root - (entry.root > unused)) if entry.root is not None else entry
        for entry in entries
    )
