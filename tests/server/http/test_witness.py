"""A server that keeps the heads of somebody else's ledger."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from server.http.conftest import Place
from server.served import Server

from discreet.errors import Refusal
from discreet.ledger import Opened, Spend, SqliteLedger, adopt, open_ledger, sign, signing_key, verify
from discreet.ledger.home_ledger import add_witness, found_ledger, keeper_of, standings
from discreet.ledger.signed_head import public_part
from discreet.ledger.witness import EACH, Unreachable
from discreet.ledger.witness import Server as There
from discreet.privacy import AddRemove, Pure


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    found_ledger(made)
    open_ledger(made).append(Opened("patients", Pure(1), AddRemove("patients")))
    return made


def spend(price: object = "0.1") -> Spend:
    return Spend("patients", Pure(price), "custodian", "q", [], None)  # type: ignore[arg-type]


def test_another_server_notices_a_machine_that_was_put_back(home: Path, place: Place, server: Server) -> None:
    assert add_witness(home, server.url, place.ann).size == 1
    backup = shutil.copytree(home, home.with_name("backup"))
    open_ledger(home).append(spend(1))
    assert [each.head and each.head.size for each in standings(home)] == [2, 2]
    shutil.rmtree(home)
    Path(backup).rename(home)
    keeper = keeper_of(home)
    assert keeper is not None
    keeper.file.unlink()  # the state folder was put back as well
    with pytest.raises(Refusal, match="is a copy"):
        open_ledger(home)
    with pytest.raises(Refusal, match=f"2 were known on .*{server.url}.*rolled back"):
        adopt(home, "again", verify(rows(home)).root)


def rows(home: Path) -> list[tuple[int, str, bytes]]:
    return SqliteLedger(home / "ledger.db", new=False).rows()


def test_a_server_that_lets_nobody_in_or_is_not_there_stops_paying(home: Path, place: Place, server: Server) -> None:
    add_witness(home, server.url, place.bob)
    key = signing_key(home / "ledger.key")
    with pytest.raises(Unreachable, match=r"refuses \(401\); is its token still valid"):
        add_witness(home, server.url, "A" * 43)
    (home / "witness.json").write_text('[{"where": "http://127.0.0.1:1", "token": ""}]')
    with pytest.raises(Unreachable, match="cannot be reached"):
        open_ledger(home).append(spend())
    assert len(rows(home)) == 1
    there, name = There(server.url, place.bob), standings(home)[0].head
    assert name is not None
    known = there.newest(name.key)
    assert known is not None
    with pytest.raises(Unreachable, match=r"refuses \(400\)"):
        there.keep(replace(known, size=5), known, ())
    assert not there.keep(sign([], "now", key), None, ())  # it has another
    assert server.call("POST", f"/api/v1/witness/{'0' * 64}", place.bob, {"head": known.__dict__}).status == 400


def test_one_visitor_does_not_fill_a_witness(tmp_path: Path, place: Place, server: Server) -> None:
    said = []
    for number in range(EACH + 2):
        key = signing_key(tmp_path / str(number))
        told = {"head": sign([], "now", key).__dict__, "size": 0, "siblings": []}
        said.append(server.call("POST", f"/api/v1/witness/{public_part(key)}", place.ann, told))
    assert [reply.status for reply in said] == [200] * (EACH - 1) + [400] * 3  # one was brought above
    error = said[-1].json["error"]
    assert (error["message"].startswith("you have brought heads of 20 ledgers"), error["sqlstate"]) == (True, "54000")
    with pytest.raises(Unreachable, match=r"refuses \(400\): you have brought heads of 20 ledgers here"):
        There(server.url, place.ann).keep(sign([], "now", key), None, ())
    assert There(server.url, place.cleo).keep(sign([], "now", key), None, ())


def test_who_keeps_heads_is_said_and_where_only_to_custodians(place: Place, server: Server) -> None:
    told = {
        who: server.call("GET", "/api/v1/ledger/witnesses", who).json["witnesses"] for who in (place.ann, place.cleo)
    }
    assert [each["where"] for each in told[place.ann]] == ["witness 1"]
    assert [Path(each["where"]).name for each in told[place.cleo]] == ["heads"]
    assert all(each[0]["entries"] >= 5 and each[0]["trouble"] == "" for each in told.values())
