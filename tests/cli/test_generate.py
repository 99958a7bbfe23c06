"""The command ``penstock generate``, below its entry point."""

import argparse
import json

import pytest

from penstock.cli.generate import OPTIONS, PRESET_NAMES, add_arguments, operator_weights, run
from penstock.sim.workload import PRESETS, WorkloadSpec


def parse(*words):
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args(words)


def test_every_field_and_preset_is_an_option():
    assert {*OPTIONS, "operators"} == set(WorkloadSpec.__dataclass_fields__)
    assert set(PRESET_NAMES) == set(PRESETS)


def test_json_is_one_object_and_options_override_the_preset(tmp_path, capsys):
    folder = str(tmp_path / "w")
    words = ["--preset", "dense", "--expressions", "200", "--events", "50", "--json", "-o", folder]
    assert run(parse(*words)) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["folder"] == folder
    assert printed["spec"]["attributes"] == 20 and printed["spec"]["expressions"] == 200
    assert (tmp_path / "w" / "workload.json").exists()


def test_summary_tells_the_achieved_match_rate(tmp_path, capsys):
    assert run(parse("--match-rate", "0.01", "--events", "100", "-o", str(tmp_path / "w"))) == 0
    printed = capsys.readouterr().out
    assert "1,000 expressions" in printed and "(wanted 0.01)" in printed


def test_bad_value_is_a_value_error_and_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match="expressions must be at least 1, not 0"):
        run(parse("--expressions", "0", "-o", str(tmp_path / "w")))
    assert not (tmp_path / "w").exists()


def test_operator_mix_is_read_from_text():
    assert operator_weights("=:2, NOT IN:0.5,<") == {"=": 2.0, "NOT IN": 0.5, "<": 1.0}
    with pytest.raises(argparse.ArgumentTypeError, match="'=:two' is not OPERATOR:WEIGHT"):
        operator_weights("=:two")
