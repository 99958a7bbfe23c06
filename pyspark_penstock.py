"""Spark looks for Python data sources in modules named like this: see docs/spark-sources.md.

One that cannot be imported would take all data sources of a session down with it. What is missing,
`penstock.spark_bridge.register_sources` says.
"""

from contextlib import suppress

with suppress(ImportError):
    from penstock.spark_bridge.sources.workload import WorkloadSource as DefaultSource  # noqa: F401
