"""Witnesses: places outside a home that keep the newest head of its ledger, so that an older ledger is refused."""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPException
from pathlib import Path
from typing import Protocol, TypeVar

from discreet import durable
from discreet.addresses import is_loopback
from discreet.errors import Busy, Ground, Refusal
from discreet.ledger import merkle
from discreet.ledger.file_access import take
from discreet.ledger.signed_head import Head, head_of, is_hex, strict_json

EACH = 20  # ledgers that one analyst brings
MOST = 1000  # that all analysts bring, and as many that custodians do
_NEW = "new"  # the lock of who brings a ledger that is not known yet

STATE = "DISCREET_STATE"  # where heads are kept, if not in the user's state folder
PATIENCE = 5.0  # seconds to wait for all of what a witness on another machine says
_EACH_WORD = 3.0  # seconds to wait for each word of it
_AT_ONCE = 16  # threads that wait for one of them
_LONGEST = 100_000  # bytes of what one says
_SENTENCE = 200  # letters of a refusal that is repeated
T = TypeVar("T")
_WAITING: defaultdict[str, threading.Semaphore] = defaultdict(lambda: threading.Semaphore(_AT_ONCE))


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
            raise Refusal(f"this head of {head.size} entries does not go on from the one that is kept here")
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


class _Stay(urllib.request.HTTPRedirectHandler):
    """Goes nowhere else: the token is for one server."""

    def redirect_request(self, *_: object) -> None:
        """Nothing."""


_OPENER = urllib.request.build_opener(_Stay)


class Outside(Refusal):
    """Refused because of what is known, or cannot be known, outside the home. Its words are for who keeps the home."""

    ground = Ground.CLOSED


def closed() -> Outside:
    """What everybody else is told of it."""
    return Outside(
        "nothing can be paid here for now; nothing was charged", hint="a custodian finds out why with discreet doctor"
    )


class Unreachable(Outside):
    """A witness cannot be asked, or does not keep what it is told. Nothing is paid meanwhile."""


class _Refused(Exception):
    """What a server answers instead: its status, and its sentence if that is one line of text."""

    def __init__(self, code: int, body: bytes) -> None:
        super().__init__()
        try:
            said = str(strict_json(body.decode())["error"]["message"])  # type: ignore[index]
        except (ValueError, KeyError, TypeError):
            said = ""
        self.code, self.words = code, f": {said}" if said.isprintable() and 0 < len(said) <= _SENTENCE else ""


class Witness(Protocol):
    """Keeps one head of each ledger, the newest: it takes another one only if that goes on from it."""

    @property
    def where(self) -> str:
        """Its folder or its address, as people know it."""
        ...

    def newest(self, key: str, seconds: float = PATIENCE, /) -> Head | None:
        """The newest head of the ledger with this key; None if it has none. Waits no longer than so many seconds."""
        ...

    def keep(self, head: Head, known: Head | None, siblings: Sequence[str], seconds: float = PATIENCE, /) -> bool:
        """Keep a head that goes on from the one it has, as the siblings prove. False if it has another by now."""
        ...


def state_folder() -> Path:
    """Where heads are kept unless somebody says otherwise: with what programs know of the past, not with their data."""
    named = os.environ.get(STATE, "")
    if named and not Path(named).is_absolute():
        raise Unreachable(f"{STATE} is {named!r}, which is another folder wherever you are", hint="name the whole path")
    if named:
        return Path(named)
    base = os.environ.get("XDG_STATE_HOME", "")
    try:
        return (Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "state") / "discreet"
    except RuntimeError:
        raise Unreachable("you have no home folder to keep heads in", hint=f"name a folder in {STATE}") from None


def read_kept(text: str, key: str) -> tuple[Head, dict[str, object]]:
    """A genuine head of the ledger with this key, and what was written beside it."""
    body = strict_json(text)
    if not isinstance(body, dict):
        raise ValueError(text)  # noqa: TRY004  # as of any other text that is none
    head = head_of(body.pop("head"))
    if head.key != key or not head.genuine():
        raise ValueError(text)
    return head, body


@contextmanager
def alone(folder: Path, key: str) -> Iterator[None]:
    """Alone among all processes with what a folder keeps of one ledger; Busy if another one does not let go of it."""
    lock = folder / f"{key}.lock"
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        take(handle, lock)
        yield
    finally:
        fcntl.flock(handle, fcntl.LOCK_UN)  # a child that was forked meanwhile has the same lock, and would keep it
        os.close(handle)


def put_aside(file: Path, text: str) -> Path:
    """Write a text durably beside the file that it is to replace, which `put` then does in one step."""
    aside = file.with_name(f"{file.name}.next")
    aside.unlink(missing_ok=True)  # of one that was cut off
    durable.create(aside, text.encode())
    return aside


def put(aside: Path, file: Path) -> None:
    """Make what was written aside the file."""
    durable.move(aside, file)


