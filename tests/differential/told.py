"""A trouble in words: what was declared, some rows, the question, both answers, and how to see it again."""

from __future__ import annotations

from differential.asking import Trouble, terms_of
from differential.files import declared, first_rows
from differential.question import Question
from differential.sheet import Sheet, World
from differential.world import made

SHOWN = 12  # rows of a table
LONGEST = 1500  # characters of an answer


def told(trouble: Trouble) -> str:
    """Everything that somebody needs to see it again."""
    world = made(trouble.seed, trouble.rows)
    asked = [sheet for sheet in world.sheets.values() if _speaks_of(trouble.question, sheet)]
    size = f" --rows {trouble.rows}" if trouble.rows else ""
    lines = [
        f"TROUBLE {trouble.question.kind}: {trouble.what}",
        f"  again     python -m tests.differential --seed {trouble.seed} --question {trouble.number}{size}",
        f"  question  {trouble.question.ours}",
        f"  terms     {terms_of(world, trouble.number, trouble.question)}",
        f"  plain     {trouble.question.plain}",
        f"  ours      {trouble.ours[:LONGEST]}",
        f"  oracle    {trouble.plain[:LONGEST]}",
    ]
    return "\n".join([*lines, *(line for sheet in asked for line in _sheet(world, sheet))])


def _speaks_of(question: Question, sheet: Sheet) -> bool:
    return f" {sheet.role} AS " in question.plain


def _sheet(world: World, sheet: Sheet) -> list[str]:
    said = declared(world, sheet)
    caps = f"max_rows {said.max_rows}, max_groups {said.max_groups}"
    lines = [f"  table     {sheet.name!r} from {sheet.source}, {sheet.rows} rows, unit {said.unit!r}, {caps}"]
    for each in sheet.fields:
        bounds = "" if each.bounds is None else f" bounds {each.bounds[0]}:{each.bounds[1]} step {each.step}"
        keys = "" if each.keys is None else f" keys {list(each.keys)}"
        lines.append(f"    {each.role:8} {each.name!r} {each.kind}{bounds}{keys}")
    return [*lines, *(f"    row {dict(row)}" for row in first_rows(sheet, SHOWN))]
