"""Decoding: which candidates are found, how far off their shares are, and what cannot be told apart."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from local.laws import of_coins, usual
from numpy.typing import NDArray
from scipy import sparse, stats

from discreet.errors import Refusal
from discreet.local.lasso import LEAST, path
from discreet.local.rappor import Rappor
from discreet.local.rappor_decoder import Decoded, ShareVariance, decode

SEEDS, PEOPLE, CANDIDATES, COMMON = 24, 20_000, 120, 8
CLIENT = Rappor.flipping("0.25", bits=32, hashes=2, cohorts=16, quiet=Fraction(1, 4))
LOUD = Rappor.flipping("0.05", bits=32, hashes=2, cohorts=16, quiet=Fraction(0), loud=Fraction(1))


def shares() -> NDArray[np.float64]:
    """Eight texts of 3 to 10 % each; 48 % hold one of a thousand that are no candidates."""
    known = np.zeros(CANDIDATES)
    known[:COMMON] = np.arange(COMMON + 2, 2, -1) / 100
    return known


@cache
def runs(client: Rappor, people: int) -> list[Decoded]:
    """A crowd is drawn anew for every seed, and so are all coins."""
    found = []
    for seed in range(SEEDS):
        draw = np.random.default_rng(seed)
        known = shares()
        whom = draw.choice(CANDIDATES + 1, people, p=[*known, 1 - known.sum()])
        texts = np.where(whom == CANDIDATES, 10_000 + draw.integers(0, 1000, people), whom)
        tally = client.tally(client.batch(texts, rng=Seeded(seed)))
        found.append(decode(client, tally, range(CANDIDATES)))
    return found


@pytest.mark.parametrize(("client", "people"), [(CLIENT, PEOPLE), (LOUD, 4000)])
@pytest.mark.slow
def test_common_texts_are_found_and_no_others(client: Rappor, people: int) -> None:
    """A false one with probability 0.05 a run, by exact tails at 1e-9."""
    found = [set(run.found()) for run in runs(client, people)]
    false = sum(any(value >= COMMON for value in some) for some in found)  # type: ignore[operator]
    assert not Coverage(false, len(found)).exceeded(0.05)
    assert np.mean([len({0, 1, 2, 3} & some) for some in found]) >= 3.8
    assert all(run.tested == CANDIDATES and run.people == people for run in runs(client, people))


@pytest.mark.parametrize(("client", "people"), [(CLIENT, PEOPLE), (LOUD, 4000)])
@pytest.mark.slow
def test_shares_are_unbiased_and_standard_errors_cover(client: Rappor, people: int) -> None:
    """Of the four most common, always chosen: 96 trials, so a mean of 0.45 is more than four of its errors."""
    off = []
    for run in runs(client, people):
        at = {value: i for i, value in enumerate(run.values)}
        off += [(run.shares[at[v]] - shares()[v]) / run.errors[at[v]] for v in range(4)]
    assert abs(np.mean(off)) < 0.45
    assert 0.7 < np.std(off) < 1.3


@pytest.mark.slow
def test_the_largest_comes_first_and_counts_are_of_all_people() -> None:
    run = runs(CLIENT, PEOPLE)[0]
    assert np.all(np.diff(run.shares) <= 0)
    assert run.counts.tolist() == (run.shares * PEOPLE).tolist()
    assert list(run.found("0.5"))[: len(run.found())] == list(run.found())
    assert np.all((run.chances >= 0) & (run.chances <= 1))


def test_found_are_those_whose_p_value_is_small_enough() -> None:
    ones = np.ones(3)
    guess = Decoded(100, 50, ("a", "b", "c"), ones, ones, np.array([0.002, 0.05, 0.5]))
    assert guess.found() == ("a", "b")
    assert guess.found("0.01") == ("a",)
    assert guess.found("0.001") == ()


def test_a_table_has_a_row_for_each_of_the_largest_and_a_star_where_it_is_found() -> None:
    guess = Decoded(2000, 5, ("red", 7), np.array([0.5, 0.01]), np.array([0.02, np.inf]), np.array([1e-9, 1.0]))
    assert str(guess).splitlines() == [
        "text    share     95 % together  people  p-value",
        "'red'  50.00%  44.85% to 55.15%   1,000    1e-09  *",
        "7       1.00%     -inf% to inf%      20        1",
        "p-values are for a list made without the reports",
    ]
    many = np.linspace(0.5, 0.1, 23)
    lines = str(Decoded(10, 30, tuple(range(23)), many, many, np.ones(23))).splitlines()
    assert len(lines) == 23
    assert lines[-2] == "and 3 more"


def test_a_candidate_that_is_given_in_two_ways_is_one() -> None:
    """They are hashed alike, so as two they could not be told apart, and neither would be found."""
    tally = CLIENT.tally(CLIENT.batch(["7"] * 3000, rng=Seeded(6)))
    guess = decode(CLIENT, tally, [7, "7", b"7", "8", 8.0])
    assert guess.found("1e-10") == (7,)
    assert guess.tested == 2


def test_a_single_report_finds_nothing_and_says_so() -> None:
    guess = decode(CLIENT, CLIENT.tally(CLIENT.batch(["a"], rng=Seeded(7))), ["a", "b", "c"])
    assert guess.found("1e-10") == ()
    assert not np.isnan(guess.shares).any()
    assert not np.isnan(guess.errors).any()


@pytest.mark.filterwarnings("error")
def test_a_share_of_few_reports_is_never_without_an_error() -> None:
    """Of one report a fit may be no law at all. 13 of 200 had a text with an error of 0, and so surely a share."""
    for seed in range(40):
        client = Rappor(Fraction(20), 64, 2, 8, Fraction(0), Fraction(1), seed)
        guess = decode(client, client.tally(client.batch(["s"], rng=Seeded(seed))), range(100))
        assert np.all(guess.errors > 0)


def test_candidates_that_nothing_tells_apart_are_not_found() -> None:
    """Two bits, one cohort: many texts have the same filter, and their shares are anybody's guess."""
    client = Rappor.flipping("0.05", bits=2, hashes=1, cohorts=1, quiet=Fraction(0), loud=Fraction(1))
    held = ["a"] * 5000
    place = {
        text: int(client.bloom.places(client.bloom.functions.digests([text.encode()]))[0, 0]) for text in "abcdefgh"
    }
    twin = next(text for text in "bcdefgh" if place[text] == place["a"])
    tally = client.tally(client.batch(held, rng=Seeded(1)))
    both = decode(client, tally, ["a", twin])
    assert both.found() == ()
    assert all(math.isinf(error) for error in both.errors)


