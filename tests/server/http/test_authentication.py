"""Who is let in, who is not any more, who must wait."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from pathlib import Path

import pytest
from server.http.conftest import Place, settled
from server.served import Server, served

import discreet as dp
from discreet.curator.custody import Custody
from discreet.errors import Refusal

GUARDED = [
    ("POST", "/api/v1/query"),
    ("POST", "/api/v1/explain"),
    ("POST", "/api/v1/describe"),
    ("GET", "/api/v1/tables"),
    ("GET", "/api/v1/budget"),
    ("GET", "/api/v1/history"),
    ("GET", "/api/v1/ledger/head"),
    ("GET", "/api/v1/ledger/proof/1"),
    ("GET", "/api/v1/ledger/witnesses"),
    ("GET", f"/api/v1/witness/{'0' * 64}"),
    ("POST", f"/api/v1/witness/{'0' * 64}"),
    ("GET", "/api/v1/releases"),
    ("POST", "/api/v1/releases"),
    ("POST", "/api/v1/releases/offer"),
    ("GET", "/api/v1/releases/1"),
    ("GET", "/api/v1/releases/1/files/release.json"),
    ("GET", "/api/v1/sessions"),
    ("POST", "/api/v1/sessions"),
    ("GET", "/api/v1/sessions/1"),
    ("POST", "/api/v1/sessions/1/questions"),
    ("POST", "/api/v1/sessions/1/close"),
    ("GET", "/api/v1/streams"),
    ("POST", "/api/v1/streams"),
    ("GET", "/api/v1/streams/queue"),
    ("GET", "/api/v1/streams/queue/windows"),
    ("GET", "/api/v1/streams/queue/top"),
    ("POST", "/api/v1/streams/queue/steps"),
    ("POST", "/api/v1/streams/queue/close"),
    ("POST", "/api/v1/run"),
    ("POST", "/api/v1/run/offer"),
]
COUNT = {"sql": "SELECT count(*) AS n FROM visits", "epsilon": "0.5"}


def test_the_list_of_guarded_paths_is_complete(server: Server) -> None:
    listed = server.call("GET", "/api/v1/openapi.json").json["paths"]
    found = {(method.upper(), path) for path, methods in listed.items() for method in methods}
    plain = {"/1": "/{entry}", "release.json": "{name}", "0" * 64: "{key}", "queue": "{name}"}
    named = {(method, reduce(lambda path, part: path.replace(*part), plain.items(), path)) for method, path in GUARDED}
    survey = {("GET", "/survey/v1/keys"), ("GET", "/survey/v1/{name}"), ("GET", "/survey/v1/{name}/results")}
    sums = {("GET", f"/sum/v1/{path}") for path in ("keys", "{name}", "{name}/steps", "{name}/outcomes")}
    sent = {
        ("POST", f"/{path}") for path in ("survey/v1/{name}/reports", "sum/v1/{name}/join", "sum/v1/{name}/messages")
    }
    assert found - named == {("GET", "/health"), *survey, *sums, *sent}
    assert named <= found


NOBODY: dict[str, dict[str, str]] = {
    "none": {},
    "bare": {"Authorization": "Bearer"},
    "empty": {"Authorization": "Bearer "},
    "wrong": {"Authorization": "Bearer " + "A" * 43},
    "long": {"Authorization": "Bearer " + "A" * 5000},
    "basic": {"Authorization": "Basic YW5uOng="},
    "odd": {"Authorization": "Bearer \xff\xfe"},
}


@pytest.fixture(scope="module")
def besieged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, Server]]:
    """A server of its own: after so many wrong tokens who comes for the first time has to wait."""
    place = settled(tmp_path_factory.mktemp("besieged"))
    with served(place.home, "--rate", "1000") as server:
        yield place, server


@pytest.mark.parametrize(("method", "path"), GUARDED)
def test_without_a_valid_token_nothing_is_said(besieged: tuple[Place, Server], method: str, path: str) -> None:
    place, server = besieged
    before = dp.open(place.home).budget("patient").spent
    for name, header in NOBODY.items():
        reply = server.call(method, path, None, COUNT if method == "POST" else None, header)
        assert reply.status in (401, 429), name  # wrong ones may run into the limit of their address
        assert (reply.error["kind"], "visits" in reply.text) == ("refusal", False), name
        if reply.status == 401:
            assert reply.headers["www-authenticate"].startswith("Bearer"), name
            assert reply.error["sqlstate"] == "28P01", name
    assert dp.open(place.home).budget("patient").spent == before


def test_a_person_who_was_shut_out_is_shut_out_at_once(tmp_path: Path) -> None:
    place = settled(tmp_path)
    with served(place.home, "--rate", "1000") as server:
        token = Custody(place.home).let_in("dan", "analyst")
        assert server.call("POST", "/api/v1/query", token, COUNT).status == 200
        Custody(place.home).shut_out("dan")
        for method, path in (GUARDED[0], *GUARDED[9::3]):  # of all, too many tries would run into a limit of their own
            assert server.call(method, path, token, COUNT if method == "POST" else None).status == 401
        with pytest.raises(Refusal, match="this door opens for a token"):
            server.connect(token).tables()
        again = Custody(place.home).let_in("dan", "analyst")
        assert server.call("GET", "/api/v1/tables", again).status == 200
        assert server.call("GET", "/api/v1/tables", token).status != 200  # dead, though the name came back


def test_wrong_tokens_make_an_address_wait_but_lock_nobody_out(tmp_path: Path) -> None:
    place = settled(tmp_path)
    with served(place.home) as server:
        assert server.call("GET", "/api/v1/tables", place.ann).status == 200
        statuses = [server.call("GET", "/api/v1/tables", f"wrong-{i}").status for i in range(30)]
        assert statuses[:10] == [401] * 10
        assert statuses[-1] == 429
        waiting = server.call("GET", "/api/v1/tables", "wrong-30")
        assert int(waiting.headers["retry-after"]) >= 1
        assert waiting.error["sqlstate"] == "53300"
        assert server.call("GET", "/api/v1/tables", place.ann).status == 200  # who was right before goes on
        assert server.call("GET", "/api/v1/tables").status == 401  # no token is no try


def test_a_person_who_comes_too_often_waits_and_others_do_not(tmp_path: Path) -> None:
    place = settled(tmp_path)
    with served(place.home, "--rate", "0.01") as server:  # and one at once
        statuses = [server.call("POST", "/api/v1/query", place.ann, COUNT).status for _ in range(4)]
        assert statuses == [200, 429, 429, 429]
        late = server.call("POST", "/api/v1/query", place.ann, COUNT)
        assert 1 <= int(late.headers["retry-after"]) <= 100
        assert server.call("GET", "/api/v1/tables", place.cleo).status == 200


def test_without_its_ledger_nobody_is_let_in_and_no_file_is_named(tmp_path: Path) -> None:
    place = settled(tmp_path)
    with served(place.home) as server:
        (place.home / "ledger.db").rename(tmp_path / "elsewhere")
        reply = server.call("GET", "/api/v1/tables", place.ann)
        assert (reply.status, reply.error["message"]) == (503, "nobody can be let in now")
        assert "ledger" not in reply.text
        assert server.call("GET", "/metrics").status in (400, 503)
        (tmp_path / "elsewhere").rename(place.home / "ledger.db")
        assert server.call("GET", "/api/v1/tables", place.ann).status == 200


def test_metrics_are_for_this_machine_and_for_custodians(place: Place, server: Server) -> None:
    assert server.call("GET", "/metrics").status == 200
    for header in (
        {"X-Forwarded-For": "127.0.0.1"},
        {"Forwarded": "for=127.0.0.1"},
        {"Via": "1.1 proxy"},
        {"Host": "evil.example"},  # a page whose name was made to lead here
    ):
        assert server.call("GET", "/metrics", None, None, header).status == 401
        assert server.call("GET", "/metrics", place.ann, None, header).status == 403
        assert server.call("GET", "/metrics", place.cleo, None, header).status == 200


def test_metrics_count_and_say_what_is_left(place: Place, server: Server) -> None:
    server.call("POST", "/api/v1/query", place.ann, {"sql": "SELECT count(*) FROM visits WHERE cost > 12"})
    server.call("POST", "/api/v1/query", place.ann, {"sql": "SELECT count(*) FROM visits WHERE cost > 12"})
    server.call("POST", "/api/v1/query", place.ann, {"sql": "SELECT cost FROM visits"})
    text = server.call("GET", "/metrics").body.decode()
    for line in (
        'discreet_http_questions_total{outcome="answered"}',
        'discreet_http_questions_total{outcome="free"}',
        'discreet_http_questions_total{outcome="refusal"}',
        'discreet_http_requests_total{path="/api/v1/query",status="200"}',
    ):
        assert float(text.split(line)[1].split()[0]) >= 1
    left = float(text.split('discreet_budget_left{part="epsilon",population="patient"}')[1].split()[0])
    assert left == pytest.approx(float(dp.open(place.home).budget("patient").left.epsilon))  # type: ignore[union-attr]


def test_the_journal_names_who_and_how_it_ended_and_nothing_else(place: Place, server: Server) -> None:
    sql = "SELECT count(*) AS n FROM visits WHERE diagnosis = 'journal-probe'"
    entry = server.call("POST", "/api/v1/query", place.ann, {"sql": sql}).json["entry"]
    server.call("GET", "/nowhere/journal-probe?journal-probe=1", place.ann)
    server.call("GET", "/api/v1/tables", "journal-probe")
    text = server.journal.read_text()
    assert "journal-probe" not in text
    assert place.ann not in text
    lines = server.lines()
    asked = [line for line in lines if line.get("entry") == entry][-1]
    assert {key: asked[key] for key in ("door", "method", "path", "status", "principal", "outcome")} == {
        "door": "http", "method": "POST", "path": "/api/v1/query", "status": 200, "principal": "ann",
        "outcome": "answered",
    }  # fmt: skip
    known = {"time", "door", "method", "path", "status", "duration", "principal", "entry", "outcome", "broken"}
    assert {key for line in lines for key in line} <= known
    assert not [line for line in lines if "broken" in line]
    assert {line["duration"] for line in lines} <= {
        "under 10 ms", "under 100 ms", "under 1 s", "under 10 s", "10 s or more",
    }  # fmt: skip
