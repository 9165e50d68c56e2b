"""Where somebody says what is to be published: the table, the kind, the columns and their bins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial

from nicegui import ui

from discreet.console import theme
from discreet.console.data_dictionary import facts
from discreet.console.release_form.draft import KINDS, Blueprint, Choice, choices
from discreet.declared.table import Table
from discreet.errors import Refusal
from discreet.release.method import MARGINALS, methods
from discreet.release.other_cell import LEFT_OUT

Heard = Callable[[], Awaitable[None]]

MOST = 200  # columns of a table that are listed
_BINS = "How many bins, or their edges as 0,18,65, or 0:100:5 for from, to and width. private:16 lets the price choose."
_OUTSIDE = {"": "count them as (other)", LEFT_OUT: "leave them out of every table"}
_DECLARED = "Only what is declared can be published. A custodian declares bounds and keys when the table is added."


class PlanSheet:
    """The form. `plan` is what it says; `changed` is called when that changes."""

    def __init__(self, tables: Sequence[Table], changed: Heard) -> None:
        self.plan = Blueprint(tables[0].name)
        self._tables = {table.name: table for table in tables}
        self._changed = changed
        self._notes: dict[str, ui.element] = {}
        with theme.card("What to publish"):
            chosen = ui.select(list(self._tables), value=self.plan.table, label="Table")
            chosen.props("outlined dense options-dense").classes("d-some d-sheet-table")
            chosen.on_value_change(lambda event: self._table(str(event.value)))
            self._kinds()
            self._columns = ui.element("fieldset").classes("d-pick-list")
            self._more()
        self._draw()

    def refuse(self, where: str, refusal: Refusal, usual: Callable[[], object] | None = None) -> bool:
        """Say beside a field why it will not do; whether there is such a field."""
        if where not in self._notes:
            return False
        with self._notes[where]:
            theme.tag("p", theme.sentence(refusal.message))
            if refusal.hint:
                theme.tag("p", theme.sentence(refusal.hint)).classes("d-muted")
            if usual is not None:
                ui.button("Use the usual", on_click=usual).props("flat dense no-caps")
        return True

    def accept(self) -> None:
        """Nothing is wrong any more."""
        for note in self._notes.values():
            note.clear()

    async def clear(self, where: str) -> None:
        """Go back to what is usual in one field."""
        if where in self._fields:
            self._fields[where].value = ""  # which is heard

    # the parts -------------------------------------------------------------------------------------------------------

    def _kinds(self) -> None:
        with ui.element("fieldset").classes("d-kind-list"):
            theme.tag("legend", "Kind")
            for kind, (title, words) in KINDS.items():
                with ui.element("label").classes("d-kind"):
                    radio = ui.element("input").props('type="radio" name="kind"')
                    if kind == self.plan.kind:
                        radio.props["^checked"] = ""
                    radio.on("change", partial(self._set, kind=kind, method="", ways=""), args=[])
                    with ui.element("span"):
                        theme.tag("strong", title)
                        theme.tag("span", words).classes("d-muted d-small d-kind-words")

    def _draw(self) -> None:
        """The columns of the table, those that can be counted first."""
        table = self._tables[self.plan.table]
        found = sorted(choices(table)[:MOST], key=lambda each: bool(each.refused))
        self._columns.clear()
        self._notes, self._fields = dict(self._settings), dict(self._set_fields)
        with self._columns:
            theme.tag("legend", "Columns")
            for each in found:
                self._column(each, table)
            if any(each.refused for each in found):
                theme.tag("p", _DECLARED).classes("d-muted d-small")
            if rest := len(table.columns[MOST:]):
                theme.tag("p", f"{rest:,} more columns are counted with discreet release.").classes("d-muted d-small")
        self._rows.set_visibility(table.unit is not None or table.link is not None)
        self._fields["max_rows"].props["placeholder"] = "" if table.max_rows is None else str(table.max_rows)

    def _column(self, choice: Choice, table: Table) -> None:
        with ui.element("div").classes("d-pick-column" + (" d-no" if choice.refused else "")):
            with ui.element("label"):
                box = ui.element("input").props('type="checkbox"')
                if choice.refused:
                    box.props["disabled"] = True
                with ui.element("span"):
                    theme.tag("span", choice.name).classes("d-column-name")
                    said = choice.refused or " · ".join(facts(table.column(choice.name), table))
                    theme.tag("span", said).classes("d-muted d-small d-column-said")
            if choice.refused:
                return
            bins = ui.input("Bins", placeholder="as is usual").props("outlined dense debounce=250 maxlength=2000")
            bins.props("stack-label").classes("d-bins").tooltip(_BINS)
            bins.props["aria-label"] = f"Bins of {choice.name}"
            bins.set_visibility(False)
            bins.on_value_change(lambda event: self._cut(choice.name, str(event.value or "").strip()))
            self._fields[choice.name] = bins
            self._notes[choice.name] = ui.element("div").classes("d-beside").props('aria-live="polite"')

        async def turn(event: object) -> None:
            wanted = getattr(event, "args", None) is True
            bins.set_visibility(wanted and choice.number)
            among = [column.name for column in table.columns]
            self.plan = self.plan.with_column(choice.name, wanted=wanted, among=among)
            await self._changed()

        box.on("change", turn, js_handler="(event) => emit(event.target.checked)")

    def _more(self) -> None:
        self._settings: dict[str, ui.element] = {}
        self._set_fields: dict[str, ui.input | ui.select] = {}
        with ui.element("div").classes("d-sheet-more"):
            self._text("name", "Name of the release", "as its kind and columns")
            with ui.element("div") as self._rows:
                self._text("max_rows", "Rows of one person that count at most", "")
                theme.tag(
                    "p",
                    "A person with more counts with this many of them, chosen at random once per table version. Fewer "
                    "make everything more exact.",
                ).classes("d-muted d-small")

    def experts(self) -> None:
        """Settings that few need, wherever they are to stand."""
        with ui.element("div").classes("d-sheet-more"):
            with ui.element("div") as self._ways:
                self._text("ways", "Columns in each table", "2")
            with ui.element("div") as self._outside:
                self._rule = ui.select(_OUTSIDE, value="", label="Rows without a listed key, or in no bin")
                self._rule.props("outlined dense options-dense")
            self._rule.on_value_change(lambda event: self._set(outside=str(event.value or "")))
            with ui.element("div"):
                self._method = ui.select({"": "as is usual"}, value="", label="Method")
                self._method.props("outlined dense options-dense")
                self._settings["method"] = ui.element("div").classes("d-beside").props('aria-live="polite"')
            self._method.on_value_change(lambda event: self._set(method=str(event.value or "")))
            self._set_fields["method"] = self._method
            with ui.element("div") as self._delta:
                self._text("delta", "delta, for Gaussian noise in tables", "none")
        self._suit()
        self._draw()

    def _text(self, name: str, label: str, usual: str) -> None:
        with ui.element("div"):
            field = ui.input(label, placeholder=usual).props("outlined dense debounce=250 maxlength=120 stack-label")
            self._settings[name] = ui.element("div").classes("d-beside").props('aria-live="polite"')
        field.on_value_change(lambda event: self._set(**{name: str(event.value or "").strip()}))
        self._set_fields[name] = field

    def _suit(self) -> None:
        """Show the settings of this kind alone."""
        tables = self.plan.kind == MARGINALS
        self._method.set_options({"": "as is usual"} | {each: each for each in methods(self.plan.kind)}, value="")
        self._ways.set_visibility(tables)
        self._outside.set_visibility(tables)
        self._delta.set_visibility(tables)

    # what is heard ---------------------------------------------------------------------------------------------------

    async def _table(self, name: str) -> None:
        self.plan = replace(self.plan, table=name, columns=(), bins={})
        self._draw()
        await self._changed()

    async def _cut(self, name: str, text: str) -> None:
        self.plan = replace(self.plan, bins={**self.plan.bins, name: text})
        await self._changed()

    async def _set(self, **parts: str) -> None:
        before, self.plan = self.plan, replace(self.plan, **parts)  # type: ignore[arg-type]
        if self.plan.kind != before.kind:
            self._suit()
        if self.plan != before:
            await self._changed()
