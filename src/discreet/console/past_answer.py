"""An answer that is shown again: its table, each number give or take its error."""

from __future__ import annotations

from nicegui import ui

from discreet.console import theme
from discreet.curator import Answer
from discreet.curator.significant_digits import NO_BAR, Span, is_number, key, measured

_MOST = 200  # rows on a page; a download has all


def table(answer: Answer) -> None:
    """The rows, scrolling in their place."""
    known = answer.noisy or (False,) * len(answer.columns)
    region = ui.element("div").classes("d-scroll").props('tabindex="0" role="region" aria-label="The answer"')
    with region, ui.element("table").classes("d-table"):
        with ui.element("thead"), ui.element("tr"):
            for name, kind in zip(answer.columns, answer.types, strict=True):
                theme.tag("th", name).classes("d-num" if is_number(kind) else "").props('scope="col"')
        with ui.element("tbody"):
            for row, spans in list(zip(answer.rows, answer.spans, strict=True))[:_MOST]:
                with ui.element("tr"):
                    for cell, kind, span, noisy in zip(row, answer.types, spans, known, strict=True):
                        _cell(cell, kind, span, noisy=noisy)
    if len(answer.rows) > _MOST:
        theme.tag("p", f"The first {_MOST} of {len(answer.rows):,} rows. A download has all.").classes(
            "d-muted d-small"
        )
    elif not answer.rows:
        theme.tag("p", "The answer has no rows.").classes("d-muted d-small")
    barred = any(span is not None for row in answer.spans for span in row)
    sure = f"The error holds in {100 * float(answer.confidence):g} of 100 cases." if barred else ""
    doubts = [sentence for sentence in answer.notices if sentence not in answer.bounding]
    if told := " ".join(filter(None, [*doubts, sure, answer.bounding])):
        theme.tag("p", told).classes("d-muted d-small")


def _cell(cell: object, kind: str, span: Span, *, noisy: bool) -> None:
    value, give = (key(cell), NO_BAR if noisy and cell is not None else "") if span is None else measured(cell, span)
    with theme.tag("td", value).classes("d-num" if is_number(kind) else ""):
        if give:
            words = give if give.startswith("±") else f"({give})"
            theme.tag("span", f" {words}").classes("d-pm")  # a space for who copies it
