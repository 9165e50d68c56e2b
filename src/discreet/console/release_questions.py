"""Questions to a release: how many, and up to which value. They are computed from what is published, and free."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial

from nicegui import ui

from discreet.console import theme
from discreet.console.layout import trouble
from discreet.console.pages import Visit
from discreet.desk import Desk, Visitor
from discreet.errors import Refusal
from discreet.exact import exact
from discreet.pictures.svg import plain, rounded
from discreet.release import Estimate, NumberAxis, Release
from discreet.release.axis import KeyAxis, Side
from discreet.release.estimate import error_bar

_CHOICES = 200  # keys in a list; of more, one is written
_AXES = 40  # columns that are asked about
_NO_ERROR = "No error bar: how far off it may be is not known."
_OFTEN = "19 times in 20, before what bounds and caps cut off."
_FREE = "It is computed from what is published."


def counted(desk: Desk, who: Visitor, entry: int, asked: Mapping[str, object]) -> Estimate:
    """How many records a release has with these values. It blocks."""
    return desk.release(who, entry).range(**asked)


def quantile(desk: Desk, who: Visitor, entry: int, level: Fraction) -> Estimate:
    """Up to which value this share of the records lies. It blocks."""
    return desk.release(who, entry).quantile(level)


def readings(visit: Visit, entry: int, release: Release) -> None:
    """The card with both questions."""
    if not release.sides:
        return
    with theme.card("Ask it, free"):
        _how_many(visit, entry, release.sides[:_AXES])
        if rest := len(release.sides[_AXES:]):
            theme.tag("p", f"{rest:,} more columns can be asked about with the downloaded release.").classes("d-muted")
        if release.line is not None:
            _up_to(visit, entry, release.line)


def _how_many(visit: Visit, entry: int, axes: tuple[Side, ...]) -> None:
    theme.tag("p", "How many records have these values? What you leave empty may be anything.").classes("d-muted")
    with ui.element("div").classes("d-asking"):
        fields = {axis.column: _Between(axis) if isinstance(axis, NumberAxis) else _Among(axis) for axis in axes}
        button = ui.button("Count").props("unelevated no-caps")
    box = ui.element("div").classes("d-read").props('aria-live="polite"')

    async def count() -> None:
        with theme.busy(button), trouble(box, foot=_FREE):
            asked = {name: field.value() for name, field in fields.items() if not field.empty}
            found = await visit.call(partial(counted, visit.desk), entry, asked)
            with box:
                _shown(found, "records")

    button.on_click(count)
    for field in fields.values():
        field.entered(count)
        field.changed(box.clear)  # what was counted is of other values


def _up_to(visit: Visit, entry: int, column: str) -> None:
    theme.tag("p", f"Up to which {column} does a share of all records lie? Half of them: the median.").classes(
        "d-muted d-next"
    )
    with ui.element("div").classes("d-asking"):
        field = ui.input("Share in per cent", value="50").props("outlined dense inputmode=decimal maxlength=24")
        field.classes("d-end")
        button = ui.button("Find the value").props("outline no-caps")
    box = ui.element("div").classes("d-read").props('aria-live="polite"')

    async def find() -> None:
        with theme.busy(button), trouble(box, foot=_FREE):
            level = exact(_text(field), "share") / 100
            if not 0 < level < 1:
                raise Refusal("a share lies between 0 and 100 per cent")
            found = await visit.call(partial(quantile, visit.desk), entry, level)
            with box:
                _shown(found, "")

    button.on_click(find)
    field.on("keydown.enter", find)
    field.on_value_change(box.clear)


def _shown(found: Estimate, unit: str) -> None:
    error = found.error
    if not found.barred:
        theme.number(plain(found.value), unit=unit)
        theme.tag("p", _NO_ERROR).classes("d-muted d-small")
    elif error is None:
        low, high = found.interval()
        theme.number(plain(found.value), unit=unit)
        theme.tag("p", f"The truth lies from {plain(low)} to {plain(high)}, {_OFTEN}").classes("d-muted d-small")
    else:
        theme.number(rounded(found.value, error), rounded(error_bar(error, found.value), error), unit)
        theme.tag("p", f"The truth lies within it {_OFTEN}").classes("d-muted d-small")
    if found.note:
        theme.tag("p", theme.sentence(found.note)).classes("d-muted d-small")


class _Between:
    """From one number to before another."""

    def __init__(self, axis: NumberAxis) -> None:
        ends = [plain(float(axis.edges[place])) for place in (0, -1)]
        with ui.element("fieldset").classes("d-asked-of"):
            theme.tag("legend", axis.column)
            self._fields = [
                ui.input(label, placeholder=end).props("outlined dense inputmode=decimal maxlength=40").classes("d-end")
                for label, end in zip(("from", "to before"), ends, strict=True)
            ]
        for field, label in zip(self._fields, ("from", "to before"), strict=True):
            field.props["aria-label"] = f"{axis.column} {label}"
        self._column = axis.column

    @property
    def empty(self) -> bool:
        return not any(map(_text, self._fields))

    def value(self) -> object:
        low, high = (exact(text, self._column) if (text := _text(field)) else None for field in self._fields)
        return low, high

    def entered(self, done: object) -> None:
        for field in self._fields:
            field.on("keydown.enter", done)  # type: ignore[arg-type]

    def changed(self, done: Callable[[], object]) -> None:
        for field in self._fields:
            field.on_value_change(done)


class _Among:
    """Some keys."""

    def __init__(self, axis: KeyAxis) -> None:
        self._axis = axis
        with ui.element("fieldset").classes("d-asked-of"):
            theme.tag("legend", axis.column)
            if len(axis) <= _CHOICES:
                names = {place: label or "(empty)" for place, label in enumerate(axis.labels)}
                self._choice: ui.select | None = ui.select(names, multiple=True, label="any of", value=[])
                self._choice.props("outlined dense options-dense use-chips").classes("d-some")
                self._choice.props["aria-label"] = f"{axis.column}: any of"
            else:
                self._choice = None
                self._field = ui.input("one key").props("outlined dense maxlength=400").classes("d-some")
                self._field.props["aria-label"] = f"{axis.column}: one key"

    @property
    def empty(self) -> bool:
        return not self._choice.value if self._choice is not None else not _text(self._field)

    def value(self) -> object:
        if self._choice is not None:
            return [self._axis.values[place] for place in self._choice.value]
        if (text := _text(self._field)) not in self._axis.labels:
            raise Refusal(f"there is no key {text!r} of {self._axis.column!r}", hint="write it as it is declared")
        return [self._axis.values[self._axis.labels.index(text)]]

    def entered(self, done: object) -> None:
        if self._choice is None:
            self._field.on("keydown.enter", done)  # type: ignore[arg-type]

    def changed(self, done: Callable[[], object]) -> None:
        (self._field if self._choice is None else self._choice).on_value_change(done)


def _text(field: ui.input) -> str:
    return str(field.value or "").strip()
