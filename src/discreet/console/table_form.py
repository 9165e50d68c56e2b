"""Form for a table in steps: what each of them asks for. It writes what it hears into the draft, and knows no more."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from discreet.console import data_dictionary, prices, theme
from discreet.console.table_draft import KINDS, ColumnDraft, TableDraft, meaning
from discreet.declared.table import Table
from discreet.ledger.balances import Account

Redraw = Callable[[], None]

OWNERS = {
    "unit": ("A column says whose row it is", "One person may have many rows, and is protected with all of them."),
    "row": ("Every row is a person of its own", "Nobody has two rows. If somebody has, they are protected less."),
    "link": ("Another table knows whose row it is", "Each row names something, and another table says whose that is."),
    "public": ("Nobody's: the rows are public", "Answers are exact and cost nothing. Only for what anybody may know."),
}
_RELATIONS = {
    "add-remove": "One person more or less",
    "replace": "One person exchanged for another",
}
_LOOKS = "looks like"
UNREAD = (
    "A cell that cannot be read as the type you choose becomes NULL. Which columns have such cells is not told here, "
    "because that depends on the rows: discreet add says it at the server itself."
)


def text(label: str, kept: object, name: str, after: Redraw | None = None) -> ui.input:
    """A field whose text is kept in an attribute."""
    field = ui.input(label, value=getattr(kept, name), on_change=_keeping(kept, name, after))
    return field.props('outlined dense autocomplete="off" spellcheck="false"')


def choice(label: str, options: Mapping[str, str], kept: object, name: str, after: Redraw | None = None) -> ui.select:
    """A choice that is kept in an attribute."""
    value, heard = getattr(kept, name), _keeping(kept, name, after)
    field = ui.select(dict(options), value=value if value in options else None, label=label, on_change=heard)
    return field.props("outlined dense options-dense")


def _keeping(kept: object, name: str, after: Redraw | None) -> Callable[[ValueChangeEventArguments[Any]], None]:
    def heard(event: ValueChangeEventArguments[Any]) -> None:
        setattr(kept, name, str(event.value or ""))
        if after is not None:
            after()

    return heard


# whose rows -----------------------------------------------------------------------------------------------------------


def owner(draft: TableDraft, tables: Sequence[Table]) -> None:
    """Whose rows they are."""
    theme.lead("This decides who is protected: everything that belongs to one person counts as one.")
    details: dict[str, ui.element] = {}

    def renamed() -> None:
        draft.population = ""  # it was called after whose rows they were

    def chosen(kind: str) -> None:
        draft.owner = kind
        renamed()
        for name, each in details.items():
            each.set_visibility(name == kind)

    with ui.element("fieldset").classes("d-choices"):
        theme.tag("legend", "Whose rows are they?")
        for kind, (title, words) in OWNERS.items():
            with ui.element("div").classes("d-choice"):
                with ui.element("label"):
                    radio = ui.element("input").props('type="radio" name="owner"')
                    if draft.owner == kind:
                        radio.props["^checked"] = ""
                    radio.on("change", lambda _, kind=kind: chosen(kind), args=[])
                    with ui.element("span"):
                        theme.tag("strong", title)
                        theme.tag("span", words).classes("d-muted d-note")
                with ui.element("div").classes("d-fields") as details[kind]:
                    _owner_details(draft, kind, tables, renamed)
                details[kind].set_visibility(draft.owner == kind)


def _owner_details(draft: TableDraft, kind: str, tables: Sequence[Table], renamed: Redraw) -> None:
    names = {each.name: each.name for each in draft.fields}
    if kind == "unit":
        choice("Column with the person", names, draft, "unit", renamed)
    if kind == "link":
        targets = {
            f"{table.name}.{column.name}": column.type.value
            for table in tables
            if table.unit is not None
            for column in table.columns
        }
        choice("Column of this file", names, draft, "link_from")

        def typed() -> None:
            draft.link_type = targets.get(draft.link_to, "")

        choice("Column of the other table", {name: name for name in targets}, draft, "link_to", typed)
        if not targets:
            theme.muted("There is no table yet that names people.")


# columns --------------------------------------------------------------------------------------------------------------


def columns(draft: TableDraft) -> None:
    """Types, bounds, keys and descriptions, and how much one person may be."""
    proposed = [each for each in draft.fields if each.source.own is None and each.source.proposed is not None]
    theme.lead(
        "Everybody who may ask sees what you say here. Say what you know without the rows: bounds that were read off "
        "the rows would tell about the people in them."
    )
    theme.note(UNREAD)

    def draw() -> None:
        box.clear()
        with box:
            for each in draft.fields:
                _field(each, own=draft.owner == "unit" and each.name == draft.unit)

    if proposed:

        def take() -> None:
            for each in proposed:
                if not each.type and each.source.proposed is not None:
                    each.type = each.source.proposed.value
            draw()

        with ui.element("div").classes("d-said d-row"):
            theme.tag(
                "span",
                "A CSV file does not say its types. Beside each name you see what its values look like: a proposal, "
                "for your eyes only. Please choose.",
            ).classes("d-grow")
            ui.button("Take all proposals", on_click=take).props("outline no-caps dense")
    box = ui.element("div").classes("d-sheet")
    draw()
    if draft.capped:
        _caps(draft)


def _field(each: ColumnDraft, *, own: bool) -> None:
    with ui.element("section").classes("d-field") as made:
        made.props["aria-label"] = each.name
        with ui.element("div").classes("d-field-name"):
            theme.tag("strong", each.name)
            if own:
                theme.tag("span", "says whose row it is").classes("d-muted d-note")
            if each.source.proposed is not None:
                theme.tag("span", f"{_LOOKS} {KINDS[each.source.proposed.value]}").classes("d-muted d-note")

        def draw() -> None:
            rest.clear()
            with rest:
                if each.summed and not own:
                    text("From", each, "low").props('inputmode="decimal"').classes("d-short-field")
                    text("To", each, "high").props('inputmode="decimal"').classes("d-short-field")
                    step = "1" if each.type == "bigint" else "0.01"
                    text("Step", each, "step").props(f'inputmode="decimal" placeholder="{step}"').classes(
                        "d-short-field"
                    )
                if each.keyed and not own:
                    keys = ui.textarea(
                        "Groups, one a line",
                        value=each.keys,
                        on_change=lambda event: setattr(each, "keys", str(event.value or "")),
                    )
                    keys.props('outlined dense autogrow rows="1" spellcheck="false"').classes("d-keys")
                text("Description", each, "description").classes("d-keys")

        kind = choice("Type", KINDS, each, "type", draw).classes("d-kind")
        kind.props["aria-label"] = f"Type of {each.name}"
        rest = ui.element("div").classes("d-field-rest")
        draw()


def _caps(draft: TableDraft) -> None:
    theme.heading("How much one person can be", 3)
    theme.muted(
        "A person with more rows than this counts with this many of them, chosen at random once per table version. "
        "Small numbers make answers more exact, as long as few people have more."
    )
    with ui.element("div").classes("d-fields"):
        with ui.element("div"):
            text("Most rows of one person", draft, "max_rows").props('inputmode="numeric"')
            theme.note("Empty: only the number of people can be asked.")
        with ui.element("div"):
            text("Most groups of one person", draft, "max_groups").props('inputmode="numeric" placeholder="1"')
            theme.note("In how many groups of one question a person counts. Empty: 1.")


# budget ---------------------------------------------------------------------------------------------------------------


def budget(draft: TableDraft, tables: Sequence[Table], accounts: Mapping[str, Account]) -> None:
    """What all answers together may cost."""
    if draft.owner == "public":
        theme.empty("Public rows need no budget.", "Questions about them are answered exactly, for nothing.", "public")
        return
    if draft.owner == "link":
        target = draft.link_to.partition(".")[0]
        people = next((table.population for table in tables if table.name == target), None)
        _shared(people or "", accounts)
        return
    theme.lead(
        "Every answer has a privacy price. Here you set what all answers about these people may cost together, for "
        "ever. It cannot be raised later."
    )
    draft.population = draft.people

    def draw() -> None:
        before, draft.shared = draft.shared, draft.people in accounts
        if not before and not draft.shared and box.default_slot.children:
            return  # what was typed stays
        box.clear()
        with box:
            _shared(draft.people, accounts) if draft.shared else _fresh(draft)

    with ui.element("div").classes("d-fields"):
        text("Name of the population", draft, "population", draw)
        words = "Tables with the same population share one budget. "
        there = ", ".join(accounts)
        theme.note(words + (f"There are: {there}." if there else "There is none yet."))
    box = ui.element("div")
    draw()


def _shared(name: str, accounts: Mapping[str, Account]) -> None:
    account = accounts.get(name)
    if account is None:
        return
    with ui.element("div").classes("d-said"):
        theme.tag("strong", f"{name} has a budget already.")
        left = prices.figure(account.budget.left.amount)
        total = prices.figure(account.budget.total.amount)
        theme.tag("p", f"This table shares it: {left} of {total} is left. {data_dictionary.state(account)[0]}.")


def _fresh(draft: TableDraft) -> None:
    def mean() -> None:
        words = "Kept in rho: better for many questions." if draft.measure == "rho" else ""
        example = "" if draft.price.strip() else "For example 3. "
        theme.say(told, words or example + meaning(draft.price.strip() or "3", draft.relation))

    def related(kind: str) -> None:
        draft.relation = kind
        mean()

    with ui.element("div").classes("d-fields"), ui.element("div"):
        price = text("Price of all answers together", draft, "price", mean)
        price.props('inputmode="decimal" placeholder="3"')
    told = theme.tag("p").classes("d-said").props('aria-live="polite"')
    chance = text("Chance that the promise does not hold", draft, "delta")
    theme.note(
        "It should be far below one in the number of people: 1e-8 is one in a hundred million. With 0, groups that "
        "you did not declare can never be named."
    )
    with ui.element("fieldset").classes("d-choices d-inline"):
        theme.tag("legend", "What is protected")
        for kind, words in _RELATIONS.items():
            with ui.element("label"):
                radio = ui.element("input").props('type="radio" name="relation"')
                if draft.relation == kind:
                    radio.props["^checked"] = ""
                radio.on("change", lambda _, kind=kind: related(kind), args=[])
                theme.tag("span", words)
    theme.note(
        "With an exchange, how many people there are is public, and questions cost twice as much. If in doubt, take "
        "the first."
    )
    ui.checkbox(
        theme.PRICED,
        value=draft.require_price,
        on_change=lambda event: setattr(draft, "require_price", bool(event.value)),
    )
    theme.note(theme.UNPRICED)
    with theme.experts():
        choice("Kept in", {"epsilon": "epsilon", "rho": "rho (zero-concentrated)"}, draft, "measure", mean)
        theme.note("The price is epsilon, or rho; the chance is delta.")

    chance.classes("d-short-wide")
    mean()


# review ---------------------------------------------------------------------------------------------------------------


def review(table: Table, command: str, draft: TableDraft) -> None:
    """Exactly what will be declared."""
    theme.lead("This is what will be declared. Everybody who may ask sees it; the rows nobody sees.")
    with theme.facts():
        theme.fact("Table", table.name)
        theme.fact("File", draft.file)
        theme.fact("Whose rows", data_dictionary.owner(table))
        if caps := data_dictionary.caps(table):
            theme.fact("Of one person", caps)
        if table.population is not None:
            shared = draft.shared or draft.owner == "link"
            chance = f"holds but for a chance of {draft.delta.strip() or 0}"
            new = f"new, with price {draft.price.strip()} for all answers together; the promise {chance}"
            new += "; each question must name a price" if draft.require_price else ""
            theme.fact("Population", table.population, "shares its budget" if shared else new)
    data_dictionary.columns(table.columns)
    with theme.experts():
        theme.note("The same on the server itself:")
        theme.copied(command, "Copy the command")
