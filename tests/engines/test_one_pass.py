"""Rows added up as they go by: the caps hold, each owner counts for himself, and codes mean nothing."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.engines.one_pass_bounding import FARTHEST, NARROW, WIDTH, Number, OwnedRows, Rules, Unsuited, tally

NUMBERS = (
    Number("rows"),
    Number("units"),
    Number("present", 0),
    Number("total", 0),
    Number("centred", 0, -7),
    Number("total", 1),
)
Row = tuple[int, str, str, int | None, int]  # owner, two keys, a value that may be missing, one that is not
Totals = dict[tuple[str, str], tuple[int, ...]]
ALWAYS = 10**9  # a cap that binds nobody


def rules(max_groups: int = ALWAYS, max_rows: int | None = ALWAYS, secret: bytes = b"a secret") -> Rules:
    return Rules(max_groups, max_rows, NUMBERS, secret)


def made(owners: int, seed: int, most: int = 30) -> list[Row]:
    """Rows of so many owners; some have many, some of one group only."""
    rng = random.Random(seed)
    rows = [
        (
            owner * 3 - 50,
            rng.choice("abcde"),
            rng.choice("xyz") if owner % 5 else "x",
            None if rng.random() < 0.1 else rng.randint(-1000, 1000),
            rng.randint(-FARTHEST + 1, FARTHEST - 1),
        )
        for owner in range(owners)
        for _ in range(rng.randint(1, most))
    ]
    return sorted(rows, key=lambda row: row[0])


def stream(
    rows: Sequence[Row], rule: Rules, sizes: Sequence[int] = (7,), names: str = "abcdexyz"
) -> Iterator[OwnedRows]:
    """Rows in batches of these sizes, in turn. The codes of groups are the places of their letters in `names`."""
    code = {name: place for place, name in enumerate(names)}
    digests = tuple(np.array([rule.digest(key, name) for name in names], np.uint64) for key in (0, 1))
    start, turn = 0, 0
    while start < len(rows):
        part = rows[start : start + sizes[turn % len(sizes)]]
        start, turn = start + len(part), turn + 1
        groups = np.array([code[row[1]] | code[row[2]] << WIDTH for row in part], np.int64)
        there = np.array([row[3] is not None for row in part])
        values = (
            (np.array([row[3] or 0 for row in part], np.int32), None if there.all() else there),
            (np.array([row[4] for row in part], np.int32), None),
        )
        yield OwnedRows(np.array([row[0] for row in part], np.int64), groups, values, digests)


def counted(
    rows: Sequence[Row], rule: Rules, *, names: str = "abcdexyz", threads: int = 2, sizes: tuple[int, ...] = (7,)
) -> Totals:
    """What a stream adds up to: units, then the numbers, of each group by its names."""
    found = tally(stream(rows, rule, sizes, names), rule, threads)
    groups = [(names[group & (1 << WIDTH) - 1], names[group >> WIDTH]) for group in found.groups]
    columns = [found.units, *found.numbers]
    assert len(set(groups)) == len(groups)
    return dict(zip(groups, zip(*columns, strict=True), strict=True))


def added(parts: Sequence[Totals]) -> Totals:
    total: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * (1 + len(NUMBERS)))
    for part in parts:
        for group, numbers in part.items():
            total[group] = [a + b for a, b in zip(total[group], numbers, strict=True)]
    return {group: tuple(numbers) for group, numbers in total.items()}


def one_by_one(rows: Sequence[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = defaultdict(list)
    for row in rows:
        found[row[0]].append(row)
    return found


def mixed(value: int) -> int:
    """SplitMix64's last steps, in whole numbers."""
    value %= 1 << 64
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % (1 << 64)
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % (1 << 64)
    return value ^ (value >> 31)


