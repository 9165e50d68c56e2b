"""Sums with an aggregator that fails and people who do: read over the survivors, once; limits of devices hold."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from aggregate.summed import PLAN, Street, refused
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from discreet.aggregate import GaussianShares
from discreet.aggregate.epoch_steps import Late
from discreet.aggregate.sum_aggregator import FILE
from discreet.aggregate.sum_device import USUAL, SumDevice, SumRead
from discreet.aggregate.sum_messages import HELLO, STEPS, Message, Misshapen, joining, read_message
from discreet.aggregate.sum_plan import SumPlan
from discreet.errors import Refusal
from discreet.ledger.signed_head import signing_key
from discreet.privacy import Concentrated
from discreet.transport.device_client import Unreached
from discreet.transport.signed_task import Uninvited, Unknown

VALUES = (50, 0, 7, 31, 1, 18, 40)


@pytest.fixture
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is known, so that the sum is known to the last digit."""

    def numbers(own: GaussianShares, value: Any, **_: object) -> list[int]:  # noqa: ANN401
        return [(each << own.places) + 1 for each in ([value] if isinstance(value, int) else value)]

    monkeypatch.setattr(GaussianShares, "numbers", numbers)


def street(folder: Path, people: int = len(VALUES), plan: SumPlan = PLAN) -> Street:
    made = Street(folder, people, plan)
    made.aggregator.start(made.name)
    return made


def total(of: Street, survivors: list[int]) -> Fraction:
    """What the sum over these has to be, with a unit of noise of each."""
    sum_: Any = of.aggregator.task(of.name).sum
    return sum(VALUES[place] for place in survivors) + Fraction(len(survivors), 1 << sum_.noise.places)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize(
    ("gone", "left"),
    [
        ({}, range(7)),
        ({0: "hello"}, range(1, 7)),
        ({6: "boxes"}, range(6)),
        ({3: "upload"}, range(7)),
        ({2: "agreement"}, range(7)),
    ],
)
def test_the_sum_is_that_of_the_survivors_whenever_somebody_fails(
    tmp_path: Path, gone: dict[int, str], left: range
) -> None:
    here = street(tmp_path)
    told = here.read(here.steps(VALUES), gone)
    expected = SumRead(0, (total(here, list(left)),), len(left))
    assert told == dict.fromkeys(set(range(7)) - set(gone), expected)
    (outcome,) = here.aggregator.outcomes(here.name)
    assert (outcome.total, outcome.people, outcome.refused) == (expected.total, len(left), "")
    noise: Any = here.aggregator.task(here.name).sum
    assert outcome.error == noise.noise.error_of(len(left))


@pytest.mark.usefixtures("quiet")
def test_who_never_comes_is_left_out_and_who_comes_late_is_refused(tmp_path: Path) -> None:
    here = street(tmp_path)
    steps = here.steps(VALUES)
    late = steps.pop(4)
    told = here.read(steps)
    assert told[0] == SumRead(0, (total(here, [0, 1, 2, 3, 5, 6]),), 6)
    assert "1 of 7 people are left" in refused(here, late)  # of the next epoch, to which the others do not come


def test_with_noise_the_sum_is_near_and_every_device_reads_the_same(tmp_path: Path) -> None:
    here = street(tmp_path)
    read = here.read(here.steps(VALUES))
    (found,) = {one.total for one in read.values() if isinstance(one, SumRead)}
    sum_: Any = here.aggregator.task(here.name).sum
    assert abs(found[0] - sum(VALUES)) < 7 * sum_.noise.deviation
    assert found[0] != sum(VALUES)


