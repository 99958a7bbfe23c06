"""What every test may rely on: the hypothesis profiles, compiled circuits, one Spark session."""

import os
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# No deadlines: on a shared machine they measure the neighbours.
settings.register_profile("ci", max_examples=40, deadline=None, derandomize=True)
settings.register_profile("dev", max_examples=200, deadline=None)
settings.register_profile(
    "fuzz", max_examples=5_000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def read_environment() -> None:
    """Take Java and C++ from set-up, as make does, when pytest is called by hand."""
    file = Path(sys.prefix, "env.sh")
    for line in file.read_text().splitlines() if file.exists() else ():
        name, value = shlex.split(line)[1].split("=", 1)
        os.environ[name] = value


read_environment()

# Compiled circuits stay from one run of the tests to the next: each takes ten seconds to make.
os.environ["PENSTOCK_CACHE"] = str(Path(__file__).parents[1] / "build" / "test_circuits")


def require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if not shutil.which(Path(home, "bin", "java") if home else "java"):
        pytest.fail("Spark needs Java 17 or newer and found none: run `make setup`", pytrace=False)


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """A local Spark session in UTC. Its users carry ``xdist_group("spark")``: one JVM for all."""
    require_java()
    # Workers would otherwise run whichever python3 is first on the path.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .appName("penstock-tests")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    yield session
    session.stop()
