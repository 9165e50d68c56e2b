"""A device's memory: one permanent response for each text, for ever, and nothing stored but a secret."""

from __future__ import annotations

import hashlib
import hmac
import json
import multiprocessing
import os
import signal
import stat
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from doubles import Seeded
from local.laws import follows, singles

from discreet.audit import audit
from discreet.errors import Refusal
from discreet.local.rappor import Device, Rappor
from discreet.mechanisms import Pair
from discreet.privacy import Pure

CLIENT = Rappor.flipping("0.5")
SMALL = Rappor(Fraction(2), 3, 1, 1, Fraction(1, 8), Fraction(7, 8))


def bits(client: Rappor, reports: np.ndarray) -> np.ndarray:
    """Of reports, without their cohorts."""
    return np.unpackbits(reports[:, client._head :], axis=1, bitorder="little", count=client.bits)


def apart(client: Rappor) -> tuple[str, str]:
    """Two texts whose filters have no bit in common."""
    texts = [str(i) for i in range(20)]
    filters = client.bloom.filters(client._truths(np.array(texts, object)), np.zeros(20, np.int64))
    return next(
        (texts[a], texts[b])
        for a, b in combinations(range(20), 2)
        if (filters[a] ^ filters[b]).sum() == 2 * client.hashes
    )


def test_a_text_that_comes_back_finds_its_old_response() -> None:
    device = Device.fresh(CLIENT, rng=Seeded(1))
    first, other = device.permanent("home"), device.permanent("work")
    again = Device(CLIENT, device.secret)
    assert np.array_equal(again.permanent("home"), first)
    assert not np.array_equal(first, other)
    assert again.cohort == device.cohort
    assert np.array_equal(device.permanent(b"home"), first)
    assert not np.array_equal(device.permanent(None), device.permanent(""))
    assert not np.array_equal(Device.fresh(CLIENT, rng=Seeded(2)).permanent("home"), first)


def test_only_what_shapes_the_response_starts_a_new_one() -> None:
    device = Device.fresh(CLIENT, rng=Seeded(1))
    first = device.permanent("home")
    quieter = Device(replace(CLIENT, quiet=Fraction(1, 4)), device.secret)
    assert np.array_equal(quieter.permanent("home"), first)
    assert quieter.cohort == device.cohort
    true = CLIENT.bloom.filters(CLIENT._truths(np.array(["home"], object)), np.array([device.cohort]))[0]
    other = Device(Rappor.flipping("0.25"), device.secret)
    theirs = other.client.bloom.filters(CLIENT._truths(np.array(["home"], object)), np.array([other.cohort]))[0]
    assert not np.array_equal(other.permanent("home") ^ theirs, first ^ true)


def test_averaging_a_life_of_reports_recovers_the_permanent_response_and_not_the_text() -> None:
    """2,000 reports: a bit's mean is 10 standard errors from the middle of p and q. The flipped bits stay flipped."""
    wrong = []
    for seed in range(8):
        device = Device.fresh(CLIENT, rng=Seeded(seed))
        mean = bits(CLIENT, device.reports("home", 2000, rng=Seeded(seed))).mean(axis=0)
        assert np.array_equal(mean > 0.625, device.permanent("home"))
        true = CLIENT.bloom.filters(CLIENT._truths(np.array(["home"], object)), np.array([device.cohort]))[0]
        wrong.append(int(((mean > 0.625) ^ true).sum()))
    flips = [True] * sum(wrong) + [False] * (8 * 128 - sum(wrong))
    assert follows(flips, {True: Fraction(1, 4), False: Fraction(3, 4)})
    assert not follows(flips, {True: Fraction(1, 2), False: Fraction(1, 2)})
    assert min(wrong) > 0


def test_two_reports_of_a_device_follow_the_exact_longitudinal_channel() -> None:
    """Over many secrets: HMAC draws what coins would. False alarm 1e-10."""
    law = SMALL.channel(["c"], 0, 2)["c"]
    rng = Seeded(5)
    seen = []
    for _ in range(6000):
        pair = Device.fresh(SMALL, rng=rng).reports("c", 2, rng=rng)
        seen.append((int(pair[0, 1]), int(pair[1, 1])))
    assert follows(seen, law)
    once = SMALL.channel(["c"])["c"]
    assert not follows(seen, {(a, b): p * q for a, p in once.items() for b, q in once.items()})


@pytest.mark.slow
def test_an_audit_of_many_reports_finds_more_than_one_loses_and_no_more_than_for_ever() -> None:
    """Longitudinal pairs: a device whose person has one text, or another, and reports forty times."""
    one, other = apart(SMALL)
    pair, rng = [Pair(one, other, "one text, or another, told forty times")], Seeded(6)

    def life(value: object) -> tuple[int, ...]:
        many = bits(SMALL, Device.fresh(SMALL, rng=rng).reports(value, 40, rng=rng))
        return tuple(many.sum(axis=0).tolist())

    assert not audit(life, pair, SMALL.privacy, samples=8000, alpha="1e-6").refuted
    assert audit(life, pair, SMALL.once, samples=8000, alpha="1e-6").refuted
    assert SMALL.once.epsilon < Fraction(3, 2) < SMALL.epsilon