@pytest.mark.parametrize("step", ["hello", "boxes"])
def test_below_the_fewest_survivors_there_is_no_sum_and_all_are_told_why(tmp_path: Path, step: str) -> None:
    here = street(tmp_path)
    told = here.read(here.steps(VALUES), dict.fromkeys(range(2), step))
    (outcome,) = here.aggregator.outcomes(here.name)
    words = "5 of 7 people are left, and at least 6 have to be: this epoch has no sum"
    assert (outcome.total, outcome.refused) == ((), words)
    assert {str(one) for one in told.values()} == {words}
    if step == "hello":  # nobody has sent a value, so nobody has paid
        assert here.devices[3].lost(here.aggregator.task(here.name).key).rho == 0


@pytest.mark.usefixtures("quiet")
def test_an_aggregator_that_is_killed_after_every_message_reads_the_same_sum(tmp_path: Path) -> None:
    here = street(tmp_path)
    began = here.now

    def killed() -> None:
        if here.now == began:  # a step waits anew after each start: so not while the time of one is to go by
            here.aggregator = here.running()

    told = here.read(here.steps(VALUES), {}, killed)
    assert told[3] == SumRead(0, (total(here, list(range(7))),), 7)
    told = here.read(here.steps(VALUES), {1: "boxes"}, killed)
    assert told[0] == SumRead(1, (total(here, [0, 2, 3, 4, 5, 6]),), 6)


@pytest.mark.usefixtures("quiet")
def test_a_step_has_its_whole_time_again_after_nobody_was_listening(tmp_path: Path) -> None:
    here = street(tmp_path)
    steps = here.steps(VALUES)
    for place in range(5):
        assert next(steps[place]) == "hello"
    here.now += timedelta(hours=3)  # it was down
    here.aggregator = here.running()
    told = here.read(steps)
    assert told[0] == SumRead(0, (total(here, list(range(7))),), 7)


def test_what_was_sent_is_forgotten_with_the_epoch(tmp_path: Path) -> None:
    here = street(tmp_path)
    here.read(here.steps(VALUES))
    with sqlite3.connect(here.home / FILE) as file:
        assert file.execute("SELECT count(*) FROM message").fetchone() == (0,)
        assert file.execute("SELECT count(*) FROM box").fetchone() == (0,)
        assert file.execute("SELECT count(told) FROM step").fetchone() == (0,)
        assert file.execute("SELECT count(*) FROM outcome").fetchone() == (1,)


def test_messages_count_once_and_of_whom_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = street(tmp_path)
    task, sent = here.aggregator.task(here.name), list[bytes]()
    take = here.aggregator.take

    def say(name: str, body: bytes) -> None:
        sent.append(body)
        take(name, body)

    monkeypatch.setattr(here, "say", say)
    next(here.steps(VALUES)[0])
    take(here.name, sent[0])  # the same bytes
    message = read_message(sent[0])
    own, other = (signing_key(tmp_path / f"device-{place}" / "identity.key") for place in (0, 1))
    for step in range(1, len(STEPS)):
        with pytest.raises(Late):
            take(here.name, replace(message, step=step).signed(own))
    for late in (replace(message, epoch=1), replace(message, digest=bytes(32)), replace(message, content=b"{}")):
        with pytest.raises(Late):
            take(here.name, late.signed(own))
    for wrong in (message.signed(other), replace(message, place=1).signed(own), replace(message, place=9).signed(own)):
        with pytest.raises(Misshapen):
            take(here.name, wrong)
    for content in (b"", b"[]", b"{", b'{"signature":"00"}', b"\xff", message.content):  # of another person
        with pytest.raises(Misshapen):
            take(here.name, Message(task.digest, 0, HELLO, 1, content).signed(other))
    for short in (b"", sent[0][:60], b"XXXX" + sent[0][4:], sent[0][:40] + b"\x09" + sent[0][41:]):
        with pytest.raises(Misshapen):
            take(here.name, short)
    assert here.step(here.name, 0, HELLO, 0)["spoken"] == 1


