"""How claims are proved: what is told of one that fails, and what of tools that are missing."""

from pathlib import Path
from typing import Any

import pytest
from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from penstock.gen.errors import DeviceError
from penstock.sim.proofs import __main__ as proofs_main
from penstock.sim.proofs import run as run_module
from penstock.sim.proofs.harness import Inside, Proof, assume, claim, cover, invariant
from penstock.sim.proofs.run import Claim, Outcome, prove

pytestmark = pytest.mark.xdist_group("proofs")


class Ring(wiring.Component):
    """Counts 0, 1, 2, 0, ... while ``go`` is high, and never comes to 3."""

    def __init__(self) -> None:
        super().__init__({"go": In(1), "count": Out(2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        is_two = Signal()
        m.d.comb += is_two.eq(self.count == 2)
        with m.If(self.go):
            m.d.sync += self.count.eq(self.count + 1)
            with m.If(is_two):
                m.d.sync += self.count.eq(0)
        return m


class RingProof(Proof):
    def __init__(self, *, limit: int = 3, covered: int = 2, goes: bool = True, knows: int = 3):
        super().__init__(Ring())
        self.limit, self.covered, self.goes, self.knows = limit, covered, goes, knows

    def state(self, m: Module, inside: Inside) -> None:
        claim(m, "the count stays low", self.dut.count < self.limit)
        invariant(m, "two is seen", inside["is_two"] == (self.dut.count == 2))
        invariant(m, "the count is known", self.dut.count < self.knows)
        if not self.goes:
            assume(m, ~self.dut.go)
        cover(m, "the count gets high", self.dut.count == self.covered)


class LongRingProof(Proof):
    """True of every run, but an induction does not see it: 3 is only never reached."""

    def state(self, m: Module, inside: Inside) -> None:
        is_odd = Signal()
        m.d.sync += is_odd.eq(is_odd | (self.dut.go & (self.dut.count == 3)))
        claim(m, "nothing odd has been", ~is_odd)
        cover(m, "the count gets high", self.dut.count == 2)


def ring(**changes: Any) -> Claim:
    depth = changes.pop("depth", 4)
    by_induction = changes.pop("by_induction", True)
    return Claim(
        "Ring / 1", "low", lambda: RingProof(**changes), depth=depth, by_induction=by_induction
    )


def test_broken_promise_is_named_and_its_run_kept(tmp_path: Path) -> None:
    result = prove(ring(limit=2), tmp_path / "new")
    assert (result.outcome, result.is_proved) == (Outcome.REFUTED, False)
    assert result.broken == "the count stays low"
    assert result.trace == tmp_path / "new" / "Ring_1.vcd"
    assert "$var" in result.trace.read_text()


@pytest.mark.slow
def test_bounded_proof_tries_its_depth_and_leaves_invariants_out() -> None:
    assert prove(ring(knows=1, by_induction=False)).is_proved
    assert prove(ring(limit=2, depth=2, by_induction=False)).is_proved
    assert prove(ring(limit=2, depth=3, by_induction=False)).outcome is Outcome.REFUTED


@pytest.mark.slow
def test_false_invariant_is_no_proof() -> None:
    result = prove(ring(knows=1))
    assert (result.outcome, result.broken) == (Outcome.REFUTED, "inside: the count is known")


def test_induction_that_does_not_close_is_no_proof() -> None:
    result = prove(Claim("Ring", "", lambda: LongRingProof(Ring())))
    assert (result.outcome, result.broken) == (Outcome.UNPROVED, "nothing odd has been")


@pytest.mark.parametrize(
    "changes", [{"goes": False}, pytest.param({"covered": 3}, marks=pytest.mark.slow)]
)
def test_claim_about_what_never_happens_is_vacuous(changes: dict[str, Any]) -> None:
    result = prove(ring(**changes))
    assert (result.outcome, result.broken) == (Outcome.VACUOUS, "the count gets high")


def test_all_claims_are_printed_and_one_that_fails_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proofs_main, "TRACES", tmp_path)
    monkeypatch.setattr(proofs_main, "CLAIMS", (ring(), ring(limit=2, by_induction=False)))
    assert proofs_main.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("proved      Ring / 1  induction  ")
    assert lines[1].startswith("refuted     Ring / 1  bounded, 4 cycles  ")
    assert lines[2] == f"    the count stays low; see {tmp_path / 'Ring_1.vcd'}"
    assert lines[3].startswith("1 of 2 claims proved in ")
    assert lines[0].index(" s  low") == lines[1].index(" s  low")


def test_missing_tool_is_named_with_its_package(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(run_module.TOOLS, "no-such-solver", "no-such-package")
    with pytest.raises(DeviceError, match=r"need no-such-solver.*\n.*pip install no-such-package"):
        prove(ring())
    assert proofs_main.main() == 1
    assert capsys.readouterr().err.startswith("penstock: proofs need no-such-solver")


def test_tools_that_fail_are_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_script", lambda claim: "[options]\nmode dance\n")
    with pytest.raises(DeviceError, match=r"yowasp-sby ends with none:\n(.|\n)*ERROR"):
        prove(ring())


def test_unknown_signal_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="no signal 'state' inside; there are count, is_two"):
        Inside(Ring())["state"]
