"""Kind of release, and the wish that asks for one.

A kind brings all that every door needs to offer its releases, pay for them, keep, show, check and read them. It is
registered by its name, or found among the entry points `discreet.release_kinds` of whatever is installed. Publisher,
certificates, folders, pages, the command line, HTTP and the console know kinds by this page alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from discreet.declared.table import check_caps, chosen
from discreet.errors import Refusal, about
from discreet.exact import Number, count, positive, share, shown
from discreet.mechanisms import Outline, Pair, TableMechanism
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.mechanisms.registry import Plain
from discreet.release.bins import written

if TYPE_CHECKING:
    from discreet.release.release import Release
    from discreet.sql.relation_facts import Facts

_GROUP = "discreet.release_kinds"
_COMMON = ("kind", "columns", "epsilon", "rho", "delta", "max_rows")
_KINDS: dict[str, Kind] = {}


@dataclass(frozen=True)
class Preview:
    """Public side of a release before it is paid: how much it will be, of what its error is, what is done to rows."""

    cells: int  # numbers that are published, at most
    about: str  # of what the stated error is
    tables: tuple[tuple[str, ...], ...]  # the columns of each
    facts: Mapping[str, Plain] = field(default_factory=dict)  # what else there is to know, for programs
    lines: tuple[str, ...] = ()  # the same for people, each beginning with its subject: "rows …"
    method: str = ""  # by which mechanism
    unit: str = "cells"  # what the numbers are called
    later: str = "as exact as each says"  # how exact what it is about turns out, where that is known after paying


class ReleaseMechanism(TableMechanism["Release"], Protocol):
    """A mechanism over a relation that makes a release. `pairs` are the inputs on which an audit tries it."""

    @property
    def preview(self) -> Preview:
        """What is public about it before it is paid."""
        ...

    def error(self, confidence: Number = USUAL, /) -> Fraction | int | None:
        """How far off what `preview.about` names may be; None where that is known after paying."""
        ...

    def pairs(self) -> tuple[Pair[Any], ...]:
        """Tables that differ by one unit, where that shows most."""
        ...


def _fits(column: str, facts: Facts, /) -> None:
    """Any column will do that the plan takes."""


@dataclass(frozen=True)
class Kind:
    """A kind of release: its name, its words for people, and its three parts.

    `wish` is what may be asked for, `plan` makes of a wish and what is declared of rows the mechanism, and `release` is
    the class of what that tells: from it follow files, pictures, answers, and the lines of a certificate. `fits` may
    refuse a column by all that is known of it, in better words than a plan has.
    """

    name: str
    title: str  # above it: Histogram
    words: str  # what it is for, in a sentence or two
    wish: type[Wish]
    plan: Callable[[Outline, Any], ReleaseMechanism]
    release: type[Release]
    phrase: str = ""  # before "of age": A histogram
    help: str = ""  # one line of the command line; else the words
    fits: Callable[[str, Facts], None] = _fits


def register(kind: Kind) -> Kind:
    """Make a kind known. The meaning of a name never changes; a new meaning gets a new name."""
    if _KINDS.setdefault(kind.name, kind) != kind:
        raise ValueError(f"two kinds of release are called {kind.name!r}")
    return kind


def kinds() -> tuple[Kind, ...]:
    """All that are known, our own first."""
    _installed()
    return tuple(_KINDS.values())


def named(name: object) -> Kind:
    """The kind of a name."""
    _installed()
    if isinstance(name, str) and name in _KINDS:
        return _KINDS[name]
    raise Refusal(f"expected kind as one of {list(_KINDS)}, got kind={shown(name)}")


def publication(outline: Outline, wish: Wish) -> ReleaseMechanism:
    """The mechanism that a wish is, for rows of which only what is declared is known."""
    return named(wish.kind).plan(outline, wish)


@cache
def _installed() -> None:
    """Load the kinds that other packages bring."""
    for each in entry_points(group=_GROUP):
        register(each.load())


# what is asked for ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Option:
    """How people say a part of a wish that only some kinds have: on the command line, and in a form.

    `read` makes of a text what the part is; without it the text is. `choices` are what a form lets choose from, each
    with its words; a form asks for the part only if it has a `label`.
    """

    help: str = ""
    metavar: str = ""
    read: Callable[[str], object] = str
    many: bool = False  # COLUMN=TEXT, as often as there are columns
    together: bool = False  # in a form all of them are one text, and not one for each column; `read` takes it apart
    label: str = ""
    usual: str = ""  # what is said where nothing is filled in
    tip: str = ""
    choices: Callable[[Any], Mapping[str, str]] | None = None  # of a class of wishes

    @property
    def by_column(self) -> bool:
        """Whether a form asks for it beside each column."""
        return self.many and not self.together


def part(option: Option, default: object = None) -> Any:  # noqa: ANN401  # as `field` has it
    """A field of a wish that people are asked for as the option says."""
    if isinstance(default, dict):  # no two wishes share one, and it has no hash
        return field(default_factory=dict, hash=False, metadata={"option": option})
    return field(default=default, metadata={"option": option})


@dataclass(frozen=True)
class Wish:
    """A release that somebody asks for. Everything is checked that can be without knowing the table.

    The price is either `epsilon`, perhaps with `delta`, or `rho`; prices are kept as exact text. `max_rows` is how many
    rows of one unit count, by default as declared. A kind adds parts of its own as fields.
    """

    fewest: ClassVar[int] = 1  # columns that somebody who fills in a form must choose
    finds: ClassVar[bool] = False  # whether keys of a column of text can be found within its price
    every: ClassVar[bool] = False  # whether without columns it is of all that can be counted

    kind: str
    columns: tuple[str, ...] = ()
    epsilon: Number | None = None
    rho: Number | None = None
    delta: Number | None = None
    max_rows: int | None = None

    def __post_init__(self) -> None:
        columns = names_of(self.columns, "columns")
        if not columns:
            raise Refusal(f"expected different columns, at least one, got columns={shown(list(columns))}")
        settle(
            self,
            columns=columns,
            epsilon=None if self.epsilon is None else written(positive(self.epsilon, "epsilon")),
            rho=None if self.rho is None else written(positive(self.rho, "rho")),
        )
        with about("delta"):
            settle(self, delta=None if self.delta is None else written(share(self.delta, "delta")))
        with about("max_rows"):
            settle(self, max_rows=None if self.max_rows is None else count(self.max_rows, "max_rows"))
            check_caps(self.max_rows, 1)
        if (self.epsilon is None) == (self.rho is None):
            given = "both" if self.rho is not None else "neither"
            raise Refusal(f"a publication names one of epsilon and rho, got {given}", hint="say epsilon='1', for one")
        if self.delta is not None and not self.takes_delta:
            raise Refusal(
                f"delta={self.delta} has no meaning for this {self.kind}: it promises without one",
                hint="leave it out; it belongs to epsilon and to Gaussian noise, as marginals have it",
                field="delta",
            )

    @property
    def takes_delta(self) -> bool:
        """Whether its ε goes with a δ."""
        return False

    @classmethod
    def of(cls, kind: str, columns: Sequence[str] = (), **parts: Any) -> Wish:  # noqa: ANN401  # each is checked
        """Of a kind, some columns and whatever else is said."""
        own = named(kind).wish
        known = [each.name for each in fields(own)]
        unknown = [name for name in parts if name not in known]
        if unknown:
            others = [each.name for each in kinds() if any(part.name in unknown for part in fields(each.wish))]
            there = f"; that is for {' and '.join(others)}" if others else ""
            raise Refusal(f"{kind} has no part {shown(unknown)}", hint=f"it has {known[1:]}{there}")
        return own(kind, columns, **parts)  # type: ignore[arg-type]  # a list is read as a tuple

    @classmethod
    def read(cls, given: object) -> Wish:
        """The wish that a mapping holds, whoever wrote it."""
        if not isinstance(given, Mapping):
            raise Refusal(f"expected a publication as a mapping of its parts, got {shown(given)}")
        if "kind" not in given:
            raise Refusal("a publication needs its kind", hint=f"one of {[each.name for each in kinds()]}")
        said = {str(name): value for name, value in given.items() if value not in (None, [], (), {})}
        return cls.of(**said)

    @classmethod
    def recalled(cls, given: Mapping[str, Any]) -> Wish:
        """The wish that was paid for; of a kind that is not installed any more, what all wishes have."""
        if any(each.name == given["kind"] for each in kinds()):
            return cls.read(given)
        common = {name: given[name] for name in _COMMON if name in given and name != "delta"}
        return Wish(**common)

    @classmethod
    def options(cls) -> dict[str, Option]:
        """The parts that this kind has and others may not, by name."""
        return {each.name: each.metadata["option"] for each in fields(cls) if "option" in each.metadata}

    @classmethod
    def names_columns(cls, parts: Mapping[str, object]) -> bool:  # noqa: ARG003  # of those that do
        """Whether some other part names the columns."""
        return False

    @property
    def found(self) -> Mapping[str, int]:
        """The columns whose keys are to be found within the price, and how many of each at most."""
        return {}

    def told(self) -> dict[str, Plain]:
        """The wish as plain values that `read` takes back; what was not said is left out."""
        parts = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: _plain(value) for name, value in parts.items() if value not in (None, (), {}, "")}

    def spelled(self, names: Iterable[str]) -> Wish:
        """The same wish, its columns spelled as those of a table are; what is not there stays as it is."""
        known = tuple(names)
        spelling = {name: chosen(name, known) or name for name in self.columns}
        return replace(self, columns=tuple(spelling.values()), **self.respelled(spelling))

    def respelled(self, spelling: Mapping[str, str]) -> dict[str, Any]:  # noqa: ARG002  # of those that do
        """Its own parts that name columns, with their names so spelled."""
        return {}


def _plain(value: Any) -> Plain:  # noqa: ANN401  # a part that was checked
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return dict(value) if isinstance(value, Mapping) else value


def listed(value: object, name: str) -> tuple[object, ...]:
    """The parts of a list, if it is one."""
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        return tuple(value)
    raise Refusal(f"expected {name} as a list, got {name}={shown(value)}")


def names_of(value: object, name: str) -> tuple[str, ...]:
    """Different names of columns, if a list has nothing else."""
    given = listed(value, name)
    names = tuple(one for one in given if isinstance(one, str) and one)
    if len(names) < len(given) or len(set(names)) < len(names):
        raise Refusal(f"expected {name} as different names of columns, got {shown(value)}")
    return names
