"""The body of a question, which is read without FastAPI's help: the same is taken, and the same refused."""

from __future__ import annotations

import json

import clinic
import pytest
from server.http.conftest import Place
from server.served import Server

ASKED = json.dumps({"sql": clinic.COUNT}).encode()


@pytest.mark.parametrize(
    "kind", ["application/json", "Application/JSON; charset=utf-8", "application/vnd.discreet+json"]
)
def test_json_is_taken_under_each_of_its_names(place: Place, server: Server, kind: str) -> None:
    reply = server.call("POST", "/api/v1/query", place.ann, ASKED, {"Content-Type": kind})
    assert (reply.status, [column["name"] for column in reply.json["columns"]]) == (200, ["n"])
    assert reply.headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain", ASKED),
        ("application/x-www-form-urlencoded", ASKED),
        ("", ASKED),
        ("application/json", b""),
        ("application/json", b"{"),
        ("application/json", b"\xff"),
        ("application/json", b"[]"),
        ("application/json", b"null"),
        ("application/json", b'"SELECT"'),
        ("application/json", b"{}"),
        ("application/json", b'{"sql": 1}'),
        ("application/json", b'{"sql": "SELECT 1", "other": 1}'),
        ("application/json", b'{"sql": "SELECT 1", "epsilon": NaN}'),
        ("application/json", b'{"sql": "SELECT 1", "epsilon": true}'),
        ("application/json", b'{"sql": "SELECT 1", "fresh": 1}'),
    ],
)
def test_anything_else_is_refused_and_not_repeated(place: Place, server: Server, kind: str, body: bytes) -> None:
    reply = server.call("POST", "/api/v1/query", place.ann, body, {"Content-Type": kind})
    assert (reply.status, reply.error["kind"]) == (400, "refusal")
    assert "SELECT" not in reply.text


def test_who_is_not_let_in_hears_nothing_of_the_body(server: Server) -> None:
    for body in (ASKED, b"{", b"{}"):
        assert server.call("POST", "/api/v1/query", "x" * 43, body).status == 401
