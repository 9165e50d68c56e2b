from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise, permutations, product
from typing import Any

import mpmath
import numpy as np
import pytest
from covering import Coverage
from doubles import Seeded
from hypothesis import given
from hypothesis import strategies as st
from mechanisms.chances import Whatever

from discreet.errors import Refusal
from discreet.interval_arithmetic import Interval, exp
from discreet.mechanisms.key_selection import GaussianKeys, Key, LaplaceKeys, OptimalKeys, canonical, each, ordered
from discreet.mechanisms.registry import described, rebuilt
from discreet.privacy import Approximate, Concentrated, Replace

Selector = OptimalKeys | LaplaceKeys | GaussianKeys

SMALL = Fraction(1, 10**6)
PRICES = [
    (Fraction(1), SMALL),
    (Fraction(1, 10), SMALL),
    (Fraction(5), Fraction(1, 100)),
    (Fraction(1, 50), Fraction(1, 7)),
]


def names(answer: frozenset[Key] | frozenset[tuple[Key, int]], selector: Selector) -> list[Key]:
    """The keys of an answer in the order in which it hands them out."""
    return [member if isinstance(selector, OptimalKeys) else member[0] for member in answer]  # type: ignore[index]


def told(mechanism: Selector) -> str:
    return f"{type(mechanism).__name__} {mechanism.max_groups}"


def selectors(delta: Fraction = SMALL, groups: int = 1) -> list[Selector]:
    return [
        OptimalKeys(Fraction(1), delta, groups),
        LaplaceKeys(Fraction(1), delta, groups),
        GaussianKeys(Fraction(1, 10), delta, groups),
    ]


@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
def test_the_chances_of_neighbouring_counts_obey_epsilon_and_delta_exactly(epsilon: Fraction, delta: Fraction) -> None:
    chances, most = OptimalKeys(epsilon, delta).chances, exp(epsilon, 200)
    assert chances[0] == 0
    assert chances[-1] == 1
    for p, q in pairwise(chances):
        assert p < q
        assert q <= (most * p).up + delta
        assert 1 - p <= (most * (1 - q)).up + delta


@pytest.mark.parametrize(("epsilon", "delta"), PRICES)
def test_no_larger_chances_do(epsilon: Fraction, delta: Fraction) -> None:
    """The recurrence in eighty digits: each chance as large as both inequalities let it be."""
    with mpmath.workdps(80):
        rise = mpmath.exp(mpmath.mpf(epsilon.numerator) / epsilon.denominator)
        rare = mpmath.mpf(delta.numerator) / delta.denominator
        chance = mpmath.mpf(0)
        for ours in OptimalKeys(epsilon, delta).chances:
            mine = mpmath.mpf(ours.numerator) / ours.denominator
            assert mine <= chance + mpmath.mpf(10) ** -75
            assert chance - mine <= chance * mpmath.mpf(2) ** -60
            chance = min(rise * chance + rare, 1 - (1 - chance - rare) / rise, mpmath.mpf(1))


def test_the_first_chances_are_the_geometric_sum() -> None:
    chances = OptimalKeys(Fraction(1), SMALL).chances
    assert chances[1] <= SMALL
    for n in range(1, 13):
        geometric = SMALL * (sum(((k * Interval.of(1, 100)).exp() for k in range(n)), Interval.of(0, 100)))
        assert chances[n] <= geometric.up
        assert chances[n] >= geometric.down * (1 - Fraction(1, 1 << 60))


def hockey(left: dict[object, Interval], right: dict[object, Interval], epsilon: Fraction) -> Fraction:
    """Σ max(0, p − e^ε q), rounded down: the exact δ at this ε."""
    most, zero = exp(epsilon), Interval.of(0)
    return sum((max(Fraction(0), (p - most * right.get(o, zero)).down) for o, p in left.items()), Fraction(0))