@pytest.mark.slow
def test_a_device_that_forgets_is_refuted() -> None:
    """Fresh coins for every report average out: what a client without a memory would lose."""
    one, other = apart(SMALL)
    rng = Seeded(7)

    def forgetful(value: object) -> tuple[int, ...]:
        return tuple(bits(SMALL, SMALL.sample(value, 40, rng=rng)).sum(axis=0).tolist())

    pair = [Pair(one, other, "one text, or another")]
    assert audit(forgetful, pair, SMALL.privacy, samples=8000, alpha="1e-6").refuted


def test_cohorts_and_responses_of_many_devices_are_spread_evenly() -> None:
    client = Rappor.flipping("0.5", bits=8, cohorts=5)
    devices = [Device.fresh(client, rng=Seeded(i)) for i in range(4000)]
    assert follows([device.cohort for device in devices], {j: Fraction(1, 5) for j in range(5)})
    flipped = [tuple((device.permanent(None)[:2]).tolist()) for device in devices]
    coin = {True: Fraction(1, 4), False: Fraction(3, 4)}
    assert follows(flipped, {(a, b): p * q for a, p in coin.items() for b, q in coin.items()})


def test_a_device_reports_as_a_client_does() -> None:
    device = Device.fresh(CLIENT, rng=Seeded(1))
    report = device("home", rng=Seeded(2))
    assert singles(CLIENT.decode(report)) == [report]
    assert int(CLIENT.cohort(CLIENT.decode(report))[0]) == device.cohort
    assert device("home") != device("home")
    for strange in (None, 1.5, [1], float("nan"), 1 << 80):
        assert len(device(strange)) == CLIENT.form.itemsize


def test_the_secret_is_written_once_to_a_file_of_its_owner_and_never_shown(tmp_path: Path) -> None:
    path = tmp_path / "rappor.secret"
    device = Device.at(path, CLIENT)
    assert Device.at(path, CLIENT) == device
    assert Device.at(path, CLIENT).secret == device.secret
    assert path.stat().st_mode & 0o077 == 0
    assert [entry.name for entry in tmp_path.iterdir()] == ["rappor.secret"]
    assert str(device.secret) not in repr(device)
    assert "secret" not in repr(device)
    assert Device.at(tmp_path / "another", CLIENT).secret != device.secret


def test_a_damaged_secret_is_not_replaced_by_a_fresh_one(tmp_path: Path) -> None:
    path = tmp_path / "rappor.secret"
    Device.at(path, CLIENT)
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole + b"x", b"x" * len(whole)):
        path.write_bytes(damaged)
        with pytest.raises(Refusal, match=r"rappor\.secret holds no secret of a device; restore it"):
            Device.at(path, CLIENT)
        assert path.read_bytes() == damaged
    with pytest.raises(Refusal, match="expected a secret of 32 bytes"):
        Device(CLIENT, b"short")


FORK = multiprocessing.get_context("fork")


def test_processes_that_begin_at_once_have_one_secret(tmp_path: Path) -> None:
    """Eight of them, five times: whoever comes second takes what the first wrote."""
    for turn in range(5):
        path, told = tmp_path / f"secret {turn}", FORK.SimpleQueue()
        start = FORK.Barrier(8)

        def begin(path: Path = path, told: object = told, start: object = start) -> None:
            start.wait()  # type: ignore[attr-defined]
            told.put(Device.at(path, CLIENT).secret)  # type: ignore[attr-defined]

        many = [FORK.Process(target=begin) for _ in range(8)]
        for one in many:
            one.start()
        secrets = {told.get() for _ in many}
        for one in many:
            one.join()
        assert secrets == {Device.at(path, CLIENT).secret}
    assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.parametrize("linked", [False, True])
def test_a_process_that_is_killed_while_it_writes_leaves_a_whole_secret_or_none(
    tmp_path: Path, *, linked: bool
) -> None:
    path = tmp_path / "rappor.secret"

    def die(draft: str, to: Path) -> None:
        if linked:
            real(draft, to)
        os.kill(os.getpid(), signal.SIGKILL)

    real = os.link
    child = os.fork()
    if not child:
        os.link = die  # type: ignore[assignment]
        Device.at(path, CLIENT)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert path.exists() == linked
    before = path.read_bytes() if linked else None
    device = Device.at(path, CLIENT)
    assert before is None or path.read_bytes() == before
    assert Device.at(path, CLIENT) == device


