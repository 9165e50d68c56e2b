"""What a server keeps of many reports: sums of whole numbers, which add up in any order and on any machine."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import count, shown
from discreet.mechanisms.mechanism import settle

Whole = NDArray[np.int64]

MOST_PEOPLE = 1 << 40  # every sum of this room over so many reports is below the next
_FURTHEST = 1 << 62  # from zero: two such sums add up in 64 bits
_MARK = b"dTL1"
_LONGEST = 1 << 16  # of the client's description
_HEAD = len(_MARK) + 4 + 8  # the mark, how long the description is, how many people


@dataclass(frozen=True, eq=False)
class Tally:
    """How many reports there were, and sums over them, for one client: nothing of a single report is left.

    `client` is the description of the client in JSON: sums of reports of two kinds mean nothing together.
    """

    client: str
    people: int
    counts: Whole

    def __post_init__(self) -> None:
        people, counts = count(self.people, "people", least=0), np.asarray(self.counts)
        if people > MOST_PEOPLE:
            raise Refusal(f"expected at most 2^40 reports in a tally, got {shown(people)}")
        if counts.dtype.kind not in "iu" or counts.ndim != 1:
            raise Refusal(f"expected the sums of a tally as whole numbers in a row, got {counts.dtype} {counts.shape}")
        if counts.size and max(abs(int(counts.min())), abs(int(counts.max()))) >= _FURTHEST:
            raise Refusal("the sums of a tally are below 2^62: these are of no reports")
        counts = counts.astype(np.int64)
        counts.setflags(write=False)
        settle(self, people=people, counts=counts)

    def __add__(self, other: Tally) -> Tally:
        """Both crowds together."""
        if self.client != other.client or self.counts.shape != other.counts.shape:
            raise Refusal(f"a tally of {self.client} does not add to one of {other.client}")
        return Tally(self.client, self.people + other.people, self.counts + other.counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and self.encode() == other.encode()

    def __hash__(self) -> int:
        return hash(self.encode())

    def encode(self) -> bytes:
        """A mark of 4 bytes, the length of the description (4), the number of people (8), the description, the sums.

        Numbers are whole and little end first, sums 8 bytes each.
        """
        text = self.client.encode()
        head = _MARK + len(text).to_bytes(4, "little") + self.people.to_bytes(8, "little")
        return head + text + self.counts.astype("<i8").tobytes()

    @classmethod
    def decode(cls, data: bytes) -> Tally:
        """The tally that `encode` wrote."""
        if not isinstance(data, bytes):
            raise Refusal(f"expected a tally as bytes, got {type(data).__name__}")
        data = plain(data)
        size = int.from_bytes(data[4:8], "little")
        body = data[_HEAD + size :]
        if data[:4] != _MARK or len(data) < _HEAD + size or len(body) % 8 or size > _LONGEST:
            raise Refusal(f"these {len(data)} bytes are no tally")
        try:
            text = data[_HEAD : _HEAD + size].decode()
        except UnicodeDecodeError:
            raise Refusal("the description of a tally is no text") from None
        return cls(text, int.from_bytes(data[8:16], "little"), np.frombuffer(body, dtype="<i8").astype(np.int64))


def plain(data: bytes | bytearray | memoryview) -> bytes:
    """The bytes in a buffer, in their order: a copy, unless nobody can change them."""
    try:
        return data if type(data) is bytes else memoryview(data).tobytes()
    except ValueError:
        raise Refusal(f"expected bytes, got a {type(data).__name__} that was released") from None


def label(description: dict[str, Any]) -> str:
    """A description as one text, the same for equal clients."""
    return json.dumps(description, sort_keys=True, separators=(",", ":"))