def test_one_bit_tells_who_has_anything() -> None:
    client = Rappor.flipping("0.5", bits=1, hashes=1, cohorts=4)
    tally = client.tally(client.batch(np.array([*["yes"] * 5000, *[None] * 5000], object), rng=Seeded(2)))
    guess = decode(client, tally, ["yes"])
    said = 9 / 16 + guess.shares[0] / 8  # coins, and whom the crowd sent: a coin of this probability each
    assert usual(round(10_000 * said), of_coins((5000, Fraction(11, 16)), (5000, Fraction(9, 16))))
    assert guess.errors[0] == pytest.approx(math.sqrt(said * (1 - said)) / 0.125 / 100)
    assert guess.chances[0] == pytest.approx(stats.binom.sf(round(said * 10_000) - 1, 10_000, 9 / 16))
    assert guess.found() == ("yes",)
    others = client.tally(client.batch(["no"] * 3000, rng=Seeded(2)))
    assert decode(client, others, ["yes"]).found() == ("yes",)  # one bit says that they hold something, not what
    nobody = decode(client, client.tally(client.batch(np.full(10_000, None), rng=Seeded(3))), ["yes"])
    assert nobody.found("1e-10") == ()
    with pytest.raises(Refusal, match="one bit cannot tell 2 texts apart"):
        decode(client, tally, ["yes", "no"])


@pytest.mark.parametrize("share", [0, 0.02, 0.1, 0.5, 0.98, 1])
@pytest.mark.parametrize("odds", [{}, {"quiet": 0, "loud": 1}])
@pytest.mark.parametrize("epsilon", [2, 8, 20])
def test_intervals_of_one_bit_cover_as_often_as_they_say(epsilon: int, odds: dict[str, int], share: float) -> None:
    """Exactly, by the law of the ones. By the normal law, at ε = 20 and 2 % of 20 people, it was 33 %."""
    client, people = Rappor(epsilon, bits=1, hashes=1, cohorts=1, **odds), 20  # type: ignore[arg-type]
    kept = 1 / (1 + math.exp(-epsilon / 2))
    quiet, loud = odds.get("quiet", 0.5), odds.get("loud", 0.75)
    one = share * (kept * loud + (1 - kept) * quiet) + (1 - share) * (kept * quiet + (1 - kept) * loud)
    said = np.tri(people + 1, people, -1, dtype=np.bool_)
    covered = 0.0
    for ones, row in enumerate(said):
        guess = decode(client, client.tally(client.report(np.zeros(people, dtype=np.int64), row[:, None])), ["yes"])
        low, high = guess.interval()
        assert low[0] - 1e-12 <= guess.shares[0] <= high[0] + 1e-12
        covered += float(stats.binom.pmf(ones, people, one)) if low[0] <= share <= high[0] else 0
    assert covered >= 0.95 - 1e-9