def test_a_secret_that_another_wrote_is_on_the_disk_before_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its writer may have been killed before its name was: after a loss of power, the next secret would be another."""
    path, synced, real = tmp_path / "rappor.secret", [], os.fsync

    def watched(file: int) -> None:
        synced.append((stat.S_ISDIR(os.fstat(file).st_mode), path.exists()))
        real(file)

    monkeypatch.setattr(os, "fsync", watched)
    Device.at(path, CLIENT)
    assert synced == [(False, False), (True, True)]  # the secret, then its name
    Device.at(path, CLIENT)
    assert synced[2:] == [(True, True)]


def test_a_process_and_its_fork_have_one_response_and_coins_of_their_own() -> None:
    device, told = Device.fresh(CLIENT), FORK.SimpleQueue()
    device("home")
    child = FORK.Process(target=lambda: told.put((device.permanent("home"), device.reports("home", 4))))
    child.start()
    theirs, reports = told.get()
    child.join()
    assert np.array_equal(theirs, device.permanent("home"))
    mine = device.reports("home", 4)
    assert not any(np.array_equal(a, b) for a in mine for b in reports)


def test_one_secret_under_one_name_shows_that_two_answers_are_the_same_and_under_two_does_not() -> None:
    """A person answers two questions. Without names: two answers that differ show it surely, a loss beyond any ε.

    With names the two responses are independent, so each question loses its own ε and no more. False alarm 2e-10.
    """
    client = Rappor(Fraction(1), 2, 1, 1, Fraction(0), Fraction(1))
    rng = Seeded(8)
    secrets = [rng.raw(32) for _ in range(1500)]

    def told(secret: bytes, question: str) -> int:
        return int(Device(client, secret, question).permanent("c") @ [1, 2])  # no other coins are in a report

    def answers(first: str, second: str) -> list[tuple[int, int]]:
        return [(told(secret, first), told(secret, second)) for secret in secrets]

    assert all(one == other for one, other in answers("", ""))
    law = client.channel(["c"])["c"]
    apart = {(a, b): p * q for a, p in law.items() for b, q in law.items()}
    assert follows(answers("home page", "search engine"), apart)
    assert follows(answers("", "home page"), apart)


def test_a_permanent_response_never_changes() -> None:
    """A new version that drew another would cost every person ε again."""
    secret, chrome = bytes(range(32)), Rappor.flipping("0.5", bits=16, hashes=2, cohorts=64)
    other = Rappor(Fraction(3), bits=40, hashes=3, cohorts=100, key=7)
    assert (Device(chrome, secret).cohort, Device(other, secret).cohort) == (33, 63)
    for client, known in ((chrome, ["9042", "6813", "cc3a"]), (other, ["a67b06753a", "4464806f31", "45623413b1"])):
        device = Device(client, secret)
        for value, bits_ in zip(("home", None, 7), known, strict=True):
            assert np.packbits(device.permanent(value), bitorder="little").tobytes().hex() == bits_


def test_a_response_is_what_the_document_says() -> None:
    """Written again from docs/rappor.md, with nothing of the package."""
    client, secret = Rappor.flipping("0.5", bits=100, hashes=3, cohorts=10, key=5), bytes(range(32))
    device = Device(client, secret, "colour")
    names = {"bits": 100, "cohorts": 10, "flipped": "1/4", "hashes": 3, "key": 5, "question": "colour"}
    shape = hmac.digest(secret, json.dumps(names, sort_keys=True).encode(), "sha256")
    drawn = b"".join(hmac.digest(shape, i.to_bytes(4, "little") + "text:grün".encode(), "sha256") for i in range(25))
    flips = [int.from_bytes(drawn[8 * i : 8 * i + 8], "little") < 1 << 62 for i in range(100)]
    digest = hashlib.sha256(b"discreet-text-1" + (5).to_bytes(16, "little") + "grün".encode()).digest()
    true = set()
    for function in range(3 * device.cohort, 3 * device.cohort + 3):
        bit, attempt = 100, 0
        while bit >= 100:
            block = (function // 8).to_bytes(4, "little") + attempt.to_bytes(4, "little")
            lane = hashlib.sha256(digest + block).digest()[4 * (function % 8) :][:4]
            bit, attempt = int.from_bytes(lane, "little") >> 25, attempt + 1
        true.add(bit)
    assert device.permanent("grün").tolist() == [(i in true) != flip for i, flip in enumerate(flips)]


@pytest.mark.parametrize("secret", ["x" * 32, bytearray(32), [0] * 32, np.zeros(32, np.uint8), None, b"short"])
def test_a_secret_is_32_bytes_that_nobody_can_change(secret: object) -> None:
    with pytest.raises(Refusal, match="expected a secret of 32 bytes"):
        Device(CLIENT, secret)  # type: ignore[arg-type]
    with pytest.raises(Refusal, match="expected the name of a question as text, got 7"):
        Device(CLIENT, bytes(32), 7)  # type: ignore[arg-type]


def test_a_life_with_three_texts_is_accounted_three_times() -> None:
    assert CLIENT.longitudinal(["home", "work", "home", "away"]) == 3 * CLIENT.privacy
    assert CLIENT.longitudinal(["home"] * 1000) == Pure(CLIENT.epsilon)
