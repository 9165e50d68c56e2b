"""A home with surveys, and a clock that tests set."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

from discreet.local import OptimizedUnary, Reporter
from discreet.privacy import Pure
from discreet.survey.collector import Collector
from discreet.survey.respondent import Respondent
from discreet.survey.task import Task, drafted, fresh_ids, packed
from discreet.transport.signed_task import UploadReceipt

ONE = Fraction(1)
ALBUMS = ("Abbey Road", "Revolver", "Help!", "Let It Be")
OPENS, CLOSES = "2027-01-01T00:00:00Z", "2027-02-01T00:00:00Z"
WITHIN = datetime(2027, 1, 10, tzinfo=UTC)


class Clock:
    """Says what it was set to."""

    def __init__(self, now: datetime = WITHIN) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def pass_(self, **time: float) -> None:
        self.now += timedelta(**time)


def draft(client: Reporter | None = None, **changes: Any) -> Task:  # noqa: ANN401
    """The album survey of the tutorial."""
    known = client or OptimizedUnary(ONE, len(ALBUMS))
    labels = [f"label {i}" for i in range(getattr(known, "choices", 0))] if client else ALBUMS
    given = {"opens": OPENS, "closes": CLOSES, "minimum": 10, **changes}
    return drafted("Which album?", known, labels, **given)


class Survey:
    """One task in a home of its own."""

    def __init__(self, folder: Path, client: Reporter | None = None, *, most: int = 1 << 20, **changes: Any) -> None:  # noqa: ANN401
        self.home, self.clock = folder, Clock()
        self.collector = Collector(folder, clock=self.clock, most=most)
        self.task = self.collector.publish(draft(client, **changes))

    def upload(self, values: ArrayLike, task: Task | None = None) -> bytes:
        to = task or self.task
        reports = to.client.batch(values)
        return packed(to, fresh_ids(len(reports)), reports)

    def send(self, values: ArrayLike, token: str | None = None) -> UploadReceipt:
        return self.receive(self.upload(values), token)

    def receive(self, body: bytes, token: str | None = None) -> UploadReceipt:
        return self.collector.receive(self.task.id, body, token)

    @property
    def counts(self) -> dict[str, int]:
        return {kind: n for kind, n in self.collector.standing(self.task.id).counts.items() if n}

    def reopened(self) -> Survey:
        """As another process sees it."""
        self.collector = Collector(self.home, clock=self.clock)
        return self


def trusting(path: Path, **options: Any) -> Respondent:  # noqa: ANN401
    """The device of somebody who lets a collector learn more than most do."""
    found = Respondent(path, **options)
    found.set_limit(Pure(10_000))
    return found


def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite as many build it: what is deleted stays in its file, and little is synced, unless one asks for it."""
    real = sqlite3.connect

    def connect(*given: Any, **options: Any) -> sqlite3.Connection:  # noqa: ANN401
        file: sqlite3.Connection = real(*given, **options)
        file.executescript("PRAGMA secure_delete = OFF; PRAGMA synchronous = OFF; PRAGMA fullfsync = OFF")
        return file

    monkeypatch.setattr(sqlite3, "connect", connect)


def sent(body: bytes, task: Task) -> tuple[bytes, Any]:
    """The ids, and the reports, of an upload."""
    records = np.frombuffer(body, dtype=[("id", "S16"), ("report", task.client.form)], offset=40)
    return records["id"].tobytes(), np.ascontiguousarray(records["report"])
