"""The quality report: its scores by hand, what it compares, and where it may not be written."""

from __future__ import annotations

import math
import stat
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commandline import discreet as command
from doubles import Seeded
from sklearn.metrics import mutual_info_score, roc_auc_score

import discreet as dp
from discreet.errors import Refusal
from discreet.mechanisms import Column, Frame
from discreet.release import Wish, publication
from discreet.release.axis import KeyAxis, NumberAxis
from discreet.release.folder import checked
from discreet.release.quality import page, quality
from discreet.release.quality.cell_codes import coded
from discreet.release.quality.closeness import (
    Sample,
    _area,
    associations,
    distances,
    learned,
    marginal_score,
    told_apart,
)

SEX, AGE = Column("sex", keys=("f", "m<b>")), Column("age", bounds=(0, 100), step=1)


def sample(rows: list[list[int]], *sizes: int) -> Sample:
    return Sample(np.array(rows), sizes)


def people(many: int = 1200) -> dict[str, Any]:
    random = np.random.default_rng(5)
    ages = random.integers(0, 100, many)
    return {"sex": np.where(ages + random.integers(0, 30, many) > 60, "f", "m<b>"), "age": ages}


def released(data: dict[str, Any], **parts: Any) -> Any:  # noqa: ANN401
    frame = Frame.of(data, SEX, AGE)
    wish = Wish.of("synthetic", ("sex", "age"), **{"rho": 50, "bins": {"age": 10}, **parts})
    return publication(frame, wish)(frame, rng=Seeded(1))


# scores ---------------------------------------------------------------------------------------------------------------


def test_distances_are_the_rows_that_would_have_to_move() -> None:
    one, two = sample([[0, 0], [0, 1], [1, 1], [1, 1]], 2, 3), sample([[0, 0], [0, 0], [0, 1], [1, 2]], 2, 3)
    assert distances(one, two, 1) == {(0,): 0.25, (1,): 0.5}
    assert distances(one, two, 2) == {(0, 1): 0.5}
    assert marginal_score(one, two) == 500  # two columns are all there are
    assert marginal_score(one, one) == 1000


def test_of_very_many_tables_some_that_are_spread_evenly_are_compared() -> None:
    rows = sample([[0] * 30, [1] * 30], *([2] * 30))
    found = distances(rows, rows, 3)
    assert len(found) == 400
    assert {axes[0] for axes in found} >= set(range(20))


def test_an_area_is_that_of_the_textbook_ties_and_all() -> None:
    random = np.random.default_rng(1)
    chances, truth = random.integers(0, 7, 300) / 7, random.random(300) < 0.3
    assert _area(chances, truth) == pytest.approx(roc_auc_score(truth, chances), abs=1e-12)
    assert math.isnan(_area(chances, np.ones(300, dtype=np.bool_)))


def test_what_two_columns_tell_of_each_other_is_their_information() -> None:
    random = np.random.default_rng(2)
    first = random.integers(0, 4, 20_000)
    second = np.where(random.random(20_000) < 0.5, first, random.integers(0, 4, 20_000))
    third = random.integers(0, 4, 20_000)
    table = associations(Sample(np.stack([first, second, third], axis=1), (4, 4, 4)), [np.arange(4)] * 3)
    expected = math.sqrt(1 - math.exp(-2 * mutual_info_score(first, second)))
    assert table[0, 1] == table[1, 0] == pytest.approx(expected, abs=0.001)
    assert table[0, 2] < 0.03
    assert table[2, 2] == 1


def test_trees_learn_what_is_there_and_tell_apart_what_is_not_alike() -> None:
    random = np.random.default_rng(3)
    first = random.integers(0, 2, 2000)
    rows = Sample(np.stack([first, first ^ (random.random(2000) < 0.1), random.integers(0, 2, 2000)], axis=1), (2,) * 3)
    found = learned(rows, rows, 1)
    assert 0.87 < found.right < 0.93
    assert 0.85 < found.area < 0.95
    other = Sample(rows.rows[:, [0, 2, 1]], (2,) * 3)
    order = random.permutation(4000)
    assert told_apart(rows, other, order) > 0.65
    assert abs(told_apart(rows, rows, order) - 0.5) < 0.06
    assert math.isnan(learned(Sample(np.zeros((9, 3), dtype=np.int64), (2,) * 3), rows, 1).area)


