"""Stages of a paid run on the disk, in `stages/ENTRY` of the home, where ENTRY is the payment: SOUNDNESS 8.

One line each of JSON: the payment; then for each stage that it was begun, and what it told. What is there was paid for
and is nobody's secret, but it is published with the whole run or not at all, so only the home's owner may read it.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet import __version__, durable
from discreet.errors import Refusal
from discreet.ledger import Entry, Spend, SqliteLedger
from discreet.mechanisms.registry import Plain
from discreet.mechanisms.sealed_stages import Stage

Heard = Callable[[float], None]  # hears how much of a run is done, from 0 to 1

_FOLDER = "stages"


class StageFile:
    """The stages of one payment."""

    def __init__(self, path: Path, earlier: Sequence[Stage], heard: Heard | None) -> None:
        self._path, self._earlier, self._heard = path, tuple(earlier), heard

    @classmethod
    def new(cls, home: Path, paid: Entry, heard: Heard | None = None) -> StageFile:
        """Of a payment that was just made."""
        path = home / _FOLDER / str(paid.number)
        durable.create(path, _line({"discreet": __version__, "paid": paid.hash}))
        durable.sync(path.parent)
        return cls(path, (), heard)

    @classmethod
    def found(cls, home: Path, paid: Entry, heard: Heard | None = None) -> StageFile | None:
        """Of a payment whose run was interrupted, if it can go on: by the same discreet, with something left to pay.

        A line that was not written whole was not sealed.
        """
        path = home / _FOLDER / str(paid.number)
        try:
            content = path.read_bytes()
            whole = content.rfind(b"\n") + 1
            head, *lines = [json.loads(line) for line in content[:whole].splitlines()]
            earlier, left = _read(lines)
            os.truncate(path, whole)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        if head != {"discreet": __version__, "paid": paid.hash} or not left:
            return None
        return cls(path, earlier, heard)

    @property
    def earlier(self) -> Sequence[Stage]:
        """Those that it had when it was found."""
        return self._earlier

    def begin(self, price: Fraction, left: Fraction) -> None:
        """Durably."""
        self._append({"begun": str(price), "left": str(left)})

    def seal(self, told: Plain) -> None:
        """Durably."""
        self._append({"told": told})

    def hear(self, share: float) -> None:
        """Tell whoever listens."""
        if self._heard is not None:
            self._heard(share)

    def discard(self) -> None:
        """The run is over."""
        with suppress(OSError):
            self._path.unlink()

    def _append(self, line: Plain) -> None:
        with self._path.open("ab") as file:
            file.write(_line(line))
            file.flush()
            os.fsync(file.fileno())


def interrupted(ledger: SqliteLedger, home: Path, spend: Spend, heard: Heard | None) -> tuple[Entry, StageFile] | None:
    """The payment of the same for the same by the same, and its stages, if its run did not come to an end."""
    books = ledger.books()
    for number in sorted((n for n, question in books.unanswered.items() if question == spend.question), reverse=True):
        paid = ledger.entry(number)
        same = paid.event == spend and number > books.adopted  # whoever has the other copy could go on as well
        if same and (stages := StageFile.found(home, paid, heard)) is not None:
            return paid, stages
    return None


@contextmanager
def alone(home: Path, question: str) -> Iterator[None]:
    """The only one in all processes that runs this. Others are refused, and nothing is charged."""
    folder = home / _FOLDER
    durable.make_folder(folder)
    path = folder / f"{question[:16]}.lock"
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "rb") as file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refusal(
                "another program is making just this; nothing was charged", hint="ask again when it is done"
            ) from None
        yield


def _read(lines: Sequence[Any]) -> tuple[list[Stage], bool]:
    """The stages of a file, and whether something was left when the last was begun, or it was sealed."""
    stages: list[Stage] = []
    left = True
    for line in lines:
        if "begun" in line:
            stages.append(Stage(Fraction(line["begun"]), None))
            left = bool(Fraction(line["left"]))
        else:
            stages[-1] = Stage(stages[-1].price, line["told"])
            left = True
    return stages, left


def _line(told: Plain) -> bytes:
    return json.dumps(told).encode() + b"\n"
