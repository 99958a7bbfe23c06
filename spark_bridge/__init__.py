"""DataFrames in, matches out.

from penstock.spark_bridge import match, register, top_k

rules = penstock.load("rules.sql")
events.transform(match(rules))
"""

from penstock.spark_bridge.published import publish, publish_table
from penstock.spark_bridge.sources import register_sources
from penstock.spark_bridge.transform import match, top_k
from penstock.spark_bridge.udf import register

__all__ = ["match", "publish", "publish_table", "register", "register_sources", "top_k"]
