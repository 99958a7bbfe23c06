"""A plan for people: as text, and as a picture."""

from penstock.gen.explain.svg import plan_svg
from penstock.gen.explain.text import plan_text

__all__ = ["plan_svg", "plan_text"]
