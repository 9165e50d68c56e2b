"""A session: an interactive mechanism that is paid whole, asked one question at a time, and resumed after a crash.

Whatever is true about a session lies in its state file. Every question reads it, answers, writes it, and only then does
the answer leave. Nothing is remembered in memory: a killed process, a second process and a copied object all continue
from the same place. A question that was answered is never drawn again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from discreet.errors import OverBudget, Refusal
from discreet.exact import count
from discreet.mechanisms.encrypted_file import Sealed
from discreet.mechanisms.mechanism import Takes, settle
from discreet.mechanisms.registry import Plain, described
from discreet.noise import SECURE, Entropy
from discreet.privacy import Guarantee, Loss, Neighbours

S = TypeVar("S")
Q = TypeVar("Q")
A = TypeVar("A")
L = TypeVar("L", bound=Loss)
Q_contra = TypeVar("Q_contra", contravariant=True)
A_co = TypeVar("A_co", covariant=True)
L_co = TypeVar("L_co", bound=Loss, covariant=True)

FORMAT = 1  # of the state's text; a new meaning gets a new number
_LAST = "last"  # beside what the mechanism keeps: a digest of the last question
_ROOM = 1 << 26  # characters


@dataclass(frozen=True)
class Quota:
    """How much of one thing a session gives in all, and has given."""

    name: str
    used: int
    most: int

    def __str__(self) -> str:
        return f"{self.used} {self.name} of {self.most}"


class Interactive(Protocol[S, Q_contra, A_co, L_co]):
    """A mechanism whose answers come one by one, from a secret state. It is bought whole.

    Its promise is for everything that it answers, each question chosen after the earlier answers. What it answered is
    part of its state, so an answer that was written is never drawn again. A step is total: no query makes it raise.
    """

    @property
    def takes(self) -> Takes:
        """What its questions are answered from: a fact of the class."""
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
    def room(self) -> int:
        """Characters that a state needs as JSON, whatever it says; refused where no file could hold it."""
        ...

    def start(self, rng: Entropy) -> S:
        """Before the first question."""
        ...

    def step(self, state: S, query: Q_contra, rng: Entropy) -> S:
        """After one more question; `query` is what was measured for it, exactly."""
        ...

    def answers(self, state: S) -> tuple[A_co, ...]:
        """All that it answered, in order."""
        ...

    def used(self, state: S) -> tuple[Quota, ...]:
        """What it gives, and what of it is given: when one is used up, the session is closed. Follows from answers."""
        ...

    def encode(self, state: S) -> Mapping[str, Plain]:
        """The state as JSON holds it, no part of it called `last`."""
        ...

    def decode(self, content: Mapping[str, Any]) -> S:
        """The state that `encode` wrote."""
        ...


AnyInteractive: TypeAlias = Interactive[Any, Any, Any, Loss]


def finished(mechanism: Interactive[S, Any, Any, Loss], state: S) -> bool:
    """Whether no further question may be answered."""
    return any(each.used >= each.most for each in mechanism.used(state))


@dataclass(frozen=True)
class Session(Generic[S, Q, A]):
    """The open door to one state file. Holds no secret, and opens no file but that of its own mechanism and data."""

    mechanism: Interactive[S, Q, A, Loss]
    path: Path
    key_file: Path
    dataset: str
    rng: Entropy = field(default=SECURE, repr=False, compare=False)
    most_room: int = field(default=_ROOM, repr=False, compare=False)
    thing: str = field(default="session", repr=False, compare=False)
    turn_name: str = field(default="question", repr=False, compare=False)  # what comes one after the other

    def __post_init__(self) -> None:
        if self.mechanism.room > self.most_room:  # else it would fail after it was paid
            raise Refusal(
                f"a session of {self.mechanism.room} characters is too large",
                hint=f"at most {self.most_room}: larger epsilons, or fewer answers",
            )
        settle(self, path=self.sealed.path, key_file=self.sealed.key_file)  # whatever the working folder is later

    @cached_property
    def sealed(self) -> Sealed:
        """The state file, bound to what it is for: any other format, parameter or data version does not open it."""
        try:
            purpose = {"format": FORMAT, "mechanism": described(self.mechanism), "dataset": self.dataset}
        except ValueError:  # a fraction beyond the digits that Python turns into text
            name = type(self.mechanism).__name__
            raise Refusal(f"a parameter of {name} has too many digits", hint="use shorter fractions") from None
        return Sealed(self.path, self.key_file, json.dumps(purpose, sort_keys=True).encode())

    @property
    def asked(self) -> int:
        """How many questions were answered."""
        return len(self.answers)

    @property
    def answers(self) -> tuple[A, ...]:
        """Every answer given so far: public, and free to look at again."""
        return self.mechanism.answers(self._read()[0])

    @property
    def used(self) -> tuple[Quota, ...]:
        """What of it is used up, and how much there is."""
        return self.mechanism.used(self._read()[0])

    @property
    def closed(self) -> bool:
        """Whether something of it is used up."""
        return finished(self.mechanism, self._read()[0])

    def ask(self, query: Q, *, number: int | None = None, question: str = "") -> A:
        """The answer to the next question, for which `query` was measured; it is on disk before it is returned.

        After a crash, ask again with the same `number` and `question`: if an answer was drawn, it is that one.
        """
        return self.answered(lambda: nullcontext(lambda: query), number=number, question=question)[1]

    def answered(
        self,
        measured: Callable[[], AbstractContextManager[Callable[[], Q]]],
        *,
        number: int | None = None,
        question: str = "",
    ) -> tuple[int, A]:
        """Which one it is, and the same, measured only if an answer is drawn, and while nobody else asks.

        What goes wrong inside the context may speak of data; what is refused on entering it does not.
        """
        label = sha256(question.encode()).hexdigest()
        with self.sealed.locked():
            state, last = self._read()
            before = self.mechanism.answers(state)
            turn = len(before) + 1 if number is None else count(number, "number")
            if turn == len(before) and label == last:
                return turn, before[-1]
            if turn != len(before) + 1:
                nearest = f"the next is {len(before) + 1}; see the answers so far"
                raise Refusal(f"{self.turn_name} {turn} is not the next", hint=nearest)
            if finished(self.mechanism, state):
                used = ", ".join(map(str, self.mechanism.used(state)))
                raise OverBudget(f"the {self.thing} is closed: {used}", hint="open and pay for a new one")
            with measured() as query:
                after = self.mechanism.step(state, query(), self.rng)
                answer = self.mechanism.answers(after)[-1]  # here, where what fails is told to nobody
                self._write(after, label)
        return turn, answer

    def open(self, pay: Callable[[Guarantee[Any]], object]) -> None:
        """Pay the whole price, then draw the secret and write it, encrypted (SOUNDNESS 9).

        A crash between paying and writing leaves a price paid for nothing: it is never paid back.
        """
        with self.sealed.locked():
            if self.sealed.taken:
                raise Refusal(f"there is already a state file {self.path}", hint="resume it, or choose another name")
            self.sealed.create_key()
            pay(Guarantee(self.mechanism.privacy, self.mechanism.neighbours))
            self._write(self.mechanism.start(self.rng))

    def _read(self) -> tuple[S, str]:
        content = json.loads(self.sealed.read())
        last = str(content.pop(_LAST))
        return self.mechanism.decode(content), last

    def _write(self, state: S, label: str = "") -> None:
        """Make this the state, durably, in as many bytes as any other."""
        text, room = json.dumps({**self.mechanism.encode(state), _LAST: label}), self.mechanism.room
        self.sealed.write(text.ljust(-(-len(text) // room) * room).encode())


class Openable(Generic[S, Q, A, L]):
    """What every interactive mechanism can do: run whole in memory, or be opened and resumed."""

    def __call__(self: Interactive[S, Q, A, L], queries: Iterable[Q], /, *, rng: Entropy = SECURE) -> tuple[A, ...]:
        """A whole session in memory: the answers, until it is closed. How many queries there are is public."""
        state = self.start(rng)
        for query in queries:
            if finished(self, state):
                break
            state = self.step(state, query, rng)
        return self.answers(state)

    def told(self, answer: A) -> Plain:
        """An answer as JSON holds it; one that is plain already as it is."""
        return answer  # type: ignore[return-value]  # where it is not plain, the class says how it is told

    def heard(self, told: Any) -> A:  # noqa: ANN401  # what came through a door
        """The answer that `told` told."""
        return told  # type: ignore[no-any-return]

    def open(
        self: Interactive[S, Q, A, L],
        path: Path | str,
        key_file: Path | str,
        *,
        dataset: str,
        pay: Callable[[Guarantee[L]], object],
        rng: Entropy = SECURE,
    ) -> Session[S, Q, A]:
        """A new session, paid first, its state in `path`; a key is made where `key_file` has none.

        `dataset` names the version of the data; the state opens for no other.
        """
        session = Session(self, Path(path), Path(key_file), dataset, rng)
        session.open(pay)
        return session

    def resume(
        self: Interactive[S, Q, A, L],
        path: Path | str,
        key_file: Path | str,
        *,
        dataset: str,
        rng: Entropy = SECURE,
    ) -> Session[S, Q, A]:
        """The session as it was left; refused unless key, mechanism and data version are those it was opened with."""
        session = Session(self, Path(path), Path(key_file), dataset, rng)
        session.sealed.read()
        return session
