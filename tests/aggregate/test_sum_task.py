"""Signed tasks of sums: read as they were written, refused where changed, and the sum that they say is the one run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from discreet.aggregate import MaskedSum, Sender, StreamSum, SumTask, opened, public_key
from discreet.errors import Refusal
from discreet.ledger.signed_head import public_part
from discreet.privacy import Approximate, Concentrated

KEY = Ed25519PrivateKey.generate()
METERS = [X25519PrivateKey.generate() for _ in range(4)]  # the aggregator's is the first
PEOPLE = tuple(public_key(one).hex() for one in METERS)
FRAME: dict[str, Any] = {
    "id": "0" * 32,
    "version": 1,
    "question": "Power in Mill Lane",
    "limit": 50,
    "epochs": 96,
    "opens": "2027-01-01T00:00:00Z",
    "closes": "2027-02-01T00:00:00Z",
}
DILUTED = SumTask(
    scheme="diluted", parameters={"epsilon": "1", "delta": "1/1000", "honest": "3"}, people=PEOPLE, **FRAME
).sign(KEY)
GAUSSIAN = SumTask(scheme="gaussian", parameters={"rho": "1/8", "honest": "2"}, people=PEOPLE, **FRAME).sign(KEY)
SIGNERS = tuple(public_part(Ed25519PrivateKey.generate()) for _ in range(5))
NUMBERS = {"rho": "1/2", "minimum": "4", "colluders": "1", "threshold": "4"}
MASKED = SumTask(scheme="masked", parameters=NUMBERS, people=SIGNERS, **FRAME).sign(KEY)


@pytest.mark.parametrize("task", [DILUTED, GAUSSIAN, MASKED], ids=["diluted", "gaussian", "masked"])
def test_a_document_is_read_as_it_was_written_and_one_that_was_changed_is_refused(task: SumTask) -> None:
    again = SumTask.read(task.document)
    assert again == task
    assert again.sum == task.sum
    assert again.sum.name == task.digest.hex()
    body = json.loads(task.document)
    for name, value in (("limit", 49), ("epochs", 97), ("people", body["people"][::-1]), ("question", "else")):
        changed = json.dumps({**body, name: value}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        with pytest.raises(Refusal, match="signature"):
            SumTask.read(changed.encode())
    for name, odd in (("format", "discreet-task-1"), ("people", 5), ("question", 5), ("extra", 1), ("parameters", [])):
        changed = json.dumps({**body, name: odd}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        with pytest.raises(Refusal, match="not a task document"):
            SumTask.read(changed.encode())


def test_the_sum_is_that_of_the_document() -> None:
    assert isinstance(DILUTED.sum, StreamSum)
    assert DILUTED.sum.privacy == 96 * Approximate(1, "1/1000")
    assert DILUTED.sum.noise.people == 3
    assert GAUSSIAN.sum.privacy.delta > 0
    assert isinstance(MASKED.sum, MaskedSum)
    assert (MASKED.sum.minimum, MASKED.sum.honest, MASKED.sum.people) == (4, 3, SIGNERS)
    assert isinstance(MASKED.sum.privacy, Concentrated)
    assert MASKED.sum.privacy.rho == 48


def test_people_who_have_the_document_need_nothing_else(tmp_path: Path) -> None:
    task = DILUTED.sum
    assert isinstance(task, StreamSum)
    senders = [Sender(task, DILUTED.exponent(one), tmp_path / str(place)) for place, one in enumerate(METERS[1:])]
    messages = [one.encrypt(30, 7) for one in senders]
    total = opened(task, 7, DILUTED.exponent(METERS[0]), messages, task.table(tmp_path))
    assert abs(total - 90) < 12 * task.noise.deviation
    other = replace(DILUTED, version=2).sign(KEY)
    assert other.exponent(METERS[1]) != DILUTED.exponent(METERS[1])
    with pytest.raises(Refusal, match="one's own among them"):
        DILUTED.exponent(X25519PrivateKey.generate())
    with pytest.raises(Refusal, match="no exponents"):
        MASKED.exponent(METERS[0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scheme": "tree"}, "a scheme of"),
        ({"parameters": {"epsilon": "1"}}, "has the parameters"),
        ({"parameters": {"epsilon": "1.0", "delta": "1/1000", "honest": "3"}}, "expected epsilon as 1"),
        ({"parameters": {"epsilon": "1", "delta": "1/1000", "honest": "5/2"}}, "whole number honest"),
        ({"parameters": {"epsilon": "1", "delta": "1/1000", "honest": "4"}}, "honest <= people"),
        ({"people": PEOPLE[:3] + PEOPLE[:1]}, "keys that differ"),
        ({"question": " "}, "a question"),
        ({"limit": 0}, "limit >= 1"),
        ({"id": "x"}, "an id"),
    ],
)
def test_what_is_no_task_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        replace(DILUTED, **change)


def test_masks_that_could_come_off_twice_are_refused() -> None:
    with pytest.raises(Refusal, match="2 threshold > people"):
        replace(MASKED, parameters={**NUMBERS, "threshold": "3"})
