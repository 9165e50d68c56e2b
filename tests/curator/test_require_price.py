"""A custodian may ask for a price with every question: of one person, or about one population."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import clinic
import pytest

from discreet.cli import main
from discreet.curator import Curator
from discreet.curator.custody import Custody
from discreet.errors import Refusal
from discreet.ledger.entry_kinds import Grant, canonical, read_event, write_event
from discreet.privacy import Approximate

COUNT = clinic.COUNT
DOORS = ("SET discreet.epsilon", "--epsilon", "epsilon=0.1", "HTTP", "console")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home", epsilon=10)


def ask(home: Path, who: str) -> Curator:
    return Curator(home).sibling(who)


def spent(curator: Curator) -> Fraction:
    loss = curator.budget("patient").spent
    assert isinstance(loss, Approximate)
    return loss.epsilon


def test_a_person_who_must_name_a_price_pays_no_other(home: Path) -> None:
    custody = Custody(home)
    custody.let_in("board", "analyst", require_price=True)
    custody.let_in("ana", "analyst")
    board = ask(home, "board")
    with pytest.raises(Refusal, match="the custodian asks you to name one") as refused:
        board.query(COUNT)
    assert all(door in refused.value.hint for door in DOORS)
    for other in ({"within": True}, {"fresh": True}):
        with pytest.raises(Refusal, match="name a price"):
            board.query(COUNT, **other)
    assert spent(board) == 0
    assert board.query(COUNT, epsilon="0.5").cost.epsilon == Fraction(1, 2)  # type: ignore[union-attr]
    assert board.query(COUNT).cost is None  # bought before, so it is free
    assert board.query("SELECT count(*) FROM visits WHERE urgent", error=500).cost is not None
    assert ask(home, "ana").query("SELECT sum(cost) FROM visits").cost.epsilon == Fraction(10, 50)  # type: ignore[union-attr]


def test_every_question_about_a_population_may_need_a_price(home: Path) -> None:
    custody = Custody(home)
    custody.let_in("ana", "analyst")
    custody.require_price("patient", required=True)
    for who in (Curator(home), ask(home, "ana")):
        with pytest.raises(Refusal, match="with each question about 'patient'"):
            who.query(COUNT)
        with pytest.raises(Refusal, match="name a price"):
            who.caps("visits")
    notice = ask(home, "ana").explain(COUNT).notice
    assert "no price was named, and the custodian asks for one" in notice
    assert ask(home, "ana").explain(COUNT, epsilon=1).notice == ""
    custody.require_price("patient", required=False)
    assert ask(home, "ana").query(COUNT).cost is not None
    with pytest.raises(Refusal, match="there is no population 'nobody'"):
        custody.require_price("nobody", required=True)


def test_a_question_in_stages_pays_nothing_without_a_price(home: Path) -> None:
    Custody(home).let_in("board", "analyst", require_price=True)
    board = ask(home, "board")
    with pytest.raises(Refusal, match="name a price"):
        board.query("SELECT count(*) FROM visits WHERE cost > (SELECT avg(cost) FROM visits)")
    assert spent(board) == 0


def test_a_later_table_can_ask_for_it_and_none_takes_it_back(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home", epsilon=10)
    custody = Custody(home)
    for name, required in (("more", True), ("again", False)):
        custody.add(name, clinic.visits(5), clinic.declared(epsilon=None, delta=None, require_price=required))
        assert Curator(home).declared().population("patient").require_price


def test_the_command_line_asks_for_it(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["discreet", *words, "--home", str(home)])
        with suppress(SystemExit):
            main()
        told = capsys.readouterr()
        return told.out + told.err

    said("user", "add", "board", "--require-price")
    said("user", "add", "ana")
    users = json.loads(said("user", "list", "--format", "json"))
    assert {each["user"]: each["price"] for each in users} == {"board": "required", "ana": ""}
    assert "questions name a price" in said("budget", "patient", "--require-price", "--format", "json")
    assert "name a price" in said("query", COUNT)
    assert "name the population" in said("budget", "--require-price")
    assert "questions name a price" not in said("budget", "patient", "--no-require-price", "--format", "json")
    assert "name a price" not in said("query", COUNT)


def test_an_old_grant_has_the_bytes_it_had() -> None:
    old = Grant("ana", "analyst", None, None, {"x": "y"})
    assert b"require_price" not in canonical(write_event(old))
    for grant in (old, Grant("ana", "analyst", None, None, None, require_price=True)):
        assert read_event(write_event(grant)) == grant
