"""Answer to a question whose tables are paid: its rows above the noise, their error bars, and what is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from discreet.curator import above_noise
from discreet.curator.answer import Answer, Spans
from discreet.curator.error_bars import Spans as Bars
from discreet.curator.estimate import estimates
from discreet.curator.notices import bounding, notices
from discreet.curator.paid import Paid
from discreet.curator.till import Bought, cost
from discreet.ledger.entry import BudgetLoss


def computed(
    upper: above_noise.Upper, bought: Mapping[str, Bought], files: Mapping[str, str], confidence: Fraction
) -> tuple[above_noise.Result, Spans]:
    """Rows and their error bars: nothing here reads more than what was bought and the public tables in these files."""
    tables = {
        name: above_noise.noisy_table(each.price.part, each.noisy.groups, estimates(each.price.part, each.noisy.values))
        for name, each in bought.items()
    }
    result = above_noise.run(upper, tables, files)
    return result, barred(upper, bought, result, confidence)


def barred(
    upper: above_noise.Upper, bought: Mapping[str, Bought], result: above_noise.Result, confidence: Fraction
) -> Spans:
    """The error bars of rows."""
    return Bars(upper.sides, bought, 1 - confidence).of(result.rows, result.hidden)


def spoken(
    upper: above_noise.Upper,
    paid: Paid,
    told: tuple[above_noise.Result, Spans],
    again: tuple[Fraction, Callable[[Fraction], Spans]],
    left: BudgetLoss | None,
) -> Answer:
    """What is told of rows and their error bars at one confidence; `again` says at which, and finds those at others."""
    result, spans = told
    confidence, at = again
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
        spans,
        at,
        notices(prices),
        upper.noisy,
    )
