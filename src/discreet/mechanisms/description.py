"""Canonical description of a value: equal for equal values, and never for others, however long they are."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
from collections.abc import Mapping
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

import numpy as np

Plain: TypeAlias = "bool | int | str | list[Plain] | dict[str, Plain] | None"


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
    if dataclasses.is_dataclass(value):
        fields = {field.name: description(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {"class": _name(type(value)), "fields": fields}
    return _scalar(value) or _collection(value)


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
