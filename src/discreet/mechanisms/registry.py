"""Mechanisms by name: through a door, a mechanism is a registered name and parameters in JSON, never an object."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
import types
import typing
from collections.abc import Callable, Mapping
from contextlib import suppress
from enum import Enum
from fractions import Fraction
from importlib.metadata import entry_points
from typing import Any, TypeAlias, TypeVar

import numpy as np

from discreet.declared.column import Column
from discreet.declared.table import Caps
from discreet.errors import Refusal
from discreet.exact import LONGEST, exact, shown
from discreet.mechanisms.mechanism import Takes
from discreet.privacy import AddRemove, Replace

Plain: TypeAlias = "bool | int | str | list[Plain] | dict[str, Plain] | None"

C = TypeVar("C", bound=type[Any])
REGISTRY: dict[str, type[Any]] = {}
GROUP = "discreet.mechanisms"  # of the entry points by which an installed package offers mechanisms
OF_COLUMN = frozenset({"lower", "upper", "step", "max_rows"})  # what is declared of a column
OF_RELATION = frozenset({"max_rows", "neighbours"})  # and of all rows
CLAIMS = frozenset({"sensitivity", "sensitivity_squared", "monotone", "size", "function"})  # what a caller could say
_OVER_RELATIONS = (Takes.ROWS, Takes.OWNED_ROWS, Takes.RELATION)
_HEX = 32  # characters of a double in hex, and some
_RELATIONS: dict[str, type[AddRemove | Replace]] = {"add-remove": AddRemove, "replace": Replace}


def digest(value: object) -> str:
    """Digest of a value's description: the key under which an answer is kept."""
    return hashlib.sha256(json.dumps(description(value), sort_keys=True).encode()).hexdigest()


