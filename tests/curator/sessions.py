"""What the tests of sessions through the curator share: how one is opened, and what the ledger has of it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import clinic

from discreet.curator import Curator
from discreet.curator.sessions import OpenSession, Sessions
from discreet.ledger import SqliteLedger
from discreet.mechanisms import SparseVector

ALL, DEAR = clinic.COUNT, "SELECT count(*) FROM visits WHERE cost > 800"
PEOPLE = "SELECT count(DISTINCT patient) FROM visits"
SURE = SparseVector.of(400, 100, 2, sensitivity=50, questions=6)  # noise of a few: 60 patients are below, 300 rows not


def sessions(home: Path, who: str = "custodian") -> Sessions:
    return Curator(home, principal=who).paid_sessions()


def opened(home: Path, mechanism: Any = SURE, who: str = "custodian") -> OpenSession[Any]:  # noqa: ANN401
    return sessions(home, who).open(mechanism, "visits")


def events(home: Path) -> list[Any]:
    return [entry.event for entry in SqliteLedger(home / "ledger.db").entries()]


def spent(home: Path) -> Fraction:
    return Curator(home).budget("patient").spent.amount


UNANSWERED = [
    "SELECT avg(cost) FROM visits",
    "SELECT count(*) + 1 FROM visits",
    "SELECT count(*), count(*) FROM visits",
    "SELECT count(*), sum(cost) FROM visits",
    "SELECT count(*) FROM visits LIMIT 0",
    "SELECT count(*) FROM visits HAVING count(*) > 3",
    "SELECT DISTINCT count(*) FROM visits ORDER BY 1",
    "SELECT n FROM (SELECT count(*) AS n FROM visits) WHERE n > 3",
    "SELECT region, count(*) FROM visits GROUP BY region",
    "SELECT count(*) FROM visits WHERE cost > (SELECT avg(cost) FROM visits)",
    "SELECT median(cost) FROM visits",
    "SELECT max(cost) FROM visits",
    "SELECT 1",
]
