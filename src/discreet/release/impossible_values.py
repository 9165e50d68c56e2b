"""What somebody says no record can be: values that never come together, and columns that follow from another.

    never    "sex=m & pregnant=yes; age=0:15 & status=married,widowed"
             or [{"sex": "m", "pregnant": "yes"}, …]
    follows  county="zip: 10115>Berlin, 20095>Hamburg"
             or {"county": ["zip", {"10115": "Berlin", …}]}

Nothing of it is looked up in data, and records that are so all the same are counted as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from discreet.declared.table import chosen
from discreet.errors import Refusal, about
from discreet.exact import shown
from discreet.mechanisms.registry import Plain
from discreet.release.axis import OTHER, NumberAxis, Side
from discreet.release.release_kind import listed
from discreet.release.synthetic.impossible import Rule

MOST = 1 << 14  # rules, and values that follow
_NEVER = "never takes values that no record has together, as sex=m & pregnant=yes; age=0:15 & status=married"
_FOLLOWS = "follows takes for a column the one it follows from, and which value from which, as zip: 10115>Berlin"


def read_never(given: object, columns: Sequence[str]) -> tuple[dict[str, Plain], ...]:
    """The combinations in the plainest form: for each column a text as `Side.asked` takes it, or a list of texts."""
    if isinstance(given, str):
        given = [_conditions(text) for text in given.split(";") if text.strip()]
    told: list[dict[str, Plain]] = []
    for rule in listed(given, "never"):
        if not isinstance(rule, Mapping) or not rule:
            raise Refusal(f"{_NEVER}, got {shown(rule)}", field="never")
        told.append({_column(name, columns): _texts(value) for name, value in rule.items()})
    if len(told) > MOST:
        raise Refusal(f"expected at most {MOST} combinations, got {len(told)}", field="never")
    return tuple(told)


def _conditions(text: str) -> dict[str, str]:
    told = {}
    for each in text.split("&"):
        name, equals, value = each.partition("=")
        if not equals or not name.strip():
            raise Refusal(f"{_NEVER}, got {shown(text.strip())}", field="never")
        told[name.strip()] = value.strip()
    return told


def read_follows(given: object, columns: Sequence[str]) -> dict[str, list[Plain]]:
    """For each column that follows the one it follows from, and a mapping of texts."""
    if not isinstance(given, Mapping):
        raise Refusal(f"{_FOLLOWS}, got {shown(given)}", field="follows")
    told: dict[str, list[Plain]] = {}
    for name, value in given.items():
        source, values = _pairs(value) if isinstance(value, str) else _listed_pairs(value)
        child, parent = _column(name, columns), _column(source, columns)
        if child == parent:
            raise Refusal(f"column {child!r} cannot follow from itself", field="follows")
        if not values or len(values) > MOST:
            raise Refusal(f"{_FOLLOWS}, at least one and at most {MOST}, got {len(values)}", field="follows")
        told[child] = [parent, dict(values)]
    return told


def _pairs(text: str) -> tuple[str, dict[str, str]]:
    source, colon, rest = text.partition(":")
    values = {}
    for each in rest.split(","):
        one, arrow, other = each.partition(">")
        if not colon or not arrow:
            raise Refusal(f"{_FOLLOWS}, got {shown(text)}", field="follows")
        values[one.strip()] = other.strip()
    return source.strip(), values


def _listed_pairs(value: object) -> tuple[object, dict[str, str]]:
    parts = listed(value, "follows")
    if len(parts) != 2 or not isinstance(parts[1], Mapping):
        raise Refusal(f"{_FOLLOWS}, got {shown(value)}", field="follows")
    return parts[0], {_text(one): _text(other) for one, other in parts[1].items()}


def _column(name: object, columns: Sequence[str]) -> str:
    found = chosen(str(name), columns)
    if found is None:
        raise Refusal(f"there is no column {shown(name)} in the rows", hint=f"the columns are {shown(list(columns))}")
    return found


def _texts(value: object) -> Plain:
    if isinstance(value, (list, tuple)):
        return [None if each is None else _text(each) for each in value]
    return _text(value)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# over cells -----------------------------------------------------------------------------------------------------------


def rules(
    never: Sequence[Mapping[str, Plain]], follows: Mapping[str, Sequence[Plain]], sides: Sequence[Side]
) -> tuple[Rule, ...]:
    """The same over the cells of the sides, of which each has one more, the last, for what is in no other."""
    places = {side.column: place for place, side in enumerate(sides)}

    def part(column: str, text: Plain) -> tuple[int, tuple[int, ...]]:
        place = places[column]
        return place, _cells(sides[place], text)

    told = [tuple(part(column, text) for column, text in rule.items()) for rule in never]
    for child, (parent, values) in follows.items():
        every = range(len(sides[places[child]]))
        for one, other in dict(values).items():  # type: ignore[arg-type]  # `read_follows` made it
            place, cells = part(child, str(other))
            if others := tuple(cell for cell in every if cell not in cells):
                told.append((part(str(parent), one), (place, others)))
    return tuple(told)


def _cells(side: Side, text: Plain) -> tuple[int, ...]:
    """The cells of a side that a text names, or a list: of keys, or from and to. Whole ones."""
    with about(side.column):
        weights, said = side.weights(_asked(side, text))
    cells = np.flatnonzero(weights)
    if said or not cells.size:
        edges = f": {side.labels[0]}, {side.labels[1]}, …" if isinstance(side, NumberAxis) and len(side) > 2 else ""
        raise Refusal(
            f"{side.column}={text} is no whole cell of {side.column!r}{edges}",
            hint="name bins of it whose edges are there, with --bins",
            field=side.column,
        )
    return tuple(cells.tolist())


def _asked(side: Side, text: Plain) -> object:
    """What `Side.weights` takes. A key may be spelled as JSON has it."""
    if text == side.labels[-1]:
        return OTHER
    if isinstance(side, NumberAxis):
        return text if isinstance(text, list) else side.asked(str(text))
    known = dict(zip(side.labels, side.values, strict=True))
    known |= {str(key).lower(): key for key in side.keys if isinstance(key, bool)}
    parts = text if isinstance(text, list) else [text] if text in known else str(text).split(",")
    return [known.get("NULL" if part is None else str(part), part) for part in parts]
