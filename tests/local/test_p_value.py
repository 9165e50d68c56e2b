"""P-values of decoding: at most as small as stated, also for chosen texts and where people hold what nobody lists."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from covering import Coverage
from numpy.typing import NDArray
from scipy import sparse, stats

from discreet.local.lasso import path
from discreet.local.local_mechanism import Tally
from discreet.local.matching_pursuit import tail
from discreet.local.rappor import Rappor
from discreet.local.rappor_decoder import Decoded, decode

CANDIDATES = [f"candidate {i}" for i in range(120)]
STRANGERS = [f"stranger {i}" for i in range(1000)]


def client(key: int, **more: object) -> Rappor:
    """Another key has other hash functions: over them, too, a false alarm must be rare."""
    fields: dict[str, object] = {"bits": 32, "hashes": 2, "cohorts": 16, "quiet": Fraction(1, 4), **more}
    return Rappor.flipping("0.25", key=key, **fields)  # type: ignore[arg-type]


def told(one: Rappor, shares: Mapping[str, float], people: int, seed: int) -> Tally:
    """What people drawn by these shares report once: given the filters, how often a bit is told is two binomials."""
    draw = np.random.default_rng(seed)
    texts = one._truths(np.array(list(shares), object))
    whom = draw.multinomial(people, np.array(list(shares.values())) / sum(shares.values()))
    held = np.stack([draw.multinomial(size, np.full(one.cohorts, 1 / one.cohorts)) for size in whom])
    filters = np.zeros((len(shares), one.cohorts * one.bits), dtype=np.int64)
    filters[np.arange(len(shares))[:, None], one.bloom.places(texts)] = 1
    true = np.einsum("vc,vcb->cb", held, filters.reshape(len(shares), one.cohorts, one.bits))
    size = held.sum(axis=0)[:, None]
    ones = draw.binomial(true, float(one.odds.holder)) + draw.binomial(size - true, float(one.odds.other))
    return Tally(one._label, people, np.hstack([size, ones]).ravel())


def decoded(shares: Mapping[str, float], people: int, runs: int, **more: object) -> list[Decoded]:
    """Once for each of so many keys."""
    return [decode(one := client(key, **more), told(one, shares, people, key), CANDIDATES) for key in range(runs)]


def alarms(found: list[Decoded], held: int, alpha: str) -> int:
    """In how many runs a text is found that nobody holds."""
    return sum(bool(set(run.found(alpha)) - set(CANDIDATES[:held])) for run in found)


FEW = {STRANGERS[0]: 1.0}
SOME = {STRANGERS[0]: 0.3, **dict.fromkeys(STRANGERS[1:200], 0.7 / 199)}
LONG = {text: 1 / (i + 1) for i, text in enumerate(STRANGERS[:300])}


@pytest.mark.parametrize("shares", [FEW, SOME, LONG])
def test_common_texts_that_are_no_candidates_make_none_of_the_candidates_found(shares: dict[str, float]) -> None:
    """A test that knows of the coins alone fails in every run: the bits of the stranger are beyond what coins can do.

    Twelve runs, none of which has a false one at 1e-11; at 1/20 by exact tails at 1e-9.
    """
    found = decoded(shares, 50_000, 12)
    assert alarms(found, 0, "1e-11") == 0
    assert not Coverage(alarms(found, 0, "0.05"), 12).exceeded(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("shares", [FEW, SOME, LONG, dict.fromkeys(STRANGERS, 0.001)])
@pytest.mark.parametrize("more", [{}, {"bits": 16, "cohorts": 4}, {"bits": 8, "cohorts": 2, "hashes": 1}])
def test_false_alarms_are_no_more_than_stated(shares: dict[str, float], more: dict[str, object]) -> None:
    """120 runs at 0.1, by exact tails at 1e-9."""
    assert not Coverage(alarms(decoded(shares, 20_000, 120, **more), 0, "0.1"), 120).exceeded(0.1)


@pytest.mark.slow
def test_shares_and_errors_hold_beside_common_texts_that_are_no_candidates() -> None:
    """Four candidates and ten strangers as common: 24 runs, so a mean of 0.42 is four of its errors."""
    shares = {**{CANDIDATES[i]: 0.12 for i in range(4)}, **dict.fromkeys(STRANGERS[:10], 0.052)}
    found = decoded(shares, 50_000, 24)
    off = []
    for run in found:
        at = {value: i for i, value in enumerate(run.values)}
        off += [(run.shares[at[text]] - 0.12) / run.errors[at[text]] for text in CANDIDATES[:4]]
    assert abs(np.mean(off)) < 0.42
    assert 0.7 < np.std(off) < 1.3  # 4.3 of its errors; where strangers are left out, it is above 2
    assert np.mean([len(set(CANDIDATES[:4]) & set(run.found())) for run in found]) > 3
    assert not Coverage(alarms(found, 4, "0.05"), 24).exceeded(0.05)


def exactly(gains: NDArray[np.float64], hashes: int, total: float) -> float:
    """By trying all draws."""
    rows = [row for row in gains.tolist() for _ in range(hashes)]
    return float(np.mean([sum(draw) >= total - 1e-12 for draw in product(*rows)]))


def test_the_bound_is_above_the_exact_probability_of_every_total() -> None:
    draw = np.random.default_rng(1)
    for rows, cells, hashes in ((1, 2, 1), (2, 4, 2), (3, 3, 2), (5, 4, 1), (1, 5, 4)):
        for gains in (draw.normal(size=(rows, cells)), draw.exponential(size=(rows, cells)) ** 3, np.eye(rows, cells)):
            ends = hashes * gains.max(axis=1).sum(), hashes * gains.mean(axis=1).sum()
            for total in (*np.linspace(ends[1] - 0.1, ends[0], 7).tolist(), float(ends[0]) * 1.01 + 0.01):
                assert tail(gains, hashes, total) >= exactly(gains, hashes, total) * (1 - 1e-9)


def test_the_bound_is_near_the_normal_law_where_that_holds() -> None:
    """128 draws of normal gains: four standard errors are beyond the mean with probability 3.2e-5, or a little else."""
    gains = np.random.default_rng(2).normal(size=(64, 128))
    mean, spread = 2 * gains.mean(axis=1).sum(), np.sqrt(2 * gains.var(axis=1).sum())
    for far in (2.0, 3.0, 4.0, 5.0):
        bound = tail(gains, 2, mean + far * spread)
        assert stats.norm.sf(far) * 0.7 < bound < stats.norm.sf(far) * 4


def test_no_gain_is_no_evidence() -> None:
    assert tail(np.zeros((3, 4)), 2, 0.0) == 1
    assert tail(np.ones((3, 4)), 2, 6.0) == 1
    assert tail(np.eye(4), 1, 0.5) == 1  # below the mean
    assert tail(np.eye(4), 1, 4.0) == pytest.approx(4.0**-4)  # all draws hit


def test_a_total_that_is_the_mean_but_for_rounding_is_no_evidence() -> None:
    """It raised: at a tilt of 0 the mean, a sum of floats, was above the total already."""
    draw = np.random.default_rng(3)
    for _ in range(100):
        gains = draw.normal(size=(4, 8))
        mean = 3 * float(gains.mean(axis=1, keepdims=True).sum())
        for total in (mean, np.nextafter(mean, np.inf), mean + 1e-16):
            assert tail(gains, 3, float(total)) > 0.5


def test_few_bits_cannot_tell_a_text_from_one_that_is_on_no_list() -> None:
    """Everybody holds one text. Of 64 texts about one has its bits in both cohorts of eight, so it may be that one."""
    one = Rappor(Fraction(20), 8, 1, 2, Fraction(0), Fraction(1))
    guess = decode(one, told(one, {"a": 1.0}, 5000, 1), ["a"])
    assert guess.shares[0] == pytest.approx(1, abs=0.01)
    assert guess.chances[0] == pytest.approx(1 / 64)
    assert decode(one, told(one, {"a": 1.0}, 5000, 1), ["a", *CANDIDATES[:9]]).found("0.15") == ()


def test_what_is_left_without_a_column_never_saw_it() -> None:
    """As if it had not been in the design: another column in its place leaves the same."""
    draw = np.random.default_rng(4)
    dense = (draw.random((300, 40)) < 0.1).astype(float)
    data = dense[:, :8] @ np.full(8, 4.0) + draw.normal(size=300)
    design = np.hstack([dense, np.full((300, 1), 0.1)])
    whole = path(sparse.csc_array(design), data, np.ones(300), 200)
    assert {0, 7} <= set(whole.chosen.tolist())
    for column in (0, 7, *whole.chosen[-2:].tolist()):
        less = np.delete(design, column, axis=1)
        other = path(sparse.csc_array(less), data, np.ones(300), 200)
        other._end.settle(whole.penalty)
        assert np.allclose(whole.without(column), other._end.left, atol=0.02)
    assert np.allclose(whole.left, data - design @ whole._end.x)
