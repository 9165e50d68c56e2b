"""What one device remembers for RAPPOR: a secret. Cohort and permanent responses follow from it."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet import durable
from discreet.declared.cells import cells
from discreet.errors import Refusal
from discreet.exact import count as whole
from discreet.exact import shown
from discreet.local.bloom import written
from discreet.local.coin import DIGITS
from discreet.local.rappor import Rappor
from discreet.local.reporter import Reports
from discreet.noise import SECURE, Entropy

_SIZE = 32  # bytes of a secret
_MARK = b"discreet-rappor-secret-1\n"


@dataclass(frozen=True)
class Device:
    """A client with a memory: every report on a text is drawn from the one permanent response to that text.

    The permanent response is HMAC-SHA256 of the text under the secret, so there is nothing else to store, and a text
    that comes back after years finds its old response. It depends on the parameters that shape it, and on no others:
    other odds of a report draw from the same one, another filter or another `flipped` starts anew, and loses anew.

    Guarantee: that of `Rappor` for all reports of this device on one question together, against whoever cannot tell
        HMAC-SHA256 under a secret of 256 bits from a random function. Questions that share a secret need a `question`
        each: under one name, whoever gives the same text to two of them gives one response, and that shows.
    """

    client: Rappor
    secret: bytes = field(repr=False)
    question: str = ""

    def __post_init__(self) -> None:
        if type(self.secret) is not bytes or len(self.secret) != _SIZE:
            raise Refusal(f"expected a secret of {_SIZE} bytes", hint="use Device.fresh")
        if not isinstance(self.question, str):
            raise Refusal(f"expected the name of a question as text, got {shown(self.question)}")

    @classmethod
    def fresh(cls, client: Rappor, question: str = "", *, rng: Entropy = SECURE) -> Device:
        """A device that has never reported."""
        return cls(client, rng.raw(_SIZE), question)

    @classmethod
    def at(cls, path: Path, client: Rappor, question: str = "", *, rng: Entropy = SECURE) -> Device:
        """The device whose secret lies in this file; the first call writes it.

        Before any call returns, the secret is on the disk: also where another process wrote it a moment ago, or was
        killed while it did.
        """
        if path.exists():
            durable.sync(path.parent)
        else:
            durable.keep(path, _MARK + rng.raw(_SIZE))
        data = path.read_bytes()
        if len(data) != len(_MARK) + _SIZE or not data.startswith(_MARK):
            raise Refusal(
                f"{path.name} holds no secret of a device",
                hint="restore it: with another secret, every text loses epsilon once more",
            )
        return cls(client, data.removeprefix(_MARK), question)

    @cached_property
    def _shape(self) -> bytes:
        """What the permanent response depends on."""
        c = self.client
        names = {"bits": c.bits, "hashes": c.hashes, "cohorts": c.cohorts, "key": c.key, "flipped": str(c.flipped)}
        names |= {"question": self.question} if self.question else {}
        return hmac.digest(self.secret, json.dumps(names, sort_keys=True).encode(), "sha256")

    def _stream(self, text: bytes) -> Iterator[bytes]:
        """Blocks of 32 bytes that nobody without the secret can tell from random ones."""
        return (hmac.digest(self._shape, block.to_bytes(4, "little") + text, "sha256") for block in count())

    @cached_property
    def cohort(self) -> int:
        """Drawn once, evenly: the first of the stream's numbers that is one."""
        size = (self.client.cohorts - 1).bit_length()
        numbers = (int.from_bytes(block, "little") >> 8 * _SIZE - size for block in self._stream(b"cohort"))
        return next(number for number in numbers if number < self.client.cohorts)

    def permanent(self, value: object) -> NDArray[np.bool_]:
        """The filter of a text with the bits flipped that this device flips for it, today and ever."""
        text = written(value)
        true = self.client.bloom.filters(self.client.bloom.digests(cells([value])), np.array([self.cohort]))[0]
        stream = self._stream(b"nothing" if text is None else b"text:" + text)
        blocks = b"".join(next(stream) for _ in range(-(-8 * true.size // _SIZE)))
        drawn = np.frombuffer(blocks, dtype="<u8")[: true.size]
        return np.asarray(true ^ (drawn < np.uint64(int(self.client.flipped * (1 << DIGITS)))))

    def __call__(self, value: object, /, *, rng: Entropy = SECURE) -> bytes:
        """One more report on a text."""
        return self.reports(value, 1, rng=rng).tobytes()

    def reports(self, value: object, size: int, *, rng: Entropy = SECURE) -> Reports:
        """Many reports on one text, as a device would make over the years."""
        kept = np.tile(self.permanent(value), (whole(size, "size", least=0), 1))
        return self.client.report(np.full(len(kept), self.cohort), self.client.instant(kept, rng))
