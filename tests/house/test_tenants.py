"""Toy tenants: what somebody else's code can bring, with no edit to any file of this package."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import clinic
import commandline
import pytest
from bare import SOURCE
from doubles import Seeded
from house.tree import ROOT
from server.served import served

import discreet as dp
from discreet.audit import audit
from discreet.curator.custody import Custody
from discreet.errors import Refusal
from discreet.ledger import Spend, open_ledger
from discreet.mechanisms import REGISTRY, rebuilt
from discreet.privacy import Approximate, Pure

TENANTS = ROOT / "tests" / "house" / "tenants"  # a folder as an installer leaves it: modules and their entry points
LINE: dict[str, Any] = {"x": "days", "y": "cost"}
PRICE = 10**6  # at which the noise is next to nothing
ROWS = "SELECT cost, day - DATE '2024-01-01' AS days FROM visits"


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The tenants' folder is one of those in which Python looks; what they registered is forgotten afterwards."""
    before = dict(REGISTRY)
    monkeypatch.syspath_prepend(str(TENANTS))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TENANTS), SOURCE]))
    yield
    for name in set(REGISTRY) - set(before):
        sys.modules.pop(REGISTRY.pop(name).__module__, None)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Visits that cost two a day, and twenty more on the first."""
    rows: list[tuple[object, ...]] = [
        (i, "north", "d1", 20.0 + 2 * (i % 300), clinic.START + timedelta(i % 300), True) for i in range(900)
    ]
    return clinic.home(
        tmp_path / "home", clinic.table(rows), max_rows=1, epsilon=10**7, bounds=BOUNDS, steps={"cost": 10}
    )


BOUNDS = {"cost": (0, 1000), "day": ("2024-01-01", "2024-10-27")}


def slope(value: Any) -> bool:  # noqa: ANN401  # what came through a door
    return isinstance(value, float) and abs(value - 2) < 0.2


def test_an_estimator_is_forty_lines_and_named_nowhere_in_the_package() -> None:
    lines = (TENANTS / "least_squares.py").read_text().splitlines()
    assert sum(bool(line.strip()) for line in lines) <= 40
    for path in (ROOT / "src").rglob("*.py"):
        assert "toy" + "-slope" not in path.read_text(), path


def test_an_estimator_runs_in_python_and_its_price_stands_in_the_ledger(home: Path) -> None:
    db = dp.open(home)
    quote = db.offer_run("toy-slope", ROWS, epsilon=PRICE, **LINE)
    assert (quote.price, quote.error, quote.entry) == (Approximate(PRICE), None, None)
    assert db.budget("patient").spent == Approximate(0)
    answer = db.run("toy-slope", ROWS, epsilon=PRICE, **LINE)
    assert slope(answer.value)
    assert answer.cost == Approximate(PRICE) == db.budget("patient").spent
    again = db.run("toy-slope", ROWS, epsilon=PRICE, **LINE)
    assert (again.value, again.cost, again.entry) == (answer.value, None, answer.entry)
    told = [entry.event.what for entry in open_ledger(home).entries() if isinstance(entry.event, Spend)]
    assert [what["mechanism"]["run"]["name"] for what in told if isinstance(what, dict)] == ["toy-slope"]  # type: ignore[index, call-overload]
    wrong: list[dict[str, Any]] = [{**LINE, "neighbours": {}}, {**LINE, "sensitivity": 1}, {"x": "days"}]
    for parameters in wrong:
        with pytest.raises(Refusal):
            db.offer_run("toy-slope", ROWS, epsilon=1, **parameters)


def test_an_estimator_runs_on_the_command_line_and_is_audited_there(home: Path, tmp_path: Path) -> None:
    asked = ["--param", "x=days", "--param", "y=cost", "--epsilon", str(PRICE), "--home", str(home)]
    done = commandline.discreet(tmp_path, "run", "toy-slope", ROWS, *asked, "--format", "json")
    assert done.returncode == 0, done.stderr
    assert slope(json.loads(done.stdout))
    assert f"cost epsilon {PRICE}" in done.stderr
    tried = ["--parameters", json.dumps({"epsilon": "1", **LINE}), "--samples", "1000"]
    assert "does not contradict" in commandline.discreet(tmp_path, "audit", "toy-slope", *tried).stdout
    dear = ["--parameters", json.dumps({"epsilon": "200", **LINE}), "--samples", "1000", "--claim", "epsilon=2"]
    assert json.loads(commandline.discreet(tmp_path, "audit", "toy-slope", *dear, "--format", "json").stdout)["refuted"]


def test_an_estimator_runs_over_http(home: Path) -> None:
    token = Custody(home).let_in("ann", "analyst")
    with served(home, cold=True) as server:
        there = server.connect(token)
        answer = there.run("toy-slope", ROWS, epsilon=Fraction(PRICE), **LINE)
        assert slope(answer.value)
        assert answer.cost == Approximate(PRICE)
        body = {"mechanism": "toy-slope", "parameters": {"epsilon": PRICE, **LINE}, "sql": ROWS}
        assert server.call("POST", "/api/v1/run", token, body).json["value"] == answer.value  # free: it is the same


def test_an_estimators_promise_is_not_exceeded_and_less_would_be() -> None:
    """False alarms below 1e-9."""
    for price, claim, wrong in ((1, 1, False), (200, 2, True)):
        mechanism = rebuilt("toy-slope", {"epsilon": price, "max_rows": 2, **LINE})
        pairs = [(pair.left, pair.right) for pair in mechanism.pairs()]
        assert audit(mechanism, pairs, Pure(claim), samples=1000, alpha="1e-9", rng=Seeded(1)).refuted is wrong


def test_a_package_that_cannot_be_imported_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[discreet.mechanisms]\nbroken = nowhere\nsilent = json\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(Refusal, match="offers 'broken' cannot be imported: No module named 'nowhere'"):
        rebuilt("broken", {})
    with pytest.raises(Refusal, match="no mechanism called 'silent'"):
        rebuilt("silent", {})
