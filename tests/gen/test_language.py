"""Statements, quoting and size: what a query file may look like, and how large it may be."""

import sys
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal

import pytest

from penstock.gen.errors import QueryError
from penstock.gen.expr import And, Comparison, Constant, Expression, Not, Or, Subscription
from penstock.gen.language.parse import MAX_NESTING
from penstock.gen.language.script import parse_schema, parse_script, parse_subscription
from penstock.gen.normal import holds, make_event
from penstock.gen.normalise import TooManyDisjuncts, disjuncts, normalise, verdict
from penstock.gen.render import normal_text, sql
from penstock.gen.schema import Schema
from penstock.gen.types import BOOLEAN, INT, STRING, decimal
from penstock.sim import oracle

SCHEMA = Schema.of(
    {**{f"a{i}": "INT" for i in range(20)}, "s": "STRING", "b": "BOOLEAN", "d": "DECIMAL(38,37)"}
)
LONG = 10_000


def subscriptions(text: str) -> dict[str, dict[str, Subscription]]:
    script = parse_script(text, "text")
    assert not script.problems, "\n".join(map(str, script.problems))
    return script.subscriptions


def read(text: str) -> Expression:
    return parse_subscription("q", text, SCHEMA, "text").condition


def test_a_file_may_declare_several_streams() -> None:
    found = subscriptions("""
        CREATE STREAM trades (price INT);
        CREATE STREAM quotes (bid INT);
        CREATE SUBSCRIPTION q ON quotes WHERE bid > 1;
        CREATE SUBSCRIPTION q ON trades WHERE price > 1;
    """)
    assert {stream: list(ids) for stream, ids in found.items()} == {
        "trades": ["q"],
        "quotes": ["q"],
    }


def test_comments_and_empty_statements_say_nothing() -> None:
    found = subscriptions("""-- first; line
        ;; CREATE /* a /* nested */ one; */ STREAM s -- (b INT)
        (a INT, -- CREATE
         b INT) ;
        CREATE SUBSCRIPTION q ON s WHERE a = /* 5 */ 6 -- AND b = 7;
        ; -- end""")
    assert sql(found["s"]["q"].condition) == "a = 6"


def test_words_and_names_are_found_in_any_case() -> None:
    found = subscriptions(
        "create Stream Trades (Price int); CREATE subscription Q on TRADES weight 5 where PRICE > 1"
    )
    assert found["Trades"]["Q"].weight == 5
    assert sql(found["Trades"]["Q"].condition) == "Price > 1"


def test_ids_differ_by_case_but_streams_do_not() -> None:
    text = "CREATE STREAM s (a INT); CREATE SUBSCRIPTION q ON s WHERE TRUE;"
    assert list(subscriptions(text + "CREATE SUBSCRIPTION Q ON S WHERE TRUE")["s"]) == ["q", "Q"]


@pytest.mark.parametrize(
    ("written", "id"),
    [("plain", "plain"), ("`back quoted`", "back quoted"), ("`a``b`", "a`b"), ("'42'", "42"),
     ("'it''s'", "it's"), (r"'tab\t'", "tab\t"), ('"a.b-c"', "a.b-c"), ("'日本'", "日本"),
     ("grüß", "grüß"), ("select", "select"), ("'a' 'b'", "ab")],
)  # fmt: skip
def test_ids_may_be_plain_or_in_any_quotes(written: str, id: str) -> None:
    text = f"CREATE STREAM s (a INT); CREATE SUBSCRIPTION {written} ON s WHERE a = 1"
    assert list(subscriptions(text)["s"]) == [id]


def test_names_in_backquotes_may_hold_anything() -> None:
    found = subscriptions(
        "CREATE STREAM `my stream` (`my col` INT, `x``y` INT, select INT, `日本` INT, order INT);"
        "CREATE SUBSCRIPTION q ON `my stream` WHERE `my col` = 1 AND `my stream`.`x``y` = 2"
        " AND `select` = 3 AND `日本` = 4 AND order = 5"
    )
    condition = found["my stream"]["q"].condition
    assert isinstance(condition, And)
    assert [child.left.name for child in condition.children] == [  # type: ignore[union-attr]
        "my col", "x`y", "select", "日本", "order",
    ]  # fmt: skip


def test_the_last_statement_needs_no_semicolon() -> None:
    assert subscriptions("CREATE STREAM s (a INT)") == {"s": {}}


@pytest.mark.parametrize("weight", [0, 1, 2**31 - 1])
def test_a_subscription_has_a_weight(weight: int) -> None:
    text = f"CREATE STREAM s (a INT); CREATE SUBSCRIPTION q ON s WEIGHT {weight} WHERE a = 1"
    assert subscriptions(text)["s"]["q"].weight == weight


def test_a_predicate_has_a_weight_also_under_not() -> None:
    condition = read("weight(a1 > 1, 3) AND NOT weight(a2 = 5, 4) AND Weight(NOT b, 1 + 1)")
    assert isinstance(condition, And)
    first, second, third = condition.children
    assert isinstance(first, Comparison) and first.weight == 3
    assert isinstance(second, Not) and second.child.weight == 4  # type: ignore[union-attr]
    assert isinstance(third, Not) and third.child.weight == 2  # type: ignore[union-attr]


def test_an_attribute_may_be_called_weight() -> None:
    schema = Schema.of({"weight": "INT"})
    condition = parse_subscription("q", "weight(weight > 5, 3)", schema, "text").condition
    assert sql(condition) == "weight(weight > 5, 3)"


