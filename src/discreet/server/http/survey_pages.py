"""The pages of a survey: where people answer in a browser, and what came of it. Everybody may read them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Path, Response

from discreet.desk.surveys import doubts, lines
from discreet.server.errors import missing
from discreet.server.http import survey_html
from discreet.server.http.surveys import Door
from discreet.survey.collector import Collector
from discreet.transport.task import Unknown

survey_pages = APIRouter(prefix="/survey", include_in_schema=False)  # for people: programs read /survey/v1

Id = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
Name = Annotated[str, Path(max_length=50)]


@survey_pages.get("/static/{name}")
async def file(name: Name) -> Response:
    """A script or the style sheet."""
    if name not in survey_html.files():
        raise missing(404)
    content, kind = survey_html.files()[name]
    return Response(content, media_type=kind)


@survey_pages.get("/{survey}")
async def asking(survey: Id, door: Door) -> Response:
    """Where people answer."""
    return await _page(door, lambda collector: _asking(collector, survey), scripted=True)


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
        "Content-Security-Policy": survey_html.policy(scripted=scripted),
        "Cross-Origin-Opener-Policy": "same-origin",  # who opened the page from elsewhere holds nothing of it
    }
    return Response(text, headers=headers, media_type="text/html")


def _asking(collector: Collector, survey: str) -> str:
    return survey_html.asking(collector.standing(survey), collector.handovers(), datetime.now(UTC))


def _results(collector: Collector, survey: str) -> str:
    standing, now = collector.standing(survey), datetime.now(UTC)
    try:
        found = collector.results(survey)
    except Unknown:
        return survey_html.results(standing, 0, (), (), now)
    return survey_html.results(standing, int(found.body["reports"]), lines(found), doubts(found), now)