def test_a_device_sends_one_value_in_an_epoch_whatever_it_is_told(tmp_path: Path) -> None:
    here = street(tmp_path)
    here.read(here.steps(VALUES))
    honest = here.step
    here.step = lambda *asked: {**honest(*asked), "epoch": 0, "over": False}  # type: ignore[method-assign]
    again = refused(here, here.devices[0].taking_part(here, here.name, 9))
    assert "a number was sent for epoch 0 already" in again
    afresh = SumDevice(tmp_path / "device-0", clock=lambda: here.now)
    assert "a number was sent for epoch 0 already" in refused(here, afresh.taking_part(here, here.name, 9))


def test_a_device_tells_one_collector_no_more_than_its_owner_allows(tmp_path: Path) -> None:
    here = street(tmp_path)
    key = here.aggregator.task(here.name).key
    eighth = Fraction(1, 8)
    nothing = refused(here, here.steps(VALUES, most=Concentrated(Fraction(1, 9)))[0])
    assert "was told rho=0 of 1/9 that this device tells one collector" in nothing
    assert here.devices[0].lost(key) == Concentrated(0)
    here.read(here.steps(VALUES))
    assert here.devices[0].lost(key).rho == eighth
    here.read(here.steps(VALUES), {0: "upload"})  # told, though it failed afterwards
    assert here.devices[0].lost(key).rho == 2 * eighth
    other = here.aggregator.plan(PLAN, here.now + timedelta(days=1))  # another sum of the same collector
    here.aggregator.rotate()  # and by another key
    for device, token in zip(here.devices, here.aggregator.invite(other, 7), strict=True):
        device.join(here, other, token)
    task = here.aggregator.start(other)
    assert task.key != key
    here.name = other
    here.read(here.steps(VALUES))
    assert here.devices[0].lost(task.key).rho == 3 * eighth == USUAL.rho
    assert "rho=0.375 of 0.375" in refused(here, here.steps(VALUES)[0])


@pytest.mark.usefixtures("quiet")
def test_who_was_invited_joins_once_and_later_ones_are_in_the_next_version(tmp_path: Path) -> None:
    here = street(tmp_path, 5)
    newcomer, stranger = SumDevice(tmp_path / "newcomer", clock=lambda: here.now), Ed25519PrivateKey.generate()
    (token,) = here.aggregator.invite(here.name, 1)
    assert "not among those of the task" in refused(here, newcomer.taking_part(here, here.name, 3))
    with pytest.raises(Refusal, match="nobody joined since version 1"):
        here.aggregator.start(here.name)
    assert newcomer.join(here, here.name, token) == newcomer.join(here, here.name, token) == 6
    own = joining(here.name, stranger)
    for wrong in (token, "x" * 43, None):
        with pytest.raises(Uninvited):
            here.aggregator.join(here.name, own["key"], own["signature"], wrong)
    for odd in ({**joining("0" * 32, stranger)}, {"key": "00", "signature": "00"}):
        with pytest.raises(Misshapen):
            here.aggregator.join(here.name, odd["key"], odd["signature"], token)
    task = here.aggregator.start(here.name)
    assert (task.version, task.people[-1], len(task.people)) == (2, newcomer.key, 6)
    here.devices.append(newcomer)
    assert here.read(here.steps(VALUES[:6]))[5] == SumRead(0, (total(here, list(range(6))),), 6)


def test_a_sum_that_was_signed_by_somebody_else_or_is_older_is_refused(tmp_path: Path) -> None:
    here, other = street(tmp_path / "a", 3), street(tmp_path / "b", 3)
    device, first = here.devices[0], here.aggregator.task(here.name)
    device.task(here, here.name)
    forged = replace(first, version=2).sign(signing_key(other.home / "sums.key"))
    here.task = lambda _: forged.document  # type: ignore[assignment, method-assign]
    with pytest.raises(Refusal, match="signed by somebody else before"):
        device.task(here, here.name)
    own = signing_key(here.home / "sums.key")
    here.task = lambda _: replace(first, question="Another").sign(own).document  # type: ignore[assignment, method-assign]
    with pytest.raises(Refusal, match="not the document that was seen last"):
        device.task(here, here.name)
    here.task = lambda _: first.document  # type: ignore[assignment, method-assign]
    with pytest.raises(Refusal, match="and not 0000"):
        device.task(here, "0" * 32)


