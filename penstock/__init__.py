"""Penstock matches event streams against many standing queries at once.

import penstock

queries = penstock.load("rules.sql")
with penstock.open(queries) as matcher:
    table = matcher.match(events)
"""

from penstock.engines import ENGINES, open
from penstock.gen.errors import DataError, DeviceError, PenstockError, Problem, QueryError
from penstock.gen.language.policy_statement import parse_policy
from penstock.gen.language.script import parse_schema
from penstock.gen.load import load, load_policy, load_schema
from penstock.gen.policy import Policy
from penstock.gen.queryset import QuerySet
from penstock.gen.schema import Attribute, Schema
from penstock.host.explain import Explanation, explain
from penstock.host.matcher import Matcher
from penstock.host.statistics import Stats
from penstock.outlines import outline

__version__ = "0.1.0"

__all__ = [
    "ENGINES",
    "Attribute",
    "DataError",
    "DeviceError",
    "Explanation",
    "Matcher",
    "PenstockError",
    "Policy",
    "Problem",
    "QueryError",
    "QuerySet",
    "Schema",
    "Stats",
    "explain",
    "load",
    "load_policy",
    "load_schema",
    "open",
    "outline",
    "parse_policy",
    "parse_schema",
]
