"""The accounting table of published and measured figures, the lifetime of 10,000 databases, and the command line."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import commandline
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Refusal
from discreet.exact import exact
from discreet.privacy.account import Total, account, lifetime
from discreet.privacy.compose import advanced, optimal_delta
from discreet.privacy.loss import Pure
from discreet.privacy.tradeoff import Gaussian

MIXED: dict[str, Any] = {
    "laplace": [(float(x), 1) for x in np.geomspace(0.005, 0.1, 300)],
    "gaussian": [(float(x), 1) for x in np.linspace(20, 200, 400)],
    "pure": [(float(x), 1) for x in np.linspace(0.01, 0.05, 300)],
}
# What was measured with other people's code, by the first word or words of the theorem; δ = 1e-6.
TABLE: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "100 Gaussian": (
        {"gaussian": [(10, 100)]},
        {
            "basic": 49.29,
            "advanced": 60.57,
            "optimal composition, closed": 39.78,
            "zero": 5.222,
            "Rényi": 5.2215,
            "Gaussian": 4.8866,
            "privacy loss": 4.8866,
        },
    ),
    "10,000 Gaussian": (
        {"gaussian": [(10, 10_000)]},
        {
            "basic": 5746,
            "advanced": 4986,
            "optimal composition, closed": 1985,
            "zero": 100.69,
            "Rényi": 100.72,
            "Gaussian": 96.717,
            "privacy loss": 96.717,
        },
    ),
    "10,000 Laplace": (
        {"laplace": [("0.01", 10_000)]},
        {
            "basic": 100,
            "advanced": 6.26,
            "optimal composition (": 4.8855,
            "zero": 5.222,
            "Rényi": 5.2103,
            "privacy loss": 4.8763,
        },
    ),
    "DP-SGD": (
        {"sampled_gaussian": [("0.01", 1, 10_000)]},
        {"basic": 14386, "advanced": 56583, "Rényi": 7.4141, "privacy loss": 6.9074},
    ),
}


def by(totals: tuple[Total, ...], start: str) -> float:
    (found,) = [total for total in totals if total.theorem.startswith(start)]
    return float(found.epsilon)


@pytest.mark.parametrize("name", TABLE)
def test_the_accounting_table_within_half_a_percent(name: str) -> None:
    uses, figures = TABLE[name]
    totals = account(**uses, delta="1e-6")
    for start, figure in figures.items():
        assert by(totals, start) == pytest.approx(figure, rel=0.005), start
    assert list(totals) == sorted(totals, key=lambda total: total.epsilon)


@pytest.mark.slow
def test_a_thousand_different_mechanisms() -> None:
    totals = account(**MIXED, delta="1e-6")
    figures = {"basic": 43.86, "advanced": 13.44, "optimal composition, closed": 11.55, "zero": 4.963, "Rényi": 4.8916}
    for start, figure in figures.items():
        assert by(totals, start) == pytest.approx(figure, rel=0.005), start
    assert totals[0].theorem.startswith("privacy loss")
    assert float(totals[0].epsilon) <= 4.6073  # the target is 4.75


@given(st.integers(1, 300), st.integers(2, 40), st.integers(2, 9))
@settings(max_examples=12, deadline=None)
def test_no_total_of_gaussian_noise_is_below_the_truth(times: int, sigma: int, digits: int) -> None:
    delta = Fraction(1, 10**digits)
    truth = Gaussian(Fraction(times, sigma**2))
    for total in account(gaussian=[(sigma, times)], delta=delta):
        assert truth.delta_at(total.epsilon) <= delta, total.theorem


@given(st.integers(1, 60), st.fractions(min_value=Fraction(1, 20), max_value=2, max_denominator=20), st.integers(2, 9))
@settings(max_examples=6, deadline=None)
def test_no_total_of_discrete_laplace_noise_is_below_the_truth(times: int, epsilon: Fraction, digits: int) -> None:
    delta = Fraction(1, 10**digits)
    for total in account(discrete_laplace=[(epsilon, times)], delta=delta):
        assert optimal_delta(Pure(epsilon), times, total.epsilon) <= delta, total.theorem


def test_a_kind_in_two_lines_is_a_kind_in_one() -> None:
    split, whole = account(pure=[("0.1", 3), ("0.1", 4)], delta="1e-5"), account(pure=[("0.1", 7)], delta="1e-5")
    assert {t.theorem: t.epsilon for t in split} == {t.theorem: t.epsilon for t in whole}


def test_discrete_gaussian_noise_claims_no_more_than_zcdp_proves() -> None:
    totals = account(discrete_gaussian=[(10, 100)], delta="1e-6")
    assert {total.theorem.split()[0] for total in totals} == {
        "basic",
        "advanced",
        "optimal",
        "zero-concentrated",
        "Rényi",
    }
    assert by(totals, "zero") == by(account(gaussian=[(10, 100)], delta="1e-6"), "zero")


def test_below_the_guard_the_distribution_is_left_out() -> None:
    assert not [t for t in account(laplace=[(1, 2)], delta="1e-11") if t.theorem.startswith("privacy loss")]
    assert [t for t in account(laplace=[(1, 2)], delta="1e-10") if t.theorem.startswith("privacy loss")]


@pytest.mark.parametrize(("delta", "drv", "kov"), [(Fraction(math.exp(-32)), 812.3, 715.5), ("1e-6", 544.0, 422.4)])
def test_the_lifetime_of_ten_thousand_databases(delta: Fraction | str, drv: float, kov: float) -> None:
    best, middle, plain = lifetime(10_000, 1, delta)
    assert float(1 / best.each) == pytest.approx(kov, abs=0.06)
    assert float(1 / middle.each) == pytest.approx(drv, abs=0.06)
    assert plain.each == Fraction(1, 10_000)
    assert optimal_delta(Pure(best.each), 10_000, 1) <= Fraction(delta)
    assert advanced({Pure(middle.each): 10_000}, slack=delta).epsilon == middle.total
    for answer in (best, middle, plain):
        assert 1 - Fraction(1, 10**8) < answer.total <= 1


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: account(delta="1e-6"), "nothing to account for"),
        (lambda: account(gaussian=[(0, 1)], delta="1e-6"), "sigma=0"),
        (lambda: account(gaussian=[(1, 0)], delta="1e-6"), "times=0"),
        (lambda: account(laplace=[(-1, 1)], delta="1e-6"), "epsilon=-1"),
        (lambda: account(laplace=[("nan", 1)], delta="1e-6"), "nan"),
        (lambda: account(laplace=[(1, 1)], delta=1), "delta=1"),
        (lambda: account(laplace=[(1, 1)], delta=0), "delta=0"),
        (lambda: account(sampled_gaussian=[(2, 1, 1)], delta="1e-6"), "rate=2"),
        (lambda: lifetime(0, 1, "1e-6"), "databases=0"),
        (lambda: lifetime(10, 0, "1e-6"), "epsilon=0"),
        (lambda: lifetime(10, 1, 1), "delta=1"),
    ],
)
def test_nonsense_is_refused_by_name(build: Callable[[], object], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        build()


def discreet(*arguments: str) -> CompletedProcess[str]:
    return commandline.discreet(Path(), "account", *arguments)


def epsilons(value: object) -> list[object]:
    """Everything under a key named epsilon, however deep."""
    if isinstance(value, dict):
        return [v for key, v in value.items() if key == "epsilon"] + [e for v in value.values() for e in epsilons(v)]
    return [e for item in value for e in epsilons(item)] if isinstance(value, list) else []


def test_the_command_prints_the_agreed_json() -> None:
    done = discreet("--gaussian", "10x100", "--delta", "1e-6", "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert set(answer) == {"delta", "totals"}
    assert answer["delta"] == 1e-6
    assert all(set(total) == {"theorem", "epsilon"} for total in answer["totals"])
    found = [total["epsilon"] for total in answer["totals"]]
    assert epsilons(answer) == found == sorted(found)
    totals = account(gaussian=[(10, 100)], delta="1e-6")
    assert all(exact(e, "epsilon") >= t.epsilon for e, t in zip(found, totals, strict=True))
    assert found[0] == pytest.approx(4.8866, abs=5e-5)


def test_the_command_prints_csv_and_adds_several_kinds() -> None:
    done = discreet(
        "--pure", "0.1x3", "--pure", "0.5", "--discrete-gaussian", "10x2", "--delta", "1e-5", "--format", "csv"
    )
    head, *rows = csv.reader(done.stdout.splitlines())
    assert head == ["epsilon", "theorem"]
    totals = account(pure=[("0.1", 3), ("0.5", 1)], discrete_gaussian=[(10, 2)], delta="1e-5")
    assert [row[1] for row in rows] == [total.theorem for total in totals]
    assert [float(row[0]) for row in rows] == pytest.approx([float(total.epsilon) for total in totals])


def test_the_command_tells_a_lifetime() -> None:
    done = discreet("lifetime", "--databases", "10000", "--epsilon", "1", "--delta", "1e-14", "--format", "json")
    answer = json.loads(done.stdout)
    assert {"databases", "delta", "lifetime", "allowances"} == set(answer)
    assert [1 / line["each"] for line in answer["allowances"]] == pytest.approx([718.63, 815.22, 10_000], abs=0.01)
    assert optimal_delta(Pure(answer["allowances"][0]["each"]), 10_000, 1) <= Fraction("1e-14")
    assert answer["allowances"][-1]["each"] == 0.0001
    table = discreet("lifetime", "--databases", "10000", "--epsilon", "1", "--delta", "1e-14")
    assert "1/718.628" in table.stdout
    assert "1/815.222" in table.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--gaussian", "10x100"], "no δ was given"),
        (["--delta", "1e-6"], "nothing to account for"),
        (["--gaussian", "10xmany", "--delta", "1e-6"], "'10xmany'"),
        (["--gaussian", "x5", "--delta", "1e-6"], "'x5'"),
        (["--gaussian", "10x0", "--delta", "1e-6"], "times=0"),
        (["--laplace", "nanx2", "--delta", "1e-6"], "'nan'"),
        (["--sampled-gaussian", "1x10", "--delta", "1e-6"], "RATE:SIGMAxK, got '1x10'"),
        (["--gaussian", "10x100", "--delta", "1"], "delta=1"),
        (["--delta", "1e-6", "lifetime", "--databases", "9", "--epsilon", "1", "--delta", "1e-6"], "lifetime"),
        (["lifetime", "--databases", "0", "--epsilon", "1", "--delta", "1e-6"], "databases=0"),
    ],
)
def test_the_command_refuses_nonsense_with_2(arguments: list[str], words: str) -> None:
    done = discreet(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("refused: ")
    assert words in done.stderr
