"""Answer to a question whose tables are paid: its rows above the noise, their error bars, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from discreet.curator import above
from discreet.curator.answer import Answer, Spans
from discreet.curator.estimate import estimates
from discreet.curator.notices import bounding, notices
from discreet.curator.paid import Paid
from discreet.curator.spans import Spans as Bars
from discreet.curator.till import cost
from discreet.ledger.entry import BudgetLoss


def spoken(
    upper: above.Upper, paid: Paid, files: Mapping[str, str], confidence: Fraction, left: BudgetLoss | None
) -> Answer:
    """What is told: nothing here reads a row, only what was bought and the public tables in these files."""
    tables = {
        name: above.noisy_table(
            bought.price.part, bought.noisy.groups, estimates(bought.price.part, bought.noisy.values)
        )
        for name, bought in paid.tables.items()
    }
    result = above.run(upper, tables, files)

    def at(confidence: Fraction) -> Spans:
        bars = Bars(upper.sides, paid.tables, 1 - confidence)
        return tuple(bars.of(*both) for both in zip(result.rows, result.hidden, strict=True))

    prices = [bought.price for bought in paid.tables.values()]
    return Answer(
        tuple(name for name, _ in result.columns),
        tuple(kind for _, kind in result.columns),
        result.rows,
        cost(paid.new),
        left,
        ",".join(str(bought.entry) for bought in paid.tables.values()),
        bounding(prices, partial=upper.question.partial),
        confidence,
        at(confidence),
        at,
        notices(prices),
        upper.noisy,
    )
