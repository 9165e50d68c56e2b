"""Private stream aggregation: in every epoch each person sends one number encrypted, and only the sum can be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path

from discreet.aggregate.curve_group import LENGTH, Point, added, hashed, multiple, read_point, scalar, written
from discreet.aggregate.diluted_noise import DilutedGeometric
from discreet.aggregate.gaussian_shares import GaussianShares, within
from discreet.aggregate.sent_epochs import Outbox
from discreet.aggregate.small_logarithms import Logarithms, size_for
from discreet.errors import Refusal
from discreet.exact import count, shown
from discreet.noise import SECURE, Entropy
from discreet.privacy import Approximate, Concentrated

Noise = DilutedGeometric | GaussianShares
_MARK = b"discreet-stream-sum\0"
_UNHEARD = 1 - Fraction(1, 1 << 40)  # the chance that a sum with noise lies where it is looked for


@dataclass(frozen=True)
class StreamSum:
    """What all who take part agree on: a name that no other sum has, the noise, and how many epochs there are.

    Guarantee: whoever sees everything that is sent, and knows the exponents of the aggregator and of all people but
        `noise.honest`, learns of one of these no more than (epochs · noise.privacy) says, as far as he can compute:
        computational differential privacy (Mironov, Pandey, Reingold & Vadhan 2009), if the decisional Diffie-Hellman
        problem is hard on secp256k1 and SHA-256 is a random oracle.
    Proof: docs/proofs/aggregate.md, Theorem 2.
    Source: Shi, Chan, Rieffel, Chow & Song 2011, Theorem 1.
    """

    name: str
    noise: Noise
    epochs: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "epochs", count(self.epochs, "epochs"))

    @property
    def privacy(self) -> Approximate | Concentrated:
        """What all epochs together cost a person who sends in each of them."""
        return self.epochs * self.noise.privacy

    @cached_property
    def reach(self) -> int:
        """How far noise carries a sum, in units of 2^−places, but for a chance of one in 2^40."""
        return self.noise.error(_UNHEARD) << self.noise.places

    @property
    def span(self) -> int:
        """How many numbers the sum with noise may be."""
        return self.largest + 2 * self.reach + 1

    @property
    def largest(self) -> int:
        """The largest sum of values, in units of 2^−places."""
        return self.noise.people * self.noise.limit << self.noise.places

    def point(self, epoch: int) -> Point:
        """What the encryption of an epoch rests on: a point that belongs to it alone."""
        if not 0 <= epoch < self.epochs:
            raise Refusal(f"expected an epoch from 0 to {self.epochs - 1}, got {shown(epoch)}")
        return hashed(_MARK + self.name.encode() + b"\0" + epoch.to_bytes(8, "big"))

    def table(self, folder: Path) -> Logarithms:
        """The table by which sums are read, from this folder, where it is made once."""
        return Logarithms.kept(folder, size_for(self.span))


def encrypted(number: int, base: Point, exponent: int) -> bytes:
    """A number that only the sum over everybody gives away: number times the generator, and exponent times `base`."""
    masked = base.multiply(scalar(exponent))
    whole = added([masked, multiple(number)]) if number else masked
    if whole is None:
        raise Refusal("this exponent cannot be used in this epoch", hint="no other message: this happens once in 2^256")
    return written(whole)


@dataclass(frozen=True)
class Sender:
    """One person's side. What leaves is on the disk before, in a file of its epoch, which is never written twice.

    Two numbers encrypted in one epoch would tell their difference. So the folder must not be copied to a second
    device, nor be put back as it was before.
    """

    task: StreamSum
    exponent: int = field(repr=False)
    folder: Path

    def encrypt(self, value: int, epoch: int, *, rng: Entropy = SECURE) -> bytes:
        """The value with this person's share of noise, encrypted: once for each epoch."""
        base = self.task.point(epoch)
        within(value, self.task.noise.limit)
        outbox = Outbox(self.folder)
        outbox.unsent(epoch)
        content = encrypted(self.task.noise.number(value, rng=rng), base, self.exponent)
        outbox.keep(epoch, content)
        return content

    def sent(self, epoch: int) -> bytes | None:
        """What was encrypted in an epoch, to be sent again; None if there is nothing, or only a part of it."""
        content = Outbox(self.folder).sent(epoch)
        return content if content is not None and len(content) == LENGTH else None


def opened(task: StreamSum, epoch: int, exponent: int, messages: Sequence[bytes], table: Logarithms) -> Fraction:
    """The sum of an epoch, with its noise, from the messages of all people and the exponent of the aggregator."""
    if len(messages) != task.noise.people:
        raise Refusal(
            f"epoch {epoch} has {len(messages)} of {task.noise.people} messages, and nothing can be read without all",
            hint="where people fail, take the masks that recover or the tree",
        )
    points = [read_point(each) for each in messages]
    points.append(task.point(epoch).multiply(scalar(exponent)))
    found = table(added(points), -task.reach, task.largest + task.reach)
    if found is None:
        raise Refusal(
            f"the messages of epoch {epoch} add up to nothing that can be read",
            hint="somebody sent another epoch's message, one for another task, or a value out of range",
        )
    return Fraction(found, 1 << task.noise.places)
