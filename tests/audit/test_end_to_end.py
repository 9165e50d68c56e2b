"""The house audits itself in one run, from rows to whatever leaves: each canary is a person in a cell of their own.

A coin says who of them is in the table; whoever reads what left names, by its cell, who was in. At every door the same
is done twice: at the price that is claimed, which must stand, and at many times as much, which must be refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from doubles import Seeded
from server.served import served

import discreet as dp
from discreet.audit import OneRun, audit_model, audit_one_run, one_hot
from discreet.curator.custody import Custody
from discreet.errors import OverBudget
from discreet.learn import (
    AdditiveClassifier,
    DecisionTreeClassifier,
    GaussianNB,
    LinearSVC,
    LogisticRegression,
    RandomForestClassifier,
)
from discreet.local import Response
from discreet.privacy import Approximate, Loss, Pure

MANY = 200
CELLS = [f"c{cell:03}" for cell in range(MANY)]
SQL = "SELECT cell, count(*) AS n FROM people GROUP BY cell ORDER BY cell"
Told = dict[str, float]
RARE = "1e-12"
Door = Callable[[Path, Sequence[int], int], Told]  # a folder, who is in, and the price


def home_of(folder: Path, inside: Sequence[int], budget: int) -> Path:
    home = folder / "home"
    rows = pa.table(people(inside))
    dp.create(home).add(
        "people", rows, unit="person", max_rows=1, max_groups=1, keys={"cell": CELLS}, epsilon=budget, delta="1e-6"
    )
    return home


def people(inside: Sequence[int]) -> dict[str, list[Any]]:
    return {"person": list(inside), "cell": [CELLS[canary] for canary in inside]}


def here(folder: Path, inside: Sequence[int], price: int) -> Told:
    home = home_of(folder, inside, price)
    return cells(dp.open(home).query(SQL, epsilon=price).rows)


def over_http(folder: Path, inside: Sequence[int], price: int) -> Told:
    home = home_of(folder, inside, price)
    token = Custody(home).let_in("ann", "analyst")
    with served(home) as server:
        return cells(dp.connect(server.url, token).query(SQL, epsilon=price).rows)


def over_the_wire(folder: Path, inside: Sequence[int], price: int) -> Told:
    home = home_of(folder, inside, price)
    token = Custody(home).let_in("ann", "analyst")
    with served(home, doors=("pg",)) as server:
        address = f"host=127.0.0.1 port={server.pg} dbname=discreet user=ann sslmode=disable"
        with psycopg.connect(address, password=token, autocommit=True) as wire:
            wire.execute(f"SET discreet.epsilon = {price}")
            return cells(wire.execute(SQL).fetchall())


def released(folder: Path, inside: Sequence[int], price: int) -> Told:
    home = home_of(folder, inside, price)
    wish = {"kind": "histogram", "columns": ["cell"], "epsilon": str(price)}
    rows = published(home, wish).to_pylist()
    return {row["cell"]: float(row["count"]) for row in rows}


def synthesised(folder: Path, inside: Sequence[int], price: int) -> Told:
    """Rows drawn from what was measured."""
    home = home_of(folder, inside, price)
    wish = {"kind": "synthetic", "columns": ["cell"], "epsilon": str(price), "delta": RARE, "method": "mst"}
    drawn = published(home, wish).column("cell").to_pylist()
    return {cell: float(drawn.count(cell)) for cell in CELLS}


def streamed(folder: Path, inside: Sequence[int], price: int) -> Told:
    """They arrive in the first of two steps, and their counts are told after the second one."""
    db = dp.create(folder / "home")
    stream = db.open_stream("people", unit="person", horizon=2, events=1, by={"cell": CELLS}, epsilon=price)
    stream.push(people(inside))
    return {str(cell): float(count) for cell, count in stream.push(people([])).by.items()}


def by_their_devices(_: Path, inside: Sequence[int], price: int) -> Told:
    """Each says yes or no by a device of their own, and nobody else sees the answer."""
    there = set(inside)
    said = Response(Fraction(price), 2).batch([int(canary in there) for canary in range(MANY)])
    return dict(zip(CELLS, map(float, said), strict=True))


def asked_until_refused(folder: Path, inside: Sequence[int], price: int) -> Told:
    """As often as the ledger lets anybody: the whole budget in halves, and not one draw more."""
    home = home_of(folder, inside, price)
    db, total, answered = dp.open(home), dict.fromkeys(CELLS, 0.0), 0
    try:
        while answered <= 2:
            for cell, n in cells(db.query(SQL, epsilon=f"{price}/2", fresh=True).rows).items():
                total[cell] += n
            answered += 1
    except OverBudget:
        pass
    assert answered == 2
    return total


def cells(rows: Sequence[Sequence[Any]]) -> Told:
    return {str(cell): float(n) for cell, n in rows}


def published(home: Path, wish: dict[str, Any]) -> pa.Table:
    db = dp.open(home)
    folder = home.with_name("published")
    db.certified(db.publish("people", **wish).entry, folder)
    (file,) = sorted(folder.glob("*.parquet"))
    return pq.read_table(file)


def audited(door: Door, folder: Path, price: int, claim: Loss) -> OneRun:
    return audit_one_run(
        lambda inside: door(folder, inside, price),
        range(MANY),
        lambda told, canary: told.get(CELLS[canary], 0.0),
        claim,
        alpha="1e-6",
        rng=Seeded(1),
    )


def test_a_question_keeps_its_price_and_would_be_found_out(tmp_path: Path) -> None:
    for name, price, wrong in (("kept", 1, False), ("broken", 8, True)):
        run = audited(here, tmp_path / name, price, Pure(1))
        assert run.refuted is wrong, str(run)


DOORS: dict[str, tuple[Door, Loss, int]] = {
    "http": (over_http, Pure(1), 8),
    "wire": (over_the_wire, Pure(1), 8),
    "release": (released, Pure(1), 8),
    "synthesis": (synthesised, Approximate(1, RARE), 200),
    "stream": (streamed, Pure(1), 24),
    "ledger": (asked_until_refused, Pure(1), 8),
    "device": (by_their_devices, Pure(1), 8),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DOORS)
def test_what_leaves_a_door_keeps_its_price_and_would_be_found_out(name: str, tmp_path: Path) -> None:
    door, claim, dear = DOORS[name]
    for folder, price, wrong in (("kept", 1, False), ("broken", dear, True)):
        run = audited(door, tmp_path / folder, price, claim)
        assert run.refuted is wrong, str(run)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("estimator", "terms"),
    [
        (LogisticRegression, {}),
        (LogisticRegression, {"method": "functional"}),
        (LinearSVC, {}),
        (GaussianNB, {}),
        (DecisionTreeClassifier, {}),
        (RandomForestClassifier, {}),
        (AdditiveClassifier, {}),
    ],
    ids=lambda given: getattr(given, "__name__", str(given)),
)
def test_a_model_keeps_its_price(estimator: Any, terms: dict[str, Any]) -> None:  # noqa: ANN401
    """One training on 40 people; what it would find out is in test_model_canaries.py."""
    rows, labels = one_hot(40)
    model = estimator(epsilon=1, bounds=(0, 1), classes=(0, 1), **terms)
    assert not audit_model(model, rows, labels, Pure(1), alpha="1e-6", rng=Seeded(2)).refuted
