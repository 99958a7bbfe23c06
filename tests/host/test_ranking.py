"""The words that set what a circuit ranks and with which weights."""

from penstock.gen.plan import Ranking
from penstock.gen.schema import Schema
from penstock.host.config_words import ConfigWord
from penstock.host.ranking import RankingSwitch

A, B, C = Schema.of({"a": "INT", "b": "INT", "c": "INT"}).attributes


def switch() -> RankingSwitch:
    return RankingSwitch(Ranking(3, (0,), (A, C), base=16))


def test_only_what_changes_is_sent() -> None:
    ranking = switch()
    assert ranking.turn_off() == ()
    assert ranking.turn_on({}) == (ConfigWord(16, 1),)
    assert ranking.turn_on({A.index: 1}) == ()
    assert ranking.turn_on({C.index: 5, B.index: 9}) == (ConfigWord(18, 5),)
    assert ranking.turn_on({C.index: 5, A.index: 0}) == (ConfigWord(17, 0),)
    assert ranking.turn_off() == (ConfigWord(16, 0),)
    assert ranking.turn_off() == ()
    assert ranking.turn_on({}) == (ConfigWord(16, 1), ConfigWord(17, 1), ConfigWord(18, 1))


def test_circuit_takes_its_k_and_weights_of_16_bits() -> None:
    ranking = switch()
    assert ranking.can_rank(3, {A.index: 2**16 - 1, B.index: 2**40})
    assert not ranking.can_rank(4, {})
    assert not ranking.can_rank(1, {C.index: 2**16})
    assert not ranking.can_rank(1, {C.index: -1})
