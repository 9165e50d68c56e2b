"""Pages of a survey: where people answer in a browser, and what came of it. Everybody may read them.

Whatever a custodian wrote is shown as text. They have no inline script or style, so their policy allows none.
"""

from __future__ import annotations

import base64
import hashlib
import json
import pathlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from string import Template
from typing import Annotated

from fastapi import APIRouter, Path, Response

from discreet import local
from discreet.desk.surveys import AnswerShare, doubts, guessed, lines, ready
from discreet.errors import Refusal
from discreet.exact import spoken
from discreet.noise.bernoulli import DIGITS
from discreet.pictures.charts import ERRORS, NARROW, WIDE, Ruler, Series, bars
from discreet.pictures.svg import safe
from discreet.server.errors import missing
from discreet.server.http.surveys import Door
from discreet.survey.collector import Collector, TaskStanding
from discreet.survey.task import Task
from discreet.transport.signed_task import Unknown, moment
from discreet.transport.signing_keys import Handover

MOST = 50  # answers on a page
_STEEPEST = 20  # ε up to which a page adds up e^ε


@dataclass(frozen=True)
class Dice:
    """How likely a report says a person's own answer, and each other one: so many out of 2^bits.

    `one`: a report says exactly one answer. `set`: it says yes or no to each.
    """

    kind: str
    choices: int
    bits: int
    holder: int
    other: int

    @classmethod
    def of(cls, client: local.Reporter) -> Dice:
        """The dice of a client, exactly its odds."""
        if (
            not isinstance(client, (local.Response, local.SymmetricUnary, local.OptimizedUnary))
            or client.choices > MOST
        ):
            raise Refusal(
                f"{type(client).__name__} is not answered on a page",
                hint=f"pages roll response and unary of up to {MOST} answers",
            )
        odds = client.odds
        whole = max(odds.holder.denominator, odds.other.denominator)
        if whole & (whole - 1):
            raise Refusal(
                f"the odds of this survey are no binary fractions: {odds.holder} and {odds.other}",
                hint="choose another epsilon",
            )
        kind = "one" if isinstance(client, local.Response) else "set"
        return cls(kind, client.choices, whole.bit_length() - 1, int(odds.holder * whole), int(odds.other * whole))

    def told(self) -> dict[str, str | int]:
        """For the page. Numbers are texts: JSON in a browser would round them."""
        return {
            "kind": self.kind,
            "choices": self.choices,
            "bits": self.bits,
            "holder": str(self.holder),
            "other": str(self.other),
        }


@dataclass(frozen=True)
class TextDice:
    """Coins of RAPPOR, so many out of 2^64: how likely a bit is flipped for good, and told as 1 if it is 0, or 1."""

    client: local.Rappor

    @classmethod
    def of(cls, client: local.Rappor) -> TextDice:
        """Those of a client, if a browser makes the same of texts."""
        if client.key or client.epsilon > _STEEPEST:
            raise Refusal(
                f"this RAPPOR is not answered on a page: key={client.key} epsilon={client.epsilon}",
                hint=f"pages hash texts without a key, and prove promises up to {_STEEPEST}",
            )
        return cls(client)

    def told(self) -> dict[str, str | int]:
        """For the page."""
        odds = {name: int(getattr(self.client, name) * (1 << DIGITS)) for name in ("flipped", "quiet", "loud")}
        filters = {"size": self.client.bits, "hashes": self.client.hashes, "cohorts": self.client.cohorts}
        return {
            "kind": "text",
            "bits": DIGITS,
            **filters,
            **{name: str(part) for name, part in odds.items()},
        }


def told_dice(client: local.Reporter) -> dict[str, str | int]:
    """The dice of a client, or the coins if it tells of texts, for the page."""
    return (TextDice.of(client) if isinstance(client, local.Rappor) else Dice.of(client)).told()


