"""Tasks: signed, spelled in one way, and never changed without a new version."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from survey.surveyed import ALBUMS, ONE, draft

from discreet.errors import Refusal
from discreet.local import (
    CountMeanSketch,
    Hadamard,
    HadamardSketch,
    HeavyHitters,
    HybridMean,
    OptimizedUnary,
    Rappor,
    Reporter,
    Response,
    VectorMean,
)
from discreet.local.sketch import Sketch
from discreet.survey.task import Task, read_task
from discreet.transport.signed_task import LONGEST

KEY = Ed25519PrivateKey.generate()


def signed(**changes: Any) -> Task:  # noqa: ANN401
    return draft(**changes).sign(KEY)


@pytest.mark.parametrize(
    "client", [Response(ONE, 3), OptimizedUnary(2 * ONE, 9), Hadamard(ONE, 5), HybridMean(ONE, 0 * ONE, 24 * ONE)]
)
def test_a_document_is_read_as_it_was_written(client: Reporter) -> None:
    task = signed(client=client)
    again = read_task(task.document)
    assert again == task
    assert again.client == client
    assert again.digest == hashlib.sha256(task.document).digest()


def test_the_document_is_the_agreed_one_and_its_signature_is_checked_by_anyone() -> None:
    task = signed()
    body = json.loads(task.document)
    assert list(body) == sorted(body)
    assert body["format"] == "discreet-task-1"
    assert body["mechanism"] == {"name": "optimized-unary", "parameters": {"epsilon": "1", "choices": 4}}
    assert body["domain"] == list(ALBUMS)
    signature = bytes.fromhex(body.pop("signature"))
    plain = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    Ed25519PublicKey.from_public_bytes(bytes.fromhex(body["key"])).verify(signature, b"discreet-task\0" + plain)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("question", "Which album did you steal?"),
        ("minimum", 2),
        ("reports", 9),
        ("dishonest", 1),
        ("invited", True),
        ("closes", "2028-01-01T00:00:00Z"),
        ("domain", ["a", "b", "c", "d"]),
        ("mechanism", {"name": "optimized-unary", "parameters": {"epsilon": "9", "choices": 4}}),
        ("version", 2),
        ("id", "0" * 32),
    ],
)
def test_whatever_is_changed_breaks_the_signature(part: str, value: object) -> None:
    body = json.loads(signed().document)
    assert body[part] != value
    changed = json.dumps({**body, part: value}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    with pytest.raises(Refusal, match=r"signature of task [0-9a-f]+ is not its key's"):
        read_task(changed.encode())


@pytest.mark.parametrize(
    "spoilt",
    [
        lambda text: text.replace(b'"version":1', b'"version": 1'),
        lambda text: text.replace(b'"version":1', b'"version":1,"version":1'),
        lambda text: text.replace(b'"version":1', b'"version":true'),
        lambda text: text.replace(b'"version":1', b'"version":1.0'),
        lambda text: text.replace(b'"version":1', b'"version":1,"more":1'),
        lambda text: text.replace(b'"invited":false', b'"invited":0'),
        lambda text: text.replace(b'"epsilon":"1"', b'"epsilon":1'),
        lambda text: text.replace(b'"epsilon":"1"', b'"epsilon":"1.0"'),
        lambda text: text.replace(b"discreet-task-1", b"discreet-task-2"),
        lambda text: text.replace(b'"Help!"', b"7"),
        lambda text: text[:-1],
        lambda text: text + b" " * LONGEST,
        lambda _: b"[]",
        lambda _: b"[" * 100_000,
        lambda _: b"\xff",
    ],
)
def test_another_spelling_is_no_task(spoilt: Callable[[bytes], bytes]) -> None:
    text = signed().document
    assert spoilt(text) != text
    with pytest.raises(Refusal):
        read_task(spoilt(text))


def test_the_most_reports_are_in_the_document_where_they_are_not_the_usual() -> None:
    usual, few = signed(), signed(most=77)
    assert (usual.most, read_task(usual.document).most, "most" in json.loads(usual.document)) == (
        1 << 20,
        1 << 20,
        False,
    )
    assert (read_task(few.document).most, json.loads(few.document)["most"]) == (77, 77)
    with pytest.raises(Refusal, match="signature"):
        read_task(few.document.replace(b'"most":77', b'"most":78'))
    with pytest.raises(Refusal, match="not a task document"):
        read_task(few.document.replace(b'"most":77', b'"most":%d' % (1 << 20)))


def test_an_unsigned_task_is_refused() -> None:
    with pytest.raises(Refusal, match="signature"):
        read_task(draft().document)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"minimum": 0}, "minimum"),
        ({"reports": 0}, "reports"),
        ({"dishonest": -1}, "dishonest"),
        ({"opens": "2027-03-01T00:00:00Z"}, "opens < closes"),
        ({"closes": "2027-02-30T00:00:00Z"}, "expected a time"),
        ({"closes": "tomorrow"}, "expected a time"),
        ({"minimum": 1 << 50}, "2\\^40"),
        ({"client": CountMeanSketch(ONE, 1 << 8, 1 << 13)}, "too large to collect"),
        ({"client": HybridMean(ONE), "minimum": 1}, "an error bar from 2 reports on"),
        ({"client": VectorMean(ONE, 3), "minimum": 1}, "an error bar from 2 reports on"),
        ({"most": 0}, "most"),
        ({"most": 9}, "minimum \\+ dishonest <= most"),
        ({"most": 15, "dishonest": 6}, "minimum \\+ dishonest <= most"),
        ({"minimum": (1 << 20) + 1}, "minimum \\+ dishonest <= most"),
        ({"most": (1 << 24) + 1}, "most <= 2\\^24"),
        ({"client": CountMeanSketch(ONE, 2, 1 << 16), "minimum": 1 << 16}, "do not wait for each other"),
    ],
)
def test_a_task_that_makes_no_sense_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(Refusal, match=words):
        draft(**changes)


@pytest.mark.parametrize(
    "domain", [("a", "b", "c"), ("a", "b", "c", "a"), ("a", "b", "c", ""), ("a", "b", "c", "d" * 201)]
)
def test_there_is_a_label_for_each_choice(domain: tuple[str, ...]) -> None:
    with pytest.raises(Refusal, match="label"):
        replace(draft(), domain=domain)


@pytest.mark.parametrize("client", [Rappor(2 * ONE), HeavyHitters(ONE), VectorMean(ONE, 2), CountMeanSketch(ONE)])
def test_what_has_no_choices_has_no_labels(client: Reporter) -> None:
    assert draft(client).domain == ()
    with pytest.raises(Refusal, match="has no choices, so it takes no labels"):
        replace(draft(client), domain=("a", "b"))


@pytest.mark.parametrize("client", [HadamardSketch(ONE, 3, 4), CountMeanSketch(ONE, 3, 6), HeavyHitters(ONE, 2)])
def test_every_task_hashes_texts_with_a_key_of_its_own(client: Sketch | HeavyHitters) -> None:
    keys = {draft(client).mechanism["parameters"]["key"] for _ in range(3)}
    assert len(keys) == 3  # by chance with a probability of 2^-126
    assert 0 not in keys
    task = draft(client)
    assert task.client == replace(client, key=task.mechanism["parameters"]["key"])
    assert draft(replace(client, key=7)).client == replace(client, key=7)


def test_rappor_keeps_its_key_so_that_a_permanent_response_stays_one() -> None:
    assert draft(Rappor(2 * ONE)).client == Rappor(2 * ONE)


def test_a_changed_part_is_another_digest_but_a_new_window_is_the_same_question() -> None:
    task = signed()
    later = replace(task, version=2, closes="2028-01-01T00:00:00Z").sign(KEY)
    other = replace(task, version=2, mechanism={"name": "response", "parameters": {"epsilon": "1", "choices": 4}})
    assert len({task.digest, later.digest, other.sign(KEY).digest}) == 3
    assert task.asked == later.asked != other.asked
