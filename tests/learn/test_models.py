"""A fitted model in a home: bought, kept with a certificate, and used without the home."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import clinic
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commandline import discreet as command
from learn.examples import HUGE

import discreet as dp
from discreet.learn import LeastSquares, LinearClassifier, LinearModel, LinearRegression, ModelRelease, SearchedModel
from discreet.learn.prediction_rows import features_of
from discreet.privacy import Approximate
from discreet.release.folder import checked, read

ROWS = "SELECT cost, day - DATE '2024-01-01' AS days FROM visits"
ASKED = ["--features", "days", "--label", "cost", "--epsilon", str(HUGE)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Visits that cost two a day, and twenty more on the first."""
    rows: list[tuple[object, ...]] = [
        (i, "north", "d1", 20.0 + 2 * (i % 300), clinic.START + timedelta(i % 300), True) for i in range(900)
    ]
    bounds = {"cost": (0, 1000), "day": ("2024-01-01", "2024-10-27")}
    place = tmp_path_factory.mktemp("learn") / "home"
    return clinic.home(place, clinic.table(rows), max_rows=1, epsilon=10**32, bounds=bounds)


def test_a_fit_is_a_release_that_predicts_without_its_home(home: Path, tmp_path: Path) -> None:
    made = command(tmp_path, "fit", "linear-regression", ROWS, *ASKED, "--out", "model", "--home", str(home))
    assert made.returncode == 0, made.stderr
    assert "2 numbers; the model says nothing of its own error" in made.stdout
    assert len(checked(tmp_path / "model")) == 6
    release, certificate = read(tmp_path / "model")
    assert isinstance(release, ModelRelease)
    assert certificate.guarantee.epsilon == HUGE  # type: ignore[union-attr]
    assert release.model.predict([[0], [10]]) == pytest.approx([20, 40], abs=0.01)
    pq.write_table(pa.table({"DAYS": [1, 2, None]}), tmp_path / "new.parquet")
    told = command(tmp_path, "predict", "model", "new.parquet", "--format", "json")
    assert [row["prediction"] for row in json.loads(told.stdout)[:2]] == pytest.approx([22, 24], abs=0.01)
    wrote = command(tmp_path, "predict", "model", "new.parquet", "--out", "with.csv")
    assert (wrote.returncode, (tmp_path / "with.csv").read_text().splitlines()[0]) == (0, '"DAYS","prediction"')
    for wrong, said in (
        (("predict", "model", "nothing.csv"), "cannot be read"),
        (("predict", "model", "new.parquet", "--out", "with.csv"), "there already"),
        (("predict", "model", "new.parquet", "--out", "with.txt"), r"ends with .csv or .parquet"),
        (("fit", "linear-regression", ROWS, *ASKED, "--home", str(home)), "goes to a folder"),
        (("fit", "mean", ROWS, *ASKED, "--home", str(home), "--dry-run"), "fits no model"),
    ):
        done = command(tmp_path, *wrong)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_a_setting_is_chosen_privately_in_the_home_too(home: Path, tmp_path: Path) -> None:
    tries = ["--try", "alpha=1,1e30", "--try", "fit_intercept=true", "--param", "tries=9", "--param", "data_norm=500"]
    made = command(tmp_path, "fit", "linear-regression", ROWS, *ASKED, *tries, "--out", "model", "--home", str(home))
    assert made.returncode == 0, made.stderr
    release, certificate = read(tmp_path / "model")
    assert isinstance(release, ModelRelease)
    assert certificate.guarantee.epsilon == HUGE  # type: ignore[union-attr]
    assert isinstance(release.model, SearchedModel)
    assert dict(release.model.setting).keys() == {"alpha", "fit_intercept", "data_norm"}
    assert "longer than 500" in (tmp_path / "model" / "index.html").read_text(encoding="utf-8")
    (tmp_path / "new.csv").write_text("days\n1\n", encoding="utf-8")
    assert "prediction" in command(tmp_path, "predict", "model", "new.csv").stdout


