"""Keep one copy of each predicate and of each sub-expression, however many queries use it."""

from __future__ import annotations

from penstock.gen.normal import AllOf, AnyOf, Normal, Pair, Test
from penstock.gen.normalise import normalise
from penstock.gen.passes.weaken import weaken
from penstock.gen.plan import Entry, Gate, Node, Plan
from penstock.gen.queryset import PROGRESS_STEP, Progress, QuerySet
from penstock.gen.scores import score_of


def share(queries: QuerySet, progress: Progress | None = None) -> Plan:
    """The graph of a query set, equal parts joined.

    hot: price > 5 AND live        n0: price from 6      hot: n2
    new: live AND price > 5   ->   n1: live = TRUE       new: n2
                                   n2: n0 and n1
    """
    graph = _Graph()
    entries = []
    for done, subscription in enumerate(queries):
        if progress and done % PROGRESS_STEP == 0:
            progress("planning subscriptions", done, len(queries))
        exact = normalise(subscription.condition)
        weaker, reason = weaken(exact)
        root = graph.add(weaker)
        score = score_of(exact, subscription.weight)
        entries.append(Entry(subscription.id, root, exact if reason else None, reason, score))
    return Plan(queries.schema, tuple(graph.nodes), tuple(entries))


class _Graph:
    def __init__(self) -> None:
        self.nodes: dict[Node, int] = {}

    def add(self, node: Normal) -> int:
        """The number of the node, new or known."""
        match node:
            case AllOf(children) | AnyOf(children):
                inputs = sorted({self.add(child) for child in children})
                made: Node = Gate(tuple(inputs), is_or=isinstance(node, AnyOf))
            case Test() | Pair():
                made = node
            case _:
                raise AssertionError(f"{node} is not for the device")
        return self.nodes.setdefault(made, len(self.nodes))
