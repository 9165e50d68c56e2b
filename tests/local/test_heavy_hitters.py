"""Heavy hitters: what a report tells, exactly; which texts are found without a list, and how surely."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from local.laws import follows, singles
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.interval_arithmetic import exp, log
from discreet.local.heavy_hitters import HeavyHitters, Hitters
from discreet.local.matching_pursuit import ALPHA

LOST = Fraction(1, 10**9)
SMALL = HeavyHitters(Fraction(1), length=2, start=4, step=5, rows=2, width=4)
CLIENT = HeavyHitters(Fraction(3), length=3, start=8, step=8, rows=16, width=256)
TEXTS = ["a", "ab", "b", "zz", ""]
SEEDS, PEOPLE = 12, 30_000
COMMON = {"cat": 0.2, "cow": 0.15, "dog": 0.12, "ox": 0.1}


def test_prefixes_reach_from_the_start_to_the_whole_text() -> None:
    assert SMALL.prefixes == (4, 9, 14, 16)
    assert CLIENT.prefixes == (8, 16, 24)
    assert HeavyHitters(Fraction(1), length=1).prefixes == (8,)
    assert SMALL.prefix("a", 0) == b"\x04\x00\x06"
    assert SMALL.prefix("ab", 3) == b"\x10\x00ab"
    assert SMALL.prefix("abc", 3) == SMALL.prefix("ab", 3)
    assert SMALL.prefix("a", 3) == b"\x10\x00a\0"


def test_the_exact_loss_for_every_pair_of_texts_in_every_row_of_every_level() -> None:
    told = {True: 0, False: 0}
    for row in range(SMALL.sketch.rows):
        channel = SMALL.channel(TEXTS, row)
        for one, other in combinations(TEXTS, 2):
            ratio = channel.ratio([(one, other)])
            assert ratio is not None
            assert ratio <= exp(SMALL.epsilon, 200).down
            same = SMALL._cell(one, row) == SMALL._cell(other, row)
            assert ratio == 1 if same else log(ratio).down > SMALL.epsilon - LOST
            told[same] += 1
            if SMALL.prefix(one, row // 2) == SMALL.prefix(other, row // 2):
                assert same  # who begin alike look alike to those who tell beginnings
    assert min(told.values()) > 0


def test_reports_follow_the_channel_alone_and_together() -> None:
    rng = Seeded(2)
    rows = range(SMALL.sketch.rows)

    def law(text: str) -> dict[int, Fraction]:
        return {y: p / len(rows) for row in rows for y, p in SMALL.channel([text], row)[text].items()}

    alone = [SMALL("ab", rng=rng) for _ in range(4000)]
    together = singles(SMALL.decode(SMALL.encode(SMALL.sample("ab", 40_000, rng=rng))))
    assert follows(alone, law("ab"))
    assert follows(together, law("ab"))
    assert not follows(together, law("zz"))


def crowd(seed: int) -> NDArray[np.object_]:
    """57 % hold one of four texts, the others one of ten thousand."""
    draw = np.random.default_rng(seed)
    names = [*COMMON, None]
    whom = draw.choice(len(names), PEOPLE, p=[*COMMON.values(), 1 - sum(COMMON.values())])
    rare = draw.integers(0, 10_000, PEOPLE)
    return np.array([names[i] or f"{i + r:05d}"[-3:] + "x" for i, r in zip(whom, rare, strict=True)], dtype=object)


@cache
def runs() -> list[Hitters]:
    found = []
    for seed in range(SEEDS):
        reports = CLIENT.batch(crowd(seed), rng=Seeded(seed))
        found.append(CLIENT.estimate(CLIENT.tally(CLIENT.decode(CLIENT.encode(reports)))))
    return found


@pytest.mark.slow
def test_common_texts_are_found_without_a_list_and_no_others() -> None:
    """At alpha = 0.05, by exact tails at 1e-9."""
    assert sum(set(COMMON) <= set(run.values) for run in runs()) >= SEEDS - 1
    assert not Coverage(sum(bool(set(run.values) - set(COMMON)) for run in runs()), SEEDS).exceeded(ALPHA)
    assert all(run.people == PEOPLE for run in runs())


@pytest.mark.slow
def test_shares_are_unbiased_and_standard_errors_cover() -> None:
    off = [
        (run.shares[run.values.index(text)] - share) / run.errors[run.values.index(text)]
        for run in runs()
        for text, share in COMMON.items()
        if text in run.values
    ]
    assert len(off) >= 44
    assert abs(np.mean(off)) < 0.7  # 48 trials: 4.8 standard errors
    assert 0.55 < np.std(off) < 1.45


@pytest.mark.slow
def test_the_largest_comes_first_and_counts_are_of_all_people() -> None:
    run = runs()[0]
    assert np.all(np.diff(run.shares) <= 0)
    assert run.counts.tolist() == (run.shares * PEOPLE).tolist()


def test_a_text_that_everybody_holds_does_not_conjure_up_those_that_share_its_cells() -> None:
    """With 4 rows, who shares one of them with it has a quarter of its share: what is known of that is taken off.

    Seven crowds of seven with a false one have a probability of 8e-10.
    """
    false = 0
    for seed in range(7):
        client = HeavyHitters(Fraction(5), length=2, rows=4, width=64, key=seed)
        run = client.estimate(client.tally(client.batch(["me"] * 5000, rng=Seeded(seed))))
        assert run.values[0] == "me"
        assert run.shares[0] == pytest.approx(1, abs=8 * run.errors[0])
        false += len(run.values) > 1
    assert not Coverage(false, 7).exceeded(ALPHA)


def test_nobody_agrees_and_nothing_is_found() -> None:
    texts = [f"{i:02x}".encode() for i in range(256)] * 40
    client = HeavyHitters(Fraction(1), length=2, rows=16, width=256)
    found = [client.estimate(client.tally(client.batch(texts, rng=Seeded(seed)))).values for seed in range(7)]
    assert not Coverage(sum(bool(some) for some in found), 7).exceeded(ALPHA)


@pytest.mark.parametrize(("epsilon", "people", "rows"), [(20, 30, 4), (8, 100, 16), (3, 300, 16)])
def test_few_people_who_all_differ_do_not_make_a_hitter(epsilon: int, people: int, rows: int) -> None:
    """At ε = 20, 19 of 20 crowds of 30 had one: every coin fell its way, and so it seemed to have no error at all."""
    client = HeavyHitters(Fraction(epsilon), length=2, rows=rows, width=64)
    found = []
    for seed in range(8):
        texts = np.random.default_rng(seed).permutation(1 << 14)[:people]
        crowd = [bytes(divmod(int(text), 128)) for text in texts]
        found.append(client.estimate(client.tally(client.batch(crowd, rng=Seeded(seed)))))
    assert not Coverage(sum(bool(some.values) for some in found), 8).exceeded(ALPHA)
    assert all(np.all(some.errors > 0) for some in found)


def test_a_common_text_that_was_lost_does_not_bring_up_those_that_share_its_cells() -> None:
    """One prefix is kept, so that of "Bb" is lost and nobody takes its share off: 40 of 40 runs told a false one."""
    crowd = ["Aa"] * 6000 + ["Bb"] * 5000 + [bytes((i, j)) for i in range(1, 90) for j in range(100)]
    found = []
    for seed in range(7):
        client = HeavyHitters(Fraction(5), length=2, rows=4, width=64, key=seed)
        found.append(client.estimate(client.tally(client.batch(crowd, rng=Seeded(seed))), kept=1).values)
    assert not Coverage(sum(bool({*some} - {"Aa"}) for some in found), 7).exceeded(ALPHA)


def test_one_row_cannot_tell_texts_in_one_cell_apart_and_says_so() -> None:
    """Of 512 texts tried, eight have the cell of the common one; 37 of 40 runs told one of them, and not that one."""
    for seed in range(6):
        client = HeavyHitters(Fraction(8), length=2, rows=1, width=64, key=seed)
        crowd = ["me"] * 1200 + [f"{i:02x}" for i in range(256)] * 7
        assert client.estimate(client.tally(client.batch(crowd, rng=Seeded(seed)))).values == ()


def test_what_all_of_a_few_hold_is_found_with_an_error() -> None:
    """At ε = 20 every one of 60 coins falls its way; that all hold it is not sure for that."""
    client = HeavyHitters(Fraction(20), length=1, rows=16, width=64)
    run = client.estimate(client.tally(client.batch(["x"] * 60, rng=Seeded(1))))
    assert run.values[0] == "x"
    assert 0.02 < run.errors[0] < 0.2


def test_bytes_that_are_no_text_are_shown_by_number() -> None:
    client = HeavyHitters(Fraction(6), length=2, rows=8, width=64)
    run = client.estimate(client.tally(client.batch([b"\xff\x01"] * 4000, rng=Seeded(1))))
    assert run.values[0] == "\\xff\x01"


def test_fewer_are_kept_and_fewer_are_tried() -> None:
    tally = CLIENT.tally(CLIENT.batch(crowd(1), rng=Seeded(1)))
    assert CLIENT.estimate(tally, kept=2).tried == 2 * 256
    assert "cat" in CLIENT.estimate(tally, kept=2).values
    with pytest.raises(Refusal, match="expected kept"):
        CLIENT.estimate(tally, kept=1 << 20)
    with pytest.raises(Refusal, match="kept"):
        CLIENT.estimate(tally, kept=0)
    with pytest.raises(Refusal, match="alpha"):
        CLIENT.estimate(tally, alpha=2)


def test_too_few_reports_are_refused() -> None:
    with pytest.raises(Refusal, match="reports are too few: of one length nobody told anything"):
        CLIENT.estimate(CLIENT.tally(CLIENT("cat", rng=Seeded(1))))


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"length": 0}, "length"),
        ({"length": 65}, "expected length <= 64"),
        ({"start": 17}, "expected start <= 16"),
        ({"start": 9, "length": 1}, "expected start <= 8 \\* length"),
        ({"step": 0}, "step"),
        ({"step": 13}, "expected step <= 12"),
        ({"width": 100}, "power of two"),
        ({"rows": 0}, "rows"),
        ({"key": -1}, "key"),
    ],
)
def test_nonsense_is_refused_by_name(wrong: dict[str, int], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        HeavyHitters(Fraction(1), **wrong)
