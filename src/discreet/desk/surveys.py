"""The surveys of a home, in the name of whoever was let in: custodians make and close them, everybody reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from discreet.desk.desk import Desk, Visitor
from discreet.desk.outlook import fitting
from discreet.errors import Refusal
from discreet.exact import Number, count
from discreet.local import Rappor, Reporter
from discreet.local.collector import Collector
from discreet.local.receipt import Standing
from discreet.local.result import Results
from discreet.local.task import USUAL_MOST, Task, drafted, written
from discreet.local.texts import speaks_of_texts

MINIMUM = 100  # reports before anything is told, where nobody says otherwise
DAYS = 14  # that a survey is open, where nobody says otherwise
_MOST_INVITED = 10_000  # at a time


@dataclass(frozen=True)
class Line:
    """One answer: its estimated share of the reports in percent, and the standard error of that."""

    label: str
    share: float
    error: float


@dataclass(frozen=True)
class Filter:
    """How texts become bits for RAPPOR, where people are asked for any text."""

    bits: int = 128
    hashes: int = 2
    cohorts: int = 64


@dataclass(frozen=True)
class Plan:
    """A survey that is being made: what it asks, at which privacy price, how long; of texts, through which filter."""

    question: str
    answers: tuple[str, ...]
    epsilon: Number
    minimum: int = MINIMUM
    days: int = DAYS
    invited: bool = False
    dishonest: int = 0
    texts: Filter | None = None
    most: int = USUAL_MOST

    def draft(self, now: datetime) -> Task:
        """The task, which opens now. Refused if a part of it cannot be."""
        return drafted(
            self.question.strip(),
            self._client(),
            [answer.strip() for answer in self.answers],
            opens=written(now),
            closes=written(now + timedelta(days=count(self.days, "days"))),
            minimum=self.minimum,
            dishonest=self.dishonest,
            invited=self.invited,
            most=self.most,
        )

    def _client(self) -> Reporter:
        if self.texts is not None:
            if self.answers:
                raise Refusal("a survey has answers to choose from, or it asks for texts", hint="leave out one of them")
            return Rappor(self.epsilon, self.texts.bits, self.texts.hashes, self.texts.cohorts)  # type: ignore[arg-type]
        if len(self.answers) < 2:
            raise Refusal(f"expected two answers or more, got {len(self.answers)}", hint="write each on its own line")
        return fitting(self.epsilon, len(self.answers))


class Surveys:
    """What visitors may do with surveys. Every method may be called from any thread."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._collector = desk, Collector(desk.home)

    def listed(self, visitor: Visitor) -> list[Standing]:
        """How each survey stands, the latest to close first."""
        self._desk.people(visitor)  # refuses who is not let in any more
        return self._collector.standings()

    def one(self, visitor: Visitor, name: str) -> Standing:
        """How one stands."""
        self._desk.people(visitor)
        return self._collector.standing(self._whole(name))

    def results(self, visitor: Visitor, name: str) -> Results:
        """What one came to."""
        self._desk.people(visitor)
        return self._collector.results(self._whole(name))

    def made(self, visitor: Visitor, plan: Plan) -> Task:
        """Sign a survey and open it."""
        self._desk.custody(visitor)
        return self._collector.publish(plan.draft(datetime.now(UTC)))

    def invited(self, visitor: Visitor, name: str, people: int) -> list[str]:
        """A token for each of so many people, kept nowhere."""
        self._desk.custody(visitor)
        if count(people, "people") > _MOST_INVITED:
            raise Refusal(f"expected at most {_MOST_INVITED} people at a time, got {people}", hint="invite in parts")
        return self._collector.invite(self._whole(name), people)

    def closed(self, visitor: Visitor, name: str) -> Results:
        """Take no more reports, and say what there is. Refused, and left open, if there are too few to say anything."""
        self._desk.custody(visitor)
        standing = self._collector.standing(self._whole(name))
        if not standing.closed and not ready(standing):
            task = standing.task
            raise Refusal(
                f"there are fewer than the {task.minimum + task.dishonest} reports that this survey needs",
                hint="wait for more; nothing was closed",
            )
        self._collector.close(standing.task.id)
        return self._collector.collect(standing.task.id)

    def forgotten(self, visitor: Visitor, name: str) -> tuple[Task, list[int]]:
        """Delete report ids and invitations that one needs no more, and of which versions; all else stays."""
        self._desk.custody(visitor)
        task = self._collector.task(self._whole(name))
        return task, self._collector.forget(task.id)

    def _whole(self, name: str) -> str:
        """The id that begins so, if only one does."""
        found = [each for each in self._collector.names() if name and each.startswith(name)]
        if len(found) != 1:
            raise Refusal("there is no such survey" if not found else "several surveys begin so", hint="see the list")
        return found[0]


def ready(standing: Standing) -> bool:
    """Whether there are enough reports to say anything."""
    return standing.counts.get("accepted", 0) >= standing.task.minimum + standing.task.dishonest


def lines(results: Results) -> list[Line]:
    """The estimates in percent of the reports."""
    people, told = int(results.body["reports"]), results.body["estimates"]
    return [
        Line(each["label"], 100 * float(each["count"]) / people, 100 * float(each["error"]) / people)
        for each in told
        if "label" in each
    ]


def path(task: Task, token: str = "") -> str:
    """Where people answer, behind the address of the server: a page, or the document for a program that sends texts.

    The token stands where browsers send it to nobody.
    """
    folder = "/survey/v1" if speaks_of_texts(task.client) else "/survey"
    return f"{folder}/{task.id}" + (f"#{token}" if token else "")


def shortened(tasks: Sequence[Task]) -> dict[str, str]:
    """The shortest beginnings of their ids, of eight digits or more, that tell them apart."""
    size = next(n for n in range(8, 33) if len({task.id[:n] for task in tasks}) == len(tasks))
    return {task.id: task.id[:size] for task in tasks}
