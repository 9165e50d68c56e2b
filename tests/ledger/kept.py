"""What tests of witnesses have in common: payments in a home, and what is known of it inside and outside."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.ledger import Spend, SqliteLedger, open_ledger, signing_key, verify
from discreet.ledger.home_ledger import keeper_of
from discreet.ledger.signed_head import Head, public_part
from discreet.privacy import Pure

QUESTION = "q"


def spend(price: object = "0.1", who: str = "custodian") -> Spend:
    return Spend("patients", Pure(price), who, QUESTION, [], None)  # type: ignore[arg-type]


def copied(home: Path, name: str) -> Path:
    return Path(shutil.copytree(home, home.with_name(name)))


def root(home: Path) -> str:
    """The root of the newest head, recomputed from every entry."""
    report = verify(SqliteLedger(home / "ledger.db", new=False).rows())
    assert report.holds
    return report.root


def left(home: Path) -> Pure:
    rest = open_ledger(home).books().account("patients").budget.left
    assert isinstance(rest, Pure)
    return rest


def kept(home: Path) -> Head:
    """What the state folder keeps."""
    keeper = keeper_of(home)
    assert keeper is not None
    record = keeper.record()
    assert record is not None
    return record.head


@contextmanager
def held(lock: Path) -> Iterator[None]:
    """While another program has a lock."""
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def name_of(home: Path) -> str:
    return public_part(signing_key(home / "ledger.key"))
