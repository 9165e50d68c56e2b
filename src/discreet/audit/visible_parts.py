"""What whoever gets an output can see of it: of an object its class and attributes, of a generator what it yields.

Two outputs may be equal and look different: a number that carries a note, a record with a field that is not compared.
So every output is turned into plain values first, by which outputs are compared, counted and told apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property
from itertools import islice
from types import GetSetDescriptorType, MemberDescriptorType
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

MOST_ITEMS = 256  # of what an iterator yields
MOST_PARTS = 256  # of one output are looked at
DEEPEST = 6  # objects within objects

_PLAIN = {int, float, bool, str, bytes, type(None), type(Ellipsis), Fraction, Decimal}
_KINDS = (int, float, str, bytes, Fraction, Decimal)  # what may carry attributes beside its value
_FOREIGN = {"builtins", "abc", "typing", "numbers", "fractions", "decimal", "collections.abc", "numpy"}
_COMPUTED = (property, cached_property, MemberDescriptorType, GetSetDescriptorType)

Parts = tuple[tuple[str, object], ...]


@dataclass(frozen=True)
class Raised:
    """What comes out of a run that raises: whoever sees it fail sees how, and whatever the exception carries."""

    kind: str
    text: str
    parts: Parts = ()

    @classmethod
    def of(cls, raised: BaseException, looking: Looking | None = None) -> Raised:
        """Its class, its text, its attributes and what caused it."""
        look = looking or Looking()
        cause = raised.__cause__ or (None if raised.__suppress_context__ else raised.__context__)
        about = [(f" {name}", look.at(value)) for name, value in _attributes(raised).items()]
        about += [(f" args[{i}]", look.at(value)) for i, value in enumerate(raised.args) if value != str(raised)]
        about += [(f" note {i}", note) for i, note in enumerate(getattr(raised, "__notes__", ()))]
        if cause is not None and look.deeper():
            about.append((" cause", cls.of(cause, look)))
        return cls(type(raised).__name__, str(raised), tuple(about))


@dataclass(frozen=True)
class Thing:
    """An object as it is seen: its class, and its parts by how they are reached."""

    kind: str
    parts: Parts
    raw: object = field(compare=False, repr=False)

    @cached_property
    def key(self) -> str:
        """Equal where things look the same: 1, 1.0 and True do not."""
        return repr(self)

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(f'{name.lstrip(chr(46))}={part}' for name, part in self.parts)})"


def seen(output: object) -> object:
    """An output in plain values: itself where it is one."""
    return output if type(output) in _PLAIN else Looking().at(output)


def raw(output: object) -> object:
    """What `seen` was given, for a mechanism that knows its own outputs."""
    return output.raw if isinstance(output, Thing) else output


@dataclass
class Looking:
    """How much of one output is still to be looked at."""

    parts: int = MOST_PARTS
    depth: int = 0

    def deeper(self) -> bool:
        """Whether there may be one more part."""
        self.parts -= 1
        return self.parts >= 0 and self.depth < DEEPEST

    def at(self, output: object) -> object:
        """A value as it is seen; of what lies too deep its class alone."""
        kind = type(output)
        if kind in _PLAIN or isinstance(output, (type, Enum, np.generic, Raised)):
            return output
        if _is_plain_array(output):
            return output.tolist() if self.depth else output  # written out, a long array within others has gaps
        if not self.deeper():
            return Thing(kind.__name__, (), output)
        self.depth += 1
        try:
            return self._within(output)
        finally:
            self.depth -= 1

    def _within(self, output: Any) -> object:  # noqa: ANN401  # anything
        kind = type(output)
        if kind in (tuple, list):
            return kind(self.at(part) for part in output)
        if kind in (set, frozenset) and all(type(member) in _PLAIN for member in output):
            return output
        if kind is dict and all(type(key) in _PLAIN for key in output):
            return {key: self.at(value) for key, value in output.items()}
        parts = [*self._held(output), *((f".{name}", self.at(value)) for name, value in _attributes(output).items())]
        return Thing(kind.__name__, tuple(parts), output)

    def _held(self, output: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401  # anything
        """What an object is or holds besides its attributes."""
        if isinstance(output, _KINDS):
            base = next(base for base in _KINDS if isinstance(output, base))
            yield "", str.__str__(output) if isinstance(output, str) else base(output)  # type: ignore[arg-type]  # its own
        elif isinstance(output, complex):
            yield from ((".real", output.real), (".imag", output.imag))
        elif isinstance(output, np.ndarray):
            yield " dtype", str(output.dtype)
            yield from ((f"[{i}]", self.at(part)) for i, part in enumerate(output.tolist()))
        elif isinstance(output, Mapping):
            yield from ((f"[{key!r}]", self.at(value)) for key, value in islice(output.items(), MOST_ITEMS))
        elif isinstance(output, (tuple, list, set, frozenset)):
            yield from ((f"[{i}]", self.at(part)) for i, part in enumerate(islice(output, MOST_ITEMS)))
        elif isinstance(output, Iterator):
            yield from self._yielded(output)

    def _yielded(self, output: Iterator[object]) -> Iterator[tuple[str, object]]:
        """What an iterator yields, as far as it is followed; that it raises is seen too."""
        for place in range(MOST_ITEMS):
            try:
                part = next(output)
            except StopIteration:
                yield " items", place
                return
            except Exception as raised:  # noqa: BLE001  # an exception is an output
                yield f"[{place}]", Raised.of(raised, self)
                return
            yield f"[{place}]", self.at(part)
        yield " items", MOST_ITEMS + 1


def _is_plain_array(output: object) -> TypeGuard[NDArray[Any]]:
    return type(output) is np.ndarray and output.dtype.kind in "biufcmM"


def _attributes(output: object) -> dict[str, object]:
    """What an object carries under a name, and what its class computes under one."""
    kept: dict[str, object] = {
        name: value for name, value in (getattr(output, "__dict__", None) or {}).items() if not name.startswith("__")
    }
    ours = type(output).__module__.startswith("discreet.")  # properties of ours are functions of what they carry
    for base in type(output).__mro__:
        if base.__module__.split(".")[0] in _FOREIGN:
            continue
        for name, member in vars(base).items():
            if name.startswith("__") or name in kept or not isinstance(member, _COMPUTED):
                continue
            if ours and isinstance(member, (property, cached_property)):
                continue
            try:
                kept[name] = getattr(output, name)
            except AttributeError:  # a slot that is empty
                continue
            except Exception as raised:  # noqa: BLE001  # an exception is an output
                kept[name] = Raised(type(raised).__name__, str(raised))
    return kept