@dataclass(frozen=True)
class Folder:
    """A witness in a folder: on another disk, on a share, or behind a server. It is never made here."""

    folder: Path

    @property
    def where(self) -> str:
        """The folder."""
        return str(self.folder)

    def newest(self, key: str, _: float = PATIENCE, /) -> Head | None:
        """The head in the file of this key."""
        try:
            if not self.folder.is_dir():
                raise Unreachable(f"the witness {self.where} is not there", hint="is its disk or its share mounted?")
            return read_kept((self.folder / f"{key}.json").read_text(), key)[0]
        except FileNotFoundError:
            return None
        except OSError as broken:
            raise Unreachable(f"the witness {self.where} cannot be read: {broken.strerror}") from None
        except (ValueError, KeyError):
            raise Unreachable(f"what the witness {self.where} keeps of this ledger was changed") from None

    def keep(self, head: Head, known: Head | None, siblings: Sequence[str], _: float = PATIENCE, /) -> bool:
        """Keep it, if it is signed and goes on from the one that lies there."""
        file = self.folder / f"{head.key}.json"
        try:
            if self.newest(head.key) != known:
                return False
            if not goes_on(head, known, siblings):  # before a file is made: a stranger's heads leave none behind
                raise Outside(f"this head of {head.size} entries does not go on from the one that is kept here")
            with alone(self.folder, head.key):
                if self.newest(head.key) != known:
                    return False
                put(put_aside(file, json.dumps({"head": head.__dict__})), file)
        except OSError as broken:
            raise Unreachable(f"the witness {self.where} keeps nothing: {broken.strerror}") from None
        except Busy:
            raise Unreachable(f"the witness {self.where} is in use by another program", hint="try again") from None
        return True


def goes_on(head: Head, known: Head | None, siblings: Sequence[str]) -> bool:
    """Whether a head is signed, and the siblings prove that it goes on from the one that is known."""
    if not head.genuine() or known is None:
        return head.genuine()
    roots, proof = (bytes.fromhex(known.root), bytes.fromhex(head.root)), [bytes.fromhex(part) for part in siblings]
    return head.key == known.key and merkle.consistent(known.size, roots[0], head.size, roots[1], proof)


@dataclass(frozen=True)
class Server:
    """A witness on another machine: a `discreet serve`, which keeps heads for whoever has a token there."""

    address: str
    token: str = ""

    @property
    def where(self) -> str:
        """The address."""
        return self.address

    def newest(self, key: str, seconds: float = PATIENCE, /) -> Head | None:
        """What the server says."""
        return self._said(key, seconds)

    def keep(self, head: Head, known: Head | None, siblings: Sequence[str], seconds: float = PATIENCE, /) -> bool:
        """Tell the server, which checks it in its turn."""
        size = 0 if known is None else known.size
        told = {"head": head.__dict__, "size": size, "siblings": list(siblings)}
        return self._said(head.key, seconds, told) == head

    def _said(self, key: str, seconds: float, told: object = None) -> Head | None:
        try:
            body = _in_time(self.address, partial(self._asked, key, told), min(seconds, PATIENCE))
            return read_kept(body, key)[0] if body else None
        except _Refused as refused:
            strange = refused.code in (401, 403)
            raise Unreachable(
                f"the witness {self.address} refuses ({refused.code})" + ("" if strange else refused.words),
                hint="is its token still valid?" if strange else "see how it is there",
            ) from None
        except (OSError, HTTPException):
            raise Unreachable(f"the witness {self.address} cannot be reached", hint="try again when it is up") from None
        except (ValueError, KeyError):
            raise Unreachable(f"the witness {self.address} answers with no head of this ledger") from None

    def _asked(self, key: str, told: object) -> str:
        """What it says, as JSON; nothing if it has no head."""
        asked = urllib.request.Request(  # noqa: S310  # `witness_of` takes http and https alone
            f"{self.address.rstrip('/')}/api/v1/witness/{key}",
            None if told is None else json.dumps(told).encode(),
            {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with _OPENER.open(asked, timeout=_EACH_WORD) as answer:
                body = strict_json(answer.read(_LONGEST).decode())
        except urllib.error.HTTPError as refused:
            with refused:
                raise _Refused(refused.code, refused.read(_LONGEST)) from None
        return "" if body == {"head": None} else json.dumps(body)


def _in_time(where: str, call: Callable[[], T], seconds: float) -> T:
    """What a call comes to, or TimeoutError: also of one to whom each word comes in time and the last one never.

    It waits in a thread of its own, which is left to itself then; there are only so many of them for one address.
    """
    came: Future[T] = Future()

    def waited() -> None:
        try:
            came.set_result(call())
        except Exception as broken:  # noqa: BLE001  # whoever waits hears it
            came.set_exception(broken)
        finally:
            _WAITING[where].release()

    end = time.monotonic() + seconds
    if not _WAITING[where].acquire(timeout=max(0.0, seconds)):
        raise TimeoutError
    threading.Thread(target=waited, name="witness", daemon=True).start()
    return came.result(max(0.0, end - time.monotonic()))


def witness_of(where: str, token: str = "") -> Witness:
    """The witness that people mean by a folder or an address."""
    if where.startswith(("http://", "https://")):
        if where.startswith("http://") and not is_loopback(urllib.parse.urlsplit(where).hostname or ""):
            raise Refusal(f"{where} would see the token in the clear", hint="use https")
        return Server(where.rstrip("/"), token)
    if "://" in where:
        raise Refusal(f"a witness is a folder, or a discreet serve at an https address, got {where!r}")
    return Folder(Path(where).absolute())


def refuse_no_key(key: str) -> str:
    """The key of a ledger, which is also the name of a file: nothing else is let through."""
    if not is_hex(key, 32):
        raise Refusal(f"a ledger is known by 64 hexadecimal digits, got {key!r}", hint="they are the key of its heads")
    return key
