"""A stream's mechanism: whose rows count how often, under which key, what its state holds, what its price covers."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from doubles import Seeded

from discreet.audit import audit
from discreet.errors import Refusal
from discreet.mechanisms.registry import described, rebuilt
from discreet.noise import SECURE, Entropy
from discreet.privacy import AddRemove, Approximate, Concentrated, Guarantee, Pure, Replace, convert
from discreet.stream import BufferedCounter, Stream, TreeCounter
from discreet.stream.buffered_factorisation import buffers_for
from discreet.stream.counter_choice import counter_for, price_of
from discreet.stream.step_rows import Pushed

STILL = Fraction(1, 100)  # a scale at which noise is none, to a chance that is never seen


def quiet(keys: tuple[str, ...] = (), contribution: int = 1, horizon: int = 9, **more: Any) -> Stream:  # noqa: ANN401
    amount = more.get("amount", 1)
    return Stream(TreeCounter(STILL, horizon, 3, contribution * amount), keys, contribution, **more)


def run(stream: Stream, steps: list[list[tuple[str, int, int]]], seed: int = 1) -> list[tuple[int, ...]]:
    """What it says, stopped and read back after every step."""
    rng = Seeded(seed)
    state = stream.start(rng)
    for rows in steps:
        state = stream.step(state, Pushed.of(rows), rng)
        text = json.dumps(stream.encode(state))
        assert len(text) <= stream.room
        assert stream.decode(json.loads(text)) == state
    return list(stream.answers(state))


def test_a_unit_counts_so_often_over_all_steps_and_keys() -> None:
    stream = quiet(("a", "b"), 3)
    one = [("one", 0, 1), ("one", 1, 1)]
    assert run(stream, [one, [], one, one]) == [(1, 1), (1, 1), *2 * [run(stream, [one, [], one, one])[2]]]
    totals = {sum(run(stream, [one, one, one], seed)[1]) for seed in range(20)}
    assert totals == {3}
    kept = Counter(run(stream, [one, one], seed)[1] for seed in range(40))
    assert set(kept) == {(1, 2), (2, 1)}  # which of its own rows count is drawn
    crowd = [(str(person), 0, 1) for person in range(30)]
    assert run(stream, [crowd + one * 5, crowd, crowd, crowd])[-1] in {(93 - taken, taken) for taken in range(4)}


def test_rows_that_are_their_own_unit_all_count() -> None:
    rows = [("", 0, 1)] * 7
    assert run(quiet(owned=False), [rows, rows]) == [(7,), (14,)]
    with pytest.raises(Refusal, match="counts once"):
        quiet(contribution=2, owned=False)


def test_an_amount_beyond_the_declared_one_counts_as_that() -> None:
    assert run(quiet(amount=5), [[("one", 0, 1000)], [("two", 0, -1000)]]) == [(5,), (0,)]


def test_amounts_are_added_up_and_their_largest_is_part_of_the_price() -> None:
    stream = quiet(contribution=2, amount=50)
    assert run(stream, [[("one", 0, 50), ("two", 0, -7)], [("one", 0, 3)] * 4]) == [(43,), (46,)]
    with pytest.raises(Refusal, match="a unit adds up to 100"):
        Stream(TreeCounter(STILL, 9, 3, 50), (), 2, 50)


def test_others_of_a_unit_are_not_touched_by_it() -> None:
    """What others' rows add is the same whether somebody has many rows or none."""
    others = [[(str(person), person % 2, 1) for person in range(step)] for step in range(6)]
    stream = quiet(("a", "b"), 4)
    with_one = [[*rows, *[("one", 0, 1)] * 3] for rows in others]
    there, gone = run(stream, with_one), run(stream, others)
    assert [(a - c, b - d) for (a, b), (c, d) in zip(there, gone, strict=True)] == [(3, 0), *[(4, 0)] * 5]


def test_a_state_has_few_sizes() -> None:
    """They speak of how many units there are up to a factor of two, and of nothing else."""
    stream, sizes = quiet(contribution=5, horizon=3), []
    for people in (0, 1, 200, 256, 257, 512, 513):
        rng = Seeded(people)
        state = stream.step(stream.start(rng), Pushed.of([(str(each), 0, 1) for each in range(people)]), rng)
        sizes.append(len(stream.encode(state)["units"]))  # type: ignore[arg-type]
    assert sizes[0] == sizes[1] == sizes[2] == sizes[3] < sizes[4] == sizes[5] < sizes[6]
    assert stream.room >= sizes[0] + 300


def test_it_goes_through_a_door() -> None:
    stream = Stream(BufferedCounter.of(1, 9, 6), ("a", 3, True), 2, 3)
    told = json.loads(json.dumps(described(stream)))
    assert rebuilt(told["name"], told["parameters"]) == stream


