"""The reasons for which a made-up question may be refused. Any other refusal is a failure of the suite."""

from __future__ import annotations

import re

ALLOWED = ((r"too large to sum", "beyond 10^30 nobody sums"),)


def allowed(message: str) -> bool:
    return any(re.search(pattern, message) for pattern, _ in ALLOWED)
