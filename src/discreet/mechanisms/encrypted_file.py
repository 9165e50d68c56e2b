"""A small secret that outlives the process: encrypted at rest, replaced as a whole, never half written.

An interactive mechanism keeps a secret between its answers (SOUNDNESS 9). It lies in one file under AES-256-GCM, the
key in another. What it was sealed for (format, mechanism, data version) and its file's name are authenticated with it,
so it opens for nothing else and under no other name. What this does not protect against: docs/proofs/sparse.md, "What
the state file does not protect".
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from discreet import durable
from discreet.errors import Fault, Refusal
from discreet.mechanisms.mechanism import settle

_MAGIC = b"discreet sealed 1\n"
_KEY, _NONCE = 32, 12
CLOSED = "the state file does not open: another key, other parameters, another data version, or it was changed"


@dataclass(frozen=True)
class Sealed:
    """One secret, in the file `path`, under the key in `key_file`, for the purpose that `binding` spells out.

    There is one name for the file: symbolic links in `path` are followed once, here, and a file that has a second name
    is refused. Replacing it under one name would leave the old secret under the other.
    """

    path: Path
    key_file: Path
    binding: bytes

    def __post_init__(self) -> None:
        try:
            settle(self, path=_followed(self.path), key_file=self.key_file.absolute())
        except (OSError, RuntimeError):  # links in a circle
            raise Refusal(f"the path {self.path} leads nowhere") from None

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Alone with the secret: other threads and processes wait, so reading, deciding and writing are one step."""
        try:
            guard = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError:
            raise Refusal(f"the state file {self.path} cannot be locked", hint="its folder must be writable") from None
        try:
            fcntl.flock(guard, fcntl.LOCK_EX)
            yield
        finally:
            os.close(guard)

    @property
    def taken(self) -> bool:
        """Whether anything lies at `path`."""
        return self.path.exists() or self.path.is_symlink()

    @property
    def version(self) -> tuple[int, int, int]:
        """Which file lies at `path`, as far as one can tell from outside: another after each `write`; zeros if none."""
        try:
            kept = self.path.lstat()
        except OSError:
            return 0, 0, 0
        return kept.st_ino, kept.st_mtime_ns, kept.st_size

    def create_key(self) -> None:
        """A fresh key where there is none yet; one that is there is kept."""
        if not self.key_file.exists():
            try:
                durable.keep(self.key_file, AESGCM.generate_key(8 * _KEY))
            except OSError:
                raise Refusal(f"the key file {self.key_file} cannot be made", hint="is its folder writable?") from None
        self._key()

    def _key(self) -> AESGCM:
        try:
            mode, key = self.key_file.stat().st_mode, self.key_file.read_bytes()
        except OSError:
            raise Refusal(f"the key file {self.key_file} cannot be read", hint="without it the state is lost") from None
        if stat.S_IMODE(mode) & 0o077:
            raise Refusal(f"the key file {self.key_file} can be read by others", hint="chmod 600, or use a new key")
        if len(key) != _KEY:
            raise Refusal(f"expected a key file of {_KEY} bytes, got {len(key)} in {self.key_file}")
        return AESGCM(key)

    @property
    def _context(self) -> bytes:
        return _MAGIC + os.fsencode(self.path.name) + b"\0" + self.binding  # no name holds a zero byte

    def _content(self) -> bytes:
        """The bytes under the name. A file that was replaced between opening and looking has no name left: look again.

        Each time round, somebody else has written a whole new secret, so this ends when they pause.
        """
        while (content := self._opened()) is None:
            pass
        return content

    def _opened(self) -> bytes | None:
        try:
            source = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _linked(self.path) from None
            raise Refusal(f"there is no state file {self.path}", hint="open the session first") from None
        with os.fdopen(source, "rb") as file:
            kept = os.fstat(source)
            if not kept.st_nlink:
                return None
            if not stat.S_ISREG(kept.st_mode) or kept.st_nlink != 1:
                raise _linked(self.path)
            return file.read()

    def read(self) -> bytes:
        """The secret; one constant refusal if it does not open, whatever the reason.

        A process that died between putting a secret in place and flushing the folder left a name that may not be on the
        disk yet. So the folder is flushed here too: no power failure brings back an older secret than was read.
        """
        cipher = self._key()
        head, nonce, body = _split(self._content())
        try:
            durable.sync(self.path.parent)
        except OSError:
            raise Fault from None
        try:
            return cipher.decrypt(nonce, body, self._context) if head == _MAGIC else _unopened()
        except InvalidTag:
            return _unopened()

    def write(self, secret: bytes) -> None:
        """Replace the secret durably: when this returns, a crash finds the new one; before, the old one or the new one.

        The file's size is the secret's size and a constant.
        """
        nonce = os.urandom(_NONCE)
        content = _MAGIC + nonce + self._key().encrypt(nonce, secret, self._context)
        aside = Path(f"{self.path}.new")
        try:
            aside.unlink(missing_ok=True)  # left behind by a crash
            durable.create(aside, content)
            durable.move(aside, self.path)
        except OSError:
            raise Fault from None

    @property
    def head(self) -> str:
        """A digest of the file as it lies there: what a ledger can note to tell an older copy from the latest."""
        return sha256(self._content()).hexdigest()


def _split(content: bytes) -> tuple[bytes, bytes, bytes]:
    start = len(_MAGIC)
    return content[:start], content[start : start + _NONCE].ljust(_NONCE, b"\0"), content[start + _NONCE :]


def _unopened() -> bytes:
    raise Refusal(CLOSED) from None


def _linked(path: Path) -> Refusal:
    return Refusal(
        f"expected a plain file with one name at {path}", hint="a link would be a second session for one payment"
    )


def _followed(path: Path) -> Path:
    """Where the links end. `resolve` alone leaves those in a circle as they are, from Python 3.13 on."""
    end = path.resolve()
    try:
        linked = stat.S_ISLNK(end.lstat().st_mode)
    except FileNotFoundError:
        return end
    if linked:
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return end
