"""Which pages there are, in the order in which they are shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A page that can be gone to."""

    path: str
    title: str
    short: str  # where there is little room
    icon: str  # a name of Material Icons
    custodian: bool = False  # whether only custodians are let in


PLACES = (
    Place("/ask", "Ask", "Ask", "chat_bubble_outline"),
    Place("/budget", "Budget", "Budget", "donut_large"),
    Place("/history", "History", "History", "history"),
    Place("/releases", "Releases", "Releases", "bar_chart"),
    Place("/surveys", "Surveys", "Surveys", "how_to_vote"),
    Place("/data", "Data", "Data", "table_chart", custodian=True),
    Place("/ledger", "Ledger", "Ledger", "verified"),
    Place("/promise", "What is promised", "Promise", "shield"),
)
FIRST = PLACES[0]


def place_at(path: str) -> Place:
    """The place at a path; the first one if there is none."""
    return next((place for place in PLACES if place.path == path), FIRST)
