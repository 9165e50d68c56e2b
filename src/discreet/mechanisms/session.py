"""An opened sparse vector: paid whole at the start, asked one question at a time, resumed after a crash.

Whatever is true about a session lies in its state file. Every question reads it, answers, writes it, and only then does
the answer leave. Nothing is remembered in memory: a killed process, a second process and a copied object all continue
from the same place. A question that was answered is never drawn again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from discreet.errors import OverBudget, Refusal
from discreet.exact import count
from discreet.mechanisms.mechanism import settle
from discreet.mechanisms.registry import described
from discreet.mechanisms.sealed import Sealed
from discreet.noise import SECURE, Entropy
from discreet.privacy import Guarantee, Loss, Neighbours

L = TypeVar("L", bound=Loss)
L_co = TypeVar("L_co", bound=Loss, covariant=True)

FORMAT = 1  # of the state's text; a new meaning gets a new number
_DIGITS = 600  # of one number in it: Python turns at least 640 into text, whatever it is configured to
_ROOM = 1 << 26  # characters


@dataclass(frozen=True)
class Above:
    """A hard answer: the value seems to reach the threshold, or to exceed it; what a tie is, its mechanism says.

    `number` is its own noisy value, if that was paid for.
    """

    number: int | None = None


@dataclass(frozen=True)
class Below:
    """An easy answer, ⊥: the value does not seem to reach the threshold, or not to exceed it."""


Answer = Above | Below


@dataclass(frozen=True)
class State:
    """The noisy threshold, which is secret, and the answers given: all are `Below` except those listed as hard."""

    threshold: int = field(repr=False)
    asked: int = 0
    hard: tuple[tuple[int, int | None], ...] = ()

    def answer(self, number: int) -> Answer:
        """What question `number` was answered, from 1 on."""
        return next((Above(released) for place, released in self.hard if place == number), Below())

    @property
    def answers(self) -> tuple[Answer, ...]:
        """All answers, in order."""
        given: list[Answer] = [Below()] * self.asked
        for place, released in self.hard:
            given[place - 1] = Above(released)
        return tuple(given)

    def followed(self, answer: Answer, threshold: int) -> State:
        """The state once one more question is answered."""
        turn = self.asked + 1
        hard = (*self.hard, (turn, answer.number)) if isinstance(answer, Above) else self.hard
        return State(threshold, turn, hard)


class Interactive(Protocol[L_co]):
    """A mechanism whose answers come one by one. It is bought whole, for at most `hard` hard ones of `questions`."""

    @property
    def hard(self) -> int:
        """How many hard answers are paid for."""
        ...

    @property
    def questions(self) -> int:
        """How many questions may be asked."""
        ...

    @property
    def privacy(self) -> L_co:
        """The whole price."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """Which inputs the price compares."""
        ...

    @property
    def widest(self) -> Fraction:
        """The largest scale of its noise: how much room a number may need."""
        ...

    def start(self, rng: Entropy) -> State:
        """Before the first question."""
        ...

    def step(self, state: State, value: int, rng: Entropy) -> State:
        """After one more question whose true value this is."""
        ...


def finished(mechanism: Interactive[Loss], state: State) -> bool:
    """Whether no further question may be answered."""
    return len(state.hard) >= mechanism.hard or state.asked >= mechanism.questions


@dataclass(frozen=True)
class Session:
    """The open door to one state file. Holds no secret, and opens no file but that of its own mechanism and data."""

    mechanism: Interactive[Loss]
    path: Path
    key_file: Path
    dataset: str
    rng: Entropy = field(default=SECURE, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self._digits > _DIGITS or self._room > _ROOM:  # else it would fail after it was paid
            raise Refusal(
                f"a session of noise up to {self._digits} digits and {self._room} characters is too large",
                hint=f"at most {_DIGITS} and {_ROOM}: larger epsilons, or fewer hard answers",
            )
        settle(self, path=self.sealed.path, key_file=self.sealed.key_file)  # whatever the working folder is later

    @cached_property
    def sealed(self) -> Sealed:
        """The state file, bound to what it is for: any other format, parameter or data version does not open it."""
        try:
            purpose = {"format": FORMAT, "mechanism": described(self.mechanism), "dataset": self.dataset}
        except ValueError:  # a fraction beyond the digits that Python turns into text
            raise Refusal("a parameter of the mechanism has too many digits", hint="use shorter fractions") from None
        return Sealed(self.path, self.key_file, json.dumps(purpose, sort_keys=True).encode())

    @property
    def asked(self) -> int:
        """How many questions were answered."""
        return self._read()[0].asked

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Every answer given so far: public, and free to look at again."""
        return self._read()[0].answers

    @property
    def closed(self) -> bool:
        """Whether the last hard answer, or the last question, is gone."""
        return finished(self.mechanism, self._read()[0])

    def ask(self, value: int, *, number: int | None = None, question: str = "") -> Answer:
        """The answer to the next question, whose true value is `value`; it is on disk before it is returned.

        Any value is answered: a fraction counts as the whole number below it, what is no number as 0.

        After a crash, ask again with the same `number` and `question`: if an answer was drawn, it is that one.
        """
        label = sha256(question.encode()).hexdigest()
        with self.sealed.locked():
            state, last = self._read()
            turn = state.asked + 1 if number is None else count(number, "number")
            if turn == state.asked and label == last:
                return state.answer(turn)
            if turn != state.asked + 1:
                raise Refusal(f"question {turn} is not the next", hint=f"the next is {state.asked + 1}; see .answers")
            if finished(self.mechanism, state):
                raise OverBudget(
                    f"the session is closed: {len(state.hard)} hard answers of {self.mechanism.hard}, "
                    f"{state.asked} questions of {self.mechanism.questions}",
                    hint="open and pay for a new one",
                )
            after = self.mechanism.step(state, value, self.rng)
            _write(self, after, label)
        return after.answer(turn)

    def _read(self) -> tuple[State, str]:
        content = json.loads(self.sealed.read())
        hard = tuple((int(place), released) for place, released in content["hard"])
        return State(int(content["threshold"]), int(content["asked"]), hard), str(content["last"])

    @property
    def _digits(self) -> int:
        """Of any number in a state, and its sign: noise of 2^64 scales is met with probability e^−2^64."""
        return _decimals(2**63 + 2**64 * (int(self.mechanism.widest) + 1)) + 1

    @property
    def _room(self) -> int:
        """Characters that a state needs, whatever it says."""
        place = _decimals(self.mechanism.questions)
        return 128 + 64 + place + self._digits + self.mechanism.hard * (place + self._digits + 8)


