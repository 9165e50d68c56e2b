"""Journals of both doors and their counters: who came, how each request or question ended. Never a question or a value.

One JSON object a line. A name is that of somebody who was let in; a path is the pattern that matched, so nothing that a
stranger wrote gets in; a duration is one of a few classes, because an exact one could tell of rows.
"""

from __future__ import annotations

import json
import sys
import time
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache

from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics, generate_latest

from discreet.errors import Ground
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.privacy import Budget, Pure
from discreet.server.errors import CANCELLED, INTERNAL, WireError

disable_created_metrics()  # type: ignore[no-untyped-call]  # when somebody first came is nobody's business

Log = Callable[[str], None]

_BOUNDS = (0.01, 0.1, 1.0, 10.0)
CLASSES = ("under 10 ms", "under 100 ms", "under 1 s", "under 10 s", "10 s or more")


def duration_of(seconds: float) -> str:
    """The class of a duration."""
    return CLASSES[bisect_right(_BOUNDS, seconds)]


@lru_cache(maxsize=1)
def time_of(seconds: int) -> str:
    """A moment, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def to_stderr(line: str) -> None:
    """Where a journal goes if nobody says otherwise."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _line(door: str, known: Mapping[str, object]) -> str:
    """One line of a journal, without what is not known."""
    told = {name: value for name, value in known.items() if value is not None}
    return json.dumps({"time": time_of(int(time.time())), "door": door, **told})


# HTTP -----------------------------------------------------------------------------------------------------------------

_METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")


@dataclass
class RequestNote:
    """Note on one request: what becomes known of it while it is served."""

    method: str = "other"
    path: str = "-"
    status: int = 500
    duration: str = ""
    principal: str | None = None
    entry: str | None = None
    outcome: str | None = None  # of a question: answered, free, or the kind of its error
    broken: str | None = None  # the class of an exception that nobody foresaw; never its text


def method_of(text: str) -> str:
    """The method, if it is one."""
    return text if text in _METHODS else "other"


def line_of(told: RequestNote) -> str:
    """One line of the journal."""
    return _line("http", vars(told))


TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The counters of one door. They begin at nothing; what is spent is in the ledger."""

    def __init__(self, beside: Callable[[], bytes] = bytes) -> None:
        """`beside` gives the metrics of another door as text."""
        self._beside = beside
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "discreet_http_requests", "Requests by path and status.", ["path", "status"], registry=self._registry
        )
        self._durations = Counter(
            "discreet_http_durations", "Requests by class of duration.", ["duration"], registry=self._registry
        )
        self._questions = Counter(
            "discreet_http_questions", "Questions by outcome.", ["outcome"], registry=self._registry
        )

    def count(self, told: RequestNote) -> None:
        """One more request."""
        self._requests.labels(told.path, str(told.status)).inc()
        self._durations.labels(told.duration).inc()
        if told.outcome is not None:
            self._questions.labels(told.outcome).inc()

    def text(self, budgets: Mapping[str, Budget[BudgetLoss]]) -> bytes:
        """Everything, with what the ledger says is left."""
        registry = CollectorRegistry()
        left = Gauge("discreet_budget_left", "What is left.", ["population", "part"], registry=registry)
        total = Gauge("discreet_budget_total", "What there was.", ["population", "part"], registry=registry)
        for name, budget in budgets.items():
            for gauge, loss in ((left, budget.left), (total, budget.total)):
                for part, amount in _parts(loss).items():
                    gauge.labels(name, part).set(amount)
        return generate_latest(self._registry) + self._beside() + generate_latest(registry)


def _parts(loss: BudgetLoss) -> dict[str, float]:
    delta = {} if isinstance(loss, Pure) else {"delta": float(loss.delta)}
    return {loss.word: float(loss.amount), **delta}


# Postgres -------------------------------------------------------------------------------------------------------------

LET_IN = "let in"
QUESTION, CATALOGUE, EXPLAIN = "question", "catalogue", "explain"
_OUTCOMES = {
    Ground.BUDGET.value: "over_budget",
    Ground.LIMIT.value: "exceeded",
    Ground.BUSY.value: "busy",
    Ground.CLOSED.value: "closed",
    CANCELLED: "cancelled",
    INTERNAL: "fault",
}
_LOGINS = {"28P01": "wrong password", "53300": "crowded", "08006": "too slow", INTERNAL: "fault"}


@dataclass
class QuestionNote:
    """Note on one question: what becomes known of it while it is answered."""

    kind: str
    principal: str
    outcome: str = "fault"
    entry: str | None = None
    sqlstate: str | None = None


class Journal:
    """The journal and the counters of one door."""

    def __init__(self, log: Log = to_stderr) -> None:
        self._log = log
        self._registry = CollectorRegistry()
        self._logins = Counter(
            "discreet_pg_logins", "Connections by how coming in ended.", ["outcome"], registry=self._registry
        )
        self._questions = Counter(
            "discreet_pg_questions", "Questions by kind and outcome.", ["kind", "outcome"], registry=self._registry
        )
        self._durations = Counter(
            "discreet_pg_durations", "Questions by class of duration.", ["duration"], registry=self._registry
        )
        self._connections = Gauge(
            "discreet_pg_connections", "Connections of people who were let in.", registry=self._registry
        )

    def metrics(self) -> bytes:
        """Everything that was counted, as Prometheus reads it."""
        return generate_latest(self._registry)

    def came(self, principal: str) -> None:
        """Somebody was let in."""
        self._connections.inc()
        self._logins.labels(LET_IN).inc()
        self._write(event="login", outcome=LET_IN, principal=principal)

    def refused(self, error: WireError) -> None:
        """Somebody was not."""
        outcome = _LOGINS.get(error.code, "refused")
        self._logins.labels(outcome).inc()
        self._write(event="login", outcome=outcome, sqlstate=error.code)

    def left(self, principal: str) -> None:
        """Somebody who was let in is gone."""
        self._connections.dec()
        self._write(event="logout", principal=principal)

    def asked(self, told: QuestionNote, seconds: float) -> None:
        """A question was answered, or was not."""
        duration = duration_of(seconds)
        self._questions.labels(told.kind, told.outcome).inc()
        self._durations.labels(duration).inc()
        self._write(event=told.kind, **{k: v for k, v in vars(told).items() if k != "kind"}, duration=duration)

    def broken(self, error: Exception) -> None:
        """Something happened that nobody foresaw: its class, never its text."""
        self._write(event="broken", broken=f"{type(error).__module__}.{type(error).__qualname__}")

    def _write(self, **known: str | None) -> None:
        self._log(_line("pg", known))


def outcome_of(error: WireError) -> str:
    """How a question ended that failed."""
    return _OUTCOMES.get(error.code, "refusal")