def description(value: object) -> Plain:
    """A value as JSON can hold it: its class and fields, numbers exactly, arrays by the digest of all their bytes.

    What cannot be described, a function say, is described as itself alone: as nothing that was or will be.
    """
    if value is None or isinstance(value, (bool, str)) or type(value) is int:
        return value
    if isinstance(value, type):
        return {"type": _name(value)}
    if isinstance(value, (Caps, Column)):
        return _declared(value)
    if dataclasses.is_dataclass(value):
        fields = {field.name: description(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"class": _name(type(value)), "fields": fields}
    return _scalar(value) or _collection(value)


def _declared(value: Caps | Column) -> Plain:
    """What a mechanism knows of rows, in the words that keys of stored answers are made of."""
    if isinstance(value, Caps):
        return {"class": "Caps", "fields": {"max_rows": value.rows}}
    told: dict[str, object] = {"name": value.name, "keys": value.keys, "grid": value.grid}
    if value.grid is None and value.line is not None:
        told |= {"type": value.type.value, "line": value.line}
    return {"class": "Column", "fields": {name: description(fact) for name, fact in told.items()}}


def _scalar(value: object) -> Plain:
    match value:
        case Enum():
            return {"class": _name(type(value)), "member": value.name}
        case Fraction():
            return {"fraction": [value.numerator, value.denominator]}
        case float() | np.floating():
            return {"float": float(value).hex()}
        case bytes() | bytearray():
            return {"bytes": value.hex()}
        case _:
            return None


def _collection(value: object) -> Plain:
    if isinstance(value, np.ndarray) and value.dtype != object:
        held = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return {"array": [value.dtype.str, list(value.shape), held]}
    if isinstance(value, (tuple, list, np.ndarray)):
        return {"list": [description(each) for each in value]}
    if isinstance(value, (set, frozenset)):
        return {"set": sorted((description(each) for each in value), key=json.dumps)}
    if isinstance(value, Mapping):
        return {"map": [[description(key), description(each)] for key, each in value.items()]}
    return {"unlike": secrets.token_hex(16)}


def _name(kind: type) -> str:
    """What a class is called. Our own are called by their names alone, wherever they are kept."""
    ours = kind.__module__.partition(".")[0] == __name__.partition(".")[0]
    return kind.__qualname__ if ours else f"{kind.__module__}.{kind.__qualname__}"


def registered(name: str) -> Callable[[C], C]:
    """Give a mechanism its public name. The meaning of a name never changes; a new meaning gets a new name."""

    def record(mechanism: C) -> C:
        made = vars(mechanism).get("__dataclass_params__")
        if made is None or not made.frozen:
            raise TypeError(f"{name!r} must be a frozen dataclass: its fields are its public parameters")
        if not isinstance(getattr(mechanism, "takes", None), Takes):
            raise TypeError(f"{name!r} must say what it takes: takes: ClassVar[Takes] = Takes.ROWS, say")
        _check_declared(name, mechanism)
        if REGISTRY.setdefault(name, mechanism) is not mechanism:
            raise ValueError(f"two mechanisms are called {name!r}")
        return mechanism

    return record


def _check_declared(name: str, mechanism: type[Any]) -> None:
    """Refuse a class that would go through a door with a parameter that says something of the data."""
    declared = getattr(mechanism, "declared", None)
    if declared is None:
        return
    fields = {field.name for field in dataclasses.fields(mechanism)}
    facts = OF_RELATION if mechanism.takes is Takes.RELATION else OF_COLUMN
    if not set(declared) <= fields & facts:
        raise TypeError(f"{name!r} can take {sorted(fields & facts)} from what is declared, and no {declared}")
    if mechanism.takes not in _OVER_RELATIONS or not (mechanism.takes is Takes.RELATION or hasattr(mechanism, "over")):
        raise TypeError(f"{name!r} goes through no door: it takes no relation, and has no method `over` for one")
    if claims := sorted(fields & CLAIMS):
        raise TypeError(f"{name!r} goes through no door: whoever says {claims} promises something of the data")


def known(name: object) -> type[Any] | None:
    """The mechanism of this name: of this package, or of one that is installed and offers it.

    A package offers mechanisms as entry points of the group `discreet.mechanisms`, each under its registered name. None
    is imported before it is named.
    """
    if not isinstance(name, str):
        return None
    if name not in REGISTRY:
        for offered in entry_points(group=GROUP, name=name):
            try:
                offered.load()
            except Exception as broken:  # noqa: BLE001  # whatever somebody's module raises
                raise Refusal(f"the package that offers {name!r} cannot be imported: {broken}") from None
    return REGISTRY.get(name)


def names() -> list[str]:
    """What mechanisms are called: those of this package, and those that installed ones offer."""
    return sorted({*REGISTRY, *(offered.name for offered in entry_points(group=GROUP))})


def described(mechanism: object) -> dict[str, Plain]:
    """The name and parameters of a mechanism, as JSON can hold them: rationals as text, doubles in hex, exactly."""
    name = next((name for name, known in REGISTRY.items() if type(mechanism) is known), None)
    if name is None:
        kind = type(mechanism).__name__
        raise Refusal(f"{kind} is not a registered mechanism", hint=f"use one of {', '.join(sorted(REGISTRY))}")
    fields = [field.name for field in dataclasses.fields(REGISTRY[name])]
    return {"name": name, "parameters": {field: _plain(getattr(mechanism, field)) for field in fields}}


def rebuilt(name: object, parameters: object) -> Any:  # noqa: ANN401  # which mechanism, the name says
    """The mechanism of this name and parameters, whatever came through the door, checked as if a person wrote it."""
    return completed(name, parameters, {})


def completed(name: object, parameters: object, facts: Mapping[str, object]) -> Any:  # noqa: ANN401  # the same
    """The same with parameters that are facts of the data besides: those did not come through the door."""
    kind = known(name)
    if kind is None:
        raise Refusal(f"there is no mechanism called {shown(name)}", hint=f"use one of {', '.join(names())}")
    if not isinstance(parameters, Mapping):
        raise Refusal(f"expected the parameters of {name} by their names, got {shown(parameters)}")
    fields = {field.name: field for field in dataclasses.fields(kind) if field.name not in facts}
    unknown = [key for key in parameters if key not in fields]
    if unknown:
        raise Refusal(f"{name} has no parameter {shown(unknown)}", hint=f"it has {', '.join(fields)}")
    missing = [key for key, field in fields.items() if key not in parameters and _required(field)]
    if missing:
        raise Refusal(f"{name} needs {' and '.join(missing)}")
    kinds = typing.get_type_hints(kind)
    return kind(**{key: _typed(value, kinds[key], key) for key, value in parameters.items()}, **facts)


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _plain(value: object) -> Plain:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, Fraction)):
        return _number(value)
    if isinstance(value, float):
        return {"double": value.hex()}
    if type(value) in REGISTRY.values():
        return dict(described(value))
    if isinstance(value, (AddRemove, Replace)):
        relation = next(text for text, kind in _RELATIONS.items() if type(value) is kind)
        return {"relation": relation, "unit": value.unit}
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    raise Refusal(f"a parameter of type {type(value).__name__} cannot go through a door")


