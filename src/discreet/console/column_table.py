"""The columns of a table, as they are declared."""

from __future__ import annotations

from collections.abc import Sequence

from nicegui import ui

from discreet.console import declared_words, theme
from discreet.sql.schema import Column

MOST = 200  # columns of a table that a page shows


def columns(declared: Sequence[Column]) -> None:
    """One line for each, all of them in sight; what is wider than the page scrolls by itself."""
    region = ui.element("div").classes("d-scroll d-columns").props('tabindex="0" role="region"')
    region.props["aria-label"] = f"{len(declared):,} columns"
    with region, ui.element("table").classes("d-table"):
        with ui.element("thead"), ui.element("tr"):
            for title in ("Column", "Type", "Bounds or keys", "Description"):
                theme.tag("th", title).props('scope="col"')
        with ui.element("tbody"):
            for column in declared[:MOST]:
                with ui.element("tr"):
                    theme.tag("td", column.name).classes("d-name")
                    theme.tag("td", declared_words.kind(column))
                    theme.tag("td", declared_words.limits(column))
                    theme.tag("td", column.description).classes("d-muted")
    further(declared)


def further(declared: Sequence[Column]) -> None:
    """How many columns are not shown, if any."""
    if rest := len(declared[MOST:]):
        theme.tag("p", f"And {rest:,} more {'column' if rest == 1 else 'columns'}.").classes("d-muted d-small")
