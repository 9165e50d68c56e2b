"""What `discreet release` says before anything is paid: how exact, and what becomes of rows in no cell."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli.test_release import TABLES, rows, said, settled


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return settled(tmp_path_factory.mktemp("publisher"), rows(60))


def test_how_exact_ranges_will_be_is_known_after_paying(place: Path) -> None:
    """ "The total within 19" was promised, and held in 40 of 100 runs."""
    ranges = ["release", "ranges", "visits", "--columns", "cost", "--epsilon", "0.5", "--dry-run"]
    assert "error any count: known after paying" in said(place, *ranges)
    assert json.loads(said(place, *ranges, "--format", "json"))["error"] == {"of": "any count", "within": None}
    hierarchy = said(place, *ranges, "--method", "hierarchy")
    assert "error the cells up to any one: within " in hierarchy


def test_what_becomes_of_rows_in_no_cell_is_said(place: Path) -> None:
    shown = said(place, *TABLES, "--ways", "3", "--dry-run")
    assert "cells 45 of age by region by urgent" in shown
    assert "rows whose value is missing, no declared key or in no bin are counted as (other), in every table" in shown
    shown = said(place, *TABLES, "--ways", "3", "--outside", "leave-out", "--dry-run")
    assert "cells 16 of age by region by urgent" in shown
    assert "in any of the columns are left out of everything" in shown


def test_to_what_numbers_are_rounded_before_they_are_cut_is_said_before_paying(place: Path) -> None:
    ranges = ["release", "ranges", "visits", "--columns", "cost", "--epsilon", "0.5", "--dry-run"]
    told = "bins take numbers that are held within the declared bounds and rounded: cost to steps of 0.0001"
    assert told in said(place, *ranges).splitlines()
    assert json.loads(said(place, *ranges, "--format", "json"))["steps"] == {"cost": "0.0001"}
    assert "steps,cost=0.0001" in said(place, *ranges, "--format", "csv").splitlines()
    keys = said(place, "release", "histogram", "visits", "--columns", "region", "--epsilon", "0.5", "--dry-run")
    assert "bins" not in keys
