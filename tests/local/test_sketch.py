"""Sketches: their channel given a row, exactly; estimates over many keys; standard errors that know of collisions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from local.laws import follows, singles
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.interval_arithmetic import exp, log
from discreet.local.frequencies import Frequencies, Odds
from discreet.local.sketch import CellCounts, CountMeanSketch, HadamardSketch, Sketched

LOST = Fraction(1, 10**9)
KINDS = [CountMeanSketch, HadamardSketch]
TEXTS = ["a", "b", "c", "d", "e"]
SEEDS, PEOPLE, WORDS = 40, 6000, 60
each = pytest.mark.parametrize("kind", KINDS)


@each
@pytest.mark.parametrize("epsilon", ["0.000001", "0.5", "3", "20"])
def test_the_exact_loss_for_every_pair_of_texts_in_every_row(kind: Any, epsilon: str) -> None:  # noqa: ANN401
    """Texts in different cells are as far apart as the price says, and texts in one cell not at all."""
    client = kind(Fraction(epsilon), 3, 4)
    seen = set()
    for row in range(3):
        channel = client.channel(TEXTS, row)
        held = {text: client.functions.cell(client.digests([text])[0].tobytes(), row) for text in TEXTS}
        for one, other in combinations(TEXTS, 2):
            ratio = channel.ratio([(one, other)])
            assert ratio is not None
            assert ratio <= exp(client.epsilon, 200).down
            same = held[one] == held[other]
            assert ratio == 1 if same else log(ratio).down > client.epsilon - LOST
            seen.add(same)
    assert seen == {True, False}


@each
def test_reports_follow_the_channel_alone_and_together(kind: Any) -> None:  # noqa: ANN401
    client, rng = kind(Fraction(1), 3, 4), Seeded(3)

    def law(text: str) -> dict[Any, Fraction]:
        whole = {}
        for row in range(3):
            for said, p in client.channel([text], row)[text].items():
                whole[bytes([row]) + said if isinstance(said, bytes) else said] = p / 3
        return whole

    alone = [client("c", rng=rng) for _ in range(3000)]
    together = singles(client.decode(client.encode(client.sample("c", 30_000, rng=rng))))
    assert follows(alone, law("c"))
    assert follows(together, law("c"))
    assert not follows(together, law("a"))
    assert not follows(singles(kind(Fraction(13, 10), 3, 4).sample("c", 30_000, rng=rng)), law("c"))


@each
def test_a_report_supports_cells_with_the_stated_odds_exactly(kind: Any) -> None:  # noqa: ANN401
    """By enumeration through wire, tally and estimator: no randomness at all."""
    client = kind(Fraction(1), 3, 4)
    for row in range(3):
        held = client.functions.cell(client.digests(["c"])[0].tobytes(), row)
        mean = [Fraction(0)] * 4
        for said, p in client.channel(["c"], row)["c"].items():
            report = bytes([row]) + said if isinstance(said, bytes) else said
            kept = client.kept(client.tally(client.decode(client.encode(report))))
            assert kept.reports.tolist() == [int(j == row) for j in range(3)]
            mean = [m + p * int(s) for m, s in zip(mean, kept.supports[row], strict=True)]
        assert mean == [client.inside.holder if cell == held else client.inside.other for cell in range(4)]


@each
def test_estimates_are_those_of_the_published_server(kind: Any) -> None:  # noqa: ANN401
    """Apple's: each report adds r(c x/2 + 1/2), or r c times a row of H, to a matrix; then m/(m−1) (mean − n/m)."""
    client = kind(Fraction(2), 5, 8)
    reports = client.batch([str(i % 7) for i in range(400)], rng=Seeded(1))
    matrix = np.zeros((5, 8))
    e = np.exp(1.0 if kind is CountMeanSketch else 2.0)
    c = (e + 1) / (e - 1)
    for report in reports:
        if kind is CountMeanSketch:
            signs = 2.0 * np.unpackbits(report[1:], bitorder="little") - 1
            matrix[report[0]] += 5 * (c / 2 * signs + 1 / 2)
        else:
            row, rest = divmod(int(report), 16)
            at, bit = divmod(rest, 2)
            signs = np.array([(-1.0) ** ((at & cell).bit_count()) for cell in range(8)])
            matrix[row] += 5 * c * (1 - 2 * bit) * signs
    texts = [str(i) for i in range(9)]
    table = client.functions.table(client.digests(texts), 5)
    theirs = 8 / 7 * (matrix[np.arange(5), table].mean(axis=1) - 400 / 8)
    assert client.estimate(client.tally(reports), texts).counts == pytest.approx(theirs, abs=1e-6)


WHOLE, HALF, FAIR = Odds(Fraction(1), Fraction(0)), Odds(Fraction(1, 2), Fraction(1, 4)), Fraction(1, 2)
FAIR_ODDS = Odds(Fraction(3, 4), Fraction(1, 4))


