"""Answer on the ask page: table, chart, where the truth may lie, and what it cost."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from nicegui import ui

from discreet.console import theme
from discreet.console.prices import figure
from discreet.curator import Answer
from discreet.curator.answer import Spans
from discreet.curator.significant_digits import NO_BAR, Span, is_number, key, measured, plain

_ROWS = 50  # on one page of the table
SURE = (Fraction(90, 100), Fraction(95, 100), Fraction(99, 100))
MOST = 40  # bars that one can still tell apart
_TICKS = 6
_MARGIN = 0.25  # of an error bar, on either side of a single dot


@dataclass(frozen=True)
class ShownAnswer:
    """An answer as it is shown now."""

    sql: str
    answer: Answer
    spans: Spans
    confidence: Fraction
    made_up: bool = False


Surer = Callable[[Fraction], Awaitable[None]]
Saved = Callable[[ShownAnswer], Awaitable[None]]


def draw(result: ShownAnswer, surer: Surer, saved: Saved) -> None:
    """Draw it where we are; `surer` is called when another confidence is chosen, `saved` when a file is wanted."""
    with theme.card() as made:
        made.classes("d-result").props('aria-label="Answer" tabindex="-1"')
        with ui.element("div").classes("d-result-head"):
            theme.heading("Made-up answer" if result.made_up else "Answer", 2)
            ui.element("span").classes("d-grow")
            _chooser(result, surer)
            ui.button("CSV", icon="download", color=None, on_click=lambda: saved(result)).props(
                'flat no-caps dense aria-label="Download as CSV"'
            ).classes("d-quiet")
        if result.made_up:
            theme.made_up()
        if not result.answer.rows:
            theme.empty("No group is large enough to be named.", "Group by fewer columns, or pay more.", "filter_none")
        else:
            _picture(result)
            if len(result.answer.rows) > 1 or len(result.answer.columns) > 1:
                _table(result)
        _small_print(result)


def _chooser(result: ShownAnswer, surer: Surer) -> None:
    chosen = {each: f"{float(each):.0%}" for each in SURE}
    toggle = ui.toggle(list(chosen.values()), value=chosen.get(result.confidence))
    toggle.props('no-caps unelevated dense toggle-color=primary aria-label="How sure the error bars are"')
    toggle.classes("d-toggle").tooltip("How often the truth lies within the error. Choosing another is free.")

    async def choose() -> None:
        await surer(next(each for each, text in chosen.items() if text == toggle.value))

    toggle.on_value_change(choose)


# picture --------------------------------------------------------------------------------------------------------------


def _picture(result: ShownAnswer) -> None:
    columns = measures(result.answer, result.spans)
    if not columns:
        return
    names = {place: result.answer.columns[each] for place, each in enumerate(columns)}

    def drawn(place: int) -> None:
        shown = bars(result.answer, result.spans, columns[place])
        _bars(shown, names[place], single=len(result.answer.rows) == 1)

    theme.one_of(names, "Show", "d-choice", drawn)


def _bars(every: tuple[Bar, ...], name: str, *, single: bool) -> None:
    if not every:
        theme.muted("There is no number to draw in this column.")
        return
    shown = every[:MOST]
    scale = axis(shown, from_zero=not single)
    with ui.element("figure").classes("d-figure d-single" if single else "d-figure"):
        theme.tag("figcaption", name).classes("d-muted d-small")
        if single:
            value, give = measured(shown[0].cell, shown[0].span)
            theme.number(value, give.removeprefix("± ")) if give.startswith("±") else theme.number(value, unit=give)
        with ui.element("div").classes("d-bars"):
            for bar in shown:
                _bar(bar, scale, name, single=single)
            if not single:
                ui.element("span")
            with ui.element("div").classes("d-axis").props('aria-hidden="true"'):
                for tick in scale.ticks:
                    theme.tag("span", plain(tick)).style(f"left:{scale.at(tick)}%")
        if len(every) > MOST:
            theme.note(f"The first {MOST} of {len(every):,} groups.")


def _bar(bar: Bar, scale: Axis, name: str, *, single: bool) -> None:
    value, give = measured(bar.cell, bar.span)
    label = bar.label or name
    if not single:
        theme.tag("span", label).classes("d-bar-label").props["title"] = label
    with ui.element("div").classes("d-track") as track:
        track.props["role"] = "img"
        track.props["aria-label"] = f"{label}: {value} {give}".strip()
        for tick in scale.ticks:
            ui.element("i").classes("d-gridline").style(f"left:{scale.at(tick)}%")
        zero, end = scale.at(0.0), scale.at(bar.value)
        if single:
            ui.element("i").classes("d-dot").style(f"left:{end}%")
        else:
            ui.element("i").classes("d-bar").style(f"left:{min(zero, end)}%;width:{round(abs(end - zero), 3)}%")
        if bar.span is not None:
            low, high = (scale.at(each) for each in bar.span)
            ui.element("i").classes("d-whisker").style(f"left:{low}%;width:{round(high - low, 3)}%")
        with ui.element("span").classes("d-tip"):
            theme.tag("span", f"{value} {give}".strip())


# table ----------------------------------------------------------------------------------------------------------------


def _table(result: ShownAnswer) -> None:
    rows, first = result.answer.rows, [0]
    with ui.element("div").classes("d-scroll").props('tabindex="0" role="region" aria-label="Table of the answer"'):
        table = ui.element("table").classes("d-cells")
    with ui.element("div").classes("d-pager") as pager:
        back = ui.button(icon="chevron_left", color=None).props('flat round dense aria-label="Earlier rows"')
        where = ui.label().classes("d-muted d-small")
        forth = ui.button(icon="chevron_right", color=None).props('flat round dense aria-label="Later rows"')
    pager.set_visibility(len(rows) > _ROWS)

    def drawn(start: int) -> None:
        first[0], end = start, min(start + _ROWS, len(rows))
        table.clear()
        with table:
            _cells(result, start, end)
        where.set_text(f"{start + 1:,} to {end:,} of {len(rows):,}")
        back.set_enabled(start > 0)
        forth.set_enabled(end < len(rows))

    back.on_click(lambda: drawn(max(0, first[0] - _ROWS)))
    forth.on_click(lambda: drawn(first[0] + _ROWS))
    drawn(0)


def _cells(result: ShownAnswer, start: int, end: int) -> None:
    answer, noisy = result.answer, _noisy(result)
    noisy = [has or own for has, own in zip(noisy, answer.noisy or noisy, strict=True)]
    with ui.element("thead"), ui.element("tr"):
        for name, kind, has in zip(answer.columns, answer.types, noisy, strict=True):
            theme.tag("th", name).props('scope="col"').classes("d-right" if is_number(kind) else "")
            if has:
                theme.tag("th", "give or take").props('scope="col"').classes("d-give")
    with ui.element("tbody"):
        for row, spans in zip(answer.rows[start:end], result.spans[start:end], strict=True):
            with ui.element("tr"):
                for cell, kind, span, has in zip(row, answer.types, spans, noisy, strict=True):
                    _cell(cell, kind, span, noisy=has)


def _cell(cell: object, kind: str, span: Span, *, noisy: bool) -> None:
    value, give = measured(cell, span) if noisy else (key(cell), "")
    give = give or (NO_BAR if cell is not None else "")
    made = theme.tag("td", value).classes("d-right" if is_number(kind) else "")
    if cell is None:
        made.classes("d-muted")
    if noisy:
        made.props["title"] = str(cell)  # with all its digits
        theme.tag("td", give).classes("d-give d-error")


def _noisy(result: ShownAnswer) -> list[bool]:
    """Of each column, whether it holds a number with an error."""
    return [any(row[each] is not None for row in result.spans) for each in range(len(result.answer.columns))]


# what belongs to it ---------------------------------------------------------------------------------------------------


def _small_print(result: ShownAnswer) -> None:
    answer = result.answer
    with ui.element("div").classes("d-print d-small d-muted"):
        if not result.made_up:
            with ui.element("p"):
                theme.tag("span", _receipt(answer))
                if answer.entry:
                    theme.tag("a", "See it in History").props('href="/history"')
                    theme.tag("span", " · ")
                    theme.tag("a", "Proof").props(f'href="/ledger?entry={answer.entry.partition(",")[0]}"')
        for sentence in answer.notices:
            if sentence not in answer.bounding:
                theme.tag("p", sentence)
        if answer.bounding:
            theme.tag("p", answer.bounding)
        with ui.element("details"):
            theme.tag("summary", "The question that was asked")
            theme.tag("pre", result.sql).classes("d-code")


def _receipt(answer: Answer) -> str:
    paid = "Free." if answer.cost is None else f"Paid {figure(answer.cost.amount, up=True)}."
    left = "" if answer.left is None else f" {figure(answer.left.amount)} is left of the budget."
    several = "," in answer.entry
    entry = f" Ledger {'entries' if several else 'entry'} {answer.entry.replace(',', ', ')}." if answer.entry else ""
    return f"{paid}{left}{entry} "


def file_name(result: ShownAnswer) -> str:
    """What the file of an answer is called."""
    return "made-up.csv" if result.made_up else f"answer-{result.answer.entry.replace(',', '-') or 'public'}.csv"


@dataclass(frozen=True)
class Bar:
    """A number, whose it is, and between which numbers the truth lies."""

    label: str
    cell: object
    value: float
    span: Span


@dataclass(frozen=True)
class Axis:
    """From where to where a picture goes, and the round numbers in between."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def at(self, value: float) -> float:
        """Where a number lies, in per cent from the left."""
        return round(100 * min(1.0, max(0.0, (value - self.low) / (self.high - self.low))), 3)


