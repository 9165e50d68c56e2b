"""A person's device: one draw for a question, on the disk before it leaves, and the same bytes ever after."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from covering import Coverage
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from doubles import Seeded
from survey.surveyed import ONE, Survey, draft, sent, trusting

from discreet.errors import Refusal
from discreet.local import Hadamard, LocalHashing, Rappor, Response, described
from discreet.privacy import Pure
from discreet.survey.respondent import Respondent, Upload
from discreet.survey.task import Task
from discreet.transport.device_client import Unreached
from discreet.transport.signed_task import UploadReceipt
from discreet.transport.signing_keys import Handover


class Hand:
    """Carries to a collector that is here. It may lose what it was given, or the receipt."""

    address = "here"

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self.sent: list[bytes] = []
        self.loses = ""

    def task(self, name: str, /) -> bytes:
        return self.survey.collector.task(name).document

    def handovers(self) -> Sequence[Handover]:
        return self.survey.collector.handovers()

    def send(self, name: str, body: bytes, token: str | None, /) -> UploadReceipt:
        self.sent.append(body)
        if self.loses == "upload":
            raise Unreached("nobody answers there")
        receipt = self.survey.collector.receive(name, body, token)
        if self.loses == "receipt":
            raise Unreached("nobody answers there")
        return receipt


def report(upload: Upload, task: Task) -> bytes:
    return bytes(sent(upload.body, task)[1].tobytes())


def test_an_answer_is_drawn_once_and_then_the_same_bytes_whatever_is_answered(tmp_path: Path) -> None:
    survey = Survey(tmp_path, LocalHashing(ONE, 5))
    first = Respondent(tmp_path / "me").answer(survey.task, 3)
    again = [Respondent(tmp_path / "me").answer(survey.task, value) for value in (3, 0, 1, 2, 4)]
    assert again == [first] * 5
    assert Respondent(tmp_path / "other").answer(survey.task, 3) != first
    assert Respondent(tmp_path / "me").loss(survey.task) == Pure(1)


def test_asked_a_thousand_times_it_does_not_average_out(tmp_path: Path) -> None:
    survey = Survey(tmp_path, Response(ONE, 5), reports=1000)
    me = Respondent(tmp_path / "me", rng=Seeded(1))
    later = survey.task
    seen = set()
    for version in range(2, 40):  # a new version each day, of the same question
        later = replace(later, version=version, minimum=version)
        seen.add(report(me.answer(later, 3), later))
    assert len(seen) == 1
    assert me.loss(later) == Pure(1)


def test_another_question_is_another_draw_and_so_is_another_mechanism(tmp_path: Path) -> None:
    me = Respondent(tmp_path / "me")
    task = draft(LocalHashing(ONE, 5))
    other = replace(task, question="Which band?", id="1" * 32)
    assert report(me.answer(task, 1), task) != report(me.answer(other, 1), other)
    assert me.loss(task) == me.loss(other) == Pure(1)
    assert me.loss(replace(task, id="2" * 32)) == Pure(0)
    assert me.lost() == Pure(2)


def test_an_answer_of_another_version_has_an_id_of_its_own(tmp_path: Path) -> None:
    me, task = Respondent(tmp_path / "me"), draft(LocalHashing(ONE, 5))
    later = replace(task, version=2, minimum=9)
    (one, first), (two, second) = (sent(me.answer(each, 1).body, each) for each in (task, later))
    assert one != two
    assert first == second


def test_drawing_afresh_loses_more_and_is_limited(tmp_path: Path) -> None:
    me, task = Respondent(tmp_path / "me"), draft(LocalHashing(ONE, 5), reports=3)
    first = me.answer(task, 1)
    fresh = [me.answer(task, 2, afresh=True) for _ in range(2)]
    assert len({first.body, *(each.body for each in fresh)}) == 3
    assert me.loss(task) == Pure(3)
    with pytest.raises(Refusal, match="answered 3 times, and takes 3"):
        me.answer(task, 4, afresh=True)
    assert me.answer(task, 1) == fresh[-1]
    assert me.loss(task) == Pure(3)


@pytest.mark.slow
def test_the_law_of_what_is_sent_is_the_clients(tmp_path: Path) -> None:
    task = draft(Response(Fraction("1.0986122886681098"), 2))  # ln 3
    said = [sent(Respondent(tmp_path / str(i), rng=Seeded(i)).answer(task, 1).body, task)[1][0] for i in range(400)]
    ones = Coverage(sum(said), 400)  # exact tails
    assert not ones.refuted(0.75)
    assert not ones.exceeded(0.75)
    assert ones.exceeded(0.5)


def test_the_state_does_not_hold_the_answer_and_is_for_its_owner(tmp_path: Path) -> None:
    """The same coins, and a report that says the same for either value, as every other one does: the files are equal.

    Of 40 pairs fewer than three say the same with a probability of 8e-10.
    """
    task, alike = replace(draft(Hadamard(ONE, 5)), id="0" * 32), 0
    for i in range(40):
        paths = [tmp_path / f"{value}.{i}" for value in (0, 4)]
        said = [report(Respondent(paths[v // 4], rng=Seeded(i)).answer(task, v), task) for v in (0, 4)]
        if said[0] == said[1]:
            alike += 1
            assert paths[0].read_bytes() == paths[1].read_bytes()
        if alike == 3:
            break
    assert alike == 3
    assert (tmp_path / "0.0").stat().st_mode & 0o077 == 0


def test_with_rappor_every_draw_tells_the_same_permanent_response(tmp_path: Path) -> None:
    loud = Rappor(Fraction(4), 64, 2, 8, Fraction(0), Fraction(1))  # a report tells the permanent response itself
    task, rng = draft(loud, reports=9), Seeded(1)
    first = report(trusting(tmp_path / "me", rng=rng).answer(task, "cat"), task)
    again = [report(trusting(tmp_path / "me", rng=rng).answer(task, "cat", afresh=True), task) for _ in range(3)]
    assert again == [first] * 3
    me = trusting(tmp_path / "me", rng=rng)
    assert report(me.answer(task, "dog", afresh=True), task) != first
    assert report(me.answer(task, "cat", afresh=True), task) == first
    assert me.loss(task) == 6 * loud.privacy  # an upper bound: nothing here knows which texts they were
    assert len(me.pending()) == 6
    assert report(trusting(tmp_path / "other", rng=rng).answer(task, "cat"), task) != first


def test_other_odds_of_a_report_get_the_same_permanent_response_and_another_question_another(tmp_path: Path) -> None:
    """Whoever asks the same again, in whatever way reports are drawn, learns one permanent response."""
    loud = Rappor(Fraction(4), 64, 2, 1, Fraction(0), Fraction(1))
    task, me = draft(loud), trusting(tmp_path / "me", rng=Seeded(2))
    first = report(me.answer(task, "cat"), task)
    nearly = Fraction(1, 1 << 64)
    again = replace(task, mechanism=described(replace(loud, loud=1 - nearly)), id="1" * 32)
    assert again.asked != task.asked
    assert report(me.answer(again, "cat"), again) == first
    other = replace(task, question="Which pet?", id="2" * 32)
    assert report(me.answer(other, "cat"), other) != first


def test_a_device_that_lost_power_before_it_sent_keeps_its_secret(tmp_path: Path) -> None:
    loud = Rappor(Fraction(4), 64, 2, 8, Fraction(0), Fraction(1))
    survey = Survey(tmp_path, loud, reports=5, minimum=1)
    hand, me = Hand(survey), trusting(tmp_path / "me")
    hand.loses = "upload"
    with pytest.raises(Unreached):
        me.take_part(hand, survey.task.id, "cat")
    back = trusting(tmp_path / "me")
    hand.loses = ""
    assert back.deliver(hand) == [UploadReceipt(accepted=1)]
    assert back.take_part(hand, survey.task.id, "cat", afresh=True) == UploadReceipt(accepted=1)
    (lost, first, second) = (sent(body, survey.task) for body in hand.sent)
    assert lost[1].tobytes() == first[1].tobytes() == second[1].tobytes()
    assert first[0] != second[0]


def test_two_processes_of_a_device_share_one_secret(tmp_path: Path) -> None:
    loud = Rappor(Fraction(4), 64, 2, 8, Fraction(0), Fraction(1))
    task = draft(loud, reports=9).sign(Ed25519PrivateKey.generate())
    (tmp_path / "document").write_bytes(task.document)
    command = [sys.executable, "-c", TWICE, str(tmp_path / "document"), str(tmp_path / "me")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    said = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    reports = {sent(bytes.fromhex(body), task)[1].tobytes() for each in said for body in each.decode().split("|")}
    assert len(reports) == 1


TWICE = """
import sys
from pathlib import Path
from discreet.survey.respondent import Respondent
from discreet.survey.task import read_task
from discreet.privacy import Pure
task = read_task(Path(sys.argv[1]).read_bytes())
me = Respondent(Path(sys.argv[2]))
me.set_limit(Pure(100))
sys.stdout.buffer.write(b"|".join(me.answer(task, "cat", afresh=again).body.hex().encode() for again in (False, True)))
"""


@pytest.mark.parametrize("loses", ["upload", "receipt"])
def test_what_got_lost_is_sent_again_to_the_byte_and_counts_once(loses: str, tmp_path: Path) -> None:
    survey = Survey(tmp_path, minimum=1)
    hand, me = Hand(survey), Respondent(tmp_path / "me")
    hand.loses = loses
    for value in (0, 1):
        with pytest.raises(Unreached):
            me.take_part(hand, survey.task.id, value)
    assert [each.body for each in me.pending()] == hand.sent[:1]
    hand.loses = ""
    receipt = UploadReceipt(accepted=1) if loses == "upload" else UploadReceipt(replayed=1)
    assert Respondent(tmp_path / "me").deliver(hand) == [receipt]
    assert me.take_part(hand, survey.task.id, 2) == UploadReceipt(replayed=1)
    assert len(set(hand.sent)) == 1
    assert len(hand.sent) == 4
    assert (me.pending(), me.deliver(hand)) == ([], [])
    assert survey.counts["accepted"] == 1


def test_what_came_too_early_stays_pending(tmp_path: Path) -> None:
    survey = Survey(tmp_path)
    hand, me = Hand(survey), Respondent(tmp_path / "me")
    survey.clock.pass_(days=-20)
    assert me.take_part(hand, survey.task.id, 1) == UploadReceipt(early=1)
    survey.clock.pass_(days=20)
    assert me.deliver(hand) == [UploadReceipt(accepted=1)]
    assert me.pending() == []


def test_a_token_goes_with_it(tmp_path: Path) -> None:
    survey = Survey(tmp_path, invited=True)
    (token,) = survey.collector.invite(survey.task.id, 1)
    assert Respondent(tmp_path / "me").take_part(Hand(survey), survey.task.id, 1, token=token) == UploadReceipt(
        accepted=1
    )
    assert token.encode() not in (tmp_path / "me").read_bytes()


def test_a_task_of_a_stranger_is_not_answered(tmp_path: Path) -> None:
    survey, me = Survey(tmp_path), Respondent(tmp_path / "me")
    hand, name = Hand(survey), survey.task.id
    me.take_part(hand, name, 1)
    (tmp_path / "elsewhere").mkdir()
    thief = Survey(tmp_path / "elsewhere")
    forged = thief.collector.publish(replace(survey.task, version=1))
    with pytest.raises(Refusal, match="signed by a stranger"):
        me.trust(forged.document, name)
    with pytest.raises(Refusal, match="was asked for"):
        me.trust(thief.task.document, name)
    with pytest.raises(Refusal, match="signed by a stranger"):
        Respondent(tmp_path / "new").trust(forged.document, name, key=survey.task.key)
    survey.collector.rotate()
    survey.collector.revise(name, minimum=1)
    assert me.take_part(hand, name, 1) == UploadReceipt(accepted=1)  # a key that was handed over to
    with pytest.raises(Refusal, match="signed by a stranger"):
        me.trust(survey.task.document, name, handovers=hand.handovers())  # and never back


KILLED = """
import os, signal, sys
from pathlib import Path
from discreet.survey.respondent import Respondent
from discreet.survey.task import read_task

