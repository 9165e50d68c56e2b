"""Outputs of a mechanism that runs many times, and what can be seen of each.

Whatever comes out is an output: numbers, a text, nothing at all, an exception. Two may be equal and look different: a
number that carries a note, a record with a field that is not compared. So each is turned into plain values, by which
outputs are compared, counted and told apart: of an object its class and attributes, of whatever can be gone through its
items, of a function what it has closed over.
"""

from __future__ import annotations

import inspect
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import cached_property
from itertools import islice
from operator import eq
from types import (
    BuiltinMethodType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
)
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.noise import SECURE, Entropy

MOST_ITEMS = 256  # of what an iterator yields
MOST_PARTS = 256  # of one output are looked at
DEEPEST = 6  # objects within objects

_PLAIN = {int, float, bool, str, bytes, type(None), type(Ellipsis), Fraction, Decimal}
_KINDS = (int, float, str, bytes, Fraction, Decimal)  # what may carry attributes beside its value
_FOREIGN = {"builtins", "abc", "typing", "numbers", "fractions", "decimal", "collections.abc", "numpy"}
_METHODS = (MethodType, BuiltinMethodType, MethodWrapperType)  # of an object that whoever holds them gets too
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
        else:
            yield from self._brought(output)

    def _brought(self, output: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401  # anything
        """What comes along with bytes, exceptions, functions, and whatever can be gone through."""
        if isinstance(output, (bytearray, memoryview, array)):
            yield "", bytes(output)
        elif isinstance(output, BaseException):
            yield " as raised", Raised.of(output, self)
        elif isinstance(output, FunctionType):
            yield from self._captured(output)
        elif isinstance(output, _METHODS):
            yield ".__self__", self.at(output.__self__)
        elif isinstance(output, Iterator) or not _is_ours(output):
            yield from self._yielded(output)

    def _captured(self, output: FunctionType) -> Iterator[tuple[str, object]]:
        """What a function brings with it: defaults, and what it has closed over."""
        yield from ((f".__defaults__[{i}]", self.at(value)) for i, value in enumerate(output.__defaults__ or ()))
        yield from ((f".__kwdefaults__[{name!r}]", self.at(v)) for name, v in (output.__kwdefaults__ or {}).items())
        for place, cell in enumerate(output.__closure__ or ()):
            with suppress(ValueError):  # a cell that is empty
                yield f".__closure__[{place}]", self.at(cell.cell_contents)

    def _yielded(self, output: Any) -> Iterator[tuple[str, object]]:  # noqa: ANN401  # anything
        """What an object yields if it can be gone through, as far as it is followed; that it raises is seen too."""
        try:
            items = iter(output)
        except TypeError:
            return
        for place in range(MOST_ITEMS):
            try:
                part = next(items)
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


def _is_ours(output: object) -> bool:
    """Whether an object is of this package: properties and items of such are functions of what it carries."""
    return type(output).__module__.startswith("discreet.")


def _attributes(output: object) -> dict[str, object]:
    """What an object carries under a name, and what its class computes under one."""
    kept: dict[str, object] = {
        name: value for name, value in (getattr(output, "__dict__", None) or {}).items() if not name.startswith("__")
    }
    for base in type(output).__mro__:
        if base.__module__.split(".")[0] in _FOREIGN:
            continue
        for name, member in vars(base).items():
            if name.startswith("__") or name in kept or not isinstance(member, _COMPUTED):
                continue
            if _is_ours(output) and isinstance(member, (property, cached_property)):
                continue
            try:
                kept[name] = getattr(output, name)
            except AttributeError:  # a slot that is empty
                continue
            except Exception as raised:  # noqa: BLE001  # an exception is an output
                kept[name] = Raised(type(raised).__name__, str(raised))
    return kept


Outputs: TypeAlias = NDArray[Any] | Sequence[object]  # an array holds one output a row
Form: TypeAlias = tuple[str, tuple[int, ...]]  # of an array that holds outputs: its type, and the shape of one
_HUGE = 1 << 62


def draw(mechanism: Callable[..., object], data: object, size: int, *, rng: Entropy = SECURE) -> Outputs:
    """`size` outputs on one input: by the mechanism's `sample` if it has one that works, else call by call.

    The source of randomness is given to a parameter called `rng` that can be given by that name only, and has no
    default or one of our sources as its default. Whatever else is called `rng` is the mechanism's own affair.
    """
    many = getattr(mechanism, "sample", None)
    if callable(many) and _takes_rng(many):
        try:
            outputs: Any = many(data, size, rng=rng)
        except Exception:  # noqa: BLE001  # then single calls will tell what is raised, and how often
            return _singly(mechanism, data, size, rng)
        if len(outputs) != size:
            raise Refusal(f"expected {size} outputs of {mechanism!r}.sample, got {len(outputs)}")
        return outputs if _numeric(outputs) else [seen(output) for output in listed(outputs)]
    return _singly(mechanism, data, size, rng)


def once(mechanism: Callable[..., object], data: object, *, rng: Entropy = SECURE) -> object:
    """One output, or how it raised."""
    return _singly(mechanism, data, 1, rng)[0]


def _singly(mechanism: Callable[..., object], data: object, size: int, rng: Entropy) -> list[object]:
    call = (lambda: mechanism(data, rng=rng)) if _takes_rng(mechanism) else (lambda: mechanism(data))
    return [_output(call) for _ in range(size)]


def _takes_rng(mechanism: Callable[..., object]) -> bool:
    try:
        rng = inspect.signature(mechanism).parameters.get("rng")
    except (TypeError, ValueError):  # a builtin without a signature
        return False
    if rng is None or rng.kind is not inspect.Parameter.KEYWORD_ONLY:
        return False
    return rng.default is inspect.Parameter.empty or all(
        callable(getattr(rng.default, name, None)) for name in ("bits", "raw")
    )


def _output(call: Callable[[], object]) -> object:
    try:
        return seen(call())
    except Exception as raised:  # noqa: BLE001  # an exception is an output
        return Raised.of(raised)


def all_raised(outputs: Outputs) -> Raised | None:
    """An exception, if nothing came out of any of these runs but exceptions."""
    if isinstance(outputs, np.ndarray) or not outputs or not all(isinstance(each, Raised) for each in outputs):
        return None
    first = outputs[0]
    return first if isinstance(first, Raised) else None


def _numeric(outputs: object) -> bool:
    return isinstance(outputs, np.ndarray) and outputs.dtype.kind in "biuf"


def packed(outputs: Sequence[object]) -> Outputs:
    """As an array, where all are numbers of one type or vectors of one type and length, and nothing is lost."""
    if len(set(map(type, outputs))) != 1:
        return outputs
    if isinstance(outputs[0], np.ndarray):
        return _stacked(outputs)  # type: ignore[arg-type]
    if isinstance(outputs[0], (tuple, list)):
        return _flattened(outputs)  # type: ignore[arg-type]
    return _numbers(outputs)


def form(outputs: Outputs) -> Form | None:
    """Of an array of outputs; none of a list."""
    return (outputs.dtype.str, outputs.shape[1:]) if isinstance(outputs, np.ndarray) else None


def together(left: Outputs, right: Outputs) -> tuple[Outputs, Outputs]:
    """Two samples in one form: both as arrays of one type and shape, or both as lists."""
    if form(left) is not None and form(left) == form(right):
        return left, right
    whole = packed([*listed(left), *listed(right)])
    return whole[: len(left)], whole[len(left) :]


def parted(outputs: Outputs, known: Form | None) -> list[Outputs]:
    """The outputs that are numbers of a known form, as an array, and all others, as a list.

    Where an output goes depends on that output alone, whatever came with it: one that raises, in a hundred thousand
    that do not, must not change how the others are read.
    """
    if known is None:
        return [list(listed(outputs))]
    whole = outputs if isinstance(outputs, np.ndarray) else packed(outputs)
    if form(whole) == known:
        return [whole]
    each = [(output, packed([output])) for output in listed(outputs)]
    fit = [one for _, one in each if isinstance(one, np.ndarray) and form(one) == known]
    others = [output for output, one in each if form(one) != known]
    return [*([np.concatenate(fit)] if fit else []), others]


def _stacked(outputs: Sequence[NDArray[Any]]) -> Outputs:
    first = outputs[0]
    alike = all(part.shape == first.shape and part.dtype == first.dtype for part in outputs)
    return np.stack(outputs) if alike and first.size and _numeric(first) else outputs


def _flattened(outputs: Sequence[Sequence[object]]) -> Outputs:
    if not outputs[0] or len(set(map(len, outputs))) != 1:
        return outputs
    cells = packed([cell for part in outputs for cell in part])
    return cells.reshape(len(outputs), -1) if isinstance(cells, np.ndarray) and cells.ndim == 1 else outputs


def _numbers(outputs: Sequence[Any]) -> Outputs:
    first = outputs[0]
    if isinstance(first, Fraction):
        near = [float(part) for part in outputs if abs(part) < _HUGE]
        return np.asarray(near) if len(near) == len(outputs) and all(map(eq, near, outputs)) else outputs
    if isinstance(first, int) and not all(-_HUGE < n < _HUGE for n in outputs):
        return outputs
    return np.asarray(outputs) if isinstance(first, (bool, int, float, np.number, np.bool_)) else outputs


def rows(array: NDArray[Any]) -> NDArray[Any]:
    """One output a row, whatever its shape was."""
    return array.reshape(len(array), -1)


def keys(outputs: Outputs) -> Sequence[Hashable]:
    """Something hashable for each output, equal where the outputs are equal to the last bit."""
    if not isinstance(outputs, np.ndarray):
        return [_key(output) for output in outputs]
    flat = np.ascontiguousarray(rows(outputs))
    if flat.shape[1] == 0:
        return [b""] * len(flat)
    if flat.shape[1] == 1 and flat.dtype.itemsize == 8:
        return flat.ravel().view(np.int64).tolist()  # of floats the bits: −0 is not 0, and NaN is itself
    whole: Sequence[Hashable] = flat.view(f"V{flat.shape[1] * flat.dtype.itemsize}").ravel().tolist()
    return whole


def _key(output: object) -> Hashable:
    if isinstance(output, np.ndarray):
        return output.shape, output.dtype.str, output.tobytes()
    if isinstance(output, Thing):
        return output.key
    if isinstance(output, (tuple, list, float, set, frozenset, dict, Raised)):
        return repr(output)  # tells 1 from 1.0 from True, and the order of a set or a dictionary, which shows
    try:
        hash(output)
    except TypeError:
        return repr(output)
    return type(output), output


def listed(outputs: Outputs) -> Iterable[object]:
    """The outputs one by one, as Python's own values."""
    return outputs.tolist() if isinstance(outputs, np.ndarray) else outputs
