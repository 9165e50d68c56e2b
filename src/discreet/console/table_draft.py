"""Draft of a table that a custodian is about to add: what they said so far, and what that declares.

The page edits a draft in place; everything here is a function of it. What is wrong is said by the custodian's side of
the home, which is asked after each step about the part that is there.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.curator.custody import Declared
from discreet.curator.source_schema import SourceColumn
from discreet.declared.group_key import Type
from discreet.errors import Refusal
from discreet.exact import exact

FILE, OWNER, COLUMNS, BUDGET, REVIEW = range(5)
STEPS = ("File", "Whose rows", "Columns", "Budget", "Review")
KINDS = {
    Type.BIGINT.value: "whole number",
    Type.DOUBLE.value: "number",
    Type.VARCHAR.value: "text",
    Type.BOOLEAN.value: "yes or no",
    Type.DATE.value: "date",
    Type.TIMESTAMP.value: "date and time",
}
DELTA = "1e-8"
_LINE = re.compile(r"\r\n|\r|\n")  # and no other character that may be part of a text
_SUMMED = {Type.BIGINT.value, Type.DOUBLE.value}
_ANY = "a population of its own"  # while the budget is not said yet


@dataclass
class ColumnDraft:
    """A column, as far as it is described. Texts are as the person typed them."""

    source: SourceColumn
    type: str = ""
    low: str = ""
    high: str = ""
    step: str = ""
    keys: str = ""  # one a line
    description: str = ""

    @property
    def name(self) -> str:
        """As the file calls it."""
        return self.source.name

    @property
    def summed(self) -> bool:
        """Whether it can have bounds."""
        return self.type in _SUMMED

    @property
    def keyed(self) -> bool:
        """Whether it can have keys."""
        return bool(self.type)

    @property
    def listed(self) -> list[str]:
        """Its keys, each as it stands on its line: blanks belong to a text. Empty lines are none."""
        return [line for line in _LINE.split(self.keys) if line.strip()] if self.keyed else []

    @property
    def bounded(self) -> bool:
        """Whether it has bounds, or one of them."""
        return self.summed and bool(self.low.strip() or self.high.strip())


@dataclass
class TableDraft:
    """A table that is not there yet."""

    file: str = ""
    fields: list[ColumnDraft] = field(default_factory=list)
    name: str = ""
    owner: str = ""  # unit, row, link or public
    unit: str = ""
    link_from: str = ""
    link_to: str = ""  # TABLE.COLUMN
    link_type: str = ""  # of that column
    max_rows: str = ""
    max_groups: str = ""
    population: str = ""
    shared: bool = False  # the population is there already, with its budget
    price: str = ""
    delta: str = DELTA
    measure: str = "epsilon"  # or rho
    relation: str = "add-remove"
    require_price: bool = False

    @property
    def capped(self) -> bool:
        """Whether one person may have several rows."""
        return self.owner in ("unit", "link")

    @property
    def people(self) -> str:
        """The population, as it is called if the person does not say otherwise."""
        return self.population.strip() or (self.unit if self.owner == "unit" else self.name)


def described(sources: Iterable[SourceColumn]) -> list[ColumnDraft]:
    """The columns of a file: with their own types, never with what they look like."""
    return [ColumnDraft(each, type="" if each.own is None else each.own.value) for each in sources]


def table_name(file: str) -> str:
    """What a table could be called, by its file."""
    stem = file.rpartition(".")[0] or file
    plain = re.sub(r"[^a-z0-9]+", "_", stem.lower()).strip("_")[:40]
    return f"t_{plain}" if plain[:1].isdigit() else plain


# what is declared -----------------------------------------------------------------------------------------------------


def declared(draft: TableDraft) -> Declared:
    """Everything that was said."""
    _refuse_missing(draft)
    return Declared(
        **_owner(draft),  # type: ignore[arg-type]
        **_columns(draft),  # type: ignore[arg-type]
        **_budget(draft),  # type: ignore[arg-type]
    )


class StepRefusal(Refusal):
    """A refusal, and the step that it belongs to."""

    def __init__(self, step: int, refusal: Refusal) -> None:
        super().__init__(refusal.message, hint=refusal.hint)
        self.step = step


def stages(draft: TableDraft, last: int = BUDGET) -> Iterator[tuple[int, Declared]]:
    """What each step declares, with the least of the others that makes it a declaration: it tells whose refusal it is.

    Up to `last`, the step that the person is at.
    """
    ways: tuple[Callable[[TableDraft], Declared], ...] = (_file_said, _owner_said, _columns_said, declared)
    for step, way in enumerate(ways[: last + 1]):
        try:
            said = way(draft)
        except Refusal as refusal:
            raise StepRefusal(step, refusal) from None
        yield step, said


def _file_said(draft: TableDraft) -> Declared:
    return Declared(types=_texts(draft), public=True)


def _owner_said(draft: TableDraft) -> Declared:
    texts = _texts(draft)
    linked = {draft.link_from: draft.link_type} if draft.owner == "link" and draft.link_type else {}
    return Declared(types={**texts, **linked}, **_owner(draft), **_any(draft))  # type: ignore[arg-type]


def _columns_said(draft: TableDraft) -> Declared:
    _refuse_missing(draft)
    return Declared(**_owner(draft), **_columns(draft), **_any(draft))  # type: ignore[arg-type]


def _texts(draft: TableDraft) -> dict[str, str]:
    """Every column as text, which every column can be."""
    return {each.name: Type.VARCHAR.value for each in draft.fields}


def _refuse_missing(draft: TableDraft) -> None:
    missing = [each.name for each in draft.fields if not each.type]
    if missing:
        named = ", ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
        raise Refusal(
            f"choose a type for {named}",
            hint="the file does not say it, and it must not be guessed from private rows",
        )


def _any(draft: TableDraft) -> dict[str, object]:
    """A budget for a step that knows of none yet."""
    return {"population": _ANY, "epsilon": 1} if draft.owner in ("unit", "row") else {}


def _owner(draft: TableDraft) -> dict[str, object]:
    match draft.owner:
        case "unit" if not draft.unit:
            raise Refusal("choose the column that says whose row it is")
        case "link" if not draft.link_from or not draft.link_to:
            raise Refusal("choose both columns of the link")
        case "unit":
            return {"unit": draft.unit}
        case "row":
            return {"unit": "row"}
        case "link":
            return {"link": {draft.link_from: draft.link_to}}
        case "public":
            return {"public": True}
        case _:
            raise Refusal("choose whose rows they are")


def _columns(draft: TableDraft) -> dict[str, object]:
    fields = draft.fields
    said: dict[str, object] = {
        "types": {each.name: each.type for each in fields},
        "bounds": {each.name: (_number(each.low), _number(each.high)) for each in fields if each.bounded},
        "steps": {each.name: _number(each.step) for each in fields if each.summed and each.step.strip()},
        "keys": {each.name: each.listed for each in fields if each.listed},
        "describe": {each.name: each.description.strip() for each in fields if each.description.strip()},
    }
    if draft.capped:
        for name, text in (("max_rows", draft.max_rows), ("max_groups", draft.max_groups)):
            said |= {name: _whole(text, name)} if text.strip() else {}
    return said


def _budget(draft: TableDraft) -> dict[str, object]:
    if draft.owner not in ("unit", "row"):
        return {}
    named = {"population": draft.people}
    if draft.shared:
        return dict(named)
    if not draft.price.strip():
        raise Refusal("say what all answers together may cost", hint="3 is a usual choice; less protects more")
    delta = {"delta": draft.delta.strip()} if draft.delta.strip() not in ("", "0") else {}
    priced = {"require_price": True} if draft.require_price else {}
    return {**named, draft.measure: _number(draft.price), **delta, "relation": draft.relation, **priced}


def _number(text: str) -> str:
    if not text.strip():
        raise Refusal("bounds are two numbers: from where, and to where")
    exact(text.strip(), "a number")
    return text.strip()


def _whole(text: str, name: str) -> int:
    value = exact(text.strip(), name)
    if value.denominator != 1:
        raise Refusal(f"expected a whole number, got {text.strip()!r}")
    return int(value)


# in words -------------------------------------------------------------------------------------------------------------


def command(draft: TableDraft) -> str:
    """The same on the server itself."""
    said = declared(draft)
    options = [] if said.unit is None else [("unit", said.unit)]
    options += [("link", f"{own}={target}") for own, target in said.link.items()]
    options += [
        (name.replace("_", "-"), str(getattr(said, name)))
        for name in ("population", "epsilon", "rho", "delta", "max_rows", "max_groups")
        if getattr(said, name) is not None
    ]
    options += [("relation", said.relation)] if said.relation != "add-remove" else []
    options += [("types", f"{name}={kind}") for name, kind in said.types.items()]
    options += [("bounds", f"{name}={low}:{high}") for name, (low, high) in said.bounds.items()]
    options += [("step", f"{name}={step}") for name, step in said.steps.items()]
    options += [("keys", f"{name}={_listing(name, keys)}") for name, keys in said.keys.items()]
    options += [("describe", f"{name}={text}") for name, text in said.describe.items()]
    lines = [f"discreet add {shlex.quote(draft.name)} {shlex.quote(draft.file)}"]
    lines += ["--public"] if said.public else []
    lines += ["--require-price"] if said.require_price else []
    lines += [f"--{name} {shlex.quote(value)}" for name, value in options]
    return " \\\n  ".join(lines)


def _listing(name: str, keys: Iterable[str]) -> str:
    """Keys on a command line, or the file that holds them if a comma would part one of them."""
    listed = list(keys)
    plain = not any("," in key for key in listed) and not listed[0].startswith("@")
    return ",".join(listed) if plain else f"@{name}.txt"


_WORDS = (  # options of the command line, as the page calls them
    (r"say --types \S+=varchar, or bigint if they are whole numbers", "choose text as its type, or whole number"),
    (r"say --types", "choose the types"),
    (r"leave --epsilon, --rho and --delta out, or repeat the same values", "choose another name for the population"),
    (r"leave --population out", "choose another column"),
    (r"name another --population than", "choose another population than"),
    (r"use another --population", "name another population"),
    (r"use that one with --unit", "choose it as the column that says whose row it is"),
    (r"bring new rows with discreet update", "bring new rows with Update rows"),
    (r"a budget and its neighbours are set once: repeat the same values", "a budget is set once: name another"),
    (r"for example --epsilon 3 --delta 1e-8", "for example 3"),
)


def in_words(refusal: Refusal, path: str = "") -> Refusal:
    """A refusal with a hint for people who look at a page, and without where a file of theirs lies."""
    hint = refusal.hint
    for option, words in _WORDS:
        hint = re.sub(option, words, hint)
    return Refusal(_without(refusal.message, path) if path else refusal.message, hint=hint)


def _without(message: str, path: str) -> str:
    """A text without a path, and without the beginning of one where the text was cut."""
    whole = message.replace(path, "the file")
    for length in range(len(path) - 1, 1, -1):
        if whole.endswith(path[:length]):
            return f"{whole[:-length]}the file"
    return whole


def surest(price: Fraction) -> int:
    """Per cent, rounded up: how sure somebody can become who held a thing for as likely as not.

    By Bayes' rule with a likelihood ratio of at most exp(ε): exp(ε) / (1 + exp(ε)). Never 100.
    """
    return min(99, math.ceil(100 / (1 + math.exp(-min(float(price), 100.0)))))


def meaning(price: str, relation: str = "add-remove") -> str:
    """What a price in all means, in a sentence: of what the relation compares, and of nothing else."""
    try:
        amount = exact(price.strip() or "0", "price")
    except Refusal:
        return "Say it as a number, such as 3 or 0.5."
    if amount <= 0:
        return "Say it as a number above 0, such as 3 or 0.5."
    guess = (
        "it as likely as not that a certain person is in these rows"
        if relation == "add-remove"
        else "each of two guesses about one person's rows as likely"
    )
    sure = surest(amount)
    if sure == 99:
        return (
            f"At so high a price, somebody who thinks {guess} could become almost certain, after all questions "
            "together. This protects hardly anybody."
        )
    return (
        f"Somebody who thinks {guess} can be at most {sure} % sure of it after all questions together, whatever else "
        "they know."
    )
