"""What is written down of a request: who, which path, how it ended. Never a question, never a value.

One JSON object a line. A path is the pattern that matched, so nothing that a stranger wrote gets in; a duration is one
of a few classes, because an exact one could tell of rows.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics, generate_latest

from discreet.ledger.entry import BudgetLoss
from discreet.privacy import Budget, Pure
from discreet.server.log import time_of

_METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE")


@dataclass
class Told:
    """What becomes known of a request while it is served."""

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


def line_of(told: Told) -> str:
    """One line of the journal."""
    known = {name: value for name, value in vars(told).items() if value is not None}
    return json.dumps({"time": time_of(int(time.time())), "door": "http", **known})


TYPE = "text/plain; version=0.0.4; charset=utf-8"

disable_created_metrics()  # type: ignore[no-untyped-call]  # when somebody first asked is nobody's business


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

    def count(self, told: Told) -> None:
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
