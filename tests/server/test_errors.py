"""Every refusal carries its ground, and both doors say the number that Postgres has for it."""

from __future__ import annotations

from pathlib import Path

import clinic
import pytest

from discreet.curator import Curator
from discreet.curator.custody import Custody
from discreet.curator.quote import TermsGiven
from discreet.errors import Fault, Ground, OverBudget, Refusal, Unsupported
from discreet.server.errors import INTERNAL, error_response, wire_error

ASKED: list[tuple[str, dict[str, object], Ground]] = [
    ("SELEC 1", {}, Ground.SYNTAX),
    ("SELECT count(* FROM visits", {}, Ground.SYNTAX),
    ("SELECT 1; SELECT 2", {}, Ground.SYNTAX),
    ("DROP TABLE visits", {}, Ground.SUPPORT),
    ("SELECT coun(*) FROM visits", {}, Ground.SUPPORT),
    ("SELECT DISTINCT ON (region) region FROM visits", {}, Ground.SUPPORT),
    ("WITH RECURSIVE a AS (SELECT 1 AS x) SELECT count(*) FROM visits", {}, Ground.SUPPORT),
    ("SELECT count(*) FROM nowhere", {}, Ground.TABLE),
    ("SELECT count(*) FROM public.visits", {}, Ground.TABLE),
    ("SELECT count(x.cost) FROM visits", {}, Ground.TABLE),
    ("SELECT count(nothing) FROM visits", {}, Ground.COLUMN),
    ("SELECT count(visits.nothing) FROM visits", {}, Ground.COLUMN),
    ("SELECT cost FROM visits", {}, Ground.PRIVACY),
    ("SELECT count(*) FROM secrets", {}, Ground.TABLE),  # there is one, and not for who asks
    (clinic.COUNT, {"epsilon": "-1"}, Ground.VALUE),
    (clinic.COUNT, {"epsilon": "many"}, Ground.VALUE),
    (clinic.COUNT, {"epsilon": "1e-40"}, Ground.VALUE),
    (clinic.COUNT, {"epsilon": f"1/{10**31}"}, Ground.VALUE),
    (clinic.COUNT, {"epsilon": 1, "rho": 1}, Ground.VALUE),
    (clinic.COUNT, {"confidence": 2}, Ground.VALUE),
    (clinic.COUNT, {"max_rows": 10**12}, Ground.VALUE),
    (clinic.COUNT, {"epsilon": 10**6}, Ground.BUDGET),
]


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Curator:
    home = clinic.home(tmp_path_factory.mktemp("grounds") / "home")
    Custody(home).add("secrets", clinic.visits(5), clinic.declared(epsilon=None, delta=None))
    Custody(home).let_in("ann", "analyst", tables=["visits"])
    return Curator(home, principal="ann")


@pytest.mark.parametrize(("sql", "terms", "ground"), ASKED)
def test_a_refusal_carries_its_ground(curator: Curator, sql: str, terms: TermsGiven, ground: Ground) -> None:
    with pytest.raises(Refusal) as said:
        curator.query(sql, **terms)
    assert said.value.ground is ground
    assert wire_error(said.value).code == error_response(said.value).sqlstate == ground.value
    assert isinstance(said.value, OverBudget) == (ground is Ground.BUDGET)


def test_every_ground_is_met() -> None:
    elsewhere = {Ground.LIMIT, Ground.BUSY, Ground.CLOSED}  # tests/sandbox, tests/server/test_bad_days.py
    assert {ground for _, _, ground in ASKED} == set(Ground) - elsewhere


def test_the_text_of_a_refusal_does_not_decide() -> None:
    for text in ("this is not SQL", "there is no table 'x'", "expected one question", "x is not supported"):
        assert wire_error(Refusal(text)).code == "42501"
        assert wire_error(Refusal(text, ground=Ground.VALUE)).code == "22023"
    assert wire_error(Unsupported("no")).code == "0A000"
    assert wire_error(OverBudget("no")).code == "53400"
    assert wire_error(Fault()).code == wire_error(ValueError("a row")).code == INTERNAL


def test_what_does_not_fit_is_said_in_words(tmp_path: Path) -> None:
    curator = Curator(clinic.home(tmp_path / "home", epsilon=3))
    curator.query(clinic.COUNT, epsilon="2.6")
    with pytest.raises(OverBudget) as said:
        curator.query(clinic.COUNT, epsilon=5)
    told = wire_error(said.value)
    assert (told.message, told.hint) == ("this costs epsilon 5, and 0.4 of 3 is left", "ask for less, or a new budget")
