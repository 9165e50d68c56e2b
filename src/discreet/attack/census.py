"""Census blocks from their published tables: all lists of people whose counts, medians and totals are these.

Threat model: the attacker sees the tables of a small block, exact but for cells that were left out, and nothing else.
A list of people that is the only one to fit is the block (Garfinkel, Abowd & Martindale 2018).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from discreet.errors import Ground, Refusal

Person = tuple[int | bool, ...]  # age, then whether each attribute holds
OLDEST = 115
_Sum = tuple[tuple[int, ...], int]  # places of people by age, and what their ages add up to


@dataclass(frozen=True)
class Group:
    """A line of a table: who is counted, by attributes that hold or do not; how many; median and sum of their ages.

    Median and sum may be None, if they were left out. `youngest` is what everybody knows of all in the group.
    """

    who: Mapping[str, bool]
    count: int
    median: float | None = None
    total: int | None = None
    youngest: int = 0


def blocks(groups: Sequence[Group], attributes: Sequence[str]) -> Iterator[tuple[Person, ...]]:
    """Every list of people, by age, that fits all groups. One of `groups` must count everybody.

    Attributes are given to people one after another, as often as some group says at most; ages follow by narrowing
    intervals until no list that is left out could fit, and by trying what is left.
    """
    everybody = [group.count for group in groups if not group.who]
    unknown = {name for group in groups for name in group.who} - set(attributes)
    if len(everybody) != 1 or not 1 <= everybody[0] <= 12 or unknown:
        raise Refusal(
            f"expected one group of everybody, of 1 to 12 people, and attributes {', '.join(attributes)}",
            ground=Ground.VALUE,
        )
    seen = set()
    for held in _given(groups, attributes, everybody[0], {}):
        for ages in _aged(_ranges(groups, held, everybody[0]), _sums(groups, held, everybody[0])):
            block = tuple(sorted((age, *(i in held[name] for name in attributes)) for i, age in enumerate(ages)))
            if block not in seen:
                seen.add(block)
                yield block


def _given(
    groups: Sequence[Group], attributes: Sequence[str], people: int, held: dict[str, frozenset[int]]
) -> Iterator[dict[str, frozenset[int]]]:
    """Who, by place in the order of age, has which attribute: what no group contradicts so far."""
    said = [group for group in groups if set(group.who) <= set(held)]
    if any(len(_members(group, held, people)) != group.count for group in said):
        return
    if _narrowed(_ranges(said, held, people), _sums(said, held, people)) is None:
        return
    if len(held) == len(attributes):
        yield held
        return
    name = attributes[len(held)]
    counts = {group.count if group.who[name] else people - group.count for group in groups if set(group.who) == {name}}
    for size in (counts or set(range(people + 1))) & set(range(people + 1)):
        for places in combinations(range(people), size):
            yield from _given(groups, attributes, people, {**held, name: frozenset(places)})


def _members(group: Group, held: Mapping[str, frozenset[int]], people: int) -> tuple[int, ...]:
    return tuple(i for i in range(people) if all((i in held[name]) == holds for name, holds in group.who.items()))


def _ranges(groups: Sequence[Group], held: Mapping[str, frozenset[int]], people: int) -> list[tuple[int, int]]:
    least = [0] * people
    for group in groups:
        for i in _members(group, held, people):
            least[i] = max(least[i], group.youngest)
    return [(low, OLDEST) for low in least]


def _sums(groups: Sequence[Group], held: Mapping[str, frozenset[int]], people: int) -> list[_Sum]:
    """Medians and totals as sums of ages: a median is the middle age, or half of what the two middle ages add up to."""
    found: list[_Sum] = []
    for group in groups:
        places = _members(group, held, people)
        if group.median is not None and places:
            middle = places[(len(places) - 1) // 2 : len(places) // 2 + 1]
            found.append((middle, round(group.median * len(middle))))
        if group.total is not None:
            found.append((places, group.total))
    return found


def _narrowed(ranges: list[tuple[int, int]], sums: Sequence[_Sum]) -> list[tuple[int, int]] | None:
    """The ranges, as narrow as order and each sum by itself make them; None if nothing fits."""
    low, high, before = [a for a, _ in ranges], [b for _, b in ranges], None
    while before != (low, high):
        before = low[:], high[:]
        for i in range(1, len(low)):
            low[i] = max(low[i], low[i - 1])
            high[-i - 1] = min(high[-i - 1], high[-i])
        for places, total in sums:
            least, most = sum(low[i] for i in places), sum(high[i] for i in places)
            if not least <= total <= most:
                return None
            for i in places:
                low[i], high[i] = max(low[i], total - most + high[i]), min(high[i], total - least + low[i])
                least, most = sum(low[k] for k in places), sum(high[k] for k in places)
        if any(a > b for a, b in zip(low, high, strict=True)):
            return None
    return list(zip(low, high, strict=True))


def _aged(ranges: list[tuple[int, int]], sums: Sequence[_Sum]) -> Iterator[list[int]]:
    """All ages within the ranges that fit the sums, in order."""
    narrow = _narrowed(ranges, sums)
    if narrow is None:
        return
    open_ = [i for i, (low, high) in enumerate(narrow) if low < high]
    if not open_:
        yield [low for low, _ in narrow]
        return
    place = min(open_, key=lambda i: narrow[i][1] - narrow[i][0])
    for age in range(narrow[place][0], narrow[place][1] + 1):
        yield from _aged([*narrow[:place], (age, age), *narrow[place + 1 :]], sums)