def _decimals(number: int) -> int:
    """At least as many digits as a number > 0 has: three bits are less than one."""
    return number.bit_length() // 3 + 1


def _write(session: Session, state: State, label: str = "") -> None:
    """Make this the state, durably, in as many bytes as any other."""
    content = {"threshold": state.threshold, "asked": state.asked, "hard": state.hard, "last": label}
    text, room = json.dumps(content), session._room  # noqa: SLF001  # only here may a state be written
    session.sealed.write(text.ljust(-(-len(text) // room) * room).encode())


class Openable(Generic[L]):
    """What every interactive mechanism can do: run whole in memory, or be opened and resumed."""

    def __call__(self: Interactive[L], values: Sequence[int], /, *, rng: Entropy = SECURE) -> tuple[Answer, ...]:
        """A whole session in memory: the answers, until the last hard one. How many values there are is public."""
        state = self.start(rng)
        for value in values:
            if finished(self, state):
                break
            state = self.step(state, value, rng)
        return state.answers

    def open(
        self: Interactive[L],
        path: Path | str,
        key_file: Path | str,
        *,
        dataset: str,
        pay: Callable[[Guarantee[L]], object],
        rng: Entropy = SECURE,
    ) -> Session:
        """Pay the whole price, then draw the secret and write it, encrypted, to `path` (SOUNDNESS 9).

        `dataset` names the version of the data; the state opens for no other. A key is made where `key_file` has none.
        A crash between paying and writing leaves a price paid for nothing: it is never paid back.
        """
        session = Session(self, Path(path), Path(key_file), dataset, rng)
        with session.sealed.locked():
            if session.sealed.taken:
                raise Refusal(f"there is already a state file {session.path}", hint="resume it, or choose another name")
            session.sealed.create_key()
            pay(Guarantee(self.privacy, self.neighbours))
            _write(session, self.start(rng))
        return session

    def resume(
        self: Interactive[L], path: Path | str, key_file: Path | str, *, dataset: str, rng: Entropy = SECURE
    ) -> Session:
        """The session as it was left; refused unless key, mechanism and data version are those it was opened with."""
        session = Session(self, Path(path), Path(key_file), dataset, rng)
        session.sealed.read()
        return session