@pytest.mark.parametrize("people", [10, 20, 60, 500])
@pytest.mark.parametrize("share", [0.02, 0.05, 0.2, 0.5, 0.8, 0.95, 0.98])
def test_ends_where_the_error_is_that_of_the_end_cover(share: float, people: int) -> None:
    """Exactly, where no coin errs: who holds the text is binomial. With the error at the estimate: down to 18 %."""
    held = np.arange(people + 1) / people
    errors = np.sqrt(held * (1 - held) / people)
    low, high = ShareVariance(1 / people, 0.0, 1 / people).ends(held, errors, stats.norm.isf(0.025))
    law = stats.binom.pmf(np.arange(people + 1), people, share)
    assert law[(low <= share) & (share <= high)].sum() >= 0.95
    assert np.all((low <= held) & (held <= high))


@pytest.mark.parametrize("coins", [-0.004, 0.0, 0.004])
def test_an_end_is_as_many_of_its_own_errors_away_as_it_says(coins: float) -> None:
    """Beyond 0 and 1 the error is that at 0 and 1. An infinite error has no ends."""
    shares = np.linspace(-0.3, 1.3, 33)
    at, far = np.clip(shares, 0, 1), 2.5
    ends = ShareVariance(0.02, coins, 0.01).ends(shares, np.sqrt(own(at, coins)), far)
    for end, way in zip(ends, (-1, 1), strict=True):
        off = way * (end - shares) - (far**2 - 1) / 6 * 0.01
        assert off == pytest.approx(far * np.sqrt(own(np.clip(end, 0, 1), coins)))
    assert [one.tolist() for one in ShareVariance().ends(np.zeros(1), np.full(1, np.inf), far)] == [[-np.inf], [np.inf]]


def test_at_ordinary_odds_intervals_are_hardly_wider_than_by_the_normal_law() -> None:
    crowd = np.random.default_rng(1).choice(["a", "b", "c"], 4000, p=[0.05, 0.25, 0.7])
    guess = decode(CLIENT, CLIENT.tally(CLIENT.batch(crowd, rng=Seeded(1))), ["a", "b", "c"])
    low, high = guess.interval()
    assert high - low == pytest.approx(2 * stats.norm.isf(0.025 / 3) * guess.errors, rel=0.05)


def own(share: NDArray[np.float64], coins: float) -> NDArray[np.float64]:
    """A variance at a share."""
    return 0.01 + 0.02 * share * (1 - share) + coins * share


def test_a_cohort_without_reports_is_left_out() -> None:
    many = CLIENT.batch(["a"] * 6000, rng=Seeded(4))
    some = many[CLIENT.cohort(many) % 2 == 0]
    guess = decode(CLIENT, CLIENT.tally(some), ["a", "b", "c"])
    assert guess.found("1e-10") == ("a",)
    assert guess.shares[0] == pytest.approx(1, abs=7 * guess.errors[0])  # by Bernstein's inequality below 1e-10


def test_nonsense_is_refused() -> None:
    tally = CLIENT.tally(CLIENT.batch(["a"] * 100, rng=Seeded(5)))
    with pytest.raises(Refusal, match="expected candidates that are texts, got none"):
        decode(CLIENT, tally, [])
    with pytest.raises(Refusal, match=r"expected candidates that are texts, got 1\.5"):
        decode(CLIENT, tally, ["a", 1.5])
    with pytest.raises(Refusal, match="no reports"):
        decode(CLIENT, CLIENT.tally(CLIENT.batch([])), ["a"])
    with pytest.raises(Refusal, match="expected a tally of"):
        decode(LOUD, tally, ["a"])
    assert decode(CLIENT, tally, ["a", "a", "b"]).tested == 2


def minimum(matrix: NDArray[np.float64], data: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
    """The lasso's minimum by another algorithm: projected gradient, many small steps. All weights are 1."""
    x = np.zeros(matrix.shape[1])
    gram, pull = matrix.T @ matrix, matrix.T @ data
    price = penalty * np.sqrt(np.diag(gram))
    price[-1] = 0
    lower = np.zeros(x.size)
    lower[-1] = 0
    step = 1 / np.linalg.eigvalsh(gram)[-1]
    for _ in range(60_000):
        x = np.maximum(lower, x - step * (gram @ x - pull + price))
    return x


def test_the_path_ends_at_the_minimum_that_another_algorithm_finds() -> None:
    draw = np.random.default_rng(3)
    dense = (draw.random((120, 30)) < 0.15).astype(float)
    dense = np.hstack([dense, np.full((120, 1), 0.15)])
    true = np.where(np.arange(31) < 6, draw.random(31) * 6, 0)
    data = dense @ true + draw.normal(size=120)
    ended = path(sparse.csc_array(dense), data, np.ones(120), 30)
    chosen, best = ended.chosen, minimum(dense, data, ended.penalty)
    assert LEAST <= ended.penalty <= LEAST * 1.2  # one standard error of what is left, or a step above
    assert set(chosen.tolist()) == set(np.flatnonzero(best[:-1] > 1e-6).tolist())
    few = path(sparse.csc_array(dense), data, np.ones(120), 4).chosen
    assert 1 <= few.size <= 4
    assert set(few.tolist()) <= set(range(6))