def both(law: dict[object, Interval], groups: int) -> dict[object, Interval]:
    """The joint law of independent keys with one law."""
    joint: dict[object, Interval] = {}
    for outcomes in product(law.items(), repeat=groups):
        mass = Interval.of(1)
        for _, p in outcomes:
            mass = mass * p
        joint[tuple(o for o, _ in outcomes)] = mass
    return joint


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_a_unit_in_several_keys_stays_within_the_promise_of_optimal_keys(groups: int) -> None:
    epsilon, delta = Fraction(2), Fraction(1, 50)
    mechanism = OptimalKeys(epsilon, delta, groups)
    assert mechanism.privacy == Approximate(epsilon, delta)
    laws: list[dict[object, Interval]] = [
        {True: Interval.of(p), False: Interval.of(1 - p)} for p in (*mechanism.chances, Fraction(1))
    ]
    worst = Fraction(0)
    for few, more in pairwise(laws):
        one, two = both(few, groups), both(more, groups)
        worst = max(worst, hockey(one, two, epsilon), hockey(two, one, epsilon))
    assert worst <= delta
    assert worst >= delta * Fraction(99, 100)  # a unit alone in its keys uses all of it


def laplace_law(mechanism: LaplaceKeys, units: int) -> dict[object, Interval]:
    """Not named, or named with a number; all numbers far above are one outcome, in which every ratio is the same."""
    if units == 0:
        return {None: Interval.of(1)}
    scale, least, most = mechanism.scale, mechanism.threshold, mechanism.threshold + 12
    q = exp(-1 / scale)
    law: dict[object, Interval] = {
        value: (1 - q) / (1 + q) * exp(-abs(value - units) / scale) for value in range(least, most)
    }
    law["above"] = exp(-(most - units) / scale) / (1 + q)
    law[None] = (
        exp(-(units - least + 1) / scale) / (1 + q) if units >= least else 1 - exp((units - least) / scale) / (1 + q)
    )
    assert abs(sum((p.up for p in law.values()), Fraction(0)) - 1) < Fraction(1, 10**50)
    return law


@pytest.mark.parametrize("groups", [1, 2])
def test_laplace_keys_keep_their_promise_exactly(groups: int) -> None:
    epsilon, delta = Fraction(2), Fraction(1, 20)
    mechanism = LaplaceKeys(epsilon, delta, groups)
    assert mechanism.privacy == Approximate(epsilon, delta)
    tiny = Fraction(1, 10**50)  # the width of an interval
    for few in (0, 1, 2, mechanism.threshold - 1, mechanism.threshold, mechanism.threshold + 5):
        one, two = (both(laplace_law(mechanism, n), groups) for n in (few, few + 1))
        assert max(hockey(one, two, epsilon), hockey(two, one, epsilon)) <= (tiny if few else delta)
    for shared in (1, mechanism.threshold):  # a unit in one key of its own and one that others have
        (a, b), (c, d) = ([laplace_law(mechanism, n) for n in pair] for pair in ((0, shared), (1, shared + 1)))
        one = {(x, y): p * q for x, p in a.items() for y, q in b.items()}
        two = {(x, y): p * q for x, p in c.items() for y, q in d.items()}
        assert groups == 1 or max(hockey(one, two, epsilon), hockey(two, one, epsilon)) <= delta


def gaussian_law(mechanism: GaussianKeys, units: int) -> dict[object, Interval]:
    """Not named, or named with a number; beyond fifteen standard deviations there is less than 1e-48."""
    if units == 0:
        return {None: Interval.of(1)}
    far, least = math.ceil(15 * math.sqrt(mechanism.variance)), mechanism.threshold
    weights = [exp(-Fraction(n * n) / (2 * mechanism.variance)) for n in range(far + 1)]
    total, law = sum(weights[1:], Interval.of(0)) * 2 + 1, dict[object, Interval]()
    for noise in range(-far, far + 1):
        name = units + noise if units + noise >= least else None
        law[name] = law.get(name, Interval.of(0)) + weights[abs(noise)] / total
    return law


@pytest.mark.parametrize("groups", [1, 2])
def test_gaussian_keys_are_no_easier_to_tell_apart_than_their_promise(groups: int) -> None:
    mechanism = GaussianKeys(Fraction(1, 4), Fraction(1, 100), groups)
    assert mechanism.privacy == Concentrated(Fraction(1, 4), Fraction(1, 100))
    for few in (0, 1, mechanism.threshold - 1, mechanism.threshold):
        one, two = (both(gaussian_law(mechanism, n), groups) for n in (few, few + 1))
        for epsilon in (Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3)):
            worst = max(hockey(one, two, epsilon), hockey(two, one, epsilon))
            assert worst <= mechanism.privacy.delta_at(epsilon) + Fraction(1, 10**40)