# records --------------------------------------------------------------------------------------------------------------


def test_records_are_put_where_the_release_has_them_however_a_file_spells_them() -> None:
    sides = KeyAxis("k", ("a", None)), KeyAxis("b", (False, True)), NumberAxis("x", (0, 2, 6), Fraction(1, 2))
    native = pa.table({"k": ["a", None, "z"], "b": [True, None, False], "x": [0.9, 1.0, None]})
    text = pa.table({"k": ["a", None, "z"], "b": ["true", None, "false"], "x": ["0.7", "99", "none"]})
    assert coded(sides, native).tolist() == [[0, 1, 1], [1, 2, 1], [2, 0, 2]]
    assert coded(sides, text).tolist() == [[0, 1, 0], [1, 2, 1], [2, 0, 2]]
    with pytest.raises(Refusal, match="no column 'b'"):
        coded(sides, native.drop_columns(["b"]))
    with pytest.raises(Refusal, match="two records"):
        coded(sides, native.slice(0, 1))
    with pytest.raises(Refusal, match="no numbers in 'x'"):
        coded(sides[2:], pa.table({"x": [[1], [2]]}))


@pytest.mark.slow
def test_good_rows_are_near_and_shuffled_records_are_not() -> None:
    data = people()
    report = quality(released(data), pa.table(data), rng=Seeded(2))
    made, half, shuffled = report.comparisons
    assert report.target == "sex"
    assert made.score > 900 > shuffled.score
    assert made.pairs == report.pairs["sex", "age"] < 0.1 < shuffled.pairs
    assert shuffled.columns == 0
    assert abs(made.apart - 0.5) < 0.15
    assert made.learned is not None
    assert half.learned is not None
    assert made.learned.right > 0.8
    assert abs(made.learned.right - half.learned.right) < 0.1
    assert made.matches > 0.9
    assert report.known[0][0, 1] == pytest.approx(report.known[1][0, 1], abs=0.1)
    text = page(report)
    assert "It is as secret as they" in text
    assert "<b>" not in text
    assert "m&lt;b&gt;" in text


def test_what_is_no_release_of_rows_or_no_column_is_refused() -> None:
    data = people(40)
    frame = Frame.of(data, SEX, AGE)
    other = publication(frame, Wish.of("histogram", ("sex",), epsilon=1))(frame, rng=Seeded(1))
    with pytest.raises(Refusal, match="made-up rows with records"):
        quality(other, pa.table(data))
    with pytest.raises(Refusal, match="no column 'wage' to predict"):
        quality(released(data), pa.table(data), target="wage")


# the command ----------------------------------------------------------------------------------------------------------


def test_the_report_is_its_owners_alone_and_never_lies_in_a_release(tmp_path: Path) -> None:
    data = people(300)
    table = pa.table({"who": np.arange(300), **data})
    db = dp.create(tmp_path / "home")
    own: Any = {"keys": {"sex": ["f", "m<b>"]}, "bounds": {"age": (0, 100)}}
    db.add("people", table, unit="who", max_rows=1, epsilon=20, delta="1e-6", **own)
    entry = db.publish("people", kind="synthetic", columns=["sex", "age"], epsilon=10, delta="1e-9").entry
    db.certified(entry, tmp_path / "rows")
    pq.write_table(table, tmp_path / "people.parquet")
    told = command(tmp_path, "release", "report", "rows", "people.parquet", "--out", "report.html", "--format", "csv")
    assert told.returncode == 0, told.stderr
    assert "as secret as they are" in told.stderr
    assert told.stdout.splitlines()[0] == "rows,score,pairs,columns,told_apart,equal,right,area"
    assert stat.S_IMODE((tmp_path / "report.html").stat().st_mode) == 0o600
    assert len(checked(tmp_path / "rows")) == 6  # nothing came into the folder
    for out, says in (("rows/report.html", "handed on"), ("report.html", "there already")):
        refused = command(tmp_path, "release", "report", "rows", "people.parquet", "--out", out)
        assert (refused.returncode, says in refused.stderr) == (2, True), refused.stderr
