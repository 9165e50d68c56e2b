"""Bloom filters of texts, the hash functions that they and sketches share, and counts of a filter's bits."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.declared.grid import real
from discreet.errors import Refusal
from discreet.exact import count, shown
from discreet.local.frequencies import Odds, Reals
from discreet.local.local_mechanism import Whole
from discreet.mechanisms.mechanism import settle

Digests = Whole  # one row of four 64-bit numbers for each text: its SHA-256
MOST_CELLS, MOST_KEY = 1 << 24, 1 << 128
_LANES = 8  # numbers of 32 bits in a SHA-256
_LONGEST = 1 << 63  # whole numbers up to here are written out in decimal digits


def written(value: object) -> bytes | None:
    """The bytes that a value is hashed as; None for what is nothing: neither a text, nor bytes, nor a whole number.

    An array without a shape is what it holds. Nothing that a person has makes it raise.
    """
    if isinstance(value, np.ndarray) and not value.ndim:
        return None if np.ma.is_masked(value) else written(np.asarray(value)[()])
    try:
        return _written(value)
    except Exception:  # noqa: BLE001  # a text or number of a stranger's making, which breaks when it is read
        return None


def _written(value: object) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return bytes(value)
    known = real(value)  # 1.0 is 1
    whole = isinstance(known, Fraction) and known.denominator == 1 and abs(known) < _LONGEST
    return str(known).encode() if whole else None


def texts(given: NDArray[np.generic]) -> list[bytes | None]:
    """The same for many. An array of times is one of nothing, though numpy would list some of them as numbers."""
    return [None] * given.size if given.dtype.kind in "mM" else [written(cell) for cell in given.ravel().tolist()]


def text_of(cell: bytes | None) -> bytes:
    """What `written` made of a cell, if that is a text."""
    if cell is None:
        raise Refusal("this answer is no text, no bytes and no whole number", hint="nothing was sent or counted")
    return cell


@dataclass(frozen=True)
class Functions:
    """Hash functions number 0, 1, 2, … from texts to the cells 0, …, cells − 1, by SHA-256 under a public key.

    A text is hashed to its digest; function i is lane i mod 8 of the hash of that digest and i div 8. Of a lane's 32
    bits the fewest that can name a cell are read; if they name none, the next attempt is hashed. So every cell is
    equally likely for a random function: no remainder is taken.
    """

    cells: int
    key: int = 0

    def __post_init__(self) -> None:
        settle(self, cells=count(self.cells, "cells"), key=count(self.key, "key", least=0))
        if self.cells > MOST_CELLS:
            raise Refusal(f"expected at most 2^24 cells, got {shown(self.cells)}")
        if self.key >= MOST_KEY:
            raise Refusal(f"expected key < 2^128, got key={shown(self.key)}", hint="take 38 digits")

    def digest(self, text: bytes) -> bytes:
        """What all functions see of a text."""
        return hashlib.sha256(b"discreet-text-1" + self.key.to_bytes(16, "little") + text).digest()

    def digests(self, texts: list[bytes]) -> Digests:
        """The same for many, in an array."""
        return np.frombuffer(b"".join(map(self.digest, texts)), dtype="<i8").reshape(len(texts), 4)

    def cell(self, digest: bytes, function: int) -> int:
        """Of one text under one function."""
        block, lane = divmod(function, _LANES)
        attempt = 0
        while True:
            hashed = _hashed(digest, block, attempt)
            cell = self._read(int.from_bytes(hashed[4 * lane : 4 * lane + 4], "little"))
            if cell < self.cells:
                return cell
            attempt += 1

    def _read(self, lane: int) -> int:
        return lane >> 32 - (self.cells - 1).bit_length()

    def table(self, digests: Digests, functions: int, first: int = 0) -> Whole:
        """Of many texts under so many functions from the first on: a row for each text."""
        blocks, skipped = range(first // _LANES, -(-(first + functions) // _LANES)), first % _LANES
        rows = [row.tobytes() for row in digests]
        hashed = b"".join(_hashed(row, block, 0) for row in rows for block in blocks)
        lanes = np.frombuffer(hashed, dtype="<u4").reshape(len(rows), len(blocks) * _LANES)
        cells = lanes[:, skipped : skipped + functions].astype(np.int64) >> 32 - (self.cells - 1).bit_length()
        for text, function in np.argwhere(cells >= self.cells):
            cells[text, function] = self.cell(rows[text], first + int(function))
        return cells


def _hashed(digest: bytes, block: int, attempt: int) -> bytes:
    return hashlib.sha256(digest + block.to_bytes(4, "little") + attempt.to_bytes(4, "little")).digest()


@dataclass(frozen=True)
class Bloom:
    """Bloom filters of so many bits, each cohort with `hashes` functions of its own (Bloom 1970).

    A text sets the bit of each function; two of them may be the same bit. What is nothing sets none.
    """

    bits: int
    hashes: int
    cohorts: int
    key: int = 0

    @property
    def functions(self) -> Functions:
        """Those of cohort j are number j · hashes and the next."""
        return Functions(self.bits, self.key)

    def digests(self, given: NDArray[np.generic]) -> Digests:
        """People's values as digests; nothing is four zeros, which no text has."""
        known = texts(given)
        out = self.functions.digests([text or b"" for text in known]).copy()
        out[[text is None for text in known]] = 0
        return out

    def filters(self, digests: Digests, cohorts: Whole) -> NDArray[np.bool_]:
        """A row of bits for each digest, as its cohort has it."""
        out = np.zeros((len(digests), self.bits), dtype=np.bool_)
        functions = self.functions
        for row, digest, cohort in zip(out, digests, cohorts.tolist(), strict=True):
            if digest.any():
                text = digest.tobytes()
                for function in range(cohort * self.hashes, (cohort + 1) * self.hashes):
                    row[functions.cell(text, function)] = True
        return out

    def places(self, digests: Digests) -> Whole:
        """Where every cohort has the bits of each text: numbers cohort · bits + bit, a row for each."""
        table = self.functions.table(digests, self.cohorts * self.hashes)
        return table + np.repeat(np.arange(self.cohorts), self.hashes) * self.bits