class Dies:
    address = "nowhere"
    def __init__(self, document): self.document = document
    def task(self, name): return self.document
    def handovers(self): return []
    def send(self, name, body, token):
        os.write(1, body)
        os.kill(os.getpid(), signal.SIGKILL)

document = Path(sys.argv[1]).read_bytes()
Respondent(Path(sys.argv[2])).take_part(Dies(document), read_task(document).id, 2)
"""


def test_a_device_that_dies_while_it_sends_says_the_same_when_it_is_back(tmp_path: Path) -> None:
    survey = Survey(tmp_path, LocalHashing(ONE, 5), minimum=1)
    (tmp_path / "document").write_bytes(survey.task.document)
    command = [sys.executable, "-c", KILLED, str(tmp_path / "document"), str(tmp_path / "me")]
    out = [subprocess.run(command, check=False, capture_output=True) for _ in range(3)]
    assert [each.returncode for each in out] == [-signal.SIGKILL] * 3
    assert len({each.stdout for each in out}) == 1
    assert out[0].stdout.startswith(b"DSR1")
    assert [each.body for each in Respondent(tmp_path / "me").pending()] == [out[0].stdout]
    assert Respondent(tmp_path / "me").loss(survey.task) == Pure(1)


def test_a_disk_that_is_gone_sends_nothing(tmp_path: Path) -> None:
    survey, me = Survey(tmp_path), Respondent(tmp_path / "me")
    os.truncate(tmp_path / "me", 100)
    hand = Hand(survey)
    with pytest.raises(Refusal, match="what this device remembers cannot be read: its file is damaged"):
        me.take_part(hand, survey.task.id, 1)
    assert hand.sent == []