def test_over_all_cells_that_a_text_may_have_its_count_is_right() -> None:
    """Forty people hold one text, and support their row as often as on average. Nobody holds another, wherever it is.

    Two rows of four cells: sixteen places of a text. In both cells of the one that is held, the count is all of them.
    """
    rows = CellCounts(np.array([24, 16]), np.array([[12, 6, 6, 6], [4, 8, 4, 4]]), HALF)
    places = list(product(range(4), repeat=2))
    counts = rows.estimate(tuple(places), np.array(places)).counts
    assert counts.mean() == pytest.approx(0)
    assert counts[places.index((0, 1))] == pytest.approx(40)
    assert np.abs(counts).max() == pytest.approx(40)


@pytest.mark.parametrize(
    ("rows", "same"),
    [
        (
            CellCounts(np.array([4, 3]), np.array([[3, 1, 0], [0, 0, 3]]), WHOLE),
            FAIR,
        ),  # 12 of 18 couples met, 1/3 by chance
        (CellCounts(np.array([9]), np.array([[3, 3, 3]]), WHOLE), Fraction(0)),  # fewer than by chance
        (CellCounts(np.array([9]), np.array([[9, 0, 0]]), WHOLE), Fraction(1)),
        (CellCounts(np.array([12]), np.array([[7, 4]]), HALF), Fraction(7, 33)),  # 16 and 4 seem to be there: 20 of 12
        (
            CellCounts(np.array([100]), np.array([[70, 30]]), Odds(3 * FAIR / 2, FAIR / 2)),
            2 * (Fraction(7950, 9900) - FAIR),
        ),
        (CellCounts(np.array([1]), np.array([[1, 0]]), WHOLE), Fraction(1)),  # of one person nothing is known
    ],
)
def test_how_often_two_people_hold_the_same_text_is_what_more_than_chance_meet(
    rows: CellCounts, same: Fraction
) -> None:
    """By hand. With coins of 3/4 and 1/4: 90 and 10 seem to be in two cells, and a square is 2.5 too large a person."""
    many, width = rows.supports.shape
    assert float(rows.collisions) * many * (width - 1) == pytest.approx(float(same), abs=1e-9)


@pytest.mark.slow
def test_how_often_two_people_hold_the_same_text_is_not_lost_in_what_a_row_is_off() -> None:
    """By squares of counts that were not measured from the even share, 31 % of such crowds had no text in common.

    False alarms: 1e-9 (exact binomial) for what is 0 in at most 4 % of crowds, if the bits were fresh; they are fixed.
    """
    clients = [CountMeanSketch(Fraction(4), 4, 3, key) for key in range(100)]
    people = [number % 100 for number in range(2000)]
    told = [each.kept(each.tally(each.batch(people, rng=Seeded(each.key)))).collisions for each in clients]
    assert not Coverage(told.count(Fraction(0)), len(told)).exceeded(0.04)


@pytest.mark.parametrize(("width", "added"), [(2, 1 / 3), (3, 1 / 6), (4, 1 / 10)])
def test_of_few_cells_an_error_takes_all_people_for_holders_of_one_text(width: int, added: float) -> None:
    """Three or six differences tell nothing of σ, which seems to be 0.9 here; nine do.

    With one row of two, errors had missed by 500 and more of 1000 people where two texts of a half fell apart: such a
    row is even, as if nobody shared anything.
    """
    told = Sketched(100, np.array([30, 77]), FAIR_ODDS, (0, 1), Fraction(9, 30 * (width - 1)), 3, width)
    alone = Frequencies(told.people, told.supports, told.odds)
    assert told.errors**2 == pytest.approx(alone.errors**2 + 100**2 * added)
    assert float(told[1].deviation) ** 2 == pytest.approx(float(alone[1].deviation) ** 2 + added)


def test_errors_cover_where_a_row_is_even_because_two_texts_fell_apart() -> None:
    rows = CellCounts(np.array([1000]), np.array([[500, 500]]), FAIR_ODDS)
    told = rows.estimate(("a", "b"), np.array([[0], [1]]))
    assert np.all(np.abs(told.counts - 500) <= told.errors)


def test_of_few_cells_an_interval_concludes_nothing() -> None:
    """Seven differences between cells say too little of how often texts share one, and eight enough."""
    odds = Odds(Fraction(3, 4), Fraction(1, 4))
    few, enough = (Sketched(100, np.array([30, 77]), odds, rows=1, width=width) for width in (8, 9))
    assert [end.tolist() for end in few.interval(Fraction(1, 2))] == [[0, 0], [100, 104]]
    low, high = enough.interval()
    assert low[0] <= 10 <= high[0] < 100


def crowd() -> NDArray[np.int64]:
    """A few words with many people, many with few."""
    weights = 1 / np.arange(1, WORDS + 1)
    counts: NDArray[np.int64] = np.floor(PEOPLE * weights / weights.sum()).astype(np.int64)
    return counts


@cache
def runs(kind: Callable[..., Any], seeds: int = SEEDS) -> list[Sketched]:
    """Fresh hash functions and coins every time; so few and narrow rows that collisions are half of the error."""
    found = []
    for seed in range(seeds):
        client = kind(Fraction(4), 4, 16, seed)
        reports = client.batch(np.repeat(np.arange(WORDS), crowd()), rng=Seeded(seed))
        found.append(client.estimate(client.tally(reports), range(WORDS)))
    return found


