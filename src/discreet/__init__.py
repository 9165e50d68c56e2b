"""Put sensitive data to use under differential privacy, in each of the three ways a society can trust it.

A trusted curator answers questions as they come, until a budget is spent:

    db = discreet.create("home")                     # once; after that discreet.open("home")
    db.add("visits", "visits.parquet", unit="patient", epsilon=3, max_rows=20, bounds={"cost": (0, 5000)})
    print(db.explain("SELECT avg(cost) FROM visits", epsilon="0.5"))       # price and error; free
    print(db.query("SELECT avg(cost) FROM visits", epsilon="0.5"))

by the same methods where the home is elsewhere: `db = discreet.connect("http://127.0.0.1:8410", token="…")`.

A trusted curator publishes once, and everyone computes on that:

    made = db.publish("visits", kind="histogram", columns=["cost"], bins={"cost": 20}, epsilon="0.5")
    db.certified(made.entry, "folder")               # with a certificate of what was promised

Nobody is trusted with the raw value; it leaves its owner's hands randomized:

    survey = discreet.local.OptimizedUnary(1, 4)     # ε = 1, four possible answers
    reports = survey.batch([0, 1, 1, 3] * 100)       # made on people's own devices
    print(survey.estimate(survey.tally(reports)).counts)

`discreet.Refusal`, `OverBudget` and `Fault` are what goes wrong: a refusal charges nothing. `dir(discreet)` shows the
rooms; each says what it is for, as in `help(discreet.privacy)`. A room opens when it is first named, so that
`import discreet` is quick.
"""

from __future__ import annotations

import pkgutil
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
    from discreet import aggregate as aggregate
    from discreet import attack as attack
    from discreet import audit as audit
    from discreet import curator as curator
    from discreet import declared as declared
    from discreet import learn as learn
    from discreet import ledger as ledger
    from discreet import local as local
    from discreet import mechanisms as mechanisms
    from discreet import noise as noise
    from discreet import pictures as pictures
    from discreet import privacy as privacy
    from discreet import release as release
    from discreet import survey as survey
    from discreet import transport as transport
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


def __dir__() -> list[str]:
    """What is said here, and the rooms, whether they are open or not."""
    rooms = [module.name for module in pkgutil.iter_modules(__path__) if module.ispkg]
    return sorted(
        {*rooms, "DiscreetError", "Fault", "OverBudget", "Refusal", "connect", "create", "open", "__version__"}
    )


def create(home: str | PathLike[str] = "discreet-home") -> Home:
    """A new home for tables and their budgets, as `discreet init` makes it."""
    import_module("discreet.curator.custody").found_home(Path(home))
    return open(home)


def open(home: str | PathLike[str] = "discreet-home") -> Home:  # noqa: A001  # discreet.open, as one says
    """The database of a home that is here."""
    return import_module("discreet.client").Home(Path(home))  # type: ignore[no-any-return]


def connect(url: str = "http://127.0.0.1:8410", token: str | None = None) -> Connection:
    """The database behind the HTTP door of `discreet serve`; the token is also taken from DISCREET_TOKEN."""
    return import_module("discreet.client").Connection(url, token)  # type: ignore[no-any-return]