FILES = "/survey/static"
_FOLDER = pathlib.Path(__file__).with_name("static")
_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_WHISKERS = "Within the thin lines the truth is 19 times in 20, if the reports are honest."
_LEAD = (
    "{people:,} reports were counted. Nobody knows which of them are true, but the odds of the dice are known: from "
    "all reports together follow the shares of true answers, up to the errors shown."
)
_YET = (
    "They are told once, after the survey has closed, and only if at least {least:,} reports are there. Before that "
    "nobody is told a part of them: few reports together hide less than many."
)
_COUNTING = "The survey has closed with at least {least:,} reports. The results are told as soon as they are counted."
_TOO_FEW = "The survey has closed with fewer than {least:,} reports. So few say too little, and nothing is told."
_ELSEWHERE = (
    '<section class="card"><h2>This survey is not answered in a browser</h2><p>It has too many answers for a page, or '
    "dice that pages do not roll. It is answered by programs on people's own devices.</p></section>"
)
_NO_SHARES = (
    '<section class="card"><h2>The results are for programs</h2><p>{people:,} reports were counted. They do not come '
    "to shares of a few answers, so there is nothing to draw here; programs read them from this server.</p></section>"
)


@cache
def files() -> dict[str, tuple[bytes, str]]:
    """What browsers get: scripts and the style sheet, with their media types."""
    paths = (path for path in sorted(_FOLDER.iterdir()) if path.suffix in _KINDS)
    return {path.name: (path.read_bytes(), _KINDS[path.suffix]) for path in paths}


@cache
def _template(name: str) -> Template:
    return Template((_FOLDER / name).read_text(encoding="utf-8"))


