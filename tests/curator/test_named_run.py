"""A mechanism by its name costs and says what it does of the rows that the engine keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import clinic
import pytest
from curator.test_run import RELATIONS, allowed, plan, table, worst
from doubles import Seeded

import discreet as dp
from discreet.curator import catalogue
from discreet.curator.named_run import NamedRun
from discreet.curator.run import planned
from discreet.engines import DuckRelation, DuckStore
from discreet.mechanisms.run_by_name import OfColumn
from discreet.sql.cell_numbers import BoundedRows
from discreet.sql.split_at_noise import rows_of

NAMED: dict[str, dict[str, Any]] = {
    "mean": {},
    "variance": {},
    "quantile": {"level": "0.75"},
    "quantiles": {"levels": ["0.25", "0.5"]},
    "quantile-end": {"around": 3},
    "smooth-median": {"delta": "1e-6"},
    "pure-median": {},
    "posted-price": {"lowest": 1, "highest": 8},
}


@pytest.mark.parametrize("relation", RELATIONS)
def test_by_its_name_it_costs_and_says_what_it_does_of_the_kept_rows(tmp_path: Path, relation: str) -> None:
    """By the same bits, of the rows that the engine keeps of a person who has more than may be seen."""
    rows = [row for name, (_, pair) in worst().items() for row in table(name, 0, pair)]
    declared: dict[str, Any] = {"bounds": {"cost": (0, 8)}, "steps": {"cost": 1}, "delta": "0.5"}
    home = clinic.home(tmp_path / "home", clinic.table(rows), relation=relation, **declared)
    store = DuckStore(home / "tables")
    for name, parameters in NAMED.items():
        for seed, cap in ((1, 1), (2, 3)):
            order = NamedRun.of(name, "SELECT cost FROM visits", {"epsilon": 1, **parameters}, max_rows=cap)
            known = catalogue.read(home)
            what = planned(known, order.wanted, rows_of(order.source, known.schema), allowed)
            outline, over = what.outline, what.mechanism
            assert isinstance(over, OfColumn)
            alone = over.mechanism
            values = [row[0] for row in store.rows(BoundedRows(what.rows, cap))]
            engine = DuckRelation(store, what.rows, outline.schema, outline.caps, outline.neighbours)
            assert over(engine, rng=Seeded(seed)) == alone(values, rng=Seeded(seed))  # type: ignore[operator]
            assert what.loss == plan(home, alone, max_rows=cap).loss
    store.close()


def test_a_table_is_found_in_upper_and_lower_case_alike_and_the_same_run_is_free(tmp_path: Path) -> None:
    db = dp.create(tmp_path / "home")
    rows = {"patient": ["a", "b", "c"], "cost": [1.0, 2.0, 3.0]}
    for name in ("Visits", "order"):
        db.add(name, rows, unit="patient", epsilon=5, max_rows=1, bounds={"cost": (0, 10)})
    paid = db.run("mean", 'SELECT * FROM "Visits"', column="cost", epsilon=1)
    assert paid.cost is not None
    for source in ("Visits", "visits", "VISITS"):
        again = db.run("mean", source, column="Cost", epsilon=1)
        assert (again.entry, again.value, again.cost) == (paid.entry, paid.value, None)
    assert db.run("mean", "order", column="cost", epsilon=1).cost is not None  # a word of SQL, and a table here
