"""How a circuit's ranking is set, and the words that change it."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.gen.plan import FACTOR_BITS, Ranking
from penstock.host.config_words import ConfigWord


class RankingSwitch:
    """What the ranking of a circuit does: off at first, with all attributes of weight 1.

    Its words are to be sent while the circuit has nothing to do.
    """

    def __init__(self, ranking: Ranking) -> None:
        self._ranking = ranking
        self._is_on = False
        self._weights = [1] * len(ranking.attributes)

    def can_rank(self, k: int, weights: Mapping[int, int]) -> bool:
        """Whether the circuit keeps as many, and can multiply by such weights."""
        wanted = (weights.get(attribute.index, 1) for attribute in self._ranking.attributes)
        return k <= self._ranking.k and all(0 <= w < 2**FACTOR_BITS for w in wanted)

    def turn_on(self, weights: Mapping[int, int]) -> tuple[ConfigWord, ...]:
        """The words after which the circuit ranks with these weights of attributes."""
        words = [] if self._is_on else [ConfigWord(self._ranking.base, 1)]
        for number, attribute in enumerate(self._ranking.attributes):
            weight = weights.get(attribute.index, 1)
            if weight != self._weights[number]:
                words.append(ConfigWord(self._ranking.weight_address(number), weight))
                self._weights[number] = weight
        self._is_on = True
        return tuple(words)

    def turn_off(self) -> tuple[ConfigWord, ...]:
        """The words after which all matches come as they are."""
        words = (ConfigWord(self._ranking.base, 0),) if self._is_on else ()
        self._is_on = False
        return words