def test_a_subscription_knows_where_it_stands() -> None:
    found = subscriptions("CREATE STREAM s (a INT);\n\n  CREATE SUBSCRIPTION q ON s WHERE TRUE;")
    assert str(found["s"]["q"].place) == "text:3:23"


def test_one_statement_is_a_schema() -> None:
    schema = parse_schema("CREATE STREAM t (a INT, b DECIMAL(5, 2), `c d` STRING, e boolean);")
    assert schema.stream == "t"
    assert [(a.name, a.type) for a in schema] == [
        ("a", INT), ("b", decimal(5, 2)), ("c d", STRING), ("e", BOOLEAN),
    ]  # fmt: skip
    assert parse_schema(str(schema)) == schema


@pytest.mark.parametrize("sign", ["-", "- ", "-(", "-(-(-("])
def test_no_digit_of_a_decimal_is_lost_on_the_way(sign: str) -> None:
    digits = "1.2345678901234567890123456789012345678"
    close = ")" * sign.count("(")
    condition = read(f"d = {sign}CAST('{digits}' AS DECIMAL(38,37)){close}")
    assert isinstance(condition, Comparison) and isinstance(condition.right, Constant)
    assert str(condition.right.value) == "-" + digits
    nines = "9" * 38
    condition = read(f"d < {nines}BD - 0")
    assert isinstance(condition, Comparison) and isinstance(condition.right, Constant)
    assert condition.right.value == Decimal(nines)


def test_a_date_too_far_away_is_no_timestamp() -> None:
    schema = Schema.of({"at": "TIMESTAMP"})
    text = "at < CAST(DATE '1970-01-01' + 2147483647 AS TIMESTAMP)"
    with pytest.raises(QueryError, match="beyond the range of TIMESTAMP"):
        parse_subscription("q", text, schema, "text")


CHAINS: dict[str, Callable[[int], str]] = {
    "one attribute": lambda n: " AND ".join(f"a0 <> {i * 3}" for i in range(n)),
    "one attribute or": lambda n: " OR ".join(f"a0 = {i * 3}" for i in range(n)),
    "pairs": lambda n: " AND ".join(f"a{i % 20} <> a{(i * 7 + 1) % 20}" for i in range(n)),
    "patterns": lambda n: " AND ".join(f"s LIKE '%{i}%'" for i in range(n)),
    "negated": lambda n: "NOT (" + " OR ".join(f"s LIKE '%{i}%'" for i in range(n)) + ")",
    "or of and": lambda n: " OR ".join(f"a{i % 20} = {i} AND s = 'x{i}'" for i in range(n // 2)),
    "and of or": lambda n: " AND ".join(f"(a{i % 20} = {i} OR s = 'x{i}')" for i in range(n // 2)),
    "weighted": lambda n: " OR ".join(f"weight(a{i % 20} = {i}, {i})" for i in range(n)),
    "weighted and": lambda n: " AND ".join(f"weight(s LIKE '%{i}%', 2)" for i in range(n)),
    "in": lambda n: f"a0 IN ({', '.join(str(i * 2) for i in range(n))})",
}


def everything(text: str) -> None:
    """All that is done with a condition on its way."""
    condition = read(text)
    normal = normalise(condition)
    with suppress(TooManyDisjuncts):
        disjuncts(normal)
    event = {0: 5, 20: "x7"}
    certain = verdict(normal)
    kept = holds(normal, make_event(event, SCHEMA.attributes))
    assert kept is (oracle.evaluate(condition, event) is True)
    assert certain in (None, kept)
    assert (oracle.score(condition, event, {}) is not None) is kept
    assert normal_text(normal)
    assert sql(condition)


def calls(work: Callable[[str], object], text: str) -> int:
    """How many calls the work makes: the same on every machine, unlike its time."""
    count = 0

    def profile(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        work(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_of_many_predicates_costs_by_its_length_not_by_the_square(chain: str) -> None:
    short, long = CHAINS[chain](LONG // 10), CHAINS[chain](LONG)
    # Ten times as long; the square would be a hundred.
    assert calls(everything, long) < 20 * calls(everything, short)


NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "(" * n + "b" + ")" * n,
    "not": lambda n: "NOT " * n + "b",
    "not in parentheses": lambda n: "NOT (" * n + "b" + ")" * n,
    "alternating": lambda n: "".join(
        f"(a{i % 20} = {i} {('AND', 'OR')[i % 2]} " for i in range(n)
    ) + "b" + ")" * n,
    "negated alternating": lambda n: "".join(
        f"NOT (a{i % 20} = {i} AND " for i in range(n)
    ) + "b" + ")" * n,
    "minus": lambda n: "a0 = " + "- " * n + "5",
    "constant": lambda n: "a0 = " + "(1 + " * (n - 1) + "1" + ")" * (n - 1),
    "cast": lambda n: "a0 = " + "CAST(" * n + "1" + " AS INT)" * n,
}  # fmt: skip


@pytest.mark.parametrize("nested", NESTED)
def test_the_deepest_nesting_passes_through_everything(nested: str) -> None:
    everything(NESTED[nested](MAX_NESTING))


@pytest.mark.parametrize("nested", NESTED)
def test_one_deeper_is_refused(nested: str) -> None:
    with pytest.raises(QueryError, match=f"nested more than {MAX_NESTING} deep"):
        read(NESTED[nested](MAX_NESTING + 1))


def test_a_chain_is_one_node() -> None:
    condition = read("b AND a1 = 1 AND (a2 = 2 OR b OR b) AND b")
    assert isinstance(condition, And) and len(condition.children) == 4
    inner = condition.children[2]
    assert isinstance(inner, Or) and len(inner.children) == 3
