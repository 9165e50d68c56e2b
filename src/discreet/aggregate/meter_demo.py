"""A street of meters that is made up, to watch: what is sent, what is read, what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.aggregate.cancelling_keys import agreed, public_key
from discreet.aggregate.gaussian_shares import GaussianShares
from discreet.aggregate.masked_sum import MaskedSum
from discreet.aggregate.rehearsal import rehearsed
from discreet.aggregate.stream_sum import Sender, StreamSum, opened
from discreet.errors import Refusal
from discreet.ledger.signed_head import public_part

HOUSES, MOST = 20, 50
_PRICE = Fraction(1, 8)  # in zCDP, of one epoch


def tour(folder: str) -> Iterator[str]:
    """What happens in the street, line by line."""
    yield f"{HOUSES} made-up houses say every quarter of an hour how much power they draw, from 0 to {MOST}."
    yield ""
    yield from _all_there(Path(folder))
    yield ""
    yield from _some_fail(Path(folder))


def _readings(hour: int) -> list[int]:
    return [(7 * house + 11 * hour) % (MOST + 1) for house in range(HOUSES)]


def _all_there(folder: Path) -> Iterator[str]:
    task = StreamSum("a street", GaussianShares(_PRICE, HOUSES, HOUSES * 4 // 5, MOST), 4)
    yield "1. Everybody is there. Nobody deals keys: each two houses share a number that cancels."
    keys = [X25519PrivateKey.generate() for _ in range(HOUSES + 1)]
    public = [public_key(key) for key in keys]
    aggregator, *own = (agreed(key, public, b"a street") for key in keys)
    houses = [Sender(task, exponent, folder / f"house-{place}") for place, exponent in enumerate(own)]
    for hour in range(2):
        sent = [house.encrypt(value, hour) for house, value in zip(houses, _readings(hour), strict=True)]
        total = opened(task, hour, aggregator, sent, task.table(folder))
        yield f"   house 7 sends {sent[7].hex()[:24]}…; the sum that is read is {float(total):.0f}"
        yield f"   (in truth {sum(_readings(hour))}; the noise has a deviation of {task.noise.deviation:.0f})"
    try:
        houses[7].encrypt(0, 1)
    except Refusal as refusal:
        yield f"   House 7 wants to send again. Refused: {refusal.message}."
    try:
        opened(task, 1, aggregator, sent[1:], task.table(folder))
    except Refusal as refusal:
        yield f"   Without one of them: {refusal.message}."


def _some_fail(folder: Path) -> Iterator[str]:
    yield "2. Two houses fail after the others have masked their numbers for them: their masks come off."
    keys = [Ed25519PrivateKey.generate() for _ in range(HOUSES)]
    task = MaskedSum.of("a street that fails", map(public_part, keys), MOST, _PRICE)
    values = _readings(2)
    (total,) = rehearsed(task, 0, keys, values, folder, gone=(0, 1))
    yield f"   the sum that is read is {float(total):.0f}"
    spread = task.noise.deviation_of(HOUSES - 2)
    yield f"   (in truth {sum(values[2:])} of {HOUSES - 2} houses; the noise has a deviation of {spread:.0f})"
    yield f"   {task.minimum} of {HOUSES} have to survive, and up to {task.colluders} may work with the aggregator."
    yield f"   What this costs a house: {task.privacy}."
