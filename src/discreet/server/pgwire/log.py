"""What is written down at the Postgres door: who came, how each question ended. Never a question, never a value.

One JSON object a line, as at the HTTP door, and counters for Prometheus. A name is that of somebody who was let in; a
code is one of SQL's; a duration is one of a few classes, because an exact one could tell of rows.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics, generate_latest

from discreet.errors import Ground
from discreet.server.log import Log, duration_of, time_of, to_stderr
from discreet.server.pgwire.failures import CANCELLED, INTERNAL, Failure

disable_created_metrics()  # type: ignore[no-untyped-call]  # when somebody first came is nobody's business

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
class Told:
    """What becomes known of a question while it is answered."""

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

    def refused(self, failure: Failure) -> None:
        """Somebody was not."""
        outcome = _LOGINS.get(failure.code, "refused")
        self._logins.labels(outcome).inc()
        self._write(event="login", outcome=outcome, sqlstate=failure.code)

    def left(self, principal: str) -> None:
        """Somebody who was let in is gone."""
        self._connections.dec()
        self._write(event="logout", principal=principal)

    def asked(self, told: Told, seconds: float) -> None:
        """A question was answered, or was not."""
        duration = duration_of(seconds)
        self._questions.labels(told.kind, told.outcome).inc()
        self._durations.labels(duration).inc()
        self._write(event=told.kind, **{k: v for k, v in vars(told).items() if k != "kind"}, duration=duration)

    def broken(self, error: Exception) -> None:
        """Something happened that nobody foresaw: its class, never its text."""
        self._write(event="broken", broken=f"{type(error).__module__}.{type(error).__qualname__}")

    def _write(self, **known: str | None) -> None:
        said = {name: value for name, value in known.items() if value is not None}
        self._log(json.dumps({"time": time_of(int(time.time())), "door": "pg", **said}))


def outcome_of(failure: Failure) -> str:
    """How a question ended that failed."""
    return _OUTCOMES.get(failure.code, "refusal")
