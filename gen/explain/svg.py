"""A plan as a picture: attributes, predicates, gates and subscriptions from left to right."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from penstock.gen.normal import Normal, Pair, Test, attributes_of
from penstock.gen.plan import Gate, Plan
from penstock.gen.render import normal_text

ROW = 26
BOX_HEIGHT = 18
CHARACTER = 6.2
LONGEST_TEXT = 44
ENTRIES_DRAWN = 60
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
COLOURS = {"attribute": "#dbeafe", "predicate": "#dcfce7", "gate": "#fef3c7", "entry": "#fae8ff"}


@dataclass(slots=True)
class _Box:
    text: str
    kind: str
    column: int
    inputs: list[str]
    x: float = 0
    y: float = 0

    @property
    def width(self) -> float:
        return 14 + CHARACTER * len(self.text)


def plan_svg(plan: Plan) -> str:
    """The first subscriptions of a plan and all that they use, as an SVG picture."""
    boxes = _boxes(plan)
    columns: dict[int, list[_Box]] = {}
    for box in boxes.values():
        columns.setdefault(box.column, []).append(box)
    x = 10.0
    for number in sorted(columns):
        for row, box in enumerate(columns[number]):
            box.x, box.y = x, 34 + ROW * row
        x += max(box.width for box in columns[number]) + 70
    height = 44 + ROW * max(map(len, columns.values()), default=1)
    drawn = min(ENTRIES_DRAWN, len(plan.entries))
    title = f"{plan.schema.stream}: {drawn:,} of {len(plan.entries):,} subscriptions"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{x:.0f}" height="{height}" '
        f'font-family="monospace" font-size="10">',
        f"<title>{_escaped(title)}</title>",
        f'<text x="10" y="18" font-size="13">{_escaped(title)}</text>',
        *(_wire(boxes[name], box) for box in boxes.values() for name in box.inputs),
        *(_drawn(box) for box in boxes.values()),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _boxes(plan: Plan) -> dict[str, _Box]:
    boxes: dict[str, _Box] = {}
    depth: dict[int, int] = {}

    def add(index: int) -> str:
        name = f"n{index}"
        if name in boxes:
            return name
        node = plan.nodes[index]
        if isinstance(node, Gate):
            inputs = [add(below) for below in node.inputs]
            depth[index] = 1 + max((depth[i] for i in node.inputs), default=1)
            word = "OR" if node.is_or else "AND"
            boxes[name] = _Box(word, "gate", depth[index], inputs)
        else:
            depth[index] = 1
            boxes[name] = _Box(_short(normal_text(node)), "predicate", 1, _attributes(node, boxes))
        return name

    roots = [
        (entry, [] if entry.root is None else [add(entry.root)])
        for entry in plan.entries[:ENTRIES_DRAWN]
    ]
    last = 1 + max(depth.values(), default=1)
    for entry, inputs in roots:
        mark = " *" if entry.residual is not None else ""
        boxes[f"e{entry.id}"] = _Box(_short(entry.id) + mark, "entry", last, inputs)
    return boxes


def _attributes(node: Normal, boxes: dict[str, _Box]) -> list[str]:
    assert isinstance(node, Test | Pair)
    names = []
    for attribute in attributes_of(node):
        name = f"a{attribute.index}"
        boxes.setdefault(name, _Box(_short(attribute.name), "attribute", 0, []))
        names.append(name)
    return names


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"


def _escaped(text: str) -> str:
    return escape(NOT_IN_XML.sub("\ufffd", text))


def _wire(source: _Box, target: _Box) -> str:
    x1, y1 = source.x + source.width, source.y + BOX_HEIGHT / 2
    x2, y2 = target.x, target.y + BOX_HEIGHT / 2
    bend = (x1 + x2) / 2
    return (
        f'<path d="M{x1:.1f} {y1:.1f} C{bend:.1f} {y1:.1f} {bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}" '
        f'fill="none" stroke="#94a3b8"/>'
    )


def _drawn(box: _Box) -> str:
    return (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{BOX_HEIGHT}" '
        f'rx="4" fill="{COLOURS[box.kind]}" stroke="#475569"/>'
        f'<text x="{box.x + 7:.1f}" y="{box.y + 13:.1f}">{_escaped(box.text)}</text>'
    )
