"""What a mechanism is: public parameters, a guarantee, and a call that touches data once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Generic, Protocol, TypeVar

from discreet.errors import Refusal
from discreet.exact import Number, count
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Loss, Neighbours, Replace

D = TypeVar("D")
D_contra = TypeVar("D_contra", contravariant=True)
T_co = TypeVar("T_co", covariant=True)
L_co = TypeVar("L_co", bound=Loss, covariant=True)

USUAL = Fraction(95, 100)  # the confidence of an error bar that nobody asked for otherwise


class Takes(Enum):
    """What a mechanism is called with, in words: its promise compares two such inputs, and no others.

    Noise for a number hides nobody in a list of rows, though a list of numbers looks like one. So each class says what
    it takes, and a curator gives rows to those alone that take them.
    """

    ROWS = "rows"  # the promise is for one of them; in which order they come means nothing
    OWNED_ROWS = "rows of units"  # the promise is for all rows of a unit that has at most `max_rows`
    RELATION = "a relation"  # the promise is for all rows of a unit within its `caps`
    NUMBER = "a number"
    VECTOR = "a vector of numbers"
    SCORES = "scores, one for each candidate"
    COUNTS = "counts, one for each key or cell"
    STREAM = "a stream of values, one for each question"
    EVENTS = "a stream of counts of events, one for each step of time"
    PUSHES = "rows of units, some at each step of time"
    ANSWER = "the value of one person"


@dataclass(frozen=True)
class Pair(Generic[D]):
    """Two neighbouring inputs on which a mechanism is as distinguishable as it gets, and why."""

    left: D
    right: D
    why: str


class Mechanism(Protocol[D_contra, T_co, L_co]):
    """A frozen value. Fields are public facts that may be printed and stored; data and randomness are arguments.

    Every mechanism's docstring states `Guarantee:`, `Proof:` and `Source:`; its `pairs` are what an audit runs it on. A
    call is total: parameters are checked when the mechanism is built, and nothing in the data makes it raise.
    """

    @property
    def takes(self) -> Takes:
        """What it is called with: a fact of the class."""
        ...

    @property
    def privacy(self) -> L_co:
        """What one run loses, for the neighbours below."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """Which inputs the loss compares."""
        ...

    def error(self, confidence: Number = USUAL, /) -> Fraction | int | None:
        """α such that the answer is within α of the truth with probability `confidence`; each says how it measures.

        None where it depends on the data, and so is known after paying.
        """
        ...

    def __call__(self, data: D_contra, /, *, rng: Entropy = SECURE) -> T_co:
        """One answer. Spends `privacy`."""
        ...


class RowPromise(Protocol):
    """Promise of a mechanism of rows: what says what all rows of a unit cost."""

    @property
    def takes(self) -> Takes:
        """`Takes.ROWS`, or `Takes.OWNED_ROWS` if its promise is for `max_rows` of them together; said by its class."""
        ...

    @property
    def privacy(self) -> Loss:
        """What it loses when one row comes or goes, or so many."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """Added and removed rows: what replaced ones promise says nothing about these."""
        ...


class Audited(Protocol[D]):
    """A mechanism that names its own worst inputs."""

    def pairs(self) -> Sequence[Pair[D]]:
        """Neighbouring inputs that an audit should try first."""
        ...


def loss_of_units(mechanism: RowPromise, max_rows: int, neighbours: Neighbours) -> Loss:
    """What a mechanism of rows loses when all rows of a unit change, of which it has at most so many (SOUNDNESS 2).

    Proof: docs/proofs/run.md, "All rows of one unit".
    """
    if not isinstance(mechanism.neighbours, AddRemove):
        raise Refusal(
            f"{type(mechanism).__name__} promises for replacing a row: that says nothing about adding or removing one",
            hint="use a mechanism for added and removed rows",
        )
    together = 1 if mechanism.takes is Takes.ROWS else count(getattr(mechanism, "max_rows", None), "max_rows")  # type: ignore[arg-type]
    lots = -(-max_rows // together)
    size = lots if isinstance(neighbours, AddRemove) else 2 * lots  # those that go and those that come make no lot
    loss = mechanism.privacy
    return loss if size == 1 else loss.group(size)


def settle(mechanism: object, **fields: object) -> None:
    """Put checked values into the fields of a frozen mechanism: for `__post_init__` only."""
    for name, value in fields.items():
        object.__setattr__(mechanism, name, _checked(value) if name == "neighbours" else value)


def _checked(neighbours: object) -> Neighbours:
    if isinstance(neighbours, (AddRemove, Replace)):
        return neighbours
    raise Refusal(f"expected neighbours as AddRemove or Replace, got {neighbours!r}")


def yes_or_no(value: object, name: str) -> bool:
    """`value`, if it is True or False."""
    if isinstance(value, bool):
        return value
    raise Refusal(f"expected {name} as True or False, got {name}={value!r}")


def one_way(monotone: object, neighbours: Neighbours) -> bool:
    """`monotone`, if it can be true of these neighbours: that no score rises while another falls.

    Counts move one way when a row is added or removed. A row that is replaced leaves one count and enters another:
    docs/proofs/selection.md, "Monotone scores".
    """
    if yes_or_no(monotone, "monotone") and not isinstance(neighbours, AddRemove):
        raise Refusal(
            f"expected monotone=False for {neighbours}, got monotone=True",
            hint="when a row is replaced some counts rise and others fall; take AddRemove, or the wider noise",
        )
    return bool(monotone)
