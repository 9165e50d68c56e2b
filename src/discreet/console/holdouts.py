"""Holdouts on the budget page: what their answers prove of everybody, and not of the table's people alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor

from discreet.console import theme
from discreet.curator.paid_mechanism import SessionStatus
from discreet.desk import Desk, Visitor
from discreet.validity import AdaptiveCounts, Claim, Ladder, Thresholdout, claims

_SHOWN = 20  # answers of one, the latest
_NAMES = ("adaptive-counts", "ladder", "thresholdout")


@dataclass(frozen=True)
class HoldoutRead:
    """A holdout, which question each of its latest answers is of, and what they prove."""

    status: SessionStatus
    latest: Sequence[tuple[int, Claim]]
    confidence: float
    people: int  # as many as were declared


def seen(desk: Desk, who: Visitor, sessions: Sequence[SessionStatus]) -> list[HoldoutRead]:
    """Those of these sessions that say something of the population, and that were asked."""
    opened = desk.sessions(who)
    every = []
    for status in sessions:
        if status.asked and status.mechanism.get("name") in _NAMES:
            session = opened.one(status.entry)
            mechanism: AdaptiveCounts | Ladder | Thresholdout = session.mechanism
            proven = list(enumerate(claims(mechanism, session.answers), start=1))
            sure = float(mechanism.confidence) if isinstance(mechanism, AdaptiveCounts) else 0.95
            every.append(HoldoutRead(status, proven[-_SHOWN:], sure, mechanism.people))
    return every


def shown(read: HoldoutRead) -> None:
    """A table of what is proven: each interval is for the share in the population, and all hold together."""
    title = f"Session {read.status.entry}: what holds of everybody"
    theme.heading(title, 3)
    theme.note(premise(read))
    with theme.table((("Question", "d-num"), ("Answer", "d-num"), ("In the population", "d-num")), title):
        for turn, claim in reversed(read.latest):
            said = f"{100 * float(claim.answer):.1f} %"
            theme.row((str(turn), "d-num"), (said, "d-num"), (interval(claim), "d-num"))


def premise(read: HoldoutRead) -> str:
    """Where these intervals hold, and how surely."""
    return (
        f"If {read.people} people are in {', '.join(read.status.tables)}, drawn independently, and "
        "whoever asked knew nothing of their rows but these answers, all intervals hold together with "
        f"{100 * read.confidence:g} % confidence, however the questions were chosen."
    )


def interval(claim: Claim) -> str:
    """Both ends in per cent, rounded outward."""
    low, high = floor(1000 * claim.low) / 10, ceil(1000 * claim.high) / 10
    return f"{low:.1f} to {high:.1f} %"