@each
@pytest.mark.slow
def test_counts_are_unbiased_over_coins_and_hash_functions(kind: Any) -> None:  # noqa: ANN401
    misses = np.array([run.counts - crowd() for run in runs(kind)])
    errors = np.array([run.errors for run in runs(kind)])
    reach = np.sqrt((errors**2).mean(axis=0) / SEEDS)
    assert np.all(np.abs(misses.mean(axis=0)) <= 5 * reach)
    assert 5 * reach[0] < crowd()[0] / 2  # and it would be seen if the largest were halved


@each
@pytest.mark.slow
def test_standard_errors_know_of_texts_that_share_a_cell(kind: Any) -> None:  # noqa: ANN401
    """Without that part the squares would be twice as large as stated, or more."""
    squares = np.array([(run.counts - crowd()) ** 2 for run in runs(kind)])
    stated = np.array([run.errors**2 for run in runs(kind)])
    alone = np.array([run.errors**2 - run.people**2 * float(run.collisions) for run in runs(kind)])
    assert squares.mean() / stated.mean() == pytest.approx(1, abs=0.2)
    assert squares.mean() / alone.mean() > 1.5


@each
@pytest.mark.slow
def test_how_often_two_people_hold_the_same_text_is_estimated(kind: Any) -> None:  # noqa: ANN401
    """Σ share², from how uneven the rows are."""
    true = float(((crowd() / crowd().sum()) ** 2).sum())
    guesses = [float(run.collisions) * 4 * 15 for run in runs(kind)]
    assert np.mean(guesses) == pytest.approx(true, rel=0.15)


@each
def test_one_share_in_exact_numbers(kind: Any) -> None:  # noqa: ANN401
    run = runs(kind, 1)[0]
    share = run[3]
    assert float(share.value) == pytest.approx(run.shares[3])
    assert float(share.deviation) == pytest.approx(run.errors[3] / run.people)
    assert run.values == tuple(range(WORDS))
    with pytest.raises(Refusal, match=f"expected a value below {WORDS}"):
        run[WORDS]


@each
def test_no_texts_are_asked_about_and_one_report_is_enough(kind: Any) -> None:  # noqa: ANN401
    client = kind(Fraction(1), 3, 4)
    tally = client.tally(client(b"x", rng=Seeded(1)))
    assert client.estimate(tally).counts.size == 0
    assert np.isfinite(client.estimate(tally, ["x"]).errors).all()


@each
def test_who_holds_a_text_that_was_not_asked_about_is_not_counted_to_another(kind: Any) -> None:  # noqa: ANN401
    """A list need not hold every text: consistent counts of one text were those of all people."""
    client = kind(Fraction(3), 8, 16)
    tally = client.tally(client.batch(["a"] * 300 + ["b"] * 700, rng=Seeded(1)))
    one = client.estimate(tally, ["a"])
    assert one.consistent().tolist() == one.counts.tolist()
    crowded = Sketched(1000, np.array([700, 600, 400, 300]), Odds(Fraction(3, 4), Fraction(1, 4)))
    assert crowded.counts.tolist() == [900, 700, 300, 100]
    assert crowded.consistent().tolist() == pytest.approx([600, 400, 0, 0])
    assert Sketched(1000, np.array([500, 200]), crowded.odds).consistent().tolist() == [500, 0]
    nothing = client.estimate(tally)
    assert nothing.consistent().size == 0
    assert [end.size for end in nothing.interval(together=True)] == [0, 0]


@each
def test_nonsense_is_refused_by_name(kind: Any) -> None:  # noqa: ANN401
    for wrong, words in (
        ({"rows": 0}, "rows"),
        ({"rows": 1 << 17}, "expected rows <= 65536"),
        ({"width": 1}, "width"),
        ({"width": 1 << 17}, "expected width <= 65536"),
        ({"rows": 1 << 16, "width": 1 << 12}, "at most 2\\^24 cells"),
        ({"key": -1}, "key"),
    ):
        with pytest.raises(Refusal, match=words):
            kind(Fraction(1), **wrong)
    with pytest.raises(Refusal, match="probabilities is not written down"):
        kind(Fraction(1), 2, 1 << 16).channel(TEXTS)


def test_the_hadamard_form_needs_a_power_of_two() -> None:
    with pytest.raises(Refusal, match="expected width as a power of two, got width=12"):
        HadamardSketch(Fraction(1), 3, 12)
    assert CountMeanSketch(Fraction(1), 3, 12).width == 12


def test_the_hadamard_form_sends_a_few_bytes() -> None:
    assert HadamardSketch(Fraction(1), 64, 1024).form.itemsize == 4
    assert HadamardSketch(Fraction(1), 8, 256).form.itemsize == 2
    assert CountMeanSketch(Fraction(1), 64, 1024).form.itemsize == 129