def _number(value: int | Fraction) -> int | str:
    """A whole number as it is, a rational as text: what `exact` reads back."""
    try:
        text = str(value)
    except ValueError:  # Python writes no number of more than 4300 digits
        text = ""
    if not 0 < len(text) <= LONGEST:
        raise Refusal(f"a number of more than {LONGEST} digits cannot go through a door, got {shown(value, str)}")
    return value if isinstance(value, int) else text


def _typed(value: Plain, kind: Any, name: str) -> Any:  # noqa: ANN401  # a type at run time
    """`value` as the field's type asks: only plain kinds, so nothing is ever executed."""
    if kind in (AddRemove | Replace, AddRemove, Replace):
        return _relation(value, name)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _one_of(value, inner, name)
    if isinstance(value, dict):
        return _double(value, name) if kind is float else _nested(value, kind, name)
    if kind is Fraction and isinstance(value, (int, str)) and not isinstance(value, bool):
        return exact(value, name)
    if kind in (int, str, bool, type(None)) and type(value) is kind:
        return value
    if origin is tuple and isinstance(value, list):
        each = (inner[0],) * len(value) if inner[1:] == (...,) else inner
        if len(each) == len(value):
            return tuple(_typed(part, part_kind, name) for part, part_kind in zip(value, each, strict=True))
    raise Refusal(f"expected {name} as {getattr(kind, '__name__', kind)}, got {shown(value)}")


def _double(value: Plain, name: str) -> float:
    """A double that was written in hex, which says it exactly."""
    match value:
        case {"double": str(text), **rest} if not rest and len(text) <= _HEX:
            with suppress(ValueError, OverflowError):
                return float.fromhex(text)
    raise Refusal(f"expected {name} as a double in hex, {{'double': '0x1.8p+1'}}, got {shown(value)}")


def _nested(value: dict[str, Plain], kind: Any, name: str) -> Any:  # noqa: ANN401  # a type at run time
    """A mechanism inside another one."""
    if value.keys() != {"name", "parameters"}:
        raise Refusal(f"expected {name} as {getattr(kind, '__name__', kind)}, got {shown(value)}")
    mechanism = rebuilt(value["name"], value["parameters"])
    if isinstance(kind, type) and not isinstance(mechanism, kind) and not getattr(kind, "_is_protocol", False):
        raise Refusal(f"expected {name} as {kind.__name__}, got {shown(value)}")
    return mechanism


def _one_of(value: Plain, kinds: tuple[Any, ...], name: str) -> Any:  # noqa: ANN401  # a type at run time
    for kind in kinds:
        try:
            return _typed(value, kind, name)
        except Refusal:
            continue
    names = [getattr(kind, "__name__", kind) for kind in kinds]
    raise Refusal(f"expected {name} as one of {names}, got {shown(value)}")


def _relation(value: Plain, name: str) -> AddRemove | Replace:
    if isinstance(value, dict) and value.keys() <= {"relation", "unit"}:
        relation, unit = value.get("relation"), value.get("unit", "row")
        if isinstance(relation, str) and relation in _RELATIONS and isinstance(unit, str):
            return _RELATIONS[relation](unit=unit)
    raise Refusal(f"expected {name} as {{'relation': 'add-remove', 'unit': 'row'}}, got {shown(value)}")
