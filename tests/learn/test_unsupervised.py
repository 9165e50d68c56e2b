"""Models without a label in a home: bought by their names, kept with a certificate, drawn and used without it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commandline import discreet as command

import discreet as dp
from discreet.learn import Clusters, LowRankMatrix, Mixture, ModelRelease, Projection
from discreet.release.folder import read

HUGE = 10**20
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Points around two places, and what each of ten people gave each of six films."""
    place = tmp_path_factory.mktemp("unsupervised") / "home"
    db = dp.create(place)
    side = np.arange(400) % 2
    x = np.where(side, 6.0, 1.0) + np.arange(400) % 5 / 10
    points = pa.table({"who": range(400), "x": x, "y": 2 * x + np.arange(400) % 3 / 10})
    given: dict[str, Any] = {"unit": "who", "epsilon": 10**24, "delta": "1e-3", "max_rows": 1}
    db.add("points", points, bounds={"x": (0, 10), "y": (0, 20)}, **given)
    seen = [(i * 6 + j, i, j, 1 + i % 2 * j / 2) for i in range(10) for j in range(6)]
    stars = pa.table(dict(zip(("of", "person", "film", "stars"), zip(*seen, strict=True), strict=True)))
    keys: dict[str, Any] = {"person": list(range(10)), "film": list(range(6))}
    db.add("stars", stars, keys=keys, bounds={"stars": (0, 5)}, **{**given, "unit": "of"})
    return place


@pytest.mark.parametrize(
    ("name", "kind", "parameters"),
    [
        ("pca", Projection, {"components": 1}),
        ("pca", Projection, {"components": 1, "data_norm": 30}),
        ("exponential-pca", Projection, {"components": 1, "epsilon": 900, "delta": "1e-9"}),
        ("k-means", Clusters, {"clusters": 2}),
        ("gaussian-mixture", Mixture, {"components": 2}),
    ],
)
def test_a_model_is_bought_by_its_name(home: Path, name: str, kind: Any, parameters: dict[str, Any]) -> None:  # noqa: ANN401
    told = dp.open(home).run(name, "points", features=["x", "y"], **{"epsilon": str(HUGE), **parameters})
    model = kind.read(told.value)
    if kind is Projection:
        first = np.array(model.components[0])
        assert abs(first @ [1, 2]) / 5**0.5 > (0.99 if name == "pca" else 0.8)
    else:
        assert len(set(model.predict([[1.2, 2.5], [6.2, 12.5]]).tolist())) == 2


def test_a_matrix_is_bought_by_its_name(home: Path) -> None:
    given: dict[str, Any] = {"features": ["person", "film"], "label": "stars", "components": 2}
    told = dp.open(home).run("low-rank", "stars", epsilon=str(HUGE), delta="1e-6", **given)
    model = LowRankMatrix.read(told.value)
    assert model.predict([[0, 3], [1, 4], [99, 0]])[:2] == pytest.approx([1, 3], abs=1e-3)


def test_a_fit_is_a_release_that_draws_itself_and_predicts_without_its_home(home: Path, tmp_path: Path) -> None:
    asked = ("fit", "k-means", "points", "--features", "x,y", "--param", "clusters=2", "--epsilon", str(HUGE))
    made = command(tmp_path, *asked, "--out", "model", "--home", str(home))
    assert made.returncode == 0, made.stderr
    release, _ = read(tmp_path / "model")
    assert isinstance(release, ModelRelease)
    assert [picture.title for picture in release.pictures()] == ["Rows of each cluster"]
    pq.write_table(pa.table({"x": [1.0, 6.0], "y": [2.0, 12.0]}), tmp_path / "new.parquet")
    told = command(tmp_path, "predict", "model", "new.parquet", "--format", "json")
    assert sorted(row["cluster"] for row in json.loads(told.stdout)) == [0, 1]