@pytest.mark.parametrize("groups", [1, 3, 40])
@pytest.mark.parametrize(
    ("price", "delta"), [(Fraction(1), SMALL), (Fraction(1, 20), Fraction(1, 10**9)), (Fraction(9), SMALL)]
)
def test_the_thresholds_are_the_smallest_that_spare_delta(groups: int, price: Fraction, delta: Fraction) -> None:
    with mpmath.workdps(50):
        whole = mpmath.mpf(delta.numerator) / delta.denominator
        laplace, gauss = LaplaceKeys(price, delta, groups), GaussianKeys(price, delta, groups)
        s = mpmath.mpf(laplace.scale.numerator) / laplace.scale.denominator
        v = mpmath.mpf(gauss.variance.numerator) / gauss.variance.denominator

        def laplace_reaches(m: int) -> mpmath.mpf:
            return mpmath.exp(-m / s) / (1 + mpmath.exp(-1 / s))

        def gauss_reaches(m: int) -> mpmath.mpf:
            far = m + int(40 * mpmath.sqrt(v)) + 40
            terms = [mpmath.exp(-(mpmath.mpf(n) ** 2) / (2 * v)) for n in range(far)]
            return mpmath.fsum(terms[m:]) / (2 * mpmath.fsum(terms) - 1)

        for mechanism, reaches in ((laplace, laplace_reaches), (gauss, gauss_reaches)):
            noise = mechanism.threshold - 1
            assert 1 - (1 - reaches(noise)) ** groups <= whole
            assert noise == 1 or 1 - (1 - reaches(noise - 1)) ** groups > whole


@pytest.mark.parametrize("digits", [40, 59, 60, 70, 400, 999])
@pytest.mark.parametrize("groups", [2, 3, 1000])
def test_what_each_key_may_fail_by_never_runs_out_of_digits(digits: int, groups: int) -> None:
    delta = Fraction(1, 10**digits)
    one = each(delta, groups)
    assert one >= delta / groups
    assert (1 - one) ** groups >= 1 - delta


@pytest.mark.parametrize("digits", [59, 70])
def test_a_tiny_delta_over_several_keys_has_its_mechanisms(digits: int) -> None:
    delta = Fraction(1, 10**digits)
    for mechanism in selectors(delta, 2):
        units = mechanism.error("0.9")
        least = math.sqrt(2 * mechanism.variance * digits) if isinstance(mechanism, GaussianKeys) else 2 * digits
        assert units > least  # where e^-digits is left of the tail, far more than δ
        assert mechanism({"a": 1, "b": 3}, rng=Seeded(0)) == frozenset()
        assert names(mechanism({"a": 3 * units}, rng=Seeded(0)), mechanism) == ["a"]


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(9, 10)), st.integers(1, 60))
def test_what_each_key_may_fail_by_adds_up_to_delta_from_below(delta: Fraction, groups: int) -> None:
    one = each(delta, groups)
    assert (1 - one) ** groups >= 1 - delta
    assert (1 - one * (1 + Fraction(1, 10**15))) ** groups < 1 - delta or groups == 1
    assert one >= delta / groups * (1 - Fraction(1, 10**15))


@pytest.mark.parametrize("mechanism", selectors(Fraction(1, 5), 2) + selectors(Fraction(3, 10)), ids=told)
def test_a_key_is_named_as_often_as_its_law_says(mechanism: Selector) -> None:
    """Hoeffding for six counts each: a correct one fails with probability below 1e-9."""
    runs, rng = 1_500, Seeded(17)
    counts: dict[Key, int] = {f"k{n}": n for n in (1, 2, 3, 5, 8, 12)}
    seen = Counter(name for _ in range(runs) for name in names(mechanism(counts, rng=rng), mechanism))
    band = math.sqrt(math.log(2 * 6 / 1e-9) / (2 * runs))
    for name, n in counts.items():
        if isinstance(mechanism, OptimalKeys):
            chance = float(mechanism.chances[min(n, len(mechanism.chances) - 1)])
        elif isinstance(mechanism, LaplaceKeys):
            chance = tail(mechanism.threshold - n, lambda k: math.exp(-k / float(mechanism.scale)))
        else:
            chance = tail(mechanism.threshold - n, lambda k: math.exp(-k * k / 2 / float(mechanism.variance)))
        assert abs(seen[name] / runs - chance) <= band