def policy(*, scripted: bool) -> str:
    """What a browser may do with a page: load our files, talk to us, nothing else."""
    rules = {
        "default-src": "'none'",
        "style-src": "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    if scripted:
        rules |= {"script-src": "'self'", "connect-src": "'self'", "require-trusted-types-for": "'script'"}
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def answer_page(standing: TaskStanding, handovers: Sequence[Handover], now: datetime) -> str:
    """The page on which people answer. By the handovers a device that knows an earlier key finds the present one."""
    task = standing.task
    try:
        dice = told_dice(task.client)
    except Refusal:
        return _around(standing, now, _ELSEWHERE)
    phase = "late" if standing.closed else "early" if task.early(now) else "open"
    return _template("survey.html").substitute(
        title=safe(task.question),
        window=_window(standing, now),
        style=_address("survey.css"),
        script=_address("survey.js"),
        integrity=_integrity("survey.js"),
        task=_embedded(task.body),
        dice=_embedded({**dice, "phase": phase}),
        handovers=_embedded([each.body for each in handovers]),
    )


def missing_page() -> str:
    """The page of an address that there is not. It does not repeat the address: a link must not put words here."""
    return _template("missing.html").substitute(style=_address("survey.css"))


def results_page(
    standing: TaskStanding, people: int, lines: Sequence[AnswerShare], doubts: Sequence[str], now: datetime
) -> str:
    """The page of results; of none yet, that there are none; of such as are no shares of answers, where they are."""
    if lines:
        return _around(standing, now, _estimated(standing.task, people, lines, doubts))
    return _around(standing, now, _NO_SHARES.format(people=people) if people else _nothing(standing))


def _around(standing: TaskStanding, now: datetime, content: str) -> str:
    """A page without a script: the question, something about it, and what is promised."""
    task = standing.task
    return _template("results.html").substitute(
        title=safe(task.question),
        window=_window(standing, now),
        promise=safe(promise(task)),
        style=_address("survey.css"),
        content=content,
    )


def promise(task: Task) -> str:
    """What everybody who answers is promised."""
    loss = task.reports * task.client.epsilon
    return (
        f"Privacy price {spoken(loss)} for each person, whoever reads their report: somebody who wavers between two "
        f"answers guesses right in at most {guessed(loss)} of 100 cases."
    )


def _window(standing: TaskStanding, now: datetime) -> str:
    """Until when it is open."""
    task = standing.task
    if standing.closed:
        return "closed"
    return f"opens on {_day(task.opens)}" if task.early(now) else f"open until {_day(task.closes)}"


def _day(text: str) -> str:
    when = moment(text)
    return f'<time datetime="{text}" title="{when:%H:%M} UTC">{when.day} {when:%B %Y}</time>'


def _embedded(value: object) -> str:
    """JSON that no HTML parser takes for the end of its element."""
    return json.dumps(value, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _address(name: str) -> str:
    return f"{FILES}/{name}"


def _integrity(name: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(files()[name][0]).digest()).decode()


def _nothing(standing: TaskStanding) -> str:
    """Why there are no results. How many reports came so far is not told: who watches would see each of them arrive."""
    title, words = "There are no results yet", _YET
    if standing.closed:
        title, words = (title, _COUNTING) if ready(standing) else ("There will be no results", _TOO_FEW)
    least = standing.task.minimum + standing.task.dishonest
    return f'<section class="card"><h2>{title}</h2><p>{words.format(least=least)}</p></section>'


def _estimated(task: Task, people: int, lines: Sequence[AnswerShare], doubts: Sequence[str]) -> str:
    drawn = Series(
        task.question,
        _WHISKERS,
        Ruler("people with this true answer, in percent", labels=tuple(line.label for line in lines)),
        tuple(line.share for line in lines),
        tuple(line.reach / ERRORS for line in lines),
    )
    rows = "".join(
        f"<tr><td>{safe(line.label)}</td><td>{_number(line.share)} %</td>"
        f"<td>{_number(line.low)} to {_number(line.high)} %</td><td>{_shift(line)}</td></tr>"
        for line in lines
    )
    said = "".join(f"<p>{safe(sentence)}</p>" for sentence in doubts)
    return (
        f'<p class="lead">{_LEAD.format(people=people)}</p>'
        f'<section class="card"><figure class="picture"><div class="wide">{bars(drawn, WIDE)}</div>'
        f'<div class="narrow">{bars(drawn, NARROW)}</div><figcaption class="muted">{_WHISKERS} A share below zero or '
        "above a hundred is chance, and is shown as it came.</figcaption></figure></section>"
        '<section class="card"><h2>In numbers</h2><table><thead><tr><th scope="col">Answer</th>'
        '<th scope="col">Share</th><th scope="col">19 times in 20</th><th scope="col">If the declared reports are '
        f"dishonest</th></tr></thead><tbody>{rows}</tbody></table></section>"
        f'<section class="card"><h2>If reports are made up</h2>{said}</section>'
    )


def _shift(line: AnswerShare) -> str:
    return "not told" if line.shift is None else f"± {_number(line.shift)} more"


def _number(value: float) -> str:
    return f"{value:.1f}".replace("-", "−")


# the paths ------------------------------------------------------------------------------------------------------------

survey_pages = APIRouter(prefix="/survey", include_in_schema=False)  # for people: programs read /survey/v1

Id = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
Name = Annotated[str, Path(max_length=50)]


@survey_pages.get("/static/{name}")
async def file(name: Name) -> Response:
    """A script or the style sheet."""
    if name not in files():
        raise missing(404)
    content, kind = files()[name]
    return Response(content, media_type=kind)


@survey_pages.get("/{survey}")
async def asking(survey: Id, door: Door) -> Response:
    """Where people answer."""
    return await _page(door, lambda collector: _answers(collector, survey), scripted=True)


@survey_pages.get("/{survey}/results")
async def results(survey: Id, door: Door) -> Response:
    """What came of it."""
    return await _page(door, lambda collector: _results(collector, survey), scripted=False)


async def _page(door: Door, drawn: Callable[[Collector], str], *, scripted: bool) -> Response:
    try:
        text = await door.pool.call(lambda: drawn(door.surveys.collector))
    except Unknown:
        raise missing(404) from None
    headers = {
        "Content-Security-Policy": policy(scripted=scripted),
        "Cross-Origin-Opener-Policy": "same-origin",  # who opened the page from elsewhere holds nothing of it
    }
    return Response(text, headers=headers, media_type="text/html")


def _answers(collector: Collector, survey: str) -> str:
    return answer_page(collector.standing(survey), collector.handovers(), datetime.now(UTC))


def _results(collector: Collector, survey: str) -> str:
    standing, now = collector.standing(survey), datetime.now(UTC)
    try:
        told = collector.results(survey)
    except Unknown:
        return results_page(standing, 0, (), (), now)
    return results_page(standing, int(told.body["reports"]), lines(told), doubts(told), now)
