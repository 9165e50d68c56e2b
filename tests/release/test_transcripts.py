"""What a release loses on two neighbours, draw by draw: the same is told of both, and the ratios are added up.

Of the first table every draw of noise is made up here. Of its neighbour each draw must tell the same, which is likelier
or less likely by exp(distance/scale) at most; so whatever is chosen after a draw is chosen alike.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from release.examples import EXAMPLES, OTHERS

from discreet.noise import Entropy
from discreet.privacy import AddRemove, Replace
from discreet.release import MultiplicativeWeights, multiplicative_weights
from discreet.release.noisy_cells import noisy

EVERY = {f"{name} {i}": one for name, some in EXAMPLES.items() for i, one in enumerate(some)}
EVERY |= {f"private-bins {i}": one for i, one in enumerate(OTHERS["private-bins"])}
every = pytest.mark.parametrize("release", EVERY.values(), ids=EVERY)


class Transcript:
    """What was told of a table, and what it loses to tell the same of another."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.told: list[tuple[Any, Fraction, Any]] = []
        self.turn: int | None = None
        self.lost = Fraction(0)
        for name, module in list(sys.modules.items()):
            if name.startswith("discreet.release.") and vars(module).get("noisy") is noisy:
                monkeypatch.setattr(module, "noisy", self.noisy)
        monkeypatch.setattr(multiplicative_weights, "Exponential", self.exponential)

    def again(self) -> None:
        """Of the neighbour from here on."""
        self.turn = 0

    def noisy(self, values: Any, scale: Fraction, _: Entropy) -> Any:  # noqa: ANN401
        """Ratios of Laplace noise: e^(distance/scale) at most, and just that if all noise lies to one side."""
        made_up = values + (np.arange(values.size) * 7 + len(self.told)) % 5
        return self._same(np.asarray(values), Fraction(1) / scale, made_up, "sum")

    def exponential(self, epsilon: Fraction, candidates: int, sensitivity: int = 1) -> Any:  # noqa: ANN401
        """Scores that move by the sensitivity lose ε, and by twice that, twice ε."""

        def choose(scores: Any, *, rng: Entropy) -> int:  # noqa: ANN401, ARG001
            assert len(scores) == candidates
            chosen: int = self._same(np.asarray(scores), epsilon / sensitivity, len(scores) // 2, "max")
            return chosen

        return choose

    def _same(self, values: Any, rate: Fraction, told: Any, moved: str) -> Any:  # noqa: ANN401
        if self.turn is None:
            self.told.append((values, rate, told))
            return told
        before, paid, told = self.told[self.turn]
        assert (rate, values.shape) == (paid, before.shape)
        self.lost += rate * (int(getattr(np.abs(values - before), moved)()) if values.size else 0)
        self.turn += 1
        return told


def lost(release: Any, left: Any, right: Any) -> Fraction:  # noqa: ANN401
    with pytest.MonkeyPatch.context() as patched:
        transcript = Transcript(patched)
        first = release(left)
        transcript.again()
        assert release(right) == first
        assert transcript.turn == len(transcript.told) > 0
        return transcript.lost


@every
@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("held", [0, 400])
def test_a_person_who_is_added_loses_the_price_and_no_more(release: Any, most: int, held: int) -> None:  # noqa: ANN401
    """All records in the first cell: exactly ε, but where rectangles are asked about that lack it. Else no more."""
    asked = replace(release, most=most, neighbours=AddRemove("person"))
    left = np.full(asked.shape, held, dtype=np.int64)
    first, last, spread = left.copy(), left.copy(), left.copy()
    first.flat[0] += most
    last.flat[-1] += most
    spread.flat[0] += 1
    spread.flat[-1] += most - 1
    if not isinstance(asked, MultiplicativeWeights) or len(asked.shape) == 1:
        assert lost(asked, left, first) == asked.epsilon
    assert max(lost(asked, left, other) for other in (first, last, spread)) <= asked.epsilon


@every
@pytest.mark.parametrize("most", [1, 3])
def test_a_person_who_is_replaced_loses_no_more_than_the_price(release: Any, most: int) -> None:  # noqa: ANN401
    """Who takes records from one end and brings as many to the other; by cells, exactly ε."""
    asked = replace(release, most=most, neighbours=Replace("person"))
    left = np.full(asked.shape, 40, dtype=np.int64)
    right = left.copy()
    right.flat[0] -= most
    right.flat[-1] += most
    found = lost(asked, left, right)
    assert found == asked.epsilon if type(release).__name__ == "Identity" else found <= asked.epsilon