def tail(m: int, weight: object) -> float:
    """Pr[noise ≥ m] for a law with these weights of |noise|."""
    assert callable(weight)
    total = sum(weight(abs(k)) for k in range(-300, 301))
    return float(sum(weight(abs(k)) for k in range(m, 301)) / total)


@pytest.mark.parametrize("mechanism", selectors() + selectors(groups=7), ids=told)
def test_the_error_is_a_count_that_is_named_that_often(mechanism: Selector) -> None:
    runs, rng, n = 2_000, Seeded(2), mechanism.error("0.9")
    named, fewer = (
        Coverage(sum(len(mechanism({"a": units}, rng=rng)) for _ in range(runs)), runs) for units in (n, n - 2)
    )
    assert not named.refuted(0.9), named
    assert not fewer.exceeded(0.9), fewer


def test_optimal_keys_need_fewer_units_than_a_threshold() -> None:
    for epsilon, delta in PRICES:
        assert OptimalKeys(epsilon, delta).error() <= LaplaceKeys(epsilon, delta).error()
    loss = Concentrated(Fraction(1, 50), Fraction(0))
    epsilon, delta = Fraction(1), Fraction(1, 10**5) + loss.delta_at(1)
    assert GaussianKeys(loss.rho, Fraction(1, 10**5)).error() >= OptimalKeys(epsilon, delta).error()


def test_the_order_of_an_answer_says_nothing_about_the_order_of_the_data() -> None:
    keys: list[Key] = [8 * i for i in range(4)]  # which collide in a small hash table, so that insertion order shows
    assert list(frozenset(keys)) != list(frozenset(reversed(keys)))
    for order in permutations(keys):
        assert list(ordered(order)) == list(ordered(keys))
        answer = OptimalKeys(Fraction(1), SMALL)(dict.fromkeys(order, 10**6), rng=Seeded(1))
        assert list(answer) == list(ordered(keys))
    for mechanism in (LaplaceKeys(Fraction(1000), SMALL), GaussianKeys(Fraction(10**6), SMALL)):  # no noise in effect
        assert len({tuple(mechanism(dict.fromkeys(order, 9), rng=Seeded(1))) for order in permutations(keys)}) == 1


@pytest.mark.parametrize("mechanism", selectors(Fraction(9, 10)), ids=told)
def test_of_equal_keys_one_stands_for_all(mechanism: Selector) -> None:
    """Which of them a mapping holds depends on which row came first."""
    alike: list[list[Whatever]] = [
        [True, 1, np.int64(1), np.True_],
        [False, 0, np.uint8(0)],
        [("a", True, (0,)), ("a", 1, (False,)), ("a", np.int8(1), (0,))],
    ]
    for keys in alike:
        answers = {repr(mechanism({key: 10**40, "z": 10**40}, rng=Seeded(4))) for key in keys}
        assert len(answers) == 1
    assert [canonical(key) for key in ("1", None, (None, "x"))] == ["1", None, (None, "x")]


@pytest.mark.parametrize("mechanism", selectors(Fraction(9, 10)), ids=told)
def test_a_key_without_units_is_never_named(mechanism: Selector) -> None:
    for seed in range(200):
        answer = mechanism({"none": 0, "less": -5, "some": 10**40, 7: 10**40, ("a", None): 10**40}, rng=Seeded(seed))
        assert set(names(answer, mechanism)) == {"some", 7, ("a", None)}
    assert mechanism({}, rng=Seeded(0)) == frozenset()


