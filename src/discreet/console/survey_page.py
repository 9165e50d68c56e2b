"""Page of one survey: what it asks and promises, how it stands, where people answer, and what it came to."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from discreet.console import prices, theme
from discreet.console.layout import UNCHANGED, apart, confirm, origin, trouble
from discreet.console.pages import Visit
from discreet.desk.surveys import AnswerShare, Surveys, doubts, guessed, lines, path, ready
from discreet.pictures.charts import ERRORS, NARROW, WIDE, Ruler, Series, bars
from discreet.survey.collector import TaskStanding
from discreet.survey.results import Results
from discreet.survey.task import Task

PATH = "/surveys"
_CLOSE = "Nobody can answer it any more, and the results are computed, once and for all."
_WHISKERS = (
    "Within the thin lines the truth is 19 times in 20, if the reports are honest. A share below zero or above a "
    "hundred is chance, and is shown as it came."
)
_TOO_FEW = "Fewer reports came than it takes before anything is told. There will be no results."
_NO_SHARES = "They come to no shares of a few answers: read them with `discreet survey results`."
_ONCE = "Each link is for one person. They are shown once and kept nowhere: hand them out now, in a safe way."
_REFUSED = {
    "replayed": "sent again, and counted once",
    "early": "too early",
    "late": "too late",
    "malformed": "not understood",
    "unlikely": "such as honest dice never show",
    "wrong_task": "for another version",
    "over_limit": "above what an invitation allows",
    "full": "above what a survey takes",
    "oversize": "too long to be read",
    "uninvited": "without an invitation",
}


def address(task: Task) -> str:
    """Where a survey is shown."""
    return f"{PATH}?id={task.id}"


def state(standing: TaskStanding) -> str:
    """How a survey stands, in a word or two."""
    if standing.collected:
        return "Results"
    return "Closed" if standing.closed else "Open"


async def exhibit(visit: Visit, surveys: Surveys, name: str) -> None:
    """Draw it."""
    theme.tag("a", "← All surveys").props(f'href="{PATH}"').classes("d-back")
    standing = await visit.call(surveys.one, name)
    task = standing.task
    theme.heading(task.question, 2).classes("d-release-name")
    with ui.element("p").classes("d-meta d-above"):
        theme.tag("strong", state(standing))
        theme.tag("span", f"{standing.counts.get('accepted', 0):,} reports").classes("d-muted")
        if not standing.closed:
            theme.tag("span", f"until {prices.when(task.closes)}").classes("d-muted")
        theme.tag("span", "by invitation" if task.invited else "open to everybody").classes("d-muted")
    if standing.collected:
        _results(task, await visit.call(surveys.results, task.id))
    else:
        _doing(visit, surveys, standing)
    _promise(standing)


# what it came to ------------------------------------------------------------------------------------------------------


def _results(task: Task, outcome: Results) -> None:
    shown, people = lines(outcome), int(outcome.body["reports"])
    if not shown:
        with theme.card("What it came to"):
            theme.muted(f"{people:,} reports were counted. {_NO_SHARES}")
        return
    with theme.card("What it came to"):
        drawn = _drawn(task, shown)
        with ui.element("figure").classes("d-picture"):
            ui.html(bars(drawn, WIDE), sanitize=False).classes("d-wide-picture")  # ours: labels are escaped in them
            ui.html(bars(drawn, NARROW), sanitize=False).classes("d-narrow-picture")
            theme.tag("figcaption", f"{people:,} reports. {_WHISKERS}").classes("d-muted d-small")
        for sentence in doubts(outcome):
            theme.tag("p", sentence).classes("d-survey-doubt")
        with ui.element("details").classes("d-experts"):
            theme.tag("summary", "As a table")
            _table(shown)
        link = theme.tag("a", "The page that everybody may read").classes("d-survey-link")
        link.props(f'href="{path(task)}/results" target="_blank" rel="noopener"')


def _drawn(task: Task, shown: Sequence[AnswerShare]) -> Series:
    side = Ruler("people with this true answer, in percent", labels=tuple(line.label for line in shown))
    shares, errors = tuple(line.share for line in shown), tuple(line.reach / ERRORS for line in shown)
    return Series(task.question, _WHISKERS, side, shares, errors)


def _table(shown: Sequence[AnswerShare]) -> None:
    titles = ("Share in percent", "From", "To", "If the declared are dishonest")
    with theme.table([("Answer", ""), *((title, "d-num") for title in titles)], "The shares", "d-whole"):
        for line in shown:
            numbers = [f"{number:.1f}".replace("-", "−") for number in (line.share, line.low, line.high)]
            numbers.append("not told" if line.shift is None else f"± {line.shift:.1f} more")
            theme.row((line.label, ""), *((number, "d-num") for number in numbers))


# what can be done -----------------------------------------------------------------------------------------------------


def _doing(visit: Visit, surveys: Surveys, standing: TaskStanding) -> None:
    task, reports = standing.task, standing.counts.get("accepted", 0)
    least = task.minimum + task.dishonest
    here = origin()
    if standing.closed and not ready(standing):
        with theme.card("Closed with too few reports"):
            theme.muted(_TOO_FEW)
            theme.note(f"{reports:,} of {least:,} reports")
        return
    with theme.card("Closed, and not counted yet" if standing.closed else "People answer here"):
        if not standing.closed and not task.invited:
            theme.copied(here + path(task), "Copy the address")
        elif not standing.closed:
            theme.muted("Everybody gets a link of their own.")
        with ui.element("div").classes("d-until"):
            bar = ui.element("progress").props(f'max="{least}" value="{min(reports, least)}"')
            bar.props["aria-label"] = "Reports until results can be told"
            words = f"{reports:,} of the {least:,} reports that it takes before anything is told"
            enough = f"{reports:,} reports: enough to tell results"
            theme.tag("span", words if reports < least else enough).classes("d-muted d-small")
        if not visit.custodian:
            return
        with ui.element("div").classes("d-row d-foot"):
            if task.invited and not standing.closed:
                ui.button(
                    "Invite people", icon="mail_outline", on_click=lambda: _invite(visit, surveys, task, here)
                ).props("unelevated no-caps")
            close = ui.button("Close and count", on_click=lambda: _close(visit, surveys, task), color=None)
            close.props("outline no-caps").set_enabled(reports >= least)


def _close(visit: Visit, surveys: Surveys, task: Task) -> None:
    async def done() -> None:
        await visit.call(surveys.closed, task.id)
        ui.navigate.to(address(task))

    confirm("Close this survey?", _CLOSE, task.id[:8], "Close and count", done)


def _invite(visit: Visit, surveys: Surveys, task: Task, here: str) -> None:
    with apart("persistent") as dialog, ui.element("div").classes("d-card d-dialog d-form") as inner:
        theme.heading("Invite people", 2)
        people = ui.input("How many people", value="10").props(
            'outlined autofocus inputmode="numeric" autocomplete="off"'
        )
        box = theme.live()
        with ui.element("div").classes("d-row d-foot"):
            button = ui.button("Make the links").props("unelevated no-caps")
            ui.button("Leave it", on_click=dialog.close, color=None).props("flat no-caps").classes("d-quiet")

    async def done() -> None:
        with theme.busy(button), trouble(box, foot=UNCHANGED):
            tokens = await visit.call(surveys.invited, task.id, whole(people.value))
            inner.clear()
            with inner:
                theme.heading(f"{len(tokens):,} invitations", 2)
                theme.tag("p", _ONCE)
                with ui.element("div").classes("d-links"):
                    theme.copied("\n".join(here + path(task, token) for token in tokens), "Copy the links")
                with ui.element("div").classes("d-row d-foot"):
                    ui.button("I have handed them out", on_click=dialog.close).props("unelevated no-caps")

    button.on_click(done)
    people.on("keydown.enter", done)
    dialog.open()


def whole(text: object) -> int:
    """The number that somebody typed; 0, which everything refuses, if it is none."""
    typed = str(text or "").replace(",", "").strip()
    return int(typed) if typed.isascii() and typed.isdigit() and len(typed) <= 12 else 0


# what is promised -----------------------------------------------------------------------------------------------------


def _promise(standing: TaskStanding) -> None:
    task = standing.task
    loss = task.reports * task.client.epsilon
    with theme.card("What is promised"):
        theme.tag(
            "p",
            f"Whoever reads a person's report, and wavers between two answers, is right in at most {guessed(loss)} "
            "of 100 cases. That somebody took part is not hidden.",
        ).classes("d-promise")
        with theme.facts():
            theme.fact("Answers", ", ".join(task.domain))
            theme.fact("Privacy price", f"{prices.figure(loss, up=True)} for each person")
            theme.fact("Told only from", f"{task.minimum + task.dishonest:,} reports on")
            for kind, words in _REFUSED.items():
                if number := standing.counts.get(kind, 0):
                    theme.fact("Not counted", f"{number:,}", words)
        with theme.experts(), theme.facts():
            theme.fact("Mechanism", f"{task.mechanism['name']}, ε = {task.mechanism['parameters']['epsilon']}")
            theme.fact("Declared dishonest", f"{task.dishonest:,}")
            theme.fact("Document", f"version {task.version}, SHA-256 {task.digest.hex()}")
            theme.fact("Signed by", task.key)