def test_one_counters_price_holds_for_all_keys() -> None:
    """From the matrices, rounding among it: all ways in which a unit spreads its events over steps and keys."""
    horizon, most, keys = 4, 3, 2
    counter = BufferedCounter.of(1, horizon, most)
    paid, unit = counter.privacy.rho * 2 * counter.variance * 4**30, 1 << 30
    worst = 0
    quiet_sums, base = (0,) * len(buffers_for(horizon).fades), [5, 0, 2, 9]

    def measured(events: list[int]) -> list[int]:
        sums, said = quiet_sums, []
        for each in events:
            sums, value = counter.measured(sums, each)
            said.append(value)
        return said

    places = list(product(range(keys), range(horizon)))
    for spread in product(places, repeat=most):
        moved = 0
        for key in range(keys):
            theirs = [events + spread.count((key, step)) for step, events in enumerate(base)]
            moved += sum((a - b) ** 2 for a, b in zip(measured(base), measured(theirs), strict=True))
        worst = max(worst, moved)
    assert paid * Fraction(99, 100) <= worst <= paid
    assert unit**2 <= worst


@pytest.mark.parametrize("relation", [AddRemove("p"), Replace("p")])
@pytest.mark.parametrize(
    "price", [Pure(Fraction(1)), Approximate(Fraction(1), Fraction(0)), Approximate(1, "1e-9"), Concentrated("0.1")]
)
def test_a_counter_is_bought_for_what_is_charged(price: Any, relation: Any) -> None:  # noqa: ANN401
    counter, charged = counter_for(price, 500, 3, relation)
    promised = Guarantee(counter.privacy, counter.neighbours).under(relation).loss
    delta = charged.delta if isinstance(charged, Approximate) and charged.delta else None
    assert convert(promised, type(charged), delta=delta) <= charged <= price  # type: ignore[operator]
    assert counter.contribution == 3


def test_a_delta_buys_the_sharper_counter() -> None:
    few, charged = counter_for(Approximate(3, "1e-12"), 10, 1, AddRemove())
    assert isinstance(few, TreeCounter)
    assert charged == Approximate(3, 0)
    many, charged = counter_for(Approximate(1, "1e-6"), 10**6, 1, AddRemove())
    assert isinstance(many, BufferedCounter)
    assert charged == Approximate(1, "1e-6")
    assert many.deviation() < TreeCounter.of(1, 10**6).deviation()


@pytest.mark.parametrize(
    ("total", "named"),
    [
        (Pure(3), {"rho": 1}),
        (Pure(3), {"epsilon": 1, "delta": "1e-6"}),
        (Concentrated(3), {"epsilon": 1}),
        (Concentrated(3), {"rho": 1, "delta": "1e-6"}),
        (Approximate(3, "1e-6"), {}),
    ],
)
def test_a_price_is_named_in_the_measure_of_its_budget(total: Any, named: Any) -> None:  # noqa: ANN401
    with pytest.raises(Refusal, match="a stream is paid from this budget with"):
        price_of(total, named.get("epsilon"), named.get("rho"), named.get("delta"))


def test_errors_cover_counts_and_totals() -> None:
    """False alarm: 120 runs, each right with 0.95 at least; that fewer than 92 are has a chance below 1e-9."""
    for counter in (TreeCounter.of(1, 9, 2), BufferedCounter.of(Fraction(1, 2), 9, 2)):
        stream = Stream(counter, ("a", "b", "c"), 2)
        rng, rows = Seeded(2), [[("x", 0, 1), ("y", 1, 1)]] * 9
        off = []
        for _ in range(120):
            state = stream.start(rng)
            for each in rows:
                state = stream.step(state, Pushed.of(each), rng)
            off.append((abs(stream.answers(state)[-1][0] - 2), abs(sum(stream.answers(state)[-1]) - 4)))
        one, total = np.array(off).T
        assert (one <= stream.error("0.95")).sum() >= 92
        assert (total <= stream.error("0.95", 3)).sum() >= 92
        assert stream.error("0.95", 3) > stream.error("0.95")
        assert float(np.std(total)) > float(counter.deviation(9)) / 3
        assert math.isclose(stream.error("0.95", 3) / stream.error("0.95"), math.sqrt(3), rel_tol=0.3)


@pytest.mark.slow
def test_a_unit_whose_rows_all_count_is_found_out() -> None:
    """The same mechanism that forgets how often a unit counted before: its rows of two steps are all there."""
    stream = Stream(TreeCounter.of(1, 2, 1), (), 1)

    def forgetful(steps: tuple[Pushed, ...], /, *, rng: Entropy = SECURE) -> list[tuple[int, ...]]:
        state = stream.start(rng)
        for each in steps:
            fresh = type(state)(state.salt, state.counters, {}, state.answers)
            state = stream.step(fresh, each, rng)
        return list(state.answers)

    quiet_steps = (Pushed.of([]),) * 2
    pairs = [(quiet_steps, (Pushed.of([("one", 0, 1)]),) * 2)]
    verdict = audit(forgetful, pairs, Pure(Fraction(3, 5)), samples=40_000, rng=Seeded(1))
    assert verdict.refuted
    honest = audit(stream, pairs, stream.privacy, samples=40_000, rng=Seeded(1))
    assert not honest.refuted
