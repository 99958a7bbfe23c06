"""The pages on Spark do what they show, in a session of the tests."""

import pytest
from markdown_blocks import ROOT, PageRunner

pytestmark = pytest.mark.xdist_group("spark")


def test_the_main_page(spark, tmp_path):
    assert PageRunner(ROOT / "docs" / "spark.md", tmp_path).run() == []


def test_metrics(spark, tmp_path):
    runner = PageRunner(ROOT / "docs" / "spark-metrics.md", tmp_path)
    runner.names["spark"] = spark
    assert runner.run() == []
