"""Task of a survey, and uploads that answer it. What is asked, and how answers are randomized, is signed.

A document never changes. Whatever changes is a new version, with a digest of its own, and uploads name the digest:

    b"DSR1" | digest of the task document, 32 bytes | count, 4 bytes, little end first | count × (id, 16 bytes | report)

All reports of a task have one width, so many are read as one array.
"""

from __future__ import annotations

import hashlib
import secrets
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Refusal
from discreet.exact import shown
from discreet.ledger.entry_kinds import Plain, canonical
from discreet.local.heavy_hitters import HeavyHitters
from discreet.local.local_mechanism import Reporter, Reports
from discreet.local.mean import MeanReporter
from discreet.local.sketch import Sketch
from discreet.local.vector_mean import VectorMean
from discreet.mechanisms import described, rebuilt
from discreet.noise import SECURE, Entropy
from discreet.transport.signed_task import SignedTask, numbered

FORMAT = "discreet-task-1"
_MOST_LABELS, _LONGEST_LABEL, _LONGEST_QUESTION = 4096, 200, 2000
_LARGEST_TALLY = 1 << 23  # bytes: it is written with every batch
_WIDEST = 1 << 16  # bytes of a report
_MEANT = 2  # reports of a mean that has a standard error
_LARGEST_BATCH = 1 << 28  # bytes of reports that wait for others
USUAL_MOST, LARGEST_MOST = 1 << 20, 1 << 24  # reports of a task: their ids take 16 bytes each on the disk


@dataclass(frozen=True)
class Task(SignedTask):
    """What is asked, of whom, until when. `question` and `domain` are for people; `mechanism` is for their devices.

    At least `minimum` honest reports stand behind anything that is said, whatever at most `dishonest` reports are. A
    person sends at most `reports` of them: a server holds those to it who were `invited`, each with a token. It takes
    at most `most` reports in all, so that strangers cannot fill its disk.
    """

    mark: ClassVar[bytes] = b"discreet-task\0"

    id: str
    version: int
    question: str
    mechanism: dict[str, Any] = field(hash=False)
    domain: tuple[str, ...]
    opens: str
    closes: str
    minimum: int
    reports: int
    dishonest: int
    invited: bool
    key: str = ""
    signature: str = ""
    most: int = USUAL_MOST

    def __post_init__(self) -> None:
        self._check_frame()
        for name in ("minimum", "reports", "most"):
            numbered(getattr(self, name), name, 1)
        numbered(self.dishonest, "dishonest", 0)
        if not self.question.strip() or len(self.question) > _LONGEST_QUESTION:
            raise Refusal(f"expected a question of at most {_LONGEST_QUESTION} characters")
        self._check_labels()
        wide, tally = self.client.form.itemsize, len(self.client.tally(_none(self.client)).encode())
        if wide > _WIDEST or tally > _LARGEST_TALLY:
            raise Refusal(
                f"reports of this mechanism are too large to collect: one has {wide} bytes, and their sums {tally}",
                hint="take fewer values",
            )
        self._check_size()

    def _check_size(self) -> None:
        least = self.minimum + self.dishonest
        if least < _MEANT and isinstance(self.client, (MeanReporter, VectorMean)):
            raise Refusal(f"a mean has an error bar from {_MEANT} reports on, got minimum={self.minimum}")
        if not least <= self.most <= LARGEST_MOST:
            raise Refusal(
                f"expected minimum + dishonest <= most <= 2^24, got {shown(least)} and most={shown(self.most)}",
                hint="with fewer reports nothing is ever said, and with more a server's memory is full",
            )
        if least * self.client.form.itemsize > _LARGEST_BATCH:
            raise Refusal(
                f"{least} reports of this mechanism do not wait for each other", hint="take a smaller minimum"
            )

    def _check_labels(self) -> None:
        choices = getattr(self.client, "choices", None)
        if any(not label or len(label) > _LONGEST_LABEL for label in self.domain):
            raise Refusal(f"expected labels of 1 to {_LONGEST_LABEL} characters")
        if len(set(self.domain)) != len(self.domain) or len(self.domain) > _MOST_LABELS:
            raise Refusal(f"expected at most {_MOST_LABELS} labels, and each once")
        if choices is None and self.domain:
            raise Refusal(f"{type(self.client).__name__} has no choices, so it takes no labels")
        if choices is not None and len(self.domain) != choices:
            raise Refusal(f"expected a label for each of the {choices} choices, got {len(self.domain)}")

    @cached_property
    def client(self) -> Reporter:
        """The mechanism that a device runs."""
        client = rebuilt(self.mechanism.get("name"), self.mechanism.get("parameters"))
        if not isinstance(client, Reporter) or self.mechanism != described(client):  # one spelling, and so one digest
            raise Refusal(f"the mechanism is not written as `described` writes it: {shown(self.mechanism)}")
        return client

    @property
    def body(self) -> dict[str, Plain]:
        """The document as JSON. Of `most` it speaks only where it is not the usual one."""
        said = {"format": FORMAT, **asdict(self), "domain": list(self.domain)}
        if self.most == USUAL_MOST:
            del said["most"]
        return cast("dict[str, Plain]", said)

    @cached_property
    def asked(self) -> bytes:
        """What a person is asked, whatever the version: the question, its answers, and how they are randomized."""
        return self._hashed(b"discreet-question\0", str, mechanism=self.mechanism)

    @cached_property
    def meant(self) -> bytes:
        """What a person is asked, however it is spelled: capitals, blanks and look-alike letters do not count."""
        return self._hashed(b"discreet-meaning\0", plain, mechanism=self.mechanism)

    @cached_property
    def posed(self) -> bytes:
        """The question and its answers alone, however they are randomized."""
        return self._hashed(b"discreet-posed\0", str)

    def _hashed(self, mark: bytes, spelled: Callable[[str], str], **more: Any) -> bytes:  # noqa: ANN401  # any JSON
        said = {"question": spelled(self.question), "domain": [spelled(label) for label in self.domain], **more}
        return hashlib.sha256(mark + canonical(said)).digest()

    @classmethod
    def parsed(cls, body: Any) -> Task | None:  # noqa: ANN401  # any JSON
        """The task in a JSON value: kinds of parts are checked here, values when it is made."""
        kinds: dict[str, type] = {"str": str, "int": int, "bool": bool, "dict[str, Any]": dict, "tuple[str, ...]": list}
        wanted = {part.name: kinds[str(part.type)] for part in fields(cls)}
        if not isinstance(body, dict) or body.pop("format", None) != FORMAT:
            return None
        body.setdefault("most", USUAL_MOST)  # one that spells it out is not written as we do
        known = set(body) == set(wanted) and all(type(body[name]) is kind for name, kind in wanted.items())
        if not known or any(type(label) is not str for label in body["domain"]):
            return None
        return cls(**{**body, "domain": tuple(body["domain"])})


