"""The desk serves whoever a grant lets in now: not whom another grant of that name let in before."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

import clinic
import pyarrow as pa
import pytest

from discreet.curator import Curator
from discreet.curator.custody import Custody, Declared
from discreet.curator.declarations import CLOSED
from discreet.curator.named_run import NamedRun
from discreet.desk import HOME, Desk, ReleaseOrder, Visitor
from discreet.errors import Refusal
from discreet.ledger import Grant, SqliteLedger
from discreet.ledger.balances import OWNER
from discreet.ledger.home_ledger import add_witness
from discreet.privacy import Approximate
from discreet.release import Wish

Doing = Callable[[Desk, Visitor], object]

ORDER = ReleaseOrder.of("visits", Wish.of("histogram", ("region",), epsilon="0.1"))
MEAN = NamedRun.of("mean", "visits", {"epsilon": "0.1", "column": "cost"})
DOINGS: dict[str, Doing] = {
    "asked": lambda desk, who: desk.asked(who, clinic.COUNT, {"epsilon": "0.1"}),
    "shown": lambda desk, who: (
        desk.asked(HOME, clinic.COUNT, {"epsilon": "0.1"}),
        desk.shown(who, clinic.COUNT, {}),
    ),
    "tried": lambda desk, who: desk.tried(who, clinic.COUNT, {"epsilon": "0.1"}),
    "described": lambda desk, who: desk.described(who, clinic.COUNT, {}),
    "explained": lambda desk, who: desk.explained(who, clinic.COUNT, {"epsilon": "0.1"}),
    "due": lambda desk, who: desk.due(who, clinic.COUNT, {"epsilon": "0.1"}),
    "tables": lambda desk, who: desk.tables(who),
    "budgets": lambda desk, who: desk.budgets(who),
    "accounts": lambda desk, who: desk.accounts(who),
    "custody": lambda desk, who: desk.custody(who),
    "people": lambda desk, who: desk.people(who),
    "history": lambda desk, who: desk.history(who),
    "offered": lambda desk, who: desk.offered(who, ORDER),
    "rehearsed": lambda desk, who: desk.rehearsed(who, ORDER),
    "published": lambda desk, who: desk.published(who, ORDER),
    "releases": lambda desk, who: desk.releases(who),
    "release": lambda desk, who: desk.release(who, desk.published(HOME, ORDER).entry),
    "certified": lambda desk, who: desk.certified(
        who, desk.published(HOME, ORDER).entry, desk.home.parent / f"out-{secrets.token_hex(4)}"
    ),
    "file": lambda desk, who: desk.file(who, desk.published(HOME, ORDER).entry, "certificate.json"),
    "head": lambda desk, who: desk.head(who),
    "extension": lambda desk, who: desk.extension(who, desk.head(HOME)),
    "verified": lambda desk, who: desk.verified(who, desk.head(HOME)),
    "witnesses": lambda desk, who: desk.witnesses(who),
    "kept": lambda desk, who: desk.kept(who, desk.head(HOME).key),
    "keep": lambda desk, who: desk.keep(who, desk.head(HOME), 0, ()),
    "proof": lambda desk, who: desk.proof(who, 1),
    "run": lambda desk, who: desk.run(who, MEAN),
    "run_shown": lambda desk, who: (desk.run(HOME, MEAN), desk.run_shown(who, MEAN)),
    "run_quoted": lambda desk, who: desk.run_quoted(who, MEAN),
    "sessions": lambda desk, who: desk.sessions(who),
    "streams": lambda desk, who: desk.streams(who),
    "visitors": lambda desk, who: desk.visitors(who),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return clinic.home(tmp_path / "home")


def test_everything_that_a_desk_does_for_a_visitor_is_tested_here() -> None:
    known = {name for name in vars(Desk) if not name.startswith("_")}
    elsewhere = {"stands", "at_hand"}  # in test_at_hand.py: they refuse nobody, and say nothing
    assert known - {"scram", "pepper", "visitor", "bearer"} - elsewhere == set(DOINGS)


BY_PASSWORD = ("asked", "tables")  # the others in the slow tier: a visitor is one, by whichever door


@pytest.mark.parametrize(
    ("doing", "door"),
    [
        *((doing, "token") for doing in DOINGS),
        *((doing, "password") for doing in BY_PASSWORD),
        *(pytest.param(doing, "password", marks=pytest.mark.slow) for doing in DOINGS if doing not in BY_PASSWORD),
    ],
)
def test_a_visitor_goes_with_the_token(home: Path, doing: str, door: str) -> None:
    custody, desk = Custody(home), Desk(home)
    token = custody.let_in("ann", "custodian")
    visitor = desk.bearer(token) if door == "token" else desk.visitor("ann")
    assert visitor is not None
    DOINGS[doing](desk, visitor)
    custody.shut_out("ann")
    with pytest.raises(Refusal, match="any more"):
        DOINGS[doing](desk, visitor)
    again = desk.bearer(custody.let_in("ann", "custodian"))
    mine = [receipt for receipt in Curator(home).history(everybody=True) if receipt.principal == "ann"]
    with pytest.raises(Refusal, match="any more"):
        DOINGS[doing](desk, visitor)
    assert [receipt for receipt in Curator(home).history(everybody=True) if receipt.principal == "ann"] == mine
    assert again is not None
    assert again != visitor
    DOINGS[doing](desk, again)


def test_the_role_is_that_of_the_grant_whatever_a_visitor_says(home: Path) -> None:
    custody, desk = Custody(home), Desk(home)
    tokens = [custody.let_in("ann", "analyst"), custody.let_in("cleo", "custodian")]
    ann, cleo = (desk.bearer(token) for token in tokens)
    assert ann is not None
    assert cleo is not None
    for who in (ann, cleo):
        desk.asked(who, clinic.COUNT, {"epsilon": "0.1", "fresh": True})
    boasting = Visitor(ann.name, "custodian", ann.grant)
    assert {paid.principal for paid in desk.history(boasting)} == {"ann"}
    assert {paid.principal for paid in desk.history(cleo)} == {"ann", "cleo"}
    assert desk.proof(boasting, 1) is None
    assert desk.proof(cleo, 1) is not None
    with pytest.raises(Refusal, match="any more"):
        desk.tables(Visitor("ann", "analyst", cleo.grant))


def test_a_table_that_is_removed_leaves_the_visitor_in(home: Path) -> None:
    custody, desk = Custody(home), Desk(home)
    custody.add("more", clinic.visits(), clinic.declared(epsilon=None, delta=None))
    ann = desk.bearer(custody.let_in("ann", "analyst", tables=["visits", "more"]))
    assert ann is not None
    custody.remove("more")
    assert [table.name for table in desk.tables(ann)] == ["visits"]


def test_no_door_leads_to_the_home_itself(home: Path) -> None:
    desk = Desk(home)
    assert set(desk.budgets(Visitor(OWNER, "custodian"))) == {"patient"}
    assert desk.bearer("") is None
    assert desk.scram(OWNER) is None
    with pytest.raises(Refusal, match="nobody called"):
        desk.visitor(OWNER)
    with pytest.raises(Refusal, match="any more"):
        desk.tables(Visitor("eve", "custodian"))


def test_what_others_asked_is_for_custodians(home: Path) -> None:
    for name, role in (("ann", "analyst"), ("cleo", "custodian")):
        Custody(home).let_in(name, role)
        Curator(home, principal=name).query(clinic.COUNT, epsilon="0.1", fresh=True)
    with pytest.raises(Refusal, match="shown to custodians"):
        Curator(home, principal="ann").history(everybody=True)
    assert [paid.principal for paid in Curator(home, principal="ann").history()] == ["ann"]
    for principal in ("cleo", OWNER):
        found = Curator(home, principal=principal).history(everybody=True)
        assert {paid.principal for paid in found} == {"ann", "cleo"}


def test_analysts_see_themselves_and_custodians_everybody(home: Path) -> None:
    desk, custody = Desk(home), Custody(home)
    ana, bob = (desk.bearer(custody.let_in(name, "analyst", allowance=5)) for name in ("ana", "bob"))
    boss = desk.bearer(custody.let_in("boss", "custodian"))
    assert ana is not None
    assert bob is not None
    assert boss is not None
    for each, price in ((ana, "0.5"), (bob, "0.25")):
        desk.asked(each, clinic.COUNT, {"epsilon": price, "fresh": True})
    custody.shut_out("bob")
    assert [(p.name, p.role, p.used) for p in desk.people(ana)] == [("ana", "analyst", {"patient": Approximate("0.5")})]
    seen = {person.name: (person.role, person.used.get("patient")) for person in desk.people(boss)}
    assert seen == {
        "ana": ("analyst", Approximate("0.5")),
        "bob": ("", Approximate("0.25")),
        "boss": ("custodian", None),
    }
    with pytest.raises(Refusal, match="for custodians"):
        desk.custody(ana)


@pytest.mark.parametrize("change", [("hushed", "renamed"), ('"7"', '"8"'), ("unit", "units")])
def test_what_is_wrong_with_the_declarations_of_others_is_told_to_custodians_alone(
    home: Path, change: tuple[str, str]
) -> None:
    custody, rows = Custody(home), pa.table({"who": [1, 2]})
    custody.add("pay", rows, Declared(unit="who", population="hushed", epsilon="7", max_rows=1))
    desk = Desk(home)
    ann = desk.bearer(custody.let_in("ann", "analyst", tables=["visits"]))
    cleo = desk.bearer(custody.let_in("cleo", "custodian"))
    assert ann is not None
    assert cleo is not None
    assert set(desk.budgets(ann)) == {"patient"}
    file = home / "discreet.toml"
    head, _, tail = file.read_text().partition("hushed")
    assert change[0] in f"hushed{tail}"
    file.write_text(head + f"hushed{tail}".replace(*change))
    for asked in (desk.tables, desk.budgets, lambda who: desk.asked(who, clinic.COUNT, {"epsilon": "1"})):
        with pytest.raises(Refusal) as refused:
            asked(ann)
        assert str(refused.value) == CLOSED
        with pytest.raises(Refusal) as told:
            desk.tables(cleo)
        assert str(told.value) != CLOSED


def test_a_population_that_is_not_there_names_no_other(home: Path) -> None:
    books = Curator(home).ledger.books()
    assert "patient" in books.accounts
    with pytest.raises(Refusal, match="there is no population 'nobody'") as refused:
        books.account("nobody")
    assert "patient" not in str(refused.value)


def test_names_of_folders_and_machines_are_for_custodians(home: Path, tmp_path: Path) -> None:
    share = tmp_path / "on the share"
    share.mkdir()
    add_witness(home, str(share))
    ann = Desk(home).bearer(Custody(home).let_in("ann", "analyst"))
    assert ann is not None
    (share / f"{Desk(home).head(HOME).key}.json").write_text("not any more")  # what is wrong with it names it too
    seen = {"analyst": Desk(home).witnesses(ann), "custodian": Desk(home).witnesses(HOME)}
    assert [each.where for each in seen["custodian"]][1:] == [str(share)]
    assert "on the share" in seen["custodian"][1].trouble
    assert [(each.where, each.trouble) for each in seen["analyst"]] == [
        ("witness 1", ""),
        ("witness 2", "a custodian is needed"),
    ]
    assert "on the share" not in repr(seen["analyst"])


def test_nobody_is_told_how_a_token_is_recognised(home: Path) -> None:
    """Not a custodian either, who reads every other entry: whoever has it may try out tokens at home."""
    token = Custody(home).let_in("cleo", "custodian")
    desk = Desk(home)
    cleo = desk.bearer(token)
    assert cleo is not None
    entries = SqliteLedger(home / "ledger.db", new=False).entries()
    assert Grant in map(type, (entry.event for entry in entries))
    for entry in entries:
        assert (desk.proof(cleo, entry.number) is None) == isinstance(entry.event, Grant)
