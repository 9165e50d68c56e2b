"""Streams on the budget page: running counts that one may look at, in pictures that grow while steps arrive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nicegui import ui

from discreet.console import theme
from discreet.console.pages import Visit
from discreet.curator.stream_answers import StreamCount, StreamWords
from discreet.curator.stream_picture import MOST_LINES, counts_picture, keys_picture
from discreet.curator.streams import OpenStream, StreamStatus
from discreet.desk import Desk, Visitor
from discreet.errors import DiscreetError
from discreet.lru_cache import LruCache
from discreet.pictures.charts import Picture
from discreet.pictures.svg import plain
from discreet.stream.stream import Counts

_EVERY = 5.0  # seconds between two looks
_WINDOWS = 400  # that are drawn, at most
_BARS = 12


@dataclass(frozen=True)
class StreamRead:
    """A stream and all that it said, read at one time."""

    status: StreamStatus
    words: StreamWords
    answers: tuple[Counts, ...]

    @cached_property
    def counts(self) -> tuple[StreamCount, ...]:
        """The running counts."""
        return self.words.running(self.answers)


_READ = LruCache[tuple[Path, int, object], StreamRead](64)  # public numbers: no state is opened twice for one page


def seen(desk: Desk, who: Visitor) -> list[StreamRead]:
    """The streams that somebody may look at, the latest first. Only what changed is read from its state."""
    return [_seen(each) for each in desk.streams(who).all()]


def _seen(opened: OpenStream) -> StreamRead:
    key = (opened.home, opened.entry, opened.version)
    read = _READ.get(key)
    if read is None:
        read = StreamRead(opened.standing, opened.words, opened.answers)
        _READ.put(key, read)
    return read


def growing(visit: Visit, first: Sequence[StreamRead]) -> None:
    """The streams as they are, and as they become: looking is no deed, so it keeps nobody signed in."""
    box = ui.element("div")
    shown: dict[str, tuple[StreamRead, Callable[[StreamRead], None]]] = {}

    def show(every: Sequence[StreamRead]) -> None:
        for read in every:
            name = read.status.name
            if name not in shown:
                with box:
                    shown[name] = (read, _card(read))
            elif shown[name][0] is not read:
                again = shown[name][1]
                shown[name] = (read, again)
                again(read)

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
        show(read)

    show(first)
    timer = ui.timer(_EVERY, look, active=bool(first))


def _card(first: StreamRead) -> Callable[[StreamRead], None]:
    """A stream's card, and how it is drawn anew; the width of a window stays as somebody set it."""
    now = [first]
    with ui.element("section").classes("d-card").props(f'aria-label="Stream {first.status.name}"'):
        theme.heading(f"Stream {first.status.name}", 2)
        label = "Only the last so many steps"
        width = ui.number(label=label, min=1, precision=0, format="%d").props("outlined dense clearable")
        content = ui.element("div")

    def show(read: StreamRead) -> None:
        now[0] = read
        content.clear()
        with content:
            _content(read, int(width.value) if width.value and width.value >= 1 else None)

    width.on_value_change(lambda: show(now[0]))
    show(first)
    return show


def _content(read: StreamRead, width: int | None) -> None:
    status = read.status
    unit = "each row by itself" if status.unit == "row" else f"all rows of one {status.unit}"
    state = f"closed: {status.session.closed}" if status.session.closed else "open"
    steps = f"{len(read.answers)} of {status.horizon} steps, {state}"
    theme.tag("p", f"{steps}. Protected are {unit}; it was paid when it was opened.").classes("d-muted d-small")
    if not read.answers:
        theme.tag("p", status.bounding).classes("d-muted d-small")
        return
    every = 1 if width is None else -(-len(read.answers) // _WINDOWS)
    counts = read.counts if width is None else read.words.windows(read.answers, width, every)
    steps_so_far = len(read.answers)
    last = counts[-1] if width is None else read.words.window(read.answers, max(0, steps_so_far - width), steps_so_far)
    by = "; ".join(f"{key} {plain(float(count))}" for key, count in last.top(_BARS)) if last.by else ""
    said = f"{plain(float(last.count))} ± {plain(float(last.error))}{f' ({by})' if by else ''}"
    theme.tag("p", said).classes("d-big")
    _figure(counts_picture(status, counts, width, every))
    if status.declared.edges or len(last.by) > MOST_LINES:
        _figure(keys_picture(status, last, _BARS))


def _figure(picture: Picture) -> None:
    with ui.element("figure").classes("d-picture"):
        # ours: whatever a person wrote is escaped in them
        ui.html(picture.wide, sanitize=False).classes("d-wide-picture")
        ui.html(picture.narrow, sanitize=False).classes("d-narrow-picture")
        theme.tag("figcaption", picture.note).classes("d-muted d-small")
