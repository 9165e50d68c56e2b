"""Surveys of a home, asked and kept in the name of whoever was let in: custodians make and close them, all read."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from discreet.desk.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.exact import Number, count, shown
from discreet.interval_arithmetic import exp
from discreet.local import OptimizedUnary, Oracle, Rappor, Reporter, Response
from discreet.local.frequencies import SUSPECT, reach
from discreet.local.local_mechanism import price
from discreet.mechanisms.mechanism import USUAL
from discreet.survey.collector import Collector, TaskStanding
from discreet.survey.results import Results, speaks_of_texts
from discreet.survey.shuffle import DELTA, Promise, Shuffler
from discreet.survey.task import USUAL_MOST, Task, drafted
from discreet.transport.signed_task import written

_FAR = reach(USUAL)  # standard errors to either side hold the truth 19 times in 20
_SKEWED = (_FAR**2 - 1) / 6 + 1 / 2  # reports by which it may be off beyond that: docs/proofs/unary.md

MINIMUM = 100  # reports before anything is told, where nobody says otherwise
DAYS = 14  # that a survey is open, where nobody says otherwise
_MOST_INVITED = 10_000  # at a time


def fitting(epsilon: Number, choices: int) -> Response | OptimizedUnary:
    """The client with the smaller error: one answer where there are few, a yes or no to each where there are many.

    A report of `Response` has less variance where choices < 3e^ε + 2 (Wang, Blocki, Li & Jha 2017, Section 4).
    """
    known, many = price(epsilon), count(choices, "choices", least=2)
    return Response(known, many) if many < 3 * exp(known).down + 2 else OptimizedUnary(known, many)


def guessed(epsilon: Fraction) -> int:
    """Of 100 cases, in how many at most somebody guesses right which of two equally likely answers a person gave.

    e^ε / (1 + e^ε), rounded up.
    """
    odds = exp(epsilon)
    return math.ceil(100 * (odds / (1 + odds)).up)


@dataclass(frozen=True)
class Outlook:
    """What so many people's reports would tell, and what nobody could tell from one."""

    client: Oracle
    people: int

    def __post_init__(self) -> None:
        count(self.people, "people")

    @property
    def guess(self) -> int:
        """Of 100 cases, in how many at most somebody guesses a person's answer out of two equally likely ones."""
        return guessed(self.client.epsilon)

    @property
    def own(self) -> float:
        """How often a report says a person's own answer."""
        return float(self.client.odds.holder)

    @property
    def other(self) -> float:
        """How often it says a given other one."""
        return float(self.client.odds.other)

    @property
    def error(self) -> float:
        """Percentage points by which a share is off at most, 19 times in 20, whatever the share is."""
        return 100 * (_FAR * _deviation(self.client) / math.sqrt(self.people) + _skewed(self.client) / self.people)

    @property
    def points(self) -> str:
        """The same for people, in tenths and never less."""
        return f"{math.ceil(10 * self.error) / 10:.1f}"

    def crowd(self, minimum: int, dishonest: int = 0) -> Promise:
        """What hiding in the shuffled crowd promises beyond that, if no more people come than the fewest it takes.

        How many will come nobody knows beforehand; nothing is told of fewer.
        """
        return Shuffler(minimum, dishonest).promise(self.client, minimum + dishonest, delta=DELTA)


def enough(client: Oracle, error: Number) -> int:
    """How many people make every share exact to so many percentage points, as `Outlook.error` says it.

    The n with f/√n + s/n = e: its root is (f + √(f² + 4es))/2e.
    """
    part, far, skewed = float(Fraction(str(error))) / 100, _FAR * _deviation(client), _skewed(client)
    return math.ceil(((far + math.sqrt(far**2 + 4 * part * skewed)) / (2 * part)) ** 2)


def _deviation(client: Oracle) -> float:
    """The standard deviation of one report's estimate of a share, at most: its square is a line in the share."""
    return math.sqrt(max(client.odds.variance(Fraction(0)), client.odds.variance(Fraction(1))))


def _skewed(client: Oracle) -> float:
    return _SKEWED / float(client.odds.gap)


@dataclass(frozen=True)
class AnswerShare:
    """One answer: its estimated share of the reports in percent, and between which ends it is, 19 times in 20.

    `shift` is by how many percentage points the declared dishonest reports can move it on top of that; None if the
    results do not say.
    """

    label: str
    share: float
    low: float
    high: float
    shift: float | None

    @property
    def reach(self) -> float:
        """Percentage points from the share to the further end."""
        return max(self.high - self.share, self.share - self.low)


