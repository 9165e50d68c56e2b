"""Running a mechanism many times. Whatever comes out is an output: numbers, a text, nothing at all, an exception."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from operator import eq
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from discreet.audit.visible_parts import Raised, Thing, seen
from discreet.errors import Refusal
from discreet.noise import SECURE, Entropy

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


def _singly(mechanism: Callable[..., object], data: object, size: int, rng: Entropy) -> Outputs:
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
