"""Signed tasks: a kind of task that no survey is has all that surveys' have, and passes for none of them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from survey.surveyed import draft

from discreet.errors import Refusal
from discreet.ledger.entry_kinds import Plain
from discreet.survey.task import Task
from discreet.transport.signed_task import LONGEST, SignedTask, moment, numbered, written

KEY, OTHER = Ed25519PrivateKey.generate(), Ed25519PrivateKey.generate()


@dataclass(frozen=True)
class Meters(SignedTask):
    """Asks devices for one encrypted number each."""

    mark: ClassVar[bytes] = b"toy-meters\0"

    id: str = "0" * 32
    version: int = 1
    opens: str = "2027-01-01T00:00:00Z"
    closes: str = "2027-02-01T00:00:00Z"
    recipient: str = ""
    key: str = ""
    signature: str = ""

    def __post_init__(self) -> None:
        self._check_frame()

    @property
    def body(self) -> dict[str, Plain]:
        return {"format": "toy-meters-1", **asdict(self)}

    @classmethod
    def parsed(cls, body: Any) -> Meters | None:  # noqa: ANN401
        return cls(**body) if body.pop("format", None) == "toy-meters-1" else None


def test_a_task_of_another_kind_is_signed_read_and_timed() -> None:
    task = Meters(recipient="a" * 64).sign(KEY)
    assert Meters.read(task.document) == task
    assert len(task.digest) == 32
    assert task.digest != replace(task, version=2).sign(KEY).digest
    opens, closes = moment(task.opens), moment(task.closes)
    second = timedelta(seconds=1)
    assert [task.early(opens - second), task.early(opens)] == [True, False]
    assert [task.late(closes - second), task.late(closes)] == [False, True]


@pytest.mark.parametrize("changes", [{"id": "x" * 32}, {"version": 0}, {"version": 1 << 41}, {"closes": "2027-01-01"}])
def test_a_frame_that_makes_no_sense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(Refusal, match=r"expected (an id|version|a time|a whole number version)"):
        Meters(**changes)
    with pytest.raises(Refusal, match="expected opens < closes"):
        Meters(closes=Meters().opens)


def test_whatever_is_changed_is_no_task_of_its_signer() -> None:
    task = Meters(recipient="a" * 64).sign(KEY)
    for body in ({**task.body, "recipient": "b" * 64}, {**task.body, "key": Meters().sign(OTHER).key}):
        document = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
        with pytest.raises(Refusal, match="is not its key's"):
            Meters.read(document)
    for document in (task.document + b" ", b"\xff", b"[]", b"{}", task.document + b" " * LONGEST):
        with pytest.raises(Refusal, match="not a task document"):
            Meters.read(document)


def test_no_kind_passes_for_another() -> None:
    """Neither its document, nor a signature under the same words."""
    survey = draft().sign(KEY)
    for kind, other in ((Meters, survey.document), (Task, Meters().sign(KEY).document)):
        with pytest.raises(Refusal, match="not a task document"):
            kind.read(other)

    class Alike(Meters):
        mark = Task.mark

    assert not replace(Meters(), key=survey.key, signature=Alike().sign(KEY).signature).genuine()


def test_times_are_whole_seconds_in_one_spelling() -> None:
    now = datetime(2027, 1, 31, 12, 0, 0, 999_999, tzinfo=UTC)
    assert written(now) == "2027-01-31T12:00:00Z"
    assert moment(written(now)) == now.replace(microsecond=0)
    for wrong in ("2027-01-31 12:00:00Z", "2027-02-30T12:00:00Z", "2027-01-31T12:00:00+00:00", "٢027-01-31T12:00:00Z"):
        with pytest.raises(Refusal, match="expected a time"):
            moment(wrong)
    with pytest.raises(Refusal, match="at most 2\\^40"):
        numbered((1 << 40) + 1, "most", 1)
