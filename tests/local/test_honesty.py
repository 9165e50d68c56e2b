"""Made-up reports: how far they move an estimate, which of them are refused, and sums that give them away."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import Seeded
from local.examples import EXAMPLES, ORACLES
from scipy import stats
from survey.surveyed import Survey, trusting

from discreet.desk.surveys import doubts, lines
from discreet.errors import Refusal
from discreet.local import (
    CountMeanSketch,
    DuchiMean,
    Hadamard,
    HybridMean,
    LocalHashing,
    OptimizedUnary,
    Oracle,
    Rappor,
    Response,
    SubsetSelection,
    SymmetricUnary,
    Tally,
    VectorMean,
)
from discreet.local.frequencies import SUSPECT
from discreet.local.hashing import Family
from discreet.local.unary import RARE
from discreet.survey import Respondent
from discreet.survey.task import fresh_ids, packed
from discreet.transport.signed_task import UploadReceipt

ONE = Fraction(1)
POISON = np.packbits(np.ones((1, 50), bool), axis=1, bitorder="little")  # a yes to each of fifty answers


# how far --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("client", [one for some in ORACLES.values() for one in some], ids=repr)
def test_one_report_moves_a_share_by_no_more_than_is_told_and_some_report_by_all_of_it(client: Oracle) -> None:
    """Every report of every client, against the mean of an honest one on every value, in rationals."""
    odds, reach = client.odds, Fraction(0)
    every = [list(client.batch([v % client.choices] * 20, rng=Seeded(v))) for v in range(4)]
    supported = {bool(s) for some in every for one in some for s in _supports(client, one)}
    assert supported == {False, True}
    for support in (0, 1):
        for honest in (odds.holder, odds.other):
            reach = max(reach, abs(Fraction(support) - honest) / odds.gap)
    guess = client.estimate(client.tally(client.batch([0, 1] * 5, rng=Seeded(1))))
    assert guess.shift(3) == 3 * reach / 10
    assert guess.shift(0) == 0
    for nonsense in (-1, 11, 1.5):
        with pytest.raises(Refusal, match="dishonest"):
            guess.shift(nonsense)  # type: ignore[arg-type]


def _supports(client: Oracle, report: Any) -> list[int]:  # noqa: ANN401
    tally = client.tally(np.array([report], dtype=client.form.subdtype[0] if client.form.subdtype else client.form))
    return [int(supported) for supported in client._supports(tally)]


@pytest.mark.parametrize("client", [*EXAMPLES["duchi-mean"], *EXAMPLES["piecewise-mean"], *EXAMPLES["hybrid-mean"]])
def test_one_report_moves_a_mean_by_no_more_than_is_told(client: Any) -> None:  # noqa: ANN401
    """The furthest report, of a person at the other bound."""
    guess = client.estimate(client.tally(client.batch([client.lower] * 10, rng=Seeded(1))))
    low, high = (client.lower + end * client.step for end in client.reach)
    assert guess.shift(2) == pytest.approx(float(2 * max(high - client.lower, client.upper - low) / 10))


def test_the_coordinates_of_a_vector_are_moved_further_as_fewer_people_tell_them() -> None:
    client = VectorMean(ONE, 5, Fraction(0), Fraction(1), 4)
    one = HybridMean(ONE, Fraction(0), Fraction(1), 4)
    guess = client.estimate(client.tally(client.batch(np.zeros((10, 5)), rng=Seeded(1))))[0]
    furthest = max(abs(end * one.step - Fraction(1, 2)) for end in one.reach)
    assert guess.shift(1) == pytest.approx(float((5 * furthest + Fraction(1, 2)) / 10))


# what is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "client", [OptimizedUnary(ONE, 50), SymmetricUnary(Fraction(3), 200), OptimizedUnary(Fraction(6), 9)], ids=repr
)
def test_the_reports_that_are_refused_are_rarer_than_is_told_and_no_rarer_than_need_be(client: Any) -> None:  # noqa: ANN401
    """By the law of the number of bits, added up one by one."""
    p, q, k = float(client.odds.holder), float(client.odds.other), client.choices
    law = np.convolve([1 - p, p], stats.binom.pmf(np.arange(k), k - 1, q))
    low, high = client.likely
    assert law[:low].sum() < RARE
    assert law[high + 1 :].sum() < RARE
    assert law[: low + 1].sum() >= RARE * (1 - 1e-6)
    assert law[high:].sum() >= RARE * (1 - 1e-6)
    sizes = np.arange(k + 1)
    reports = np.packbits(np.arange(k)[None] < sizes[:, None], axis=1, bitorder="little")
    assert client.unlikely(reports).tolist() == ((sizes < low) | (sizes > high)).tolist()


def test_a_filter_may_have_none_of_its_bits_set_or_as_many_as_there_are_hash_functions() -> None:
    client = Rappor(Fraction(2), 64, 3, 4)
    p, q, size = float(client.odds.other), float(client.odds.holder), client.bits
    few = stats.binom.pmf(np.arange(size + 1), size, p)
    many = np.convolve(stats.binom.pmf(np.arange(4), 3, q), stats.binom.pmf(np.arange(size - 2), size - 3, p))
    low, high = client.likely
    assert few[:low].sum() < RARE <= few[: low + 1].sum()
    assert many[high + 1 :].sum() < RARE <= many[high:].sum()
    sketch = CountMeanSketch(ONE, 4, 64)
    assert sketch.unlikely(np.full((1, 9), 255, np.uint8) & np.array([[3] + [255] * 8], np.uint8)).all()


@pytest.mark.parametrize("client", [one for some in EXAMPLES.values() for one in some], ids=repr)
def test_honest_reports_are_not_refused(client: Any) -> None:  # noqa: ANN401
    """Of a hundred one is, with a probability of 200 · 2^-40, which is below 2e-10."""
    pair = client.pairs()[0]
    assert not client.unlikely(client.batch([pair.left, pair.right] * 50, rng=Seeded(1))).any()


def test_the_collector_refuses_made_up_reports_and_counts_them(tmp_path: Path) -> None:
    survey = Survey(tmp_path, OptimizedUnary(ONE, 50))
    honest = survey.task.client.batch(np.arange(20), rng=Seeded(1))
    reports = np.concatenate([honest, np.repeat(POISON, 3, axis=0)])
    assert survey.receive(packed(survey.task, fresh_ids(23), reports)) == UploadReceipt(accepted=20, unlikely=3)
    assert survey.counts == {"accepted": 20, "unlikely": 3}
    survey.collector.close(survey.task.id)
    found = survey.collector.collect(survey.task.id)
    assert found.tally == survey.task.client.tally(honest)
    assert found.body["rejected"]["unlikely"] == 3


# sums that give it away -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "client",
    [OptimizedUnary(ONE, 3), SymmetricUnary(Fraction(2), 4), Hadamard(ONE, 3), Hadamard(Fraction(2), 5)],
    ids=repr,
)
def test_how_many_values_a_report_supports_has_the_stated_law_whatever_is_held(client: Any) -> None:  # noqa: ANN401
    """By the channel, in rationals."""
    for law in client.channel().rows.values():
        sizes = {report: sum(_supports(client, _one(client, report))) for report in law}
        mean = sum(p * sizes[report] for report, p in law.items())
        assert client.sizes.mean == mean
        assert client.sizes.variance == sum(p * sizes[report] ** 2 for report, p in law.items()) - mean**2
        assert client.sizes.furthest >= max(abs(size - mean) for size in sizes.values())


def _one(client: Any, report: Any) -> Any:  # noqa: ANN401
    return client.decode(report)[0] if isinstance(report, bytes) else report


class Small(LocalHashing):
    """With a family that is small enough to enumerate."""

    family = Family(4, 13)


def _sizes(client: Any, value: int) -> dict[int, Fraction]:  # noqa: ANN401
    """How likely a report supports so many values, over all coins and, where there are some, all hash functions."""
    law: dict[int, Fraction] = defaultdict(Fraction)
    if not isinstance(client, Small):
        for report, p in client.channel()[value].items():
            law[sum(_supports(client, _one(client, report)))] += p
        return law
    for key in product(range(1, 13), range(13)):
        cells = [client.family.cell(v, *key) for v in range(client.choices)]
        for report, p in client.channel(*key)[value].items():
            law[cells.count(report.cell)] += p / (12 * 13)
    return law


@pytest.mark.parametrize("value", [0, 7, 11])
def test_the_sums_of_hashed_reports_have_the_stated_mean_and_vary_no_more_than_is_told(value: int) -> None:
    """In rationals."""
    law, told = _sizes(Small(ONE, 12), value), Small(ONE, 12).sizes
    assert sum(law.values()) == 1
    assert sum(size * p for size, p in law.items()) == told.mean
    assert sum((size - told.mean) ** 2 * p for size, p in law.items()) <= told.variance
    assert max(abs(size - told.mean) for size in law) <= told.furthest


def test_one_report_in_a_hundred_that_says_yes_to_all_is_told() -> None:
    """It moved each of fifty shares by three points at a stated error of two, and nothing was said.

    Beside 9900 honest reports that support each value as often as they do on average.
    """
    client = OptimizedUnary(ONE, 50)
    mean = np.full(50, round(9900 * client.odds.other + 198 * client.odds.gap))
    honest = client.estimate(Tally(client._label, 9900, mean))
    assert float(honest.total) == pytest.approx(1, abs=0.02)
    assert honest.chance == pytest.approx(1, abs=0.01)
    few = np.packbits(np.arange(50)[None] < client.likely[1], axis=1, bitorder="little")  # as many as are taken
    for report, least in ((POISON, 1e-15), (few, 1e-6)):
        bad = client.tally(np.repeat(report, 100, axis=0))
        guess = client.estimate(Tally(client._label, 10_000, mean + bad.counts))
        assert guess.total == pytest.approx(guess.shares.sum())
        assert guess.chance is not None
        assert guess.chance < least
        moved = guess.shares - honest.counts / 10_000
        assert moved.max() == pytest.approx(float(guess.shift(100)))


@pytest.mark.parametrize("client", [OptimizedUnary(ONE, 5), Hadamard(ONE, 9), Small(ONE, 6)], ids=repr)
def test_honest_sums_are_not_suspected(client: Any) -> None:  # noqa: ANN401
    """Whatever people hold: by the exact law of what sixty of them support, all of one value or some of each."""
    laws = []
    for value in range(client.choices):
        law = _sizes(client, value)
        laws.append(np.array([float(law.get(size, 0)) for size in range(client.choices + 1)]))
    alarm = [client.sizes.chance(60, total) < SUSPECT for total in range(60 * client.choices + 1)]
    for held in ([0] * 60, [client.choices - 1] * 60, [i % client.choices for i in range(60)]):
        total = reduce(np.convolve, [laws[value] for value in held])
        assert total.sum() == pytest.approx(1)
        assert total[alarm].sum() <= SUSPECT
    sent: Any = LocalHashing(ONE, 6) if isinstance(client, Small) else client
    guess = sent.estimate(sent.tally(sent.batch([0] * 60, rng=Seeded(1))))
    assert guess.chance == sent.sizes.chance(60, int(guess.supports.sum())) > 1e-9


@pytest.mark.parametrize("client", [Response(ONE, 4), SubsetSelection(ONE, 9)], ids=repr)
def test_where_shares_always_add_up_nothing_is_said_of_it(client: Any) -> None:  # noqa: ANN401
    guess = client.estimate(client.tally(client.batch([0, 1, 2, 3] * 9, rng=Seeded(2))))
    assert guess.total == 1
    assert guess.chance is None


def test_results_carry_the_sum_and_the_shift_and_say_so_in_words(tmp_path: Path) -> None:
    survey = Survey(tmp_path, OptimizedUnary(ONE, 20), dishonest=30)
    client: Any = survey.task.client
    honest = client.batch(np.arange(970) % 20, rng=Seeded(4))
    # of all that honest ones may report, they hide these with a probability below 1e-11
    bad = np.repeat(np.packbits(np.arange(20)[None] < client.likely[1], axis=1, bitorder="little"), 60, axis=0)
    survey.receive(packed(survey.task, fresh_ids(1030), np.concatenate([honest, bad])))
    survey.collector.close(survey.task.id)
    found = survey.collector.collect(survey.task.id)
    guess = client.estimate(found.tally)
    told = found.body["honesty"]
    assert (told["dishonest"], float(told["total"]), float(told["chance"])) == (30, float(guess.total), guess.chance)
    assert [float(row["shift"]) for row in found.body["estimates"]] == [float(1030 * guess.shift(30))] * 20
    line = lines(found)[0]
    assert (line.share, line.shift) == pytest.approx((100 * guess.shares[0], float(100 * guess.shift(30))))
    assert (line.low, line.high) == pytest.approx(tuple(end[0] / 10.3 for end in guess.interval()))
    first, second, third = doubts(found)
    assert f"The shares add up to {float(100 * guess.total):.1f} %. Those of honest reports are so far from" in first
    assert "some reports look made up" in first
    assert (
        f"If all 30 reports that were declared as possibly dishonest are, they move a share by up to {line.shift:.1f}"
        in second
    )
    assert third == "One made-up report in a hundred can move each share by up to 3.2 percentage points."


def test_an_honest_survey_says_that_its_shares_add_up(tmp_path: Path) -> None:
    """Of 400 reports on four values 522.8 bits are set on average: here 523."""
    survey = Survey(tmp_path)
    reports = np.array([[0b1]] * 277 + [[0b11]] * 123, dtype=np.uint8)
    survey.receive(packed(survey.task, fresh_ids(400), reports))
    survey.collector.close(survey.task.id)
    said = doubts(survey.collector.collect(survey.task.id))
    assert said[0].endswith("%, as those of honest reports may.")
    assert said[1].startswith("One made-up report in a hundred")


# answers that are not on the list -------------------------------------------------------------------------------------


def test_a_device_refuses_an_answer_that_is_not_on_the_list(tmp_path: Path) -> None:
    """A label that was misspelt was once reported as the first of all."""
    survey, me = Survey(tmp_path), Respondent(tmp_path / "device")
    for wrong in ("abbey road", "Abbey Road ", "", "0", 4, -1, None, 0.5, ["Help!"]):
        with pytest.raises(Refusal, match="not on the list"):
            me.answer(survey.task, wrong)
    assert me.pending() == []
    assert me.lost().epsilon == 0
    assert me.answer(survey.task, "Help!").body == me.answer(survey.task, 2).body
    with pytest.raises(Refusal, match="not on the list"):  # nor later
        me.answer(survey.task, "Help")


def test_a_label_stands_for_its_number(tmp_path: Path) -> None:
    """At ε = 20 a report is a lie once in 10^8, and two are once in 10^16."""
    survey = Survey(tmp_path, Response(Fraction(20), 4))
    for i in range(4):
        devices = [trusting(tmp_path / f"device {i}.{j}", rng=Seeded(j)) for j in range(2)]
        assert i in {device.answer(survey.task, f"label {i}").body[-1] for device in devices}


def test_numbers_are_not_on_a_list(tmp_path: Path) -> None:
    survey, me = Survey(tmp_path, DuchiMean(ONE)), Respondent(tmp_path / "device")
    assert me.answer(survey.task, 0.5).body
    with pytest.raises(Refusal, match="this answer is no number"):
        Respondent(tmp_path / "other").answer(survey.task, "0.5")