def kept(own: Sequence[Row], rule: Rules) -> list[Row]:
    """The rows of one owner that count, by the definition: groups first, then rows, each by the smallest digests."""
    owner = mixed(own[0][0] % (1 << 64) ^ rule.digest(-1, None))
    grouped = {}
    for row in own:
        names = mixed(mixed(rule.digest(0, row[1])) + rule.digest(1, row[2]))
        grouped[row[1], row[2]] = mixed(owner ^ names)
    groups = sorted(grouped, key=lambda group: grouped[group] >> 32)[: rule.max_groups]
    copies: dict[Row, int] = defaultdict(int)
    numbered = []
    for row in own:
        if (row[1], row[2]) in groups:
            digest = grouped[row[1], row[2]]
            for value in row[3:]:
                digest = mixed(digest + (0 if value is None else 2 * value + 1))
            numbered.append((mixed(digest + copies[row]), row))
            copies[row] += 1
    most = len(numbered) if rule.max_rows is None else rule.max_rows
    return [row for _, row in sorted(numbered, key=lambda each: each[0])[:most]]


def by_hand(rows: Sequence[Row], rule: Rules) -> Totals:
    """The same by the definition: every pair of owner and group, of the rows that count."""
    parts: list[Totals] = []
    for own in one_by_one(rows).values():
        pairs: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in kept(own, rule):
            pairs[row[1], row[2]].append(row)
        for group, inside in pairs.items():
            values = [row[3] for row in inside if row[3] is not None]
            numbers = [len(values), sum(values), sum(value + 7 for value in values), sum(row[4] for row in inside)]
            parts.append({group: (1, len(inside), 1, *numbers)})
    return added(parts)


@pytest.mark.parametrize("cap", [1, 5, 12, ALWAYS])
@pytest.mark.parametrize("sizes", [(1,), (7, 1, 40), (100_000,)])
@pytest.mark.parametrize("most", [2, ALWAYS])
def test_numbers_are_those_of_the_definition(cap: int, sizes: tuple[int, ...], most: int) -> None:
    rows, rule = made(12, seed=cap), rules(most, cap)
    rows += [rows[-1]] * 20  # some of the last owner's are alike
    assert counted(rows, rule, sizes=sizes) == by_hand(rows, rule)


@pytest.mark.parametrize("seed", range(6))
def test_each_owner_counts_for_himself_whatever_the_others_do(seed: int) -> None:
    rows, rule = made(60, seed), rules(max_groups=3, max_rows=6)
    alone = [counted(own, rule, names="zyxedcba") for own in one_by_one(rows).values()]  # other codes, same names
    assert counted(rows, rule) == added(alone)
    assert counted(rows, rule, threads=1, sizes=(13, 2)) == added(alone)


@pytest.mark.parametrize("secret", range(20))
def test_a_choice_of_many_groups_does_not_depend_on_how_many_others_there_are(secret: int) -> None:
    """A digest cut to what room others leave would tie where it did not before; here one in fifty choices would."""
    rule = Rules(1500, None, (Number("units"),), bytes([secret]))
    digests = (np.array([rule.digest(0, code) for code in range(3000)], np.uint64),)
    owners, groups = np.repeat(np.arange(10), 3000), np.tile(np.arange(3000, dtype=np.uint16), 10)
    crowd = np.arange(10, 30_010)
    few = OwnedRows(owners, groups, (), digests)
    more = OwnedRows(np.append(owners, crowd), np.append(groups, np.zeros(30_000, np.uint16)), (), digests)
    alone = tally([few], rule, 1).units
    among = tally([more], rule, 1).units
    assert sum(alone) == 10 * 1500
    assert [among[0] - 30_000, *among[1:]] == alone


@pytest.mark.parametrize("most", [1, 3, 4])
def test_an_owner_keeps_as_many_groups_as_he_may_and_no_more(most: int) -> None:
    for own in one_by_one(made(120, seed=most)).values():
        groups = len({(row[1], row[2]) for row in own})
        assert len(counted(own, rules(max_groups=most))) == min(groups, most)


@pytest.mark.parametrize("cap", [1, 4])
def test_caps_hold_for_every_number_over_all_groups(cap: int) -> None:
    bounds = (1, 1, 1, 1, 1000, 1007, FARTHEST)
    for own in one_by_one(made(100, seed=5)).values():
        kept = counted(own, rules(max_groups=2, max_rows=cap))
        assert len(kept) <= 2
        groups = Counter((row[1], row[2]) for row in own)
        assert sum(numbers[1] for numbers in kept.values()) == cap or sum(groups[group] for group in kept) < cap
        for place, bound in enumerate(bounds):
            assert sum(abs(numbers[place]) for numbers in kept.values()) <= cap * bound


