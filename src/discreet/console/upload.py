"""Uploads of custodians: files streamed into a private folder of the home, known by a random id, gone with the session.

What a browser calls its file is shown and never opened. The folder is locked as long as the server lives: what a killed
one left there goes at the next start.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from discreet.console.headers import Receive, Scope, header
from discreet.console.sessions import BrowserSession
from discreet.engines.spill_folder import Spill
from discreet.errors import Refusal

UPLOAD = "/data/file"
FOLDER = "uploads"
LIMIT = 1 << 30  # bytes
_PATIENCE = 30.0  # seconds between two pieces of a file
_PIECE = 1 << 20  # bytes that are written at once
_SPARE = 1 << 28  # bytes of the disk that no file may take: the ledger needs them
_LONGEST = 200  # characters of a name


class UploadRefused(Refusal):
    """A file that is not taken, and the HTTP status that says so."""

    def __init__(self, status: int, message: str, *, hint: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status


@dataclass(eq=False)
class UploadedFile:
    """A file that came, until it is dropped."""

    session: BrowserSession
    name: str  # as the person calls it
    path: Path
    size: int
    id: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    held: bool = False  # somebody reads it
    over: bool = False


@dataclass(eq=False)
class _Coming:
    session: BrowserSession
    waiting: asyncio.Timeout | None = None
    stopped: bool = False

    def stop(self) -> None:
        self.stopped = True
        if self.waiting is not None:
            with suppress(RuntimeError):  # it has just run out by itself
                self.waiting.reschedule(asyncio.get_running_loop().time())


class Uploads:
    """One file of each person, and one on its way. Not for several threads: an event loop owns it."""

    def __init__(self, home: Path, *, most: int = LIMIT, patience: float = _PATIENCE) -> None:
        self.most, self._patience = most, patience
        self._spill = Spill(home / FOLDER)
        self._spill.sweep()
        self._known: dict[str, UploadedFile] = {}  # by the person's name
        self._coming: dict[str, _Coming] = {}
        self._closed = False

    async def take(self, session: BrowserSession, scope: Scope, receive: Receive) -> UploadedFile:
        """Read the body of a request into a file. In place of it, whatever the person brought before is dropped."""
        who = session.visitor.name
        before = self._known.get(who)
        if self._closed:
            raise UploadRefused(503, "this server is closing")
        if who in self._coming:
            raise UploadRefused(409, "another file of yours is on its way", hint="wait for it, or stop it")
        if before is not None and before.held:
            raise UploadRefused(409, f"{before.name} is just being read", hint="wait for it")
        size = header(scope, b"content-length")
        self._fits(int(size[:20]) if size.isdigit() else 0)
        if before is not None:
            self.drop(before)
        self._coming[who] = coming = _Coming(session)
        try:
            taken = await self._streamed(coming, unquote(header(scope, b"x-file-name")), receive)
            if coming.stopped:
                self.drop(taken)
                raise UploadRefused(401, "you are not signed in any more")
        finally:
            del self._coming[who]
        self._known[who] = taken
        return taken

    def find(self, session: BrowserSession, number: object) -> UploadedFile:
        """The file of this id, if this session brought it."""
        upload = self._known.get(session.visitor.name)
        if upload is None or upload.session is not session or upload.id != number:
            raise Refusal("the file is not here any more", hint="choose it again")
        return upload

    @contextmanager
    def reading(self, upload: UploadedFile) -> Iterator[Path]:
        """Keep a file while it is read: if it is dropped meanwhile, it goes afterwards."""
        _refuse_busy(upload)
        upload.held = True
        try:
            yield upload.path
        finally:
            upload.held = False
            if upload.over:
                upload.path.unlink(missing_ok=True)

    def drop(self, upload: UploadedFile) -> None:
        """Delete a file."""
        upload.over = True
        if self._known.get(upload.session.visitor.name) is upload:
            del self._known[upload.session.visitor.name]
        if not upload.held:
            upload.path.unlink(missing_ok=True)

    def end(self, session: BrowserSession) -> None:
        """Delete what a session brought, and stop what it brings."""
        for coming in [each for each in self._coming.values() if each.session is session]:
            coming.stop()
        for upload in [each for each in self._known.values() if each.session is session]:
            self.drop(upload)

    def close(self) -> None:
        """Delete everything, and take no more."""
        self._closed = True
        for coming in self._coming.values():
            coming.stop()
        for upload in list(self._known.values()):
            self.drop(upload)
        self._spill.close()

    async def _streamed(self, coming: _Coming, name: str, receive: Receive) -> UploadedFile:
        folder = self._spill.folder()
        path = folder / secrets.token_hex(16)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                size, head = await self._written(coming, file, receive)
            return UploadedFile(coming.session, _called(name), path.rename(path.with_suffix(_kind(head))), size)
        except OSError:
            path.unlink(missing_ok=True)
            raise UploadRefused(507, "the disk of this server has no room for the file") from None
        except BaseException:  # a refusal, a browser that left, a server that stops: nothing of it stays
            path.unlink(missing_ok=True)
            raise

    async def _written(self, coming: _Coming, file: BinaryIO, receive: Receive) -> tuple[int, bytes]:
        """The size of a file and how it begins."""
        size, head, piece, more = 0, b"", bytearray(), True
        while more:
            body, more = await self._piece(coming, receive)
            size += len(body)
            piece += body
            if size > self.most:
                raise self._too_large()
            if len(piece) >= _PIECE or not more:
                head = head or bytes(piece[:_PIECE])
                self._fits(size, len(piece))
                await asyncio.to_thread(file.write, bytes(piece))
                piece.clear()
        return size, head

    async def _piece(self, coming: _Coming, receive: Receive) -> tuple[bytes, bool]:
        try:
            async with asyncio.timeout(self._patience) as coming.waiting:
                message = await receive()
        except TimeoutError:
            if not coming.stopped:
                raise UploadRefused(
                    408, f"nothing came of the file for {self._patience:g} seconds", hint="try again"
                ) from None
        finally:
            coming.waiting = None
        if coming.stopped:
            raise UploadRefused(503, "you were signed out, or this server is closing")
        if message["type"] == "http.disconnect":
            raise UploadRefused(499, "the file did not come to its end")
        return message.get("body", b""), message.get("more_body", False)

    def _fits(self, size: int, wanted: int | None = None) -> None:
        if size > self.most:
            raise self._too_large()
        if shutil.disk_usage(self._spill.folder()).free < _SPARE + (size if wanted is None else wanted):
            raise UploadRefused(507, f"the disk of this server has no room for a file of {said_size(size)}")

    def _too_large(self) -> UploadRefused:
        hint = "add it on the server itself, with discreet add"
        return UploadRefused(413, f"a file may have {said_size(self.most)} here", hint=hint)


def _refuse_busy(upload: UploadedFile) -> None:
    if upload.over:
        raise Refusal(f"{upload.name} is not here any more", hint="choose it again")
    if upload.held:
        raise Refusal(f"{upload.name} is just being read", hint="wait for it")


def said_size(size: int) -> str:
    """A number of bytes, as people say it."""
    for power, word in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return f"{size / (1 << power):.3g} {word}"
    return f"{size} bytes"


def _called(name: str) -> str:
    """The last part of a name, to be shown."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return "".join(c for c in last if c.isprintable())[:_LONGEST] or "file"


def _kind(head: bytes) -> str:
    """By how a file begins, whatever it is called."""
    if head.startswith(b"PAR1"):
        return ".parquet"
    if not head:
        raise UploadRefused(400, "the file is empty")
    if b"\0" in head:
        raise UploadRefused(415, "the file is neither Parquet nor text", hint="save it as Parquet, or as CSV in UTF-8")
    return ".csv"
