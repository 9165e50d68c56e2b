"""The reasons for which a made-up question may be refused. Any other refusal is a failure of the suite."""

from __future__ import annotations

import re

ALLOWED = (
    (r"more than 2\^53 steps", "a double could not tell the steps of such bounds apart"),
    (r"too large to sum", "beyond 10^30 nobody sums"),
    (r"the squares of these numbers do not fit", "a variance under bounds so wide, refused from public facts alone"),
)


def allowed(message: str) -> bool:
    return any(re.search(pattern, message) for pattern, _ in ALLOWED)
