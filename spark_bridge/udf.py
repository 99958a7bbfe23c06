"""`register`: rules as a function of Spark SQL."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.engines import ENGINES
from penstock.gen.errors import DeviceError
from penstock.gen.queryset import QuerySet
from penstock.spark_bridge.shipping import MISSING, Sender

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession, rules: QuerySet, name: str, *, engine: str = "software") -> Any:
    """A function of SQL that takes the attributes of an event and gives the ids that match it.

    Arguments are the attributes in the order of the rules' stream, or by name, as in
    ``match_rules(price => bid)``; those that are left out are NULL. The function is also returned,
    for use with columns.
    """
    from pyspark.sql.functions import arrow_udf  # type: ignore[attr-defined]

    if engine not in ENGINES:
        raise DeviceError(f"unknown engine {engine!r}; the engines are {', '.join(ENGINES)}")
    names = [attribute.name for attribute in rules.schema]
    shipment = tuple(Sender(rules).to(spark))
    function = arrow_udf(_on_workers(shipment, engine, names), "array<string>")
    return spark.udf.register(name, function)


def _on_workers(shipment: tuple[Any, ...], engine: str, names: list[str]) -> Callable[..., Any]:
    """As `penstock.spark_bridge.shipping.on_workers`, with the arguments of a call."""
    missing = MISSING

    def run(*values, **named):  # type: ignore[no-untyped-def]  # Spark would read the types
        try:
            from penstock.spark_bridge.worker import called, short_errors
        except ImportError as error:
            raise RuntimeError(missing.format(error)) from None
        with short_errors():
            return called(shipment, engine, names, values, named)

    return run
