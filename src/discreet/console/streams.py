"""Streams on the budget page: running counts that one may look at, in a picture that grows while steps arrive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nicegui import ui

from discreet.console import theme
from discreet.console.pages import Visit
from discreet.curator.stream_picture import drawn
from discreet.curator.streams import StreamCount, StreamStatus
from discreet.desk import Desk, Visitor
from discreet.errors import DiscreetError
from discreet.pictures.svg import plain

_EVERY = 5.0  # seconds between two looks


@dataclass(frozen=True)
class StreamRead:
    """A stream and all that it said, read at one time."""

    status: StreamStatus
    counts: tuple[StreamCount, ...]


def seen(desk: Desk, who: Visitor) -> list[StreamRead]:
    """The streams that somebody may look at, the latest first."""
    return [StreamRead(each.standing, each.counts) for each in desk.streams(who).all()]


def growing(visit: Visit, first: Sequence[StreamRead]) -> None:
    """The streams as they are, and as they become: looking is no deed, so it keeps nobody signed in."""
    box = ui.element("div")
    shown = [list(first)]

    def show() -> None:
        box.clear()
        with box:
            for each in shown[0]:
                _card(each)

    async def look() -> None:
        if visit.session.over:
            timer.deactivate()
            return
        try:
            read = await visit.host.call(
                visit.visitor, visit.path, lambda: seen(visit.desk, visit.visitor), question=False
            )
        except DiscreetError:  # the page says so when somebody does something
            return
        if read != shown[0]:
            shown[0] = read
            show()

    show()
    timer = ui.timer(_EVERY, look, active=bool(first))


def _card(read: StreamRead) -> None:
    status, picture = read.status, drawn(read.status, read.counts)
    with ui.element("section").classes("d-card").props(f'aria-label="Stream {status.name}"'):
        theme.heading(f"Stream {status.name}", 2)
        unit = "each row by itself" if status.unit == "row" else f"all rows of one {status.unit}"
        state = f"closed: {status.session.closed}" if status.session.closed else "open"
        steps = f"{len(read.counts)} of {status.horizon} steps, {state}"
        theme.tag("p", f"{steps}. Protected are {unit}; it was paid when it was opened.").classes("d-muted d-small")
        if not read.counts:
            return
        last = read.counts[-1]
        by = "; ".join(f"{key} {plain(float(count))}" for key, count in last.by.items())
        said = f"{plain(float(last.count))} ± {plain(float(last.error))}{f' ({by})' if by else ''}"
        theme.tag("p", said).classes("d-big")
        with ui.element("figure").classes("d-picture"):
            # ours: whatever a person wrote is escaped in them
            ui.html(picture.wide, sanitize=False).classes("d-wide-picture")
            ui.html(picture.narrow, sanitize=False).classes("d-narrow-picture")
            theme.tag("figcaption", picture.note).classes("d-muted d-small")
