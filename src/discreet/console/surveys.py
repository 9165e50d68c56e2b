"""Surveys: questions whose answers are randomised on people's own devices. Custodians make them, everybody reads."""

from __future__ import annotations

from nicegui import ui

from discreet.console import assets, prices, theme
from discreet.console.layout import page
from discreet.console.pages import Visit
from discreet.console.survey_builder import Builder
from discreet.console.survey_page import PATH, address, exhibit, state
from discreet.desk.surveys import Surveys
from discreet.survey.collector import TaskStanding

NEW = f"{PATH}?new=1"
_LEAD = (
    "Every answer is randomised on the device of the person who gives it. Which reports are true nobody here knows; of "
    "many reports together the shares can be told, with known errors."
)


@page(PATH)
async def surveys(visit: Visit) -> None:
    """The page: one survey, a new one, or all."""
    asked = ui.context.client.request.query_params
    for name in ("releases.css", "records.css", "surveys.css"):
        ui.add_head_html(f'<link rel="stylesheet" href="{assets.address(name)}">')
    found = Surveys(visit.desk)
    if asked.get("id"):
        await exhibit(visit, found, asked["id"])
    elif asked.get("new") and visit.custodian:
        Builder(visit, found)
    else:
        await _all(visit, found)


async def _all(visit: Visit, found: Surveys) -> None:
    theme.lead(_LEAD)
    if visit.custodian:
        with ui.element("div").classes("d-row d-above"):
            button = ui.button("New survey", icon="add").props("unelevated no-caps type=a")
            button.props["href"] = NEW
    listed = await visit.call(found.listed)
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
            link = theme.tag("a", task.question).classes("d-release-link")
            link.props["href"] = address(task)
        theme.tag("p", ", ".join(task.domain)).classes("d-release-about d-clipped")
        with ui.element("p").classes("d-meta"):
            theme.tag("strong", "1 report" if reports == 1 else f"{reports:,} reports")
            theme.tag("span", f"price {prices.figure(task.reports * task.client.epsilon, up=True)}").classes("d-muted")
            if not standing.closed:
                theme.tag("span", f"until {prices.when(task.closes)}").classes("d-muted")
