"""Form for a release: the table, the kind, the columns and their bins, and what somebody filled in so far."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

from nicegui import ui

from discreet.console import theme
from discreet.console.data_dictionary import facts
from discreet.declared.column import Column
from discreet.declared.group_key import Type
from discreet.declared.table import Table
from discreet.desk import ReleaseOrder
from discreet.errors import Refusal, about
from discreet.exact import count
from discreet.ledger.entry_kinds import BudgetLoss
from discreet.release import Wish, kinds
from discreet.release.release_kind import Option, named

_LONGEST = 4000  # letters that somebody may write into a field
_MOST = 12  # columns of one release
Heard = Callable[[], Awaitable[None]]
MOST = 200  # columns of a table that are listed
_DECLARED = "Only what is declared can be published. A custodian declares bounds and keys when the table is added."


@dataclass(frozen=True)
class ColumnChoice:
    """A column, what is declared of it, and why it cannot be published if it cannot."""

    name: str
    number: bool = False  # it is cut into bins
    refused: str = ""
    usual: str = ""  # what is said of it at first


def choices(table: Table, kind: str = "") -> tuple[ColumnChoice, ...]:
    """All columns of a table, in their order, for a kind of release."""
    finds = bool(kind) and named(kind).wish.finds
    return tuple(_choice(column, table, finds=finds) for column in table.columns)


def _choice(column: Column, table: Table, *, finds: bool) -> ColumnChoice:
    if column.keys or column.type is Type.BOOLEAN:
        return ColumnChoice(column.name)
    if column.line is not None:
        return ColumnChoice(column.name, number=True)
    if column.name == table.unit:
        return ColumnChoice(column.name, refused="It says whose a row is.")
    if finds and column.type is Type.VARCHAR:
        return ColumnChoice(column.name, number=True, usual="found")
    lacks = "Neither bounds nor keys are declared." if column.type.ordered else "Its keys are not declared."
    return ColumnChoice(column.name, refused=lacks)


@dataclass(frozen=True)
class ReleaseDraft:
    """What somebody filled in, word by word; nothing is as is usual.

    `parts` are those that only some kinds have, `by_column` what is said of single columns.
    """

    table: str = ""
    columns: tuple[str, ...] = ()
    kind: str = kinds()[0].name
    by_column: Mapping[str, str] = field(default_factory=dict, hash=False)
    name: str = ""
    max_rows: str = ""
    parts: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def options(self) -> dict[str, Option]:
        """The parts that a form asks for, of this kind."""
        return {name: option for name, option in named(self.kind).wish.options().items() if option.label}

    def says(self, field: str) -> bool:
        """Whether something is filled in for a column, or as a setting of this name."""
        return bool(self.by_column.get(field) or self.parts.get(field)) or field == "max_rows"

    def with_column(self, name: str, *, wanted: bool, among: Sequence[str]) -> ReleaseDraft:
        """The same with a column or without it; columns keep the order of their table."""
        now = {*self.columns, name} if wanted else {*self.columns} - {name}
        return replace(self, columns=tuple(each for each in among if each in now))

    def order(self, price: Fraction, budget: BudgetLoss) -> ReleaseOrder:
        """What is ordered at a price, in the measure of a budget. Raises why it cannot be."""
        kind = named(self.kind)
        if not self.columns:
            raise Refusal("choose what is to be counted", hint="one column or two, or more for tables")
        if len(self.columns) < kind.wish.fewest:
            fewest = f"{kind.title.lower()} have {kind.wish.fewest} columns or more"
            raise Refusal(fewest, hint=f"choose another column, or publish a {kinds()[0].name}")
        if len(self.columns) > _MOST:
            raise Refusal(f"a release is made of at most {_MOST} columns here", hint="choose fewer, or use the program")
        if max(map(len, (self.name, *self.by_column.values(), *self.parts.values()))) > _LONGEST:
            raise Refusal(f"nothing longer than {_LONGEST} letters fits here")
        own: dict[str, Any] = {}
        for name, option in self.options.items():
            if option.by_column:
                own[name] = {column: self.by_column[column] for column in self.columns if self.by_column.get(column)}
            elif text := self.parts.get(name):
                with about(name):
                    own[name] = _whole(text, name) if option.read is int else option.read(text)
        if self.max_rows:
            with about("max_rows"):
                own["max_rows"] = _whole(self.max_rows, "max_rows")
        wish = Wish.read({"kind": self.kind, "columns": self.columns, budget.word: price, **own})
        return ReleaseOrder.of(self.table, wish, self.name)


def _whole(text: str, name: str) -> int:
    return count(int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0, name)


class ReleaseForm:
    """The form. `plan` is what it says; `changed` is called when that changes."""

    def __init__(self, tables: Sequence[Table], changed: Heard) -> None:
        self.plan = ReleaseDraft(tables[0].name)
        self._tables = {table.name: table for table in tables}
        self._changed = changed
        self._settings: dict[str, ui.element] = {}  # notes beside fields, and the fields: of settings, then of columns
        self._set_fields: dict[str, ui.input | ui.select] = {}
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
        note = {**self._settings, **self._column_notes}.get(where)
        if note is None:
            return False
        with note:
            theme.tag("p", theme.sentence(refusal.message))
            if refusal.hint:
                theme.muted(theme.sentence(refusal.hint))
            if usual is not None:
                ui.button("Use the usual", on_click=usual).props("flat dense no-caps")
        return True

    def accept(self) -> None:
        """Nothing is wrong any more."""
        for note in (*self._settings.values(), *self._column_notes.values()):
            note.clear()

    async def clear(self, where: str) -> None:
        """Go back to what is usual in one field."""
        field = {**self._set_fields, **self._column_fields}.get(where)
        if field is not None:
            field.value = ""  # which is heard

    # the parts -------------------------------------------------------------------------------------------------------

    def _kinds(self) -> None:
        with ui.element("fieldset").classes("d-kind-list"):
            theme.tag("legend", "Kind")
            for kind in kinds():
                with ui.element("label").classes("d-kind"):
                    radio = ui.element("input").props('type="radio" name="kind"')
                    if kind.name == self.plan.kind:
                        radio.props["^checked"] = ""
                    radio.on("change", partial(self._set, kind=kind.name, parts={}), args=[])
                    with ui.element("span"):
                        theme.tag("strong", kind.title)
                        theme.tag("span", kind.words).classes("d-muted d-small d-kind-words")

    def _draw(self) -> None:
        """The columns of the table, those that can be counted first."""
        table = self._tables[self.plan.table]
        listed = sorted(choices(table, self.plan.kind)[:MOST], key=lambda each: bool(each.refused))
        self._columns.clear()
        self._column_notes: dict[str, ui.element] = {}
        self._column_fields: dict[str, ui.input] = {}
        with self._columns:
            theme.tag("legend", "Columns")
            for each in listed:
                self._column(each, table)
            if any(each.refused for each in listed):
                theme.note(_DECLARED)
            if rest := len(table.columns[MOST:]):
                theme.note(f"{rest:,} more columns are counted with discreet release.")
        self._rows.set_visibility(table.unit is not None or table.link is not None)
        self._set_fields["max_rows"].props["placeholder"] = "" if table.max_rows is None else str(table.max_rows)

    def _column(self, choice: ColumnChoice, table: Table) -> None:
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
            option = next(
                (each for kind in kinds() for each in kind.wish.options().values() if each.by_column), Option()
            )
            own = ui.input(option.label, placeholder=option.usual, value=choice.usual)
            own.props("outlined dense debounce=250 maxlength=2000")
            own.props("stack-label").classes("d-bins").tooltip(option.tip)
            own.props["aria-label"] = f"{option.label} of {choice.name}"
            own.set_visibility(False)
            own.on_value_change(lambda event: self._of_column(choice.name, str(event.value or "").strip()))
            if choice.number:
                self._column_fields[choice.name] = own
            self._column_notes[choice.name] = ui.element("div").classes("d-beside").props('aria-live="polite"')

        async def turn(event: object) -> None:
            wanted = getattr(event, "args", None) is True
            among = [column.name for column in table.columns]
            self.plan = self.plan.with_column(choice.name, wanted=wanted, among=among)
            if choice.usual:
                said = {choice.name: choice.usual, **self.plan.by_column}
                self.plan = replace(self.plan, by_column=said)
            self._show_columns()
            await self._changed()

        box.on("change", turn, js_handler="(event) => emit(event.target.checked)")

    def _show_columns(self) -> None:
        """What is said of single columns: of those that are chosen and are numbers, if this kind has that."""
        many = any(option.by_column for option in self.plan.options.values())
        for name, own in self._column_fields.items():
            own.set_visibility(many and name in self.plan.columns)

    def _more(self) -> None:
        with ui.element("div").classes("d-sheet-more"):
            self._text("name", "Name of the release", "as its kind and columns")
            with ui.element("div") as self._rows:
                self._text("max_rows", "Rows of one person that count at most", "")
                theme.note(
                    "A person with more counts with this many of them, chosen at random once per table version. Fewer "
                    "make everything more exact."
                )

    def experts(self) -> None:
        """Settings that few need, wherever they are to stand."""
        self._own = ui.element("div").classes("d-sheet-more")
        self._suit()

    def _suit(self) -> None:
        """Show the settings of this kind alone."""
        self._own.clear()
        for name in self._settings.keys() - {"name", "max_rows"}:
            del self._settings[name], self._set_fields[name]
        with self._own:
            for name, option in self.plan.options.items():
                if option.choices is not None:
                    self._choice(name, option)
                elif not option.by_column:
                    self._text(name, option.label, option.usual)
        self._show_columns()

    def _choice(self, name: str, option: Option) -> None:
        choices = option.choices(named(self.plan.kind).wish) if option.choices else {}
        with ui.element("div"):
            field = ui.select({"": option.usual, **choices}, value="", label=option.label)
            field.props("outlined dense options-dense")
            self._settings[name] = ui.element("div").classes("d-beside").props('aria-live="polite"')
        field.on_value_change(lambda event: self._hear(name, str(event.value or "")))
        self._set_fields[name] = field

    def _text(self, name: str, label: str, usual: str) -> None:
        with ui.element("div"):
            field = ui.input(label, placeholder=usual).props("outlined dense debounce=250 maxlength=120 stack-label")
            self._settings[name] = ui.element("div").classes("d-beside").props('aria-live="polite"')
        field.on_value_change(lambda event: self._hear(name, str(event.value or "").strip()))
        self._set_fields[name] = field

    # what is heard ---------------------------------------------------------------------------------------------------

    async def _table(self, name: str) -> None:
        self.plan = replace(self.plan, table=name, columns=(), by_column={})
        self._draw()
        await self._changed()

    async def _of_column(self, name: str, text: str) -> None:
        self.plan = replace(self.plan, by_column={**self.plan.by_column, name: text})
        await self._changed()

    async def _hear(self, name: str, text: str) -> None:
        """A setting: one of all releases, or one of this kind."""
        own = name in self.plan.options
        await self._set(**({"parts": {**self.plan.parts, name: text}} if own else {name: text}))

    async def _set(self, **parts: Any) -> None:  # noqa: ANN401  # fields of the plan
        before, self.plan = self.plan, replace(self.plan, **parts)
        if self.plan.kind != before.kind:
            table = self._tables[self.plan.table]
            if choices(table, self.plan.kind) != choices(table, before.kind):
                self.plan = replace(self.plan, columns=(), by_column={})
                self._draw()
            self._suit()
        if self.plan != before:
            await self._changed()
