"""Put sensitive data to use under differential privacy, in each of the three ways a society can trust it.

    curator     a trusted curator answers questions as they come
    release     a trusted curator publishes once, and everyone computes on that
    local       nobody is trusted with the raw value

What they are built from: `discreet.noise`, exact random integers; `discreet.privacy`, promises as arithmetic;
`discreet.mechanisms`, the building blocks; `discreet.audit`, which tests what they claim. Of the three, a first curator
stands: `discreet.open(home)`, or `discreet.connect(url)` where it is elsewhere. A room opens when it is first named, so
that `import discreet` is quick.
"""

from __future__ import annotations

from importlib import import_module
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from discreet.errors import DiscreetError as DiscreetError
from discreet.errors import Fault as Fault
from discreet.errors import OverBudget as OverBudget
from discreet.errors import Refusal as Refusal

__version__ = "0.1.0"

if TYPE_CHECKING:
    from discreet import audit as audit
    from discreet import curator as curator
    from discreet import ledger as ledger
    from discreet import mechanisms as mechanisms
    from discreet import noise as noise
    from discreet import privacy as privacy
    from discreet.client import Connection, Home
else:  # a type checker should not believe in every name

    def __getattr__(name: str) -> ModuleType:
        """A room, opened when it is first named."""
        room = f"discreet.{name}"
        try:
            return import_module(room)
        except ModuleNotFoundError as missing:
            if missing.name != room:
                raise
        raise AttributeError(f"module 'discreet' has no attribute {name!r}")


def open(home: str | PathLike[str] = "discreet-home") -> Home:  # noqa: A001  # discreet.open, as one says
    """The curator of a home that `discreet init` made."""
    return import_module("discreet.client").Home(Path(home))  # type: ignore[no-any-return]


def connect(url: str = "http://127.0.0.1:8410", token: str | None = None) -> Connection:
    """The curator behind the HTTP door of `discreet serve`; the token is also taken from DISCREET_TOKEN."""
    return import_module("discreet.client").Connection(url, token)  # type: ignore[no-any-return]
