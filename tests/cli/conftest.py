"""Query sets and events as files, for all commands."""

import pytest

from penstock.cli.main import main

RULES = """CREATE STREAM trades (price DECIMAL(10,2), symbol STRING, n INT);
CREATE SUBSCRIPTION cheap ON trades WHERE price < 10;
CREATE SUBSCRIPTION watched ON trades WEIGHT 3 WHERE symbol LIKE 'A%' AND n >= 1;
CREATE SUBSCRIPTION absent ON trades WHERE n IS NULL;
"""
EVENTS = "price,symbol,n\n9.99,AB,1\n10.00,B,\n,A,5\n"


@pytest.fixture
def rules(tmp_path):
    path = tmp_path / "rules.sql"
    path.write_text(RULES)
    return path


@pytest.fixture
def events(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text(EVENTS)
    return path


@pytest.fixture
def run(capsys):
    """Run the command in this process: its exit code, and what it printed on either stream."""

    def run(*argv):
        code = main([str(word) for word in argv])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run
