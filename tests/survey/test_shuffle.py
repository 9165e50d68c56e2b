"""The shuffler: batches that are large enough, in no order, and what a crowd of them promises."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from doubles import Seeded
from mechanisms.chances import fits
from survey.surveyed import ONE, Survey

from discreet.errors import Refusal
from discreet.local import Hadamard, LocalHashing, OptimizedUnary, Rappor, Reporter, Response
from discreet.privacy import Approximate, Guarantee, Pure, Replace, shuffled
from discreet.survey.shuffle import Shuffler, mixed

CLIENTS: list[Reporter] = [
    Response(ONE, 2),
    Response(ONE, 5),
    Hadamard(ONE, 5),
    LocalHashing(ONE, 5),
    OptimizedUnary(ONE, 20),
]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_batch_is_the_same_multiset_in_another_order(client: Reporter) -> None:
    reports = client.batch(np.arange(1000) % 2, rng=Seeded(1))
    out = Shuffler(100).batch(reports, rng=Seeded(2))
    width = client.form.itemsize
    before, after = (Counter(_parts(each.tobytes(), width)) for each in (reports, out))
    assert before == after
    assert out.dtype == reports.dtype
    assert client.tally(out) == client.tally(reports)


def _parts(data: bytes, width: int) -> list[bytes]:
    return [data[i : i + width] for i in range(0, len(data), width)]


def test_every_order_is_equally_likely() -> None:
    """By exact tails at 1e-9: 4000 draws would show an order that never comes, or one that comes twice as often."""
    rng, reports = Seeded(3), np.arange(4, dtype=np.uint8)
    seen = [tuple(mixed(reports, rng=rng).tolist()) for _ in range(4000)]
    even = dict.fromkeys(permutations(range(4)), 1 / 24)
    assert fits(seen, even)
    assert not fits([*seen[: 4000 // 24], *[(0, 1, 2, 3)] * (4000 // 24), *seen[4000 // 12 :]], even)
    assert not fits([order for order in seen if order != (3, 2, 1, 0)], even)


def test_too_few_reports_are_no_batch() -> None:
    shuffler = Shuffler(100, dishonest=7)
    assert shuffler.ready(107)
    assert not shuffler.ready(106)
    with pytest.raises(Refusal, match="fewer reports than this task needs"):
        shuffler.batch(np.zeros(106, dtype=np.uint8))
    with pytest.raises(Refusal, match="fewer reports than this task needs"):
        shuffler.promise(Response(ONE, 2), 106)


def test_the_promise_counts_honest_reports_only_and_knows_the_binary_response() -> None:
    one, delta = Guarantee(Pure(1), Replace("person")), Fraction(1, 10**8)
    wide = Shuffler(100, dishonest=500).promise(Response(ONE, 5), 10_500)
    assert wide.honest == 10_000
    assert wide.local == Pure(1)
    assert wide.shuffled == shuffled(one, 10_000, delta=delta).loss
    binary = Shuffler(100, dishonest=500).promise(Response(ONE, 2), 10_500)
    assert binary.shuffled == shuffled(one, 10_000, delta=delta, randomizer="binary").loss
    assert (
        binary.shuffled.epsilon
        < wide.shuffled.epsilon
        < Shuffler(100).promise(Response(ONE, 5), 9_000).shuffled.epsilon
    )
    assert Shuffler(100).promise(Hadamard(ONE, 2), 10_000).shuffled == wide.shuffled  # a row and a bit is not a bit


def test_a_person_who_reports_more_often_loses_more() -> None:
    once, thrice = (Shuffler(10).promise(Response(ONE, 5), 10_000, each=each) for each in (1, 3))
    assert thrice.local == Pure(3)
    assert thrice.shuffled == once.shuffled.group(3)
    assert thrice.shuffled.epsilon == 3 * once.shuffled.epsilon
    assert thrice.shuffled.delta > 3 * once.shuffled.delta


def test_reports_that_share_a_permanent_response_do_not_hide_one_by_one() -> None:
    client = Rappor.flipping("0.5", bits=16)
    once, twice = (Shuffler(10).promise(client, 10_000, each=each) for each in (1, 2))
    alone = Guarantee(client.once, Replace("person"))
    assert once.shuffled == shuffled(alone, 10_000, delta=Fraction(1, 10**8)).loss
    assert (once.local, twice.local) == (client.privacy, 2 * client.privacy)
    assert twice.shuffled == Approximate(2 * client.epsilon, Fraction(0))


@pytest.mark.parametrize("reports", [1, 2])
def test_several_reports_of_rappor_are_not_said_to_hide_that_a_text_changed(tmp_path: Path, reports: int) -> None:
    """With these odds a report is the permanent response: two that differ are of two texts, and no ε bounds that."""
    loud = Rappor(Fraction(4), 16, 2, 4, Fraction(0), Fraction(1))
    survey = Survey(tmp_path, loud, reports=reports)
    survey.send(["a"] * 10)
    survey.collector.close(survey.task.id)
    relation = survey.collector.collect(survey.task.id).body["promise"]["relation"]
    assert ("that a text changed is not hidden" in relation) == (reports > 1)
    assert relation.startswith("replace one person's value; that a person took part is not hidden; several versions of")


def test_a_crowd_that_hides_nobody_promises_what_a_report_does() -> None:
    alone = Shuffler(1).promise(Response(ONE, 5), 1)
    assert alone.shuffled.delta == Fraction(1, 10**8)
    assert alone.local.delta_at(alone.shuffled.epsilon) <= alone.shuffled.delta  # that δ is all that makes it less
