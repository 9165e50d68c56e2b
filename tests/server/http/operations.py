"""Requests that are made from the schema of the HTTP door, and replies that are held against it."""

from __future__ import annotations

from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import schemathesis
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from schemathesis.checks import CHECKS, load_all_checks
from schemathesis.core.result import Ok
from schemathesis.generation.modes import GenerationMode
from server.http.conftest import Place
from server.served import Server

from discreet.aggregate.sum_aggregator import SumAggregator
from discreet.aggregate.sum_messages import joining
from discreet.aggregate.sum_plan import SumPlan
from discreet.ledger import SqliteLedger, sign, verify
from discreet.local import Response
from discreet.survey.collector import Collector
from discreet.survey.task import drafted, fresh_ids, packed

load_all_checks()
# A question may be refused though its JSON has the right shape: most texts are no SQL. And who tries wrong tokens again
# and again is told to wait, which is not what the check expects: test_authentication.py tries them on every path.
CHECKED: list[Any] = [
    check for check in CHECKS.get_all() if check.__name__ not in ("positive_data_acceptance", "ignored_auth")
]
TOO_LARGE = 413  # a request that is too long is turned away unread, which the check of wrong data does not know
UNREAD: list[Any] = [check for check in CHECKED if check.__name__ != "negative_data_rejection"]
UNASKED = ("/health", "/survey/v1/keys", "/sum/v1/keys")  # nothing about these can be wrong
# Signed by people whom no schema makes up, or about what nobody opened here.
UNHEARD = ("/sum/v1/{name}/join", "/sum/v1/{name}/messages", "/v1/sessions", "/v1/streams")
QUESTIONS = (
    "SELECT count(*) AS n FROM visits",
    "SELECT region, count(*), avg(cost) FROM visits GROUP BY region",
    "SELECT diagnosis, count(*) FROM visits GROUP BY diagnosis",
    "SELECT count(*) / 0 AS x, 1.5, DATE '2024-01-01' FROM visits",
    "SELECT cost FROM visits",
)
ORDERS = tuple(
    {"source": "visits", "wish": {"epsilon": "0.5", "max_rows": 2, **wish}, "name": "a name"}
    for wish in (
        {"kind": "histogram", "columns": ["cost"], "bins": {"cost": 5}},
        {"kind": "ranges", "columns": ["cost"], "bins": {"cost": [0, 10, 100]}},
        {"kind": "marginals", "columns": ["region", "urgent"], "tables": [["region"], ["urgent"]]},
    )
)


def surveyed(home: Path) -> str:
    """A survey that has results."""
    collector = Collector(home)
    ends = {"opens": "2020-01-01T00:00:00Z", "closes": "2099-01-01T00:00:00Z"}
    task = collector.publish(drafted("Yes?", Response(Fraction(1), 2), ["no", "yes"], **ends, minimum=5))  # type: ignore[arg-type]
    collector.receive(task.id, packed(task, fresh_ids(9), task.client.batch([1] * 9)))
    collector.rotate()
    collector.close(task.id)
    collector.collect(task.id)
    return task.id


def summed(home: Path) -> str:
    """A sum that has begun."""
    aggregator = SumAggregator(home)
    name = aggregator.plan(SumPlan("How much?", 5, Fraction(1, 8)), datetime(2099, 1, 1, tzinfo=UTC))
    for token in aggregator.invite(name, 3):
        said = joining(name, Ed25519PrivateKey.generate())
        aggregator.join(name, said["key"], said["signature"], token)
    aggregator.start(name)
    aggregator.rotate()
    return name


HEAD = sign([], "2026-01-01T00:00:00Z", Ed25519PrivateKey.generate())


def as_asked(case: schemathesis.Case[Any], sql: str, order: dict[str, Any], entry: int, names: dict[str, str]) -> None:
    """With what makes sense in the places where hardly anything does, or next to nothing would be answered."""
    if "/witness/" in case.operation.path:
        case.path_parameters = {"key": HEAD.key}
        if isinstance(case.body, dict):
            case.body = {"head": HEAD.__dict__}
        return
    for kind, name in names.items():
        if case.operation.path.startswith(f"/{kind}/v1/{{name}}"):
            case.path_parameters = {"name": name}
            return
    published = "/releases" in case.operation.path
    if "/run" in case.operation.path and isinstance(case.body, dict):
        case.body = {"mechanism": "mean", "parameters": {"epsilon": "1", "column": "cost"}, "sql": sql}
    elif isinstance(case.body, dict):
        case.body = {**order} if published else {**case.body, "sql": sql}
    if published:
        known = {"entry": entry, "name": "cells.parquet"}
        case.path_parameters = {name: known[name] for name in case.path_parameters}


def hold(place: Place, server: Server, named: str, examples: int) -> None:
    """So many requests of every operation, of the mode that is named, and of each reply what the schema promises."""
    mode = GenerationMode(named)
    schema = schemathesis.openapi.from_url(f"{server.url}/api/v1/openapi.json")
    seen: dict[str, set[int]] = {}
    entry: int = server.call("POST", "/api/v1/releases", place.cleo, ORDERS[0]).json["entry"]
    names = {"survey": surveyed(place.home), "sum": summed(place.home)}
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()

        @seed(20_261_115)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(
            case=operation.as_strategy(generation_mode=mode),
            sql=st.sampled_from(QUESTIONS),
            order=st.sampled_from(ORDERS),
        )
        def holds(case: schemathesis.Case[Any], sql: str, order: dict[str, Any]) -> None:
            if mode is GenerationMode.POSITIVE:
                as_asked(case, sql, order, entry, names)
            headers = {"Authorization": f"Bearer {place.cleo}"}
            reply = case.call(headers=headers)
            case.validate_response(reply, checks=UNREAD if reply.status_code == TOO_LARGE else CHECKED, headers=headers)
            seen.setdefault(case.operation.label, set()).add(reply.status_code)

        if mode is GenerationMode.POSITIVE or operation.path not in UNASKED:
            holds()
    assert len(seen) == (41 if mode is GenerationMode.POSITIVE else 41 - len(UNASKED))
    if mode is GenerationMode.POSITIVE:
        silent = [label for label, statuses in seen.items() if 200 not in statuses]
        assert [label for label in silent if not any(part in label for part in UNHEARD)] == [], seen
    assert not [status for statuses in seen.values() for status in statuses if status >= 500]
    assert verify(SqliteLedger(place.home / "ledger.db").rows()).holds