@pytest.mark.usefixtures("quiet")
def test_a_vector_is_added_up_number_by_number(tmp_path: Path) -> None:
    here = street(tmp_path, 5, replace(PLAN, dimension=3, limit=100))
    vectors = [[1, -2, 3], [60, 80, 0], [-100, 0, 0], [0, 0, 0], [5, 5, 5]]
    told = here.read(here.steps(vectors), {3: "boxes"})
    sum_: Any = here.aggregator.task(here.name).sum
    unit = Fraction(4, 1 << sum_.noise.places)
    assert told[0] == SumRead(0, (-34 + unit, 83 + unit, 8 + unit), 4)
    for odd in ([101, 0, 0], [60, 81, 0], [1, 2], 7):
        assert "expected" in refused(here, here.devices[0].taking_part(here, here.name, odd))


@pytest.mark.parametrize("total", ["1e999999999", "nan", "1/0", "", [1], "9" * 50])
def test_a_device_reads_no_sum_that_is_none(tmp_path: Path, total: object) -> None:
    here = street(tmp_path, 3)
    honest = here.step

    def step(*asked: Any) -> dict[str, Any]:  # noqa: ANN401
        found = honest(*asked)
        content = found["content"]
        return {**found, "content": {**content, "total": [total]}} if content and "total" in content else found

    here.step = step  # type: ignore[method-assign, assignment]
    told = here.read(here.steps(VALUES[:3]))
    assert {str(one) for one in told.values()} == {"the aggregator told no sum"}


def test_a_closed_sum_takes_nothing(tmp_path: Path) -> None:
    here = street(tmp_path)
    steps = here.steps(VALUES)
    next(steps[0])
    here.aggregator.close(here.name)
    assert "closed or begun anew" in refused(here, steps[0])
    assert here.aggregator.standing(here.name).closed
    with pytest.raises(Late):
        here.say(here.name, Message(here.aggregator.task(here.name).digest, 0, 0, 0, b"").signed(
            signing_key(tmp_path / "device-0" / "identity.key")
        ))  # fmt: skip


def test_there_is_no_other_sum(tmp_path: Path) -> None:
    here = Street(tmp_path, 3)
    assert here.aggregator.standing(here.name).task is None
    for unknown in (lambda: here.aggregator.task(here.name), lambda: here.aggregator.standing("0" * 32)):
        with pytest.raises(Unknown):
            unknown()
    with pytest.raises(Refusal, match="from 2 to 3500 people, got 1"):
        street(tmp_path / "alone", 1)


def test_a_plan_is_read_as_it_was_written_and_says_what_it_refuses() -> None:
    assert SumPlan.read(PLAN.text) == PLAN
    for change, words in (
        ({"limit": 0}, "limit"),
        ({"rho": 0}, "rho > 0"),
        ({"failures": 1}, "failures < 1"),
        ({"failures": "0.6"}, "threshold"),
        ({"patience": 10**6}, "patience"),
        ({"question": " "}, "question"),
        ({"dimension": 10**6}, "vector of at most"),
    ):
        with pytest.raises(Refusal, match=words):
            replace(PLAN, **change)


def test_a_last_word_whose_answer_is_lost_is_no_failure(tmp_path: Path) -> None:
    here = street(tmp_path, 3)
    take, lost = here.aggregator.take, list[bytes]()

    def say(name: str, body: bytes) -> None:
        take(name, body)
        if STEPS[read_message(body).step] == "shares" and not lost:
            lost.append(body)
            raise Unreached("nobody answers")

    here.say = say  # type: ignore[method-assign, assignment]
    told = here.read(dict(reversed(here.steps([1, 2, 3]).items())))
    assert lost
    assert all(isinstance(one, SumRead) for one in told.values())
    assert len(set(map(str, told.values()))) == 1
