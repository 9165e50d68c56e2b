"""Heads of other ledgers that a home keeps as their witness: who brought each, and how many one person may bring."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from discreet import durable
from discreet.errors import Ground, Refusal
from discreet.ledger.head import Head, strict_json
from discreet.ledger.witness import Folder, Unreachable, alone, closed, goes_on, put, put_aside, refuse_no_key

EACH = 20  # ledgers that one analyst brings
MOST = 1000  # that all analysts bring, and as many that custodians do
_NEW = "new"  # the lock of who brings a ledger that is not known yet


@dataclass(frozen=True)
class Bringer:
    """Who brings a head."""

    name: str
    custodian: bool = False


def kept(home: Path, key: str) -> Head | None:
    """The newest head that a home keeps of another ledger."""
    folder = _folder(home)
    return _newest(folder, refuse_no_key(key)) if folder.exists() else None


def keep(home: Path, head: Head, size: int, siblings: Sequence[str], by: Bringer) -> Head | None:
    """Have a home keep a head of another ledger, in place of the one of so many entries; what it keeps then.

    Whose it is stays with who brought the ledger first: they are counted for it, whoever goes on with it.
    """
    folder, key = _folder(home), refuse_no_key(head.key)
    try:
        durable.make_folder(folder)
        known = _newest(folder, key)
        if (0 if known is None else known.size) != size:
            return known
        if not goes_on(head, known, siblings):  # before a file is made: a stranger's heads leave none behind
            raise Refusal("this head does not go on from the one that is kept here")
        with ExitStack() as locked:
            if known is None:  # one after the other, so that nobody is above the limit
                locked.enter_context(alone(folder, _NEW))
                _refuse(folder, by)
            locked.enter_context(alone(folder, key))
            if _newest(folder, key) == known:
                file = folder / f"{key}.json"
                whose = by if known is None else _brought(file)
                put(put_aside(file, json.dumps({"head": head.__dict__, "by": whose.__dict__})), file)
        return _newest(folder, key)
    except OSError:
        raise closed() from None  # which folder it is, and what is wrong with it, is for who keeps the home


def _folder(home: Path) -> Path:
    return home / "witness"


def _newest(folder: Path, key: str) -> Head | None:
    try:
        return Folder(folder).newest(key)
    except Unreachable:
        raise closed() from None


def _brought(file: Path) -> Bringer:
    """Who brought a head; nobody one that was kept before this was written down, or that cannot be read any more."""
    try:
        body = strict_json(file.read_text())
        return Bringer(str(body["by"]["name"]), body["by"]["custodian"] is True)  # type: ignore[index]
    except (OSError, ValueError, KeyError, TypeError):
        return Bringer("")


def _refuse(folder: Path, by: Bringer) -> None:
    """Refuse one ledger more than there is room for."""
    many = Counter(_brought(file) for file in folder.glob("*.json"))
    room = sum(number for whose, number in many.items() if whose.custodian == by.custodian)
    if not by.custodian and many[by] >= EACH:
        raise Refusal(
            f"you have brought heads of {EACH} ledgers here, and one person brings no more",
            hint="go on with one of these, or let a custodian bring it",
            ground=Ground.LIMIT,
        )
    if room >= MOST:
        raise Refusal(
            f"this witness keeps the heads of {MOST:,} ledgers, and no more",
            hint="ask a custodian" if not by.custodian else "remove files of its folder that nobody needs",
            ground=Ground.LIMIT,
        )
