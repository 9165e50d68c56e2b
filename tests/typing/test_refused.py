"""What the type checker must refuse, before any test could."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

IMPORTS = """\
from pathlib import Path

import discreet
from discreet.client import Database
from discreet.curator import Curator
from discreet.privacy.budget import Budget
from discreet.privacy.calibrate import gaussian_variance, laplace_scale
from discreet.privacy.convert import convert
from discreet.privacy.loss import Approximate, Concentrated, Pure
from discreet.privacy.loss import AddRemove, Guarantee
from discreet.privacy.budget import Odometer
from discreet.privacy.profile import Profile
from discreet.privacy.renyi import Renyi
from discreet.privacy.calibrate import Sensitivity
from discreet.privacy.tradeoff import Gaussian

person = AddRemove("person")
one = Sensitivity.of_count()
home = discreet.open()
door = discreet.connect()
either: Database = door if door.tables() else home
curator = Curator(Path())
"""

REFUSED = {
    "two measures do not add": "Pure(1) + Concentrated(1)",
    "nor do pure and approximate": "Pure(1) + Approximate(1)",
    "nor a Gaussian and a zCDP": "Gaussian(1) + Concentrated(1)",
    "two measures do not compare": "Pure(1) <= Concentrated(1)",
    "a loss is not a number": "Pure(1) + 1",
    "a profile fills no budget": "Budget.of(Profile(), person)",
    "nor does a Renyi curve": "Budget.of(Renyi([(2, 1)]), person)",
    "a budget is charged in its own measure": "Budget.of(Pure(1), person).spend(Guarantee(Concentrated(1), person))",
    "and with a whole sentence": "Budget.of(Pure(1), person).spend(Pure(1))",
    "promises of two measures do not add": "Guarantee(Pure(1), person) + Guarantee(Concentrated(1), person)",
    "no odometer reads a profile": "Odometer(Profile(), 0.1)",
    "an odometer is charged in its own measure": "Odometer(Concentrated(0), 0.1).spend(Guarantee(Pure(1), person))",
    "and with a whole sentence too": "Odometer(Pure(0)).spend(Pure(1))",
    "Laplace noise is bought with a pure loss": "laplace_scale(Concentrated(1), one)",
    "Gaussian noise is bought with a zCDP": "gaussian_variance(Pure(1), one)",
    "what convert returns is what was asked for": "wanted: Pure = convert(Pure(1), Concentrated)",
    "a loss cannot be changed": "Pure(1).epsilon = 2",
    "a term that is misspelt": "either.query('SELECT 1', epsilom=1)",
    "also where the home is here": "home.explain('SELECT 1', epsilom=1)",
    "also through a door": "door.query('SELECT 1', confidance=1)",
    "also of a curator": "curator.query('SELECT 1', epsilom=1)",
    "also of a publication": "either.publish('visits', kind='ranges', colums=['cost'])",
    "also of what is declared": "home.add('visits', 'visits.csv', epsilom=1)",
    "a price that is no number": "either.query('SELECT 1', epsilon=[1])",
    "custody through a door": "door.add('visits', 'visits.csv', unit='row', epsilon=1)",
}

ACCEPTED = {
    "each measure adds to itself": "total: Concentrated = Concentrated(1) + 3 * Concentrated(1)",
    "each filter measure fills a budget": "left: Gaussian = Budget.of(Gaussian(1), person).left",
    "a conversion has the type that was asked for": "rho = convert(Pure(1), Concentrated).rho",
    "a question with its terms": "answer = either.query('SELECT 1', epsilon=1, confidence='0.9', fresh=True).rows",
    "also of a curator": "price = curator.explain('SELECT 1', error=5, max_rows=3).price",
    "a table with what is declared": "home.add('visits', {'a': [1]}, unit='row', epsilon='0.5', bounds={'a': (0, 5)})",
    "an odometer reads in (ε, δ)": "reading: Approximate = Odometer(Concentrated(0), 0.1).bound()",
}


@pytest.fixture(scope="module")
def refused_lines(tmp_path_factory: pytest.TempPathFactory) -> set[int]:
    """The lines on which one run of the type checker finds an error, the first case being line 0."""
    shared = tmp_path_factory.getbasetemp()
    if os.environ.get("PYTEST_XDIST_WORKER"):  # then the folder above is that of all workers, and one of them checks
        shared = shared.parent
    said = shared / "typing.txt"
    with (shared / "typing.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not said.exists():
            said.write_text(checked(shared / "typing"), encoding="utf-8")
    first = IMPORTS.count("\n") + 1
    return {int(line) - first for line in re.findall(r"cases\.py:(\d+): error", said.read_text(encoding="utf-8"))}


def checked(folder: Path) -> str:
    """What the type checker says of the cases."""
    folder.mkdir()
    page = folder / "cases.py"
    page.write_text(IMPORTS + "\n".join([*REFUSED.values(), *ACCEPTED.values(), ""]), encoding="utf-8")
    # Of other people's modules the cases know nothing: without them, and with what an earlier run kept, it is quick.
    alone = ["--no-site-packages", "--ignore-missing-imports", "--follow-imports=silent"]
    kept = ["--cache-dir", str(ROOT / ".mypy_cache" / "cases")]
    check = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *alone, *kept, str(page)]
    run = subprocess.run(check, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 1, run.stdout + run.stderr
    return run.stdout


@pytest.mark.parametrize(("line", "case"), list(enumerate(REFUSED)), ids=REFUSED)
def test_the_type_checker_refuses(line: int, case: str, refused_lines: set[int]) -> None:
    assert line in refused_lines, REFUSED[case]


@pytest.mark.parametrize(("line", "case"), list(enumerate(ACCEPTED, start=len(REFUSED))), ids=ACCEPTED)
def test_the_type_checker_accepts(line: int, case: str, refused_lines: set[int]) -> None:
    assert line not in refused_lines, ACCEPTED[case]