def test_how_good_a_model_is_can_be_bought(home: Path, tmp_path: Path) -> None:
    made = command(tmp_path, "fit", "linear-regression", ROWS, *ASKED, "--out", "line", "--home", str(home))
    assert made.returncode == 0, made.stderr
    asked = ("score", "line", ROWS, "--epsilon", str(HUGE), "--home", str(home), "--format", "json")
    told = command(tmp_path, *asked)
    assert told.returncode == 0, told.stderr
    score = json.loads(told.stdout)
    assert score["r2"] == pytest.approx(1, abs=1e-6)
    assert score["rows"] == pytest.approx(900)
    assert "free" in command(tmp_path, *asked).stderr
    assert command(tmp_path, *asked, "--dry-run").returncode == 0
    for wrong, said in (
        (
            ("score", "line", ROWS, "--label", "days", "--epsilon", "1", "--home", str(home)),
            "is a feature of the model",
        ),
        (("score", "nothing", ROWS, "--epsilon", "1", "--home", str(home)), "nothing"),
    ):
        done = command(tmp_path, *wrong)
        assert done.returncode == 2
        assert said in done.stderr


def test_a_norm_that_may_cut_rows_is_told(home: Path, tmp_path: Path) -> None:
    asked = ("fit", "linear-regression", ROWS, *ASKED, "--home", str(home))
    short = ("--param", "data_norm=0.5")
    assert "data_norm" not in command(tmp_path, *asked, "--dry-run").stdout
    assert "longer than data_norm=0.5 count as shorter ones" in command(tmp_path, *asked, *short, "--dry-run").stdout
    assert command(tmp_path, *asked, *short, "--out", "short").returncode == 0
    _, certificate = read(tmp_path / "short")
    assert any("longer than 0.5 counted as shorter" in each for each in certificate.left_out)


def test_a_file_that_was_changed_does_not_verify(home: Path, tmp_path: Path) -> None:
    assert (
        command(tmp_path, "fit", "linear-regression", ROWS, *ASKED, "--out", "m", "--home", str(home)).returncode == 0
    )
    file = tmp_path / "m" / "release.json"
    body = json.loads(file.read_text())
    body["model"]["intercept"] += 1
    file.write_text(json.dumps(body))
    with pytest.raises(dp.Refusal, match=r"'release.json' was changed"):
        checked(tmp_path / "m")


def test_an_estimators_mechanism_runs_in_the_home_and_by_its_name(home: Path) -> None:
    db = dp.open(home)
    before = db.budget("patient").spent
    mechanism = LinearRegression(HUGE).mechanism(["days"], "cost")
    assert isinstance(mechanism, LeastSquares)
    answer = db.run("linear-regression", ROWS, features=["days"], label="cost", epsilon=str(HUGE))
    assert LinearModel.read(answer.value).predict([[100]]) == pytest.approx([220], abs=0.01)
    after = db.budget("patient").spent
    assert isinstance(before, Approximate)
    assert after == before + Approximate(HUGE)
    again = db.run("linear-regression", ROWS, features=["days"], label="cost", epsilon=str(HUGE))
    assert (again.value, again.cost) == (answer.value, None)


def test_numbers_that_have_keys_as_well_are_fitted_as_numbers(tmp_path: Path) -> None:
    db = dp.create(tmp_path / "home")
    keys, days = list(range(90, -1, -1)), [i % 30 for i in range(90)]
    rows = pa.table({"patient": range(90), "days": days, "cost": [2 * day + 7 for day in days]})
    bounds = {"days": (0, 30), "cost": (0, 80)}
    both: dict[str, Any] = {"days": keys, "cost": keys}
    db.add("visits", rows, unit="patient", epsilon=10**32, max_rows=1, bounds=bounds, keys=both)
    for more in ({}, {"data_norm": 40}):
        told = db.run("linear-regression", "visits", features=["days"], label="cost", epsilon=HUGE, **more)
        assert LinearModel.read(told.value).predict([[0], [10]]) == pytest.approx([7, 27], abs=0.01)


