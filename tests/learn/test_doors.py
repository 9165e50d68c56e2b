"""Forests and additive models in a home: by their names, on the command line, in a folder that predicts without it."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from commandline import discreet as command

import discreet as dp
from discreet.learn.model_release import model_class
from discreet.privacy import Pure

NAMES = [
    ("random-forest-classifier", "sick"),
    ("random-forest-regressor", "stay"),
    ("additive-classifier", "sick"),
    ("additive-regressor", "stay"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People of whom those of the south are sick, and stay for twenty days instead of five."""
    place, n = tmp_path_factory.mktemp("doors") / "home", 1500
    town, age = [("north", "south", "west")[i % 3] for i in range(n)], [i * 7 % 90 for i in range(n)]
    sick = ["yes" if each == "south" else "no" for each in town]
    stay = [20 if each == "south" else 5 for each in town]
    rows = pa.table({"patient": range(n), "town": town, "age": age, "sick": sick, "stay": stay})
    keys = {"town": ["north", "south", "west"], "sick": ["no", "yes"]}
    db = dp.create(place)
    db.add(
        "people", rows, unit="patient", epsilon=10_000, max_rows=1, bounds={"age": (0, 89), "stay": (0, 30)}, keys=keys
    )
    return place


@pytest.mark.slow
@pytest.mark.parametrize(("name", "label"), NAMES)
def test_it_is_fitted_in_a_home_kept_and_used_without_it(home: Path, tmp_path: Path, name: str, label: str) -> None:
    db = dp.open(home)
    told = db.run(name, "people", features=["town", "age"], label=label, epsilon=100)
    assert told.cost == Pure(100)
    north, south = model_class(name).read(told.value).predict([[0, 30], [1, 30]]).tolist()
    assert (north, south) == ("no", "yes") if label == "sick" else south > north + 5
    asked = ("fit", name, "people", "--features", "town,age", "--label", label, "--epsilon", "100")
    made = command(tmp_path, *asked, "--out", "model", "--home", str(home))
    assert made.returncode == 0, made.stderr
    (tmp_path / "new.csv").write_text("age,town\n30,north\n30,south\n")
    said = command(tmp_path, "predict", "model", "new.csv", "--format", "json")
    one, two = (row["prediction"] for row in json.loads(said.stdout))
    assert (one, two) == ("no", "yes") if label == "sick" else two > one + 5
    listed = command(tmp_path, "release", "list", "--home", str(home), "--format", "json")
    assert listed.returncode == 0
    assert len(json.loads(listed.stdout)) >= 1