def measures(answer: Answer, spans: Sequence[Sequence[Span]]) -> tuple[int, ...]:
    """The columns that hold numbers with an error; if no number has one, all that hold numbers."""
    numbers = [each for each, kind in enumerate(answer.types) if is_number(kind)]
    noisy = [each for each in numbers if any(row[each] is not None for row in spans)]
    return tuple(noisy or numbers)


def bars(answer: Answer, spans: Sequence[Sequence[Span]], column: int) -> tuple[Bar, ...]:
    """One bar for each row whose cell in a column is a number."""
    noisy = {place for place, has in enumerate(answer.noisy) if has}  # a day that is measured names no group
    shown = noisy | set(measures(answer, spans))
    drawn = []
    for row, span in zip(answer.rows, spans, strict=True):
        cell = row[column]
        if cell is None or isinstance(cell, (bool, str)) or not math.isfinite(float(str(cell))):
            continue
        names = [key(each) for place, each in enumerate(row) if place not in shown]
        drawn.append(Bar(" · ".join(names), cell, float(str(cell)), span[column]))
    return tuple(drawn)


def axis(shown: Sequence[Bar], *, from_zero: bool) -> Axis:
    """An axis that has room for every bar and its error."""
    ends = [end for bar in shown for end in (bar.value, *(bar.span or ()))]
    ends = [end for end in ends if math.isfinite(end)] or [0.0]
    low, high = min(ends), max(ends)
    if from_zero:
        low, high = min(0.0, low), max(0.0, high)
    else:
        room = _MARGIN * (high - low) or abs(high) * _MARGIN or 1.0
        low, high = low - room, high + room
    if low == high:
        high = low + 1.0
    step = _round_step((high - low) / _TICKS)
    first, last = math.floor(low / step), math.ceil(high / step)
    if not from_zero:
        first, last = math.ceil(low / step), math.floor(high / step)
        return Axis(low, high, tuple(each * step for each in range(first, last + 1)))
    return Axis(first * step, last * step, tuple(each * step for each in range(first, last + 1)))


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return next(each * power for each in (1.0, 2.0, 5.0, 10.0) if each * power >= rough * (1 - 1e-9))