@dataclass(frozen=True)
class BloomFilter:
    """How texts become bits for RAPPOR, where people are asked for any text."""

    bits: int = 128
    hashes: int = 2
    cohorts: int = 64


@dataclass(frozen=True)
class SurveyPlan:
    """A survey that is being made: what it asks, at which privacy price, how long; of texts, through which filter."""

    question: str
    answers: tuple[str, ...]
    epsilon: Number
    minimum: int = MINIMUM
    days: int = DAYS
    invited: bool = False
    dishonest: int = 0
    texts: BloomFilter | None = None
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
                raise Refusal(
                    f"a survey has answers to choose from, or it asks for texts, and this has {list(self.answers)} too",
                    hint="leave out one of them",
                )
            return Rappor(self.epsilon, self.texts.bits, self.texts.hashes, self.texts.cohorts)  # type: ignore[arg-type]
        if len(self.answers) < 2:
            raise Refusal(f"expected two answers or more, got {len(self.answers)}", hint="write each on its own line")
        return fitting(self.epsilon, len(self.answers))


class Surveys:
    """What visitors may do with surveys. Every method may be called from any thread."""

    def __init__(self, desk: Desk) -> None:
        self._desk, self._collector = desk, Collector(desk.home)

    def listed(self, visitor: Visitor) -> list[TaskStanding]:
        """How each survey stands, the latest to close first."""
        self._desk.people(visitor)  # refuses who is not let in any more
        return self._collector.standings()

    def one(self, visitor: Visitor, name: str) -> TaskStanding:
        """How one stands."""
        self._desk.people(visitor)
        return self._collector.standing(self._whole(name))

    def results(self, visitor: Visitor, name: str) -> Results:
        """What one came to."""
        self._desk.people(visitor)
        return self._collector.results(self._whole(name))

    def made(self, visitor: Visitor, plan: SurveyPlan) -> Task:
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
        ids = [each for each in self._collector.names() if name and each.startswith(name)]
        if len(ids) != 1:
            known = "there is no such survey" if not ids else "several surveys begin so"
            raise Refusal(f"{known}: {shown(name)}", hint="see the list")
        return ids[0]


def ready(standing: TaskStanding) -> bool:
    """Whether there are enough reports to say anything."""
    return standing.counts.get("accepted", 0) >= standing.task.minimum + standing.task.dishonest


def lines(results: Results) -> list[AnswerShare]:
    """The estimates in percent of the reports."""
    people = int(results.body["reports"])

    def percent(number: str) -> float:
        return 100 * float(number) / people

    return [
        AnswerShare(
            each["label"],
            percent(each["count"]),
            percent(each["low"]),
            percent(each["high"]),
            percent(each["shift"]) if "shift" in each else None,
        )
        for each in results.estimates
        if "label" in each
    ]


def doubts(results: Results) -> list[str]:
    """What is to be said of made-up reports, in sentences: whether the shares add up, and how much they can do."""
    guess, dishonest = results.check, results.dishonest
    if guess is None:
        return []
    said, each = [], float(guess.odds.furthest)  # percentage points by one report in a hundred
    if guess.chance is not None:
        total = f"The shares add up to {float(100 * guess.total):.1f} %"
        if guess.chance < SUSPECT:
            rare = f"1e{math.ceil(math.log10(max(guess.chance, sys.float_info.min)))}"
            said.append(
                f"{total}. Those of honest reports are so far from 100 % with a probability below {rare}: some reports "
                "look made up, and the shares may be wrong by more than their errors."
            )
        else:
            said.append(f"{total}, as those of honest reports may.")
    if dishonest:
        said.append(
            f"If all {dishonest:,} reports that were declared as possibly dishonest are, they move a share by up to "
            f"{float(100 * guess.shift(dishonest)):.1f} percentage points on top of its error."
        )
    said.append(f"One made-up report in a hundred can move each share by up to {each:.1f} percentage points.")
    return said


def path(task: Task, token: str = "") -> str:
    """Where people answer, behind the address of the server: a page, or the document where only programs send texts.

    The token stands where browsers send it to nobody.
    """
    folder = "/survey/v1" if speaks_of_texts(task.client) and not isinstance(task.client, Rappor) else "/survey"
    return f"{folder}/{task.id}" + (f"#{token}" if token else "")


def shortened(tasks: Sequence[Task]) -> dict[str, str]:
    """The shortest beginnings of their ids, of eight digits or more, that tell them apart."""
    size = next(n for n in range(8, 33) if len({task.id[:n] for task in tasks}) == len(tasks))
    return {task.id: task.id[:size] for task in tasks}
