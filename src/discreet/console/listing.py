"""A release in a few words, and where it is."""

from __future__ import annotations

from discreet.desk import Listed
from discreet.release.method import HISTOGRAM, MARGINALS, RANGES

_KINDS = {HISTOGRAM: "Histogram", RANGES: "Ranges", MARGINALS: "Tables"}


def address(entry: int) -> str:
    """Where a release is."""
    return f"/releases?entry={entry}"


def about(listed: Listed) -> str:
    """What a release counts."""
    columns, tables = ", ".join(listed.wish.columns), ", ".join(listed.tables)
    return f"{_KINDS[listed.wish.kind]} of {columns}, from {tables}"
