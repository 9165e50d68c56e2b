"""Surveys page: all surveys, and a new one, with how deniable and how exact it would be while one writes."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from fractions import Fraction

from nicegui import ui
from nicegui.events import GenericEventArguments

from discreet.console import prices, theme
from discreet.console.layout import UNCHANGED, Newest, page, styles, trouble
from discreet.console.pages import Visit
from discreet.console.survey_page import PATH, address, exhibit, state, whole
from discreet.desk import Visitor
from discreet.desk.surveys import DAYS, MINIMUM, Outlook, SurveyPlan, Surveys, enough, fitting
from discreet.errors import Refusal
from discreet.mechanisms import described
from discreet.survey.collector import TaskStanding

NEW = f"{PATH}?new=1"
_LEAD = (
    "Every answer is randomised on the device of the person who gives it. Which reports are true nobody here knows; of "
    "many reports together the shares can be told, with known errors."
)
PRICES = tuple(Fraction(text) for text in ["0.1", "0.2", "0.3", "0.5", "0.7", "1", "1.5", "2", "2.5", "3", "4", "5"])
_USUAL, _PEOPLE = PRICES.index(Fraction(1)), 1000
_PAUSE = 0.25  # seconds without a key until figures are computed
_NOTHING = "–"


@page(PATH)
async def surveys(visit: Visit) -> None:
    """The page: one survey, a new one, or all."""
    asked = ui.context.client.request.query_params
    styles("releases.css", "records.css", "surveys.css")
    known = Surveys(visit.desk)
    if asked.get("id"):
        await exhibit(visit, known, asked["id"])
    elif asked.get("new") and visit.custodian:
        SurveyBuilder(visit, known)
    else:
        await _all(visit, known)


async def _all(visit: Visit, known: Surveys) -> None:
    theme.lead(_LEAD)
    if visit.custodian:
        with ui.element("div").classes("d-row d-above"):
            theme.go("New survey", "add", NEW)
    listed = await visit.call(known.listed)
    if not listed:
        hint = "Begin with one question." if visit.custodian else "A custodian can make one."
        theme.empty("There is no survey yet.", hint, "how_to_vote")
        return
    with ui.element("div").classes("d-grid d-surveys"):
        for each in listed:
            _card(each)


def _card(standing: TaskStanding) -> None:
    task, reports = standing.task, standing.counts.get("accepted", 0)
    with ui.element("article").classes("d-card d-survey"):
        theme.tag("span", state(standing)).classes(f"d-state d-state-{state(standing).partition(' ')[0].lower()}")
        with ui.element("h2").classes("d-heading"):
            theme.link(task.question, address(task)).classes("d-release-link")
        theme.tag("p", ", ".join(task.domain)).classes("d-release-about d-clipped")
        with ui.element("p").classes("d-meta"):
            theme.tag("strong", "1 report" if reports == 1 else f"{reports:,} reports")
            theme.tag("span", f"price {prices.figure(task.reports * task.client.epsilon, up=True)}").classes("d-muted")
            if not standing.closed:
                theme.tag("span", f"until {prices.when(task.closes)}").classes("d-muted")


@dataclass(frozen=True)
class Figures:
    """What is said about a plan, in words."""

    guess: str
    exact: str
    own: str
    note: str
    facts: tuple[tuple[str, str], ...] = ()


MOST = 50  # answers that a page shows
BLANK = Figures(_NOTHING, _NOTHING, _NOTHING, "Write two answers or more, each on a line of its own.")
MANY = Figures(_NOTHING, _NOTHING, _NOTHING, f"A page shows {MOST} answers at most. Join some of them.")


def figures(answers: int, epsilon: Fraction, people: int, minimum: int) -> Figures:
    """How deniable a report would be, and how exact the shares of so many people."""
    if answers < 2 or people < 1:
        return BLANK
    if answers > MOST:
        return MANY
    client = fitting(epsilon, answers)
    outlook = Outlook(client, people)
    crowd = outlook.crowd(max(1, minimum))
    note = f"For ± 5 points it takes about {enough(client, 5):,} people."
    if people < minimum:
        note = f"Nothing is told below {minimum:,} reports, and you expect {people:,}."
    told = described(client)
    facts = [
        ("Mechanism", str(told["name"])),
        ("Report alone", f"ε = {client.epsilon}, pure"),
        ("Own answer, any other", f"{outlook.own:.4f}, {outlook.other:.4f}"),
    ]
    if crowd.shuffled.epsilon < crowd.local.epsilon:
        delta = float(crowd.shuffled.delta)
        bound = prices.figure(crowd.shuffled.epsilon, up=True)
        least = f"among the fewest, {crowd.honest:,} honest reports, if the server is honest"
        facts.append(("All reports, shuffled", f"ε ≤ {bound} at δ = {delta:.0e}, {least}"))
    own = f"{100 * outlook.own:.0f} of 100"
    return Figures(f"{outlook.guess} of 100", f"± {outlook.points}", own, note, tuple(facts))


def answers(text: object) -> tuple[str, ...]:
    """One answer a line; empty lines are none."""
    return tuple(line.strip() for line in str(text or "").splitlines() if line.strip())


class SurveyBuilder:
    """The form, and what it would come to."""

    def __init__(self, visit: Visit, surveys: Surveys) -> None:
        self._visit, self._surveys, self._newest = visit, surveys, Newest()
        self._epsilon = PRICES[_USUAL]
        theme.tag("a", "← All surveys").props(f'href="{PATH}"').classes("d-back")
        with ui.element("div").classes("d-build"):
            with ui.element("div").classes("d-build-left"):
                self._question_card()
            with ui.element("div").classes("d-build-right"):
                self._figure_card()
        self._show(BLANK)

    def _question_card(self) -> None:
        with theme.card("What is asked"), ui.element("div").classes("d-sheet-more d-survey-form"):
            self._question = ui.input("Question").props('outlined maxlength="2000" autocomplete="off"')
            with ui.element("div"):
                self._answers = ui.textarea("Answers, each on a line of its own").props("outlined autogrow")
                self._answers.classes("full-width")
                theme.note("People choose one. All answers that there can be, and not more than 50.")
            with ui.element("div").classes("d-two"):
                self._days = _number("Open for days", DAYS)
                self._minimum = _number("Fewest reports", MINIMUM)
            theme.note("Nothing is told from fewer reports than that.")
            self._invited = ui.checkbox("Only people whom I invite")
            theme.note(
                "Everybody gets a link that counts once. Without invitations anybody can send as often as they like."
            )
        self._answers.on_value_change(self._changed)
        self._minimum.on_value_change(self._changed)

    def _figure_card(self) -> None:
        with theme.card("How deniable, how exact"):
            self._people = _number("People you expect", _PEOPLE)
            self._people.on_value_change(self._changed)
            with ui.element("div").classes("d-slide d-survey-slide"):
                self._price = theme.tag("p").classes("d-price-line")
                self._slider = ui.slider(min=0, max=len(PRICES) - 1, step=1, value=_USUAL)
                self._slider.props('aria-label="Privacy price, from low to high"')
                self._slider.on("update:model-value", self._slid, throttle=0.08)
                with ui.element("div").classes("d-ends d-muted d-small").props('aria-hidden="true"'):
                    theme.tag("span", "more deniable")
                    theme.tag("span", "more exact")
            with ui.element("div").classes("d-tiles").props('aria-live="polite"'):
                self._guess = _tile("Right guesses, at most", "between two answers of one person")
                self._exact = _tile("Error of each share", "in percentage points, about 19 times in 20")
                self._own = _tile("Own answer in a report", "nobody knows in which")
            self._note = theme.tag("p").classes("d-muted d-small")
            self._box = theme.live()
            with ui.element("div").classes("d-row d-doing"):
                self._open = ui.button("Open the survey", on_click=self._made).props("unelevated no-caps")
            with theme.experts():
                self._facts = ui.element("div")

    # figures ---------------------------------------------------------------------------------------------------------

    async def _slid(self, event: GenericEventArguments) -> None:
        self._epsilon = PRICES[min(max(0, int(event.args)), len(PRICES) - 1)]
        await self._changed()

    async def _changed(self) -> None:
        newest = self._newest.change()
        await asyncio.sleep(_PAUSE)
        if not newest():
            return
        given = len(answers(self._answers.value)), self._epsilon, whole(self._people.value), whole(self._minimum.value)
        try:
            told = await self._visit.call(_figures, *given)
        except Refusal:  # too many answers for any survey: it is said when it is opened
            told = BLANK
        if newest():
            self._show(told)

    def _show(self, told: Figures) -> None:
        theme.say(self._price, f"Privacy price {prices.figure(self._epsilon)}")
        self._slider.props(f'aria-valuetext="price {prices.figure(self._epsilon)}"')
        for place, text in ((self._guess, told.guess), (self._exact, told.exact), (self._own, told.own)):
            theme.say(place, text)
        theme.say(self._note, told.note)
        self._open.set_enabled(told.facts != ())
        self._facts.clear()
        with self._facts, theme.facts():
            for name, value in told.facts:
                theme.fact(name, value)

    async def _made(self) -> None:
        plan = SurveyPlan(
            str(self._question.value or ""),
            answers(self._answers.value),
            self._epsilon,
            whole(self._minimum.value),
            whole(self._days.value),
            bool(self._invited.value),
        )
        with theme.busy(self._open), trouble(self._box, foot=UNCHANGED):
            task = await self._visit.call(self._surveys.made, plan)
            ui.navigate.to(address(task))


def _figures(_: Visitor, *given: int | Fraction) -> Figures:
    return figures(*given)  # type: ignore[arg-type]  # as `_changed` gives them


def _number(label: str, value: int) -> ui.input:
    return ui.input(label, value=str(value)).props('outlined dense inputmode="numeric" autocomplete="off"')


def _tile(before: str, after: str) -> ui.element:
    with ui.element("div").classes("d-tile"):
        theme.tag("span", before)
        value = theme.tag("strong", _NOTHING)
        theme.tag("span", after).classes("d-muted d-small")
    return value
