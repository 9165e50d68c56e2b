"""A small secret that outlives the process: encrypted at rest, replaced as a whole, never half written.

An interactive mechanism keeps a secret between its answers (SOUNDNESS 9). It lies in one file under AES-256-GCM, the
key in another. What it was sealed for (format, mechanism, data version) is authenticated with it, so it opens for
nothing else. What this does not protect against: docs/proofs/sparse.md, "What the state file does not protect".
"""

from __future__ import annotations

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

from discreet.errors import Fault, Refusal

_MAGIC = b"discreet sealed 1\n"
_KEY, _NONCE = 32, 12
CLOSED = "the state file does not open: another key, other parameters, another data version, or it was changed"


@dataclass(frozen=True)
class Sealed:
    """One secret, in the file `path`, under the key in `key_file`, for the purpose that `binding` spells out."""

    path: Path
    key_file: Path
    binding: bytes

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Alone with the secret: other threads and processes wait, so reading, deciding and writing are one step."""
        guard = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(guard, fcntl.LOCK_EX)
            yield
        finally:
            os.close(guard)

    def create_key(self) -> None:
        """A fresh key where there is none yet; one that is there is kept."""
        try:
            target = os.open(self.key_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            self._key()
            return
        with os.fdopen(target, "wb") as file:
            file.write(AESGCM.generate_key(8 * _KEY))
            file.flush()
            os.fsync(file.fileno())
        _settle(self.key_file.parent)

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

    def read(self) -> bytes:
        """The secret; one constant refusal if it does not open, whatever the reason."""
        cipher = self._key()
        try:
            content = self.path.read_bytes()
        except OSError:
            raise Refusal(f"there is no state file {self.path}", hint="open the session first") from None
        head, nonce, body = _split(content)
        try:
            return cipher.decrypt(nonce, body, _MAGIC + self.binding) if head == _MAGIC else _unopened()
        except InvalidTag:
            return _unopened()

    def write(self, secret: bytes) -> None:
        """Replace the secret durably: when this returns, a crash finds the new one; before, the old one or the new one.

        The file's size is the secret's size and a constant.
        """
        nonce = os.urandom(_NONCE)
        content = _MAGIC + nonce + self._key().encrypt(nonce, secret, _MAGIC + self.binding)
        aside = Path(f"{self.path}.new")
        try:
            target = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(target, "wb") as file:
                os.fchmod(target, 0o600)  # also where a file was left behind
                file.write(content)
                file.flush()
                os.fsync(target)
            aside.replace(self.path)
            _settle(self.path.parent)
        except OSError:
            raise Fault from None

    @property
    def head(self) -> str:
        """A digest of the file as it lies there: what a ledger can note to tell an older copy from the latest."""
        return sha256(self.path.read_bytes()).hexdigest()


def _split(content: bytes) -> tuple[bytes, bytes, bytes]:
    start = len(_MAGIC)
    return content[:start], content[start : start + _NONCE].ljust(_NONCE, b"\0"), content[start + _NONCE :]


def _unopened() -> bytes:
    raise Refusal(CLOSED) from None


def _settle(folder: Path) -> None:
    """Make a file's name durable, not only its content."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
