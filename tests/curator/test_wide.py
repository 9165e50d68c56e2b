"""Sums, squares and their noise are whole numbers of any size: nothing ends at what a machine's integer holds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import clinic
import numpy as np
import pyarrow as pa
import pytest

from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared, found_home
from discreet.curator.noisy_statistics import NoisyGroups, restored, stored
from discreet.curator.quote import TermsGiven
from discreet.errors import Refusal
from discreet.sql.split_at_noise import question

ROWS, EACH = 60_000, 3
NOTHING = 10**30  # so much ε that the noise is 0


def values() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    moments = rng.integers(1_600_000_000_000_000, 1_700_000_000_000_000, ROWS)
    return {
        "income": np.clip(rng.normal(50_000, 5_774, ROWS), 0, 150_000),
        "micro": moments,
        "nano": moments * 1000 + 7,
        "wide": rng.integers(-(10**15), 10**15, ROWS),
        "odd": rng.integers(-(10**15), 10**15, ROWS),
        "real": rng.uniform(0, 1e15, ROWS),
    }


VALUES = values()


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Curator:
    folder = tmp_path_factory.mktemp("wide") / "home"
    found_home(folder)
    rows = pa.table({"who": np.arange(ROWS) // EACH, **VALUES})
    bounds: dict[str, tuple[int, int]] = {
        "income": (0, 150_000),
        "micro": (0, 2 * 10**15),
        "nano": (0, 2 * 10**18),
        "wide": (-(10**15), 10**15),
        "odd": (-(10**15), 10**15),
        "real": (0, 10**15),
    }
    steps = {"odd": "0.5"}
    said = Declared(unit="who", epsilon=10**40, delta="1e-3", max_rows=EACH, max_groups=1, bounds=bounds, steps=steps)
    Custody(folder).add("t", rows, said)
    return Curator(folder)


def exactly(column: str) -> list[int]:
    return [int(value) for value in VALUES[column]]


def spread(numbers: Sequence[int]) -> Fraction:
    """The variance of whole numbers, in whole numbers."""
    n = len(numbers)
    return Fraction(n * sum(x * x for x in numbers) - sum(numbers) ** 2, n * (n - 1))


def per_person(column: str) -> list[int]:
    numbers = exactly(column)
    return [sum(numbers[start : start + EACH]) for start in range(0, ROWS, EACH)]


def close(curator: Curator, sql: str, truth: Sequence[float], rel: float = 1e-12) -> None:
    answer = curator.query(sql, epsilon=NOTHING)
    assert list(answer.rows[0]) == pytest.approx(truth, rel=rel)
    for span, value in zip(answer.intervals("0.95")[0], truth, strict=True):
        assert span is not None
        assert span[0] - abs(value) * rel <= value <= span[1] + abs(value) * rel


def test_the_spread_of_incomes_is_not_0(curator: Curator) -> None:
    """Its squares add up to more than 2^61 steps; clamped there, STDDEV was 0 [0, 0] for 5,774."""
    close(
        curator,
        "SELECT stddev(income), avg(income) FROM t",
        [VALUES["income"].std(ddof=1), VALUES["income"].mean()],
        1e-6,
    )


@pytest.mark.parametrize("column", ["wide", "micro", "nano", "odd"])
def test_sums_averages_and_spreads_of_wide_columns(curator: Curator, column: str) -> None:
    numbers = exactly(column)
    assert sum(map(abs, numbers)) > 1 << 61
    truth = [float(sum(numbers)), float(Fraction(sum(numbers), ROWS)), float(spread(numbers))]
    close(curator, f"SELECT sum({column}), avg({column}), variance({column}) FROM t", truth)
    close(curator, f"SELECT stddev({column}) FROM t", [float(spread(numbers)) ** 0.5])


def test_a_sum_of_reals_up_to_10_to_the_15th(curator: Curator) -> None:
    close(curator, "SELECT sum(real), avg(real) FROM t", [VALUES["real"].sum(), VALUES["real"].mean()], 1e-6)


@pytest.mark.parametrize("column", ["wide", pytest.param("micro", marks=pytest.mark.slow), "nano"])
def test_totals_of_people(curator: Curator, column: str) -> None:
    totals = per_person(column)
    below = f"(SELECT who, sum({column}) AS s FROM t GROUP BY who) AS each"
    truth = [float(sum(totals)), float(Fraction(sum(totals), len(totals))), float(spread(totals)) ** 0.5]
    close(curator, f"SELECT sum(s), avg(s), stddev(s) FROM {below}", truth)


def test_the_spread_of_incomes_of_people(curator: Curator) -> None:
    totals = VALUES["income"].reshape(-1, EACH).sum(axis=1)
    close(
        curator,
        "SELECT stddev(s) FROM (SELECT who, sum(income) AS s FROM t GROUP BY who) AS each",
        [totals.std(ddof=1)],
        1e-6,
    )


def test_a_total_that_a_bigint_does_not_hold_is_clamped_and_not_lost(tmp_path: Path) -> None:
    found_home(tmp_path / "home")
    end = 2**63 - 1
    rows = pa.table({"who": [1, 1, 2, 2, 3], "x": [end - 1, end - 1, -end, -end, 5]})
    said = Declared(unit="who", epsilon=10**40, delta="1e-3", max_rows=2, max_groups=1, bounds={"x": (-(2**61), 2**61)})
    Custody(tmp_path / "home").add("t", rows, said)
    totals = "SELECT who, sum(x) AS s FROM t GROUP BY who"
    answer = Curator(tmp_path / "home").query(f"SELECT count(s), sum(s) FROM ({totals}) AS each", epsilon=NOTHING)
    assert answer.rows == ((3, 5.0),)


def test_what_no_machine_integer_holds_is_refused_before_it_is_paid(tmp_path: Path) -> None:
    found_home(tmp_path / "home")
    rows = pa.table({"who": [1], "x": [1], "y": [1.0]})
    bounds: dict[str, tuple[int, int]] = {"x": (0, 2**64), "y": (0, 10**18)}
    said = Declared(unit="who", epsilon=1, max_rows=2, max_groups=1, bounds=bounds, steps={"y": "0.1"})
    Custody(tmp_path / "home").add("t", rows, said)
    for column, why in (
        ("x", r"large as ≈1.84467441E\+19, and a whole number ends at 2\^63"),
        ("y", r"lie 2\^62 steps"),
    ):
        with pytest.raises(Refusal, match=rf"{column} may (be as )?{why}"):
            Curator(tmp_path / "home").explain(f"SELECT sum({column}) FROM t", epsilon=1)
    Curator(tmp_path / "home").explain("SELECT sum(CAST(x AS DOUBLE)) FROM t", epsilon=1)  # as the hint says


@pytest.mark.parametrize("price", [{"epsilon": "1e-8"}, {"rho": "1e-16"}])
def test_noise_that_is_wider_than_a_machine_integer_is_told_with_its_bar(tmp_path: Path, price: TermsGiven) -> None:
    found_home(tmp_path / "home")
    rows = pa.table({"who": range(9), "x": [10**15] * 9})
    budget = dict.fromkeys(price, 1)
    said = Declared(unit="who", **budget, max_rows=2, max_groups=1, bounds={"x": (0, 10**15)})  # type: ignore[arg-type]
    Custody(tmp_path / "home").add("t", rows, said)
    answer = Curator(tmp_path / "home").query("SELECT sum(x) FROM t", **price)
    [[span]] = answer.intervals("0.95")
    assert span is not None
    assert span[1] - span[0] > 2.0**64
    [[again]] = Curator(tmp_path / "home").query("SELECT sum(x) FROM t", **price).rows
    assert again == answer.rows[0][0]  # from the ledger, for nothing


def test_the_ledger_keeps_numbers_of_any_size() -> None:
    noisy = NoisyGroups(((),), ((3, -(2**200), 2**127 + 1),))
    (part,) = question("SELECT count(*) FROM visits", clinic.schema()).parts
    assert restored(stored(noisy), part.measurement) == noisy


def test_a_count_with_noise_that_no_double_holds_exactly_is_told(tmp_path: Path) -> None:
    """Its bars are doubles, made of whole numbers: these were a fault, after paying."""
    found_home(tmp_path / "home")
    Custody(tmp_path / "home").add("t", pa.table({"who": range(9)}), Declared(unit="who", epsilon=1, max_rows=50))
    answer = Curator(tmp_path / "home").query("SELECT count(*) FROM t", epsilon="3e-15")
    [[span]] = answer.intervals("0.95")
    assert span is not None
    assert span[1] - span[0] > 2.0**54
    with pytest.raises(Refusal, match="larger than any number"):
        Curator(tmp_path / "home").query("SELECT count(*) FROM t", epsilon="2e-15")


@pytest.mark.parametrize(
    ("expression", "truth"),
    [
        ("avg(LEAST(GREATEST(x, 0), 1))", 0.004),
        ("sum(LEAST(GREATEST(x, 0), 1) * 10)", 20.0),
        ("median(LEAST(GREATEST(x, 0), 1))", 0.004),
        ("avg(LEAST(y, 0.001))", 0.0004),
        ("avg(tiny)", 0.0004),
        ("sum(tiny / 4.0)", 0.05),
        ("sum(wide) FILTER (WHERE who < 100)", 12_345_678_949.0),
        ("sum(CASE WHEN who < 100 THEN wide ELSE 0 END)", 12_345_678_949.0),
    ],
)
def test_small_numbers_are_not_rounded_away(small: Curator, expression: str, truth: float) -> None:
    """Without a declared step a double was summed in hundredths, whatever its range."""
    [[told]] = small.query(f"SELECT {expression} FROM t", epsilon=10**9).rows
    assert told == pytest.approx(truth, rel=1e-5 if truth < 1000 else 2e-9)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Curator:
    folder = tmp_path_factory.mktemp("small") / "home"
    found_home(folder)
    rows = pa.table({"who": range(500), "x": [0.004] * 500, "y": [0.0004] * 500, "tiny": [0.0004] * 500})
    rows = rows.append_column("wide", pa.array([123_456_789.49] * 500))
    bounds = {"y": (0, 10**6), "tiny": (0, "0.001"), "wide": (0, 10**9)}
    Custody(folder).add("t", rows, Declared(unit="who", epsilon=10**11, max_rows=1, bounds=bounds))  # type: ignore[arg-type]
    return Curator(folder)


def test_a_unit_that_may_be_missing_does_not_make_one_row_of_two(tmp_path: Path) -> None:
    found_home(tmp_path / "home")
    said = {"unit": "id", "population": "id", "max_groups": 1}
    twice = pa.table({"id": [i // 2 for i in range(80)], "v": [i % 2 for i in range(80)]})
    once = pa.table({"id": range(40), "w": [1] * 40})
    Custody(tmp_path / "home").add("a", twice, Declared(**said, epsilon=10**11, max_rows=2))  # type: ignore[arg-type]
    Custody(tmp_path / "home").add("b", once, Declared(**said, max_rows=3))  # type: ignore[arg-type]
    pairs = "SELECT a.id, b.id AS other FROM a LEFT JOIN b ON a.id = b.id AND a.v = b.w GROUP BY a.id, b.id"
    [[told]] = Curator(tmp_path / "home").query(f"SELECT count(*) FROM ({pairs}) t", epsilon=10**9).rows
    assert told == 80