def by_group(groups: Whole, packed: NDArray[np.uint8], many: int, bits: int) -> Whole:
    """A row for each group: how many filters there are, and in how many of them each bit is set."""
    out = np.zeros((many, 1 + bits), dtype=np.int64)
    out[:, 0] = np.bincount(groups, minlength=many)
    present = np.flatnonzero(out[:, 0])
    if present.size:
        order = np.argsort(groups, kind="stable")
        rows = np.unpackbits(packed[order], axis=1, bitorder="little", count=bits)
        starts = np.cumsum(out[:, 0])[present] - out[present, 0]
        out[present, 1:] = np.add.reduceat(rows, starts, axis=0, dtype=np.int64)
    return out


@dataclass(frozen=True, eq=False)
class BitCounts:
    """For each cohort: how many people reported, and how many told each bit as 1.

    Counts are unbiased for the people who reported, and may be negative. docs/proofs/rappor.md.
    """

    reports: Whole
    ones: Whole
    odds: Odds

    @property
    def people(self) -> int:
        """In all cohorts."""
        return int(self.reports.sum())

    @cached_property
    def counts(self) -> Reals:
        """In how many filters each bit is set: (ones − reports · p*) / (q* − p*)."""
        counts: Reals = (self.ones - self.reports[:, None] * float(self.odds.other)) / float(self.odds.gap)
        return counts

    @cached_property
    def errors(self) -> Reals:
        """The standard error of each count, at the estimated share: that of the clients' coins alone."""
        inside = np.clip(self.counts, 0, self.reports[:, None])
        p, q = float(self.odds.other), float(self.odds.holder)
        spread = inside * q * (1 - q) + (self.reports[:, None] - inside) * p * (1 - p)
        errors: Reals = np.sqrt(spread) / float(self.odds.gap)
        return errors