@pytest.mark.parametrize("mechanism", selectors(groups=3), ids=told)
def test_the_declared_pairs_are_neighbours(mechanism: Selector) -> None:
    alone, shared = mechanism.pairs()
    assert (alone.left, len(alone.right), set(alone.right.values())) == ({}, 3, {1})
    assert shared.left.keys() == shared.right.keys()
    assert {shared.right[key] - n for key, n in shared.left.items()} == {1}
    assert len(shared.left) == 3


@pytest.mark.parametrize(
    ("kind", "parameters", "says"),
    [
        (OptimalKeys, (0, SMALL), "epsilon=0"),
        (OptimalKeys, (1, 0), "delta=0"),
        (OptimalKeys, (1, 1), "delta=1"),
        (OptimalKeys, (1, SMALL, 0), "max_groups=0"),
        (OptimalKeys, (1, SMALL, 1, Replace()), "Replace"),
        (OptimalKeys, (Fraction(1001), SMALL), "epsilon <= 1000, got epsilon=1001"),
        (OptimalKeys, (10**20, SMALL), r"epsilon <= 1000, got epsilon=1E\+20"),
        (OptimalKeys, (10**400, SMALL), r"epsilon <= 1000, got epsilon=1E\+400"),
        (OptimalKeys, (10**5000, SMALL), r"epsilon <= 1000, got epsilon=1E\+5000"),
        (OptimalKeys, (Fraction(1, 10**5000), SMALL), "epsilon=1E-5000 over max_groups=1 needs a table"),
        (OptimalKeys, (Fraction(1, 10**6), Fraction(1, 10**9)), "epsilon=1/1000000 over max_groups=1"),
        (OptimalKeys, (1, Fraction(1, 10**9), 10**6), "max_groups=1000000"),
        (LaplaceKeys, (float("nan"), SMALL), "nan"),
        (LaplaceKeys, (1, -1), "delta=-1"),
        (LaplaceKeys, (1, SMALL, 1, Replace()), "Replace"),
        (GaussianKeys, (-1, SMALL), "rho=-1"),
        (GaussianKeys, (1, SMALL, 1.5), "max_groups=1.5"),
        (GaussianKeys, (1, SMALL, 1, Replace()), "Replace"),
    ],
)
def test_nonsense_is_refused_by_name(kind: type[Selector], parameters: tuple[object, ...], says: str) -> None:
    with pytest.raises(Refusal, match=says):
        kind(*parameters)  # type: ignore[arg-type]


def test_a_delta_beyond_any_float_is_no_obstacle() -> None:
    tiny = Fraction(1, 10**400)
    assert OptimalKeys(Fraction(1), tiny).error() > 900
    assert LaplaceKeys(Fraction(1), tiny).threshold > 900
    assert OptimalKeys(Fraction(1, 10**9), Fraction(1, 100)).chances[2] > Fraction(199, 10**4)  # nearly δ n


@pytest.mark.parametrize("mechanism", selectors(groups=2), ids=told)
def test_it_goes_through_a_door_and_comes_back(mechanism: Selector) -> None:
    parcel = described(mechanism)
    assert rebuilt(str(parcel["name"]), parcel["parameters"]) == mechanism


@pytest.mark.parametrize("mechanism", selectors(), ids=told)
@pytest.mark.parametrize("key", [1.0, 1.5, float("nan"), b"a", dt.date(2024, 1, 5), ("a", (1.0,))], ids=repr)
def test_what_is_no_key_is_refused_and_not_repeated(mechanism: Selector, key: object) -> None:
    with pytest.raises(Refusal, match="expected keys that are text") as refused:
        mechanism({key: 10**6, "a": 10**6}, rng=Seeded(1))  # type: ignore[dict-item]
    assert repr(key) not in str(refused.value)


@pytest.mark.parametrize("mechanism", selectors(), ids=told)
@pytest.mark.parametrize("number", [2.5, 3.0, float("nan"), True, "7", None, np.float64(2)], ids=repr)
def test_a_number_of_units_that_is_not_whole_is_refused(mechanism: Selector, number: object) -> None:
    with pytest.raises(Refusal, match="expected whole numbers of units"):
        mechanism({"a": number}, rng=Seeded(1))  # type: ignore[dict-item]
    units: dict[Key, Any] = {"a": np.int32(10**6)}
    assert names(mechanism(units, rng=Seeded(1)), mechanism) == ["a"]