def drafted(  # noqa: PLR0913  # what a survey is
    question: str,
    client: Reporter,
    domain: Sequence[str],
    *,
    opens: str,
    closes: str,
    minimum: int,
    reports: int = 1,
    dishonest: int = 0,
    invited: bool = False,
    most: int = USUAL_MOST,
) -> Task:
    """The first version of a new task, not signed yet. A sketch without a key of its own gets one: see `.client`."""
    name, means = secrets.token_hex(16), described(_keyed(client))
    given = (opens, closes, minimum, reports, dishonest, invited)
    return Task(name, 1, question, means, tuple(domain), *given, most=most)


def _keyed(client: Reporter) -> Reporter:
    """The same with a key of its own, where it hashes texts and has none: what is said is over the choice of the key.

    RAPPOR keeps the key that it has: a person's permanent response is one for all tasks that ask the same.
    """
    if isinstance(client, (Sketch, HeavyHitters)) and not client.key:
        return replace(client, key=secrets.randbits(128))
    return client


def plain(text: str) -> str:
    """A text without what nobody sees: one form of each letter (NFKC), small, with one blank between words."""
    known = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    seen = (letter for letter in known if unicodedata.category(letter) not in ("Cf", "Cc") or letter.isspace())
    return " ".join("".join(seen).split())


def _none(client: Reporter) -> Any:  # noqa: ANN401  # an array of no report
    return client.decode(b"")


read_task = Task.read  # by its public name


MARK = b"DSR1"
ID = 16  # bytes
HEAD = len(MARK) + 32 + 4
LARGEST = 1 << 20  # bytes of an upload

Ids = NDArray[np.bytes_]  # 16 bytes each: numpy pads texts with zeros, so no two of one width are taken for one
IDS = np.dtype(f"S{ID}")


@dataclass(frozen=True, eq=False)
class Batch:
    """Reports that an honest run of the task's client sends, each with its id, and how many there were beside them.

    `malformed` are of no run; `unlikely` of one so rare that nobody sends them by accident.
    """

    ids: Ids
    reports: Reports
    malformed: int
    unlikely: int = 0


def fresh_ids(count: int, *, rng: Entropy = SECURE) -> Ids:
    """So many new ids: 128 random bits each."""
    return np.frombuffer(rng.raw(ID * count), dtype=IDS)


def packed(task: Task, ids: Ids, reports: Reports | object) -> bytes:
    """An upload. Sent again to the byte it counts once."""
    known = task.client.arranged(reports)
    if len(known) != len(ids):
        raise Refusal(f"expected an id for each of the {len(known)} reports, got {len(ids)}")
    records = np.empty(len(known), dtype=_record(task.client))
    records["id"], records["report"] = ids, known
    sent = MARK + task.digest + len(known).to_bytes(4, "little") + records.tobytes()
    if len(sent) > LARGEST:
        raise Refusal(f"an upload has at most {LARGEST} bytes, got {len(sent)}", hint=f"send {most(task)} at a time")
    return sent


def most(task: Task) -> int:
    """How many reports of a task fit into one upload."""
    return (LARGEST - HEAD) // _record(task.client).itemsize


def addressed(body: bytes) -> tuple[bytes, int] | None:
    """The digest that an upload names and how many reports it says it has; None if it is no upload."""
    if len(body) < HEAD or not body.startswith(MARK):
        return None
    return body[4:36], int.from_bytes(body[36:HEAD], "little")


def unpacked(task: Task, body: bytes) -> Batch | None:
    """The reports of an upload that names this task; None if its length is not what it says."""
    said, record = addressed(body), _record(task.client)
    if said is None or not said[1] or len(body) != HEAD + said[1] * record.itemsize:
        return None
    records = np.frombuffer(body, dtype=record, offset=HEAD)
    reports: Any = np.ascontiguousarray(records["report"])
    ids, strange = np.ascontiguousarray(records["id"]), task.client.strange(reports)
    if strange.any():
        ids, reports = ids[~strange], reports[~strange]
    unlikely = task.client.unlikely(reports)
    if unlikely.any():
        ids, reports = ids[~unlikely], reports[~unlikely]
    return Batch(ids, reports, int(strange.sum()), int(unlikely.sum()))


def _record(client: Reporter) -> np.dtype[Any]:
    return np.dtype([("id", IDS), ("report", client.form)])
