"""Full rounds of masked sums, and trees, where none to three in ten fail: off by as much as is predicted."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from scipy import stats

from discreet.aggregate import MaskedSum, TreeMember, TreeSum, dealt, read_tree, rehearsed
from discreet.ledger.signed_head import public_part
from discreet.privacy import Concentrated

ROUNDS = 500


def agrees(errors: list[float], deviation: float, false_alarm: float = 1e-9) -> bool:
    """Whether normal errors of this deviation have such a sum of squares; at 500 one that is 30 % off is refuted."""
    squares = sum((error / deviation) ** 2 for error in errors)
    law = stats.chi2(len(errors))
    return bool(min(law.cdf(squares), law.sf(squares)) > false_alarm / 2)


def masked(folder: Path, failures: int, rounds: int) -> Iterator[tuple[float, float]]:
    """By how much the sums of rounds are off, and by how much as a rule."""
    dice = Random(failures)
    keys = [Ed25519PrivateKey.generate() for _ in range(10)]
    task = MaskedSum.of(
        "meters", map(public_part, keys), 50, Fraction(1, 8), failures="0.3", colluders="0.1", epochs=rounds
    )
    for epoch in range(rounds):
        values, gone = [dice.randint(0, 50) for _ in keys], dice.sample(range(10), failures)
        (found,) = rehearsed(task, epoch, keys, values, folder, gone)
        truth = sum(value for place, value in enumerate(values) if place not in gone)
        yield float(found - truth), task.noise.deviation_of(10 - failures)


@pytest.mark.slow
@pytest.mark.parametrize("failures", [0, 1, 3])
def test_recovery_is_off_by_as_much_as_is_predicted(tmp_path: Path, failures: int) -> None:
    found = list(masked(tmp_path, failures, ROUNDS))
    errors, (deviation, *_) = [error for error, _ in found], [deviation for _, deviation in found]
    assert agrees(errors, deviation)
    assert not agrees(errors, 1.3 * deviation)
    assert not agrees(errors, deviation / 1.3)


@pytest.mark.slow
@pytest.mark.parametrize("failures", [0, 2])
def test_a_tree_is_off_by_as_much_as_is_predicted(tmp_path: Path, failures: int) -> None:
    dice = Random(failures)
    tree = TreeSum("meters", 8, Concentrated("1/2"), limit=5, epochs=60)
    aggregator, own = {}, {place: {} for place in range(8)}  # type: ignore[var-annotated]
    for block in {block for place in range(8) for block in tree.blocks_of(place)}:
        aggregator[block], *theirs = dealt(block.size)
        for place, exponent in zip(block.people, theirs, strict=True):
            own[place][block] = exponent
    scores = []
    for epoch in range(60):
        live = sorted(dice.sample(range(8), 8 - failures))
        sent = {place: TreeMember(tree, own[place], tmp_path / str(place)).encrypt(place % 6, epoch) for place in live}
        error = float(read_tree(tree, epoch, aggregator, sent)) - sum(place % 6 for place in live)
        scores.append(error / tree.deviation(live))
    assert agrees(scores, 1)
    assert not agrees(scores, 3)
