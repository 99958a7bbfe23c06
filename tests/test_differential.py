"""One meaning: Spark SQL, DuckDB, the oracle, the normal form and the trees agree.

Spark says what is right, in three-valued logic. Where we refuse a text that Spark takes, the
reason must be one of those listed in `REFUSED_ON_PURPOSE`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest
from duckdb_answers import duckdb_answers
from hypothesis import HealthCheck, Phase, event, given, settings
from spark_answers import Refused, events_frame, select_answers, where_answers
from strategies import Case, cases

from penstock.gen.errors import QueryError
from penstock.gen.expr import Expression
from penstock.gen.language.script import parse_subscription
from penstock.gen.normal import holds, make_event
from penstock.gen.normalise import TooManyDisjuncts, disjuncts, normalise
from penstock.gen.schema import Schema
from penstock.gen.types import Value
from penstock.sim import oracle
from penstock.sim.be_star_tree import BEStarTree
from penstock.sim.be_tree import BETree

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REFUSED_ON_PURPOSE = (
    "arithmetic and casts work on constants only",
    "a condition cannot be compared or computed with",
    "LIKE takes a constant string",
    "LIKE works on STRING",
    "cannot compare",  # strings are cast to dates and timestamps only
    "there is no cast from",
    "DIV takes whole numbers",
    "is out of range",  # years outside 1 to 9999
    "is beyond the range of DATE",
    "is read as one number",  # 1e2+3 without spaces
)
WHERE_TEXTS = 4
"""How many texts of a case also go through ``where``, whose optimiser sees other plans."""

# A failure names one text and one event, small as they are: shrinking would only cost time.
AS_FOUND = settings(
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def read(text: str, schema: Schema) -> Expression | str:
    """The text's condition, or why the language refuses it."""
    try:
        return parse_subscription("q", text, schema, "text").condition
    except QueryError as error:
        return error.problems[0].message


def told(text: str, at: Mapping[int, Value], schema: Schema, **answers: object) -> str:
    """A disagreement as one line."""
    seen = ", ".join(f"{a.name} {a.type} = {at.get(a.index)!r}" for a in schema)
    return f"{text!r} where {seen}: " + ", ".join(f"{who} {a}" for who, a in answers.items())


def disagreements(case: Case, text: str, condition: Expression, spark: list[bool | None]):
    """Where the oracle or the normal form answers other than Spark."""
    normal = normalise(condition)
    for values, want in zip(case.events, spark, strict=True):
        mine = oracle.evaluate(condition, values)
        kept = holds(normal, make_event(values, case.schema.attributes))
        if mine is not want or kept is not (want is True):
            yield told(text, values, case.schema, spark=want, oracle=mine, normal=kept)


@pytest.mark.fuzz
@pytest.mark.xdist_group("spark")
@AS_FOUND
@given(case=cases())
def test_random_texts_mean_what_spark_means(spark: "SparkSession", case: Case) -> None:
    frame = events_frame(spark, case.schema, case.events)
    answers = select_answers(frame, case.texts)
    wrong: list[str] = []
    taken: list[tuple[str, list[bool | None]]] = []
    for text, answer in zip(case.texts, answers, strict=True):
        condition = read(text, case.schema)
        if isinstance(condition, str):
            on_purpose = any(reason in condition for reason in REFUSED_ON_PURPOSE)
            event("refused by both" if isinstance(answer, Refused) else "refused on purpose")
            if not isinstance(answer, Refused) and not on_purpose:
                wrong.append(f"{text!r} is refused ({condition}), but not by Spark")
        elif isinstance(answer, Refused):
            wrong.append(f"{text!r} is taken, but Spark says {answer.reason}")
        else:
            event("taken")
            wrong += list(disagreements(case, text, condition, answer))[:1]
            taken.append((text, answer))
    texts = [text for text, _ in taken[:WHERE_TEXTS]]
    for (text, answer), rows in zip(taken, where_answers(frame, texts), strict=False):
        if rows != {row for row, value in enumerate(answer) if value is True}:
            wrong.append(f"{text!r} keeps other rows under where than under select")
    assert not wrong, "\n".join(wrong)


@pytest.mark.fuzz
@AS_FOUND
@given(case=cases(texts=12))
def test_oracle_normal_form_disjuncts_trees_and_duckdb_agree(case: Case) -> None:
    conditions = {}
    for index, text in enumerate(case.texts):
        condition = read(text, case.schema)
        if not isinstance(condition, str):
            conditions[f"{index:02} {text}"] = condition
    parts = {}
    for id, condition in conditions.items():
        try:
            parts[id] = disjuncts(normalise(condition))
        except TooManyDisjuncts:
            event("too many disjuncts")
    trees = [tree(case.schema, leaf_capacity=2) for tree in (BETree, BEStarTree)]
    for id, conjunctions in parts.items():
        for tree in trees:
            tree.insert(id, conjunctions)
    second = duckdb_answers(case.schema, list(conditions.values()), case.events)
    for row, values in enumerate(case.events):
        at = make_event(values, case.schema.attributes)
        wanted = []
        for (id, condition), answers in zip(conditions.items(), second, strict=True):
            want = oracle.evaluate(condition, values)
            got = {"normal": holds(normalise(condition), at)}
            if id in parts:
                wanted += [id] if want else []
                spread = parts[id]
                got["disjuncts"] = any(all(holds(x, at) for x in c.leaves) for c in spread)
            assert set(got.values()) == {want is True}, told(
                id, values, case.schema, oracle=want, **got
            )
            event("DuckDB leaves it out" if answers is None else "DuckDB answers")
            assert answers is None or answers[row] is want, told(
                id, values, case.schema, oracle=want, duckdb=answers and answers[row]
            )
        for tree in trees:
            assert tree.match(at) == wanted, (type(tree).__name__, values)
