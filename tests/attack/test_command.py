"""`discreet attack`: a live curator of made-up people is attacked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commandline import discreet
from scipy import stats


def told(folder: Path, *words: str) -> list[dict[str, object]]:
    done = discreet(folder, "attack", *words, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    rows: list[dict[str, object]] = json.loads(done.stdout)
    return rows


def test_differences_tell_all_without_a_curator(tmp_path: Path) -> None:
    rows = told(tmp_path, "difference", "--n", "8")
    assert [row["answers"] for row in rows] == ["exact", "exact", "noise, never counted", "curator", "curator"]
    assert [row["share"] for row in rows[:2]] == [1, 1]
    assert [row["ceiling"] for row in rows[:3]] == [None] * 3
    assert float(str(rows[3]["ceiling"])) == pytest.approx(0.5 + 8**-0.5 / 4)
    assert list(tmp_path.iterdir()) == []


def test_reconstruction_gets_all_of_exact_counts(tmp_path: Path) -> None:
    rows = told(tmp_path, "reconstruct", "--n", "16", "--error", "0")
    assert [row["answers"] for row in rows] == ["exact", "at most 0 off", "curator"]
    assert [row["share"] for row in rows[:2]] == [1, 1]
    assert rows[2]["questions"] == 64


@pytest.mark.slow
def test_from_a_curator_1024_secrets_are_guessed_no_better_than_by_chance(tmp_path: Path) -> None:
    exact, noisy, curator = told(tmp_path, "reconstruct", "--n", "1024")
    assert exact["share"] == 1
    assert float(str(noisy["share"])) >= 0.99
    # were the answers worth nothing, the count would be binomial; at a tenth of this noise and less it is not
    right = int(str(curator["recovered"]))
    assert stats.binom.ppf(5e-10, 1024, 0.5) <= right <= stats.binom.isf(5e-10, 1024, float(str(curator["ceiling"])))


@pytest.mark.parametrize("method", ["linear-program", pytest.param("exhaustive", marks=pytest.mark.slow)])
def test_there_are_other_methods(tmp_path: Path, method: str) -> None:
    rows = told(tmp_path, "reconstruct", "--n", "8", "--questions", "40", "--method", method, "--error", "0")
    assert rows[0]["share"] == 1
    assert rows[0]["attack"] == method


def test_for_people_shares_are_in_per_cent(tmp_path: Path) -> None:
    done = discreet(tmp_path, "attack", "difference", "--n", "2")
    assert done.returncode == 0
    assert "100.0 %" in done.stdout
    assert "50.0 %" in done.stdout


def test_members_are_named_by_exact_means(tmp_path: Path) -> None:
    rows = told(tmp_path, "member", "--n", "20", "--columns", "2000")
    assert [(row["answers"], row["attack"]) for row in rows] == [
        (answers, attack) for answers in ("exact means", "to 5 %", "noisy") for attack in ("homer", "inner product")
    ]
    assert all(float(str(row["area"])) > 0.95 for row in rows[:4])
    assert all(float(str(row["ceiling of area"])) == pytest.approx(0.5 + 2000**-0.5 / 4) for row in rows[4:])


def test_a_curator_answers_means_that_tell_members_from_nobody(tmp_path: Path) -> None:
    rows = told(tmp_path, "member", "--n", "60", "--columns", "40")
    assert [row["answers"] for row in rows[6:]] == ["curator", "curator"]
    for row in rows[6:]:
        assert float(str(row["area"])) < 0.5 + 6 * 0.054  # six standard errors of an area with 60 on either side
        assert float(str(row["ceiling of area"])) == pytest.approx(0.5 + 40**-0.5 / 4)


def test_rows_without_names_get_them_back(tmp_path: Path) -> None:
    rows = told(tmp_path, "link", "--n", "200")
    assert [row["published"] for row in rows[5:]] == ["search logs", "travels"]
    exact, coarse, rated, half, absent, searched, travelled = (
        (row["named rightly"], row["named wrongly"]) for row in rows
    )
    assert float(str(searched[0])) > 0.85
    assert float(str(travelled[0])) > 0.85
    assert float(str(exact[0])) > 0.95
    assert float(str(coarse[0])) < 0.5
    assert float(str(rated[0])) > 0.85
    assert float(str(half[0])) > 0.85
    assert absent[0] == 0
    assert all(float(str(wrong)) < 0.5 for _, wrong in (exact, coarse, rated, half, absent))


def test_a_census_block_is_known_from_its_table_and_not_from_a_noisy_one(tmp_path: Path) -> None:
    rows = told(tmp_path, "census")
    assert [(row["blocks that fit"], row["people known"], row["of"]) for row in rows[:2]] == [(1, 7, 7), (2, 0, 7)]
    assert int(str(rows[2]["people known"])) < 7


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["reconstruct", "--n", "1"], "got 1"),
        (["difference", "--n", "5000"], "got 5000"),
        (["reconstruct", "--epsilon", "0"], "--epsilon"),
        (["reconstruct", "--error", "-1"], "--error"),
        (["reconstruct", "--questions", "0"], "got 0"),
        (["link", "--n", "9"], "got 9"),
        (["member", "--columns", "1000000"], "got 100 times 1000000"),
        (["reconstruct", "--n", "30", "--method", "exhaustive"], "too many"),
    ],
)
def test_nonsense_is_refused(tmp_path: Path, words: list[str], named: str) -> None:
    done = discreet(tmp_path, "attack", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert named in done.stderr