def test_every_group_is_as_likely_to_be_kept() -> None:
    own = [(owner, name, "x", 1, 1) for owner in range(4000) for name in "abcde"]
    kept = counted(own, rules(max_groups=2), sizes=(1000,))
    # Hoeffding: a fair choice of 2 in 5 for each of 4000 owners misses by 220 with probability < 1e-9, five groups
    assert all(abs(numbers[0] - 1600) < 220 for numbers in kept.values())
    assert sum(numbers[0] for numbers in kept.values()) == 8000
    chosen = {
        tuple(sorted(name for name, _ in counted(own[start : start + 5], rules(max_groups=2))))
        for start in range(0, 5 * 400, 5)
    }
    assert len(chosen) == 10  # each two of five; that 400 owners miss one of the ten has probability < 1e-17


def test_another_secret_chooses_other_groups() -> None:
    rows = made(60, seed=3)
    assert counted(rows, rules(max_groups=2)) != counted(rows, rules(max_groups=2, secret=b"another"))


def test_an_owner_with_more_rows_than_a_piece_is_still_one() -> None:
    size = NARROW + 5
    rows = [(1, "a", "x", 1, 1)] * 3 + [(2, "ab"[i % 2], "x", i % 7, -i) for i in range(size)] + [(3, "b", "x", 2, 2)]
    assert counted(rows, rules(max_rows=10), sizes=(len(rows),)) == by_hand(rows, rules(max_rows=10))


def test_owners_at_either_end_of_the_numbers_are_owners() -> None:
    rows: list[Row] = [
        (-(2**63), "a", "x", 1, 1),
        (-1, "a", "x", 1, 1),
        (0, "a", "x", 1, 1),
        (2**63 - 1, "a", "x", 1, 1),
    ]
    assert counted(rows, rules())["a", "x"][0] == 4


@pytest.mark.parametrize("sizes", [(100,), (1,)])
def test_rows_that_are_not_in_order_are_not_taken(sizes: tuple[int, ...]) -> None:
    rows: list[Row] = [(owner, "a", "x", 1, 1) for owner in (1, 2, 1, 3)]
    with pytest.raises(Unsuited):
        counted(rows, rules(), sizes=sizes)


def test_of_no_rows_there_is_nothing() -> None:
    assert counted([], rules()) == {}


def test_rows_that_say_the_same_are_not_kept_or_dropped_together() -> None:
    own: list[Row] = [(owner, name, "x", 1, 1) for owner in range(2000) for name in "ab" for _ in range(6)]
    found = counted(own, rules(max_rows=6), sizes=(5000,))
    assert found["a", "x"][1] + found["b", "x"][1] == 6 * 2000
    # Hoeffding for numbers from 0 to 6: a sum of 2000 is 900 off its mean with probability < 2·exp(−22) < 1e-9
    assert abs(found["a", "x"][1] - 3 * 2000) < 900
    each = [
        counted(own[start : start + 12], rules(max_rows=6)).get(("a", "x"), (0, 0))[1] for start in range(0, 720, 12)
    ]
    assert set(each) >= {2, 3, 4}


def test_each_group_keeps_its_share_of_owners_that_have_too_many_rows() -> None:
    own: list[Row] = [(owner, name, "x", int(name < "d"), 0) for owner in range(1000) for name in "abcdexy"]
    for secret in (b"one", b"another"):
        found = counted(own, rules(max_rows=5, secret=secret), sizes=(900,))
        assert sum(numbers[1] for numbers in found.values()) == 5000
        # Hoeffding: each is 107 off 5/7 of 1000 with probability < 1e-9 / 7
        assert all(abs(numbers[1] - 5000 / 7) < 110 for numbers in found.values())


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("ab"), st.just("x"), st.integers(0, 1), st.just(0))))
@settings(deadline=None)
def test_the_order_of_rows_of_one_owner_is_nothing_to_him(rows: list[Row]) -> None:
    rule = rules(max_groups=1, max_rows=2)
    other = list(reversed(rows))
    backward = sorted(other, key=lambda row: row[0])
    assert counted(sorted(rows, key=lambda row: row[0]), rule) == counted(backward, rule)
