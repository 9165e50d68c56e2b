"""The check that stands wherever floats become a promise: what is not a number, or is infinite, raises.

Not-a-number compares false with everything, so `max(0.0, x)` and a search for a root would pass it on as a small loss.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal

Floats = TypeVar("Floats", bound=float | NDArray[np.float64])


def finite(value: Floats, what: str) -> Floats:
    """The value itself, if all of it is a finite number."""
    if not np.isfinite(value).all():
        hint = "use Renyi or Concentrated, which are exact, or add the losses"
        raise Refusal(f"{what} cannot be computed: the numbers are beyond what floats hold", hint=hint)
    return value