def test_a_wish_that_makes_no_sense_is_refused_before_anything_is_paid(home: Path) -> None:
    db = dp.open(home)
    before = db.budget("patient").spent
    wishes: list[tuple[dict[str, Any], str]] = [
        ({"estimator": "linear-regression", "label": "nothing"}, "is none of the columns"),
        ({"estimator": "linear-regression"}, "needs label"),
        ({"estimator": "", "label": "cost"}, "fits no model"),
        ({"estimator": "linear-regression", "label": "cost", "parameters": {"epsilon": 3}}, "by words of their own"),
        ({"estimator": "linear-regression", "label": "cost", "parameters": {"max_rows": 3}}, "from what is declared"),
    ]
    for parts, said in wishes:
        with pytest.raises(dp.Refusal, match=said):
            db.publish(ROWS, kind="model", columns=["days", "cost"], epsilon=1, parts=parts)
    assert db.budget("patient").spent == before


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("linear-regression", {"features": ["days"], "label": "nothing"}),
        ("linear-regression", {"features": ["region"], "label": "cost"}),
        ("sparse-regression", {"features": ["days", "nothing"], "label": "cost", "keep": 1}),
        ("functional-logistic", {"features": ["days"], "label": "cost"}),
        ("logistic-regression", {"features": ["days"], "label": "region", "delta": "1e-40"}),
        ("linear-svc", {"features": ["days"], "label": "region", "delta": "1e-6"}),
        ("linear-svc", {"features": ["days"], "label": "region", "delta": "1e-6", "width": "1e-400"}),
        ("huber-regression", {"features": ["days"], "label": "region", "delta": "1e-6"}),
        ("exponential-learner", {"features": ["cost"], "label": "region", "cuts": 1500}),
        ("naive-bayes", {"features": ["days"], "label": "cost"}),
        ("standard-scaler", {"features": ["region"]}),
        ("pca", {"features": ["region"], "components": 1}),
        ("k-means", {"features": ["region"], "clusters": 2}),
        ("decision-tree-classifier", {"features": ["days"], "label": "cost"}),
        ("decision-tree-regressor", {"features": ["days"], "label": "region"}),
        ("random-forest-regressor", {"features": ["days"], "label": "region"}),
    ],
)
def test_what_public_facts_forbid_is_refused_before_it_is_paid_and_puts_nobody_on_hold(
    home: Path, name: str, parameters: dict[str, Any]
) -> None:
    db = dp.open(home)
    before = db.budget("patient").spent
    rows = ROWS.replace("FROM", ", region FROM")
    with pytest.raises(dp.Refusal) as said:
        db.run(name, rows, epsilon=1, **parameters)
    assert "maintenance" not in str(said.value)
    assert db.budget("patient").spent == before


def test_rows_to_predict_for_have_numbers_in_columns_of_these_names() -> None:
    table = pa.table({"a": [1, None], "b": ["1.5", "x"]})
    assert np.array_equal(features_of(table, ("A",)), [[1.0], [np.nan]], equal_nan=True)
    for names, said in ((("a", "c"), "no column"), (("b",), "no numbers")):
        with pytest.raises(dp.Refusal, match=said):
            features_of(table, names)


def test_coefficients_are_drawn_the_largest_first() -> None:
    """With their numbers, and a sentence that says what they are of and that no error is known."""
    [drawn] = LinearModel(("small", "large"), (0.25, -3.0), 7.0).pictures()
    for picture in (drawn.wide, drawn.narrow):
        assert picture.index("large") < picture.index("small")
        assert "0.25" in picture
        assert "−3" in picture or "-3" in picture
    assert "not known" in drawn.note
    several = LinearClassifier(("a",), ("x", "y", "z"), ((1.0,), (2.0,), (3.0,)), (0.0, 0.0, 0.0)).pictures()
    assert [each.title for each in several] == ["Coefficients of x", "Coefficients of y", "Coefficients of z"]
    [two] = LinearClassifier(("a",), ("x", "y"), ((0.0,),), (0.0,), chances=False).pictures()
    assert (two.title, "score" in two.wide) == ("Coefficients of y", True)
