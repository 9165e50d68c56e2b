"""`discreet demo`: a made-up clinic is asked how many, until its budget is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from discreet.cli.sample import write_visits
from discreet.errors import OverBudget
from discreet.exact import spoken
from discreet.interval import exp
from discreet.noise import SECURE, Entropy, laplace
from discreet.privacy import AddRemove, Budget, Guarantee, Pure, Sensitivity, laplace_error, laplace_scale

PATIENT = AddRemove("patient")
TOTAL = Pure(1)
CONFIDENCE = Fraction(95, 100)
BAR = 10  # characters

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@dataclass(frozen=True)
class Patient:
    """One row of the made-up clinic; a patient has one row."""

    age: int
    smokes: bool
    asthma: bool


@dataclass(frozen=True)
class Question:
    """How many patients are such, and what the answer may cost each of them."""

    text: str
    such: Callable[[Patient], bool]
    price: Pure


@dataclass(frozen=True)
class Answer:
    """A noisy count, the scale of its noise, and the count itself: nobody in it is real."""

    noisy: int
    scale: Fraction
    truth: int

    @property
    def margin(self) -> int:
        """How far off it may be, with 95 % confidence."""
        return laplace_error(self.scale, CONFIDENCE)


# Prices are read by their decimal digits, so the fourth answer leaves exactly nothing.
QUESTIONS = (
    Question("are there", lambda _: True, Pure("0.1")),
    Question("smoke", lambda p: p.smokes, Pure("0.2")),
    Question("smoke and are over 65", lambda p: p.smokes and p.age > 65, Pure("0.5")),
    Question("smoke and have asthma", lambda p: p.smokes and p.asthma, Pure("0.5")),
    Question("the same, for less", lambda p: p.smokes and p.asthma, Pure("0.2")),
    Question("have asthma", lambda p: p.asthma, Pure("0.01")),
)


def clinic(size: int = 1200) -> tuple[Patient, ...]:
    """People who do not exist: their traits are remainders of their numbers."""
    return tuple(Patient(18 + i * 37 % 71, i * 29 % 97 < 22, i * 53 % 89 < 10) for i in range(size))


def ask(
    budget: Budget[Pure], table: Sequence[Patient], question: Question, *, rng: Entropy = SECURE
) -> tuple[Budget[Pure], Answer]:
    """Pay, then read, then randomise; refuses before a row is read.

    Guarantee: `question.price` for adding or removing one patient.
    Proof: a patient has one row and changes the count by at most 1; the noise is calibrated to that.
    """
    after = budget.spend(Guarantee(question.price, PATIENT))
    scale, truth = laplace_scale(question.price, Sensitivity.of_count()), sum(map(question.such, table))
    return after, Answer(truth + laplace(scale, rng=rng), scale, truth)


def gauge(budget: Budget[Pure]) -> str:
    """What is left, as a bar and a number."""
    full = round(BAR * budget.left.epsilon / budget.total.epsilon)
    return f"{'█' * full}{'░' * (BAR - full)} {spoken(budget.left.epsilon)}"


def tour(
    budget: Budget[Pure], table: Sequence[Patient], *, rng: Entropy = SECURE
) -> Iterator[tuple[Question, Answer | OverBudget, Budget[Pure]]]:
    """Each question in turn, what came of it, and the budget after it."""
    for question in QUESTIONS:
        try:
            budget, answer = ask(budget, table, question, rng=rng)
        except OverBudget as refusal:
            yield question, refusal, budget
        else:
            yield question, answer, budget


@app.command()
def demo(
    *,
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write made-up visits to a Parquet file instead, to try things on."),
    ] = None,
) -> None:
    """A tour on generated sample data: a few noisy counts, and a budget that runs out."""
    if write is not None:
        typer.echo(f"wrote {write_visits(write)} made-up visits to {write}")
        return
    console, table, refused = Console(highlight=False, markup=False), clinic(), []
    console.print(f"A clinic of {len(table)} patients. This program made them up: none of them exists.")
    console.print(f"Budget: ε = {TOTAL.epsilon} for each patient, over everything that is ever asked.")
    shown = Table("how many patients …", box=SIMPLE, padding=(0, 1, 0, 0))
    for heading in ("price ε", "answer", "± at 95 %", "truth*"):
        shown.add_column(heading, justify="right")
    shown.add_column("ε left")
    for question, outcome, budget in tour(Budget.of(TOTAL, PATIENT), table):
        price = spoken(question.price.epsilon)
        if isinstance(outcome, OverBudget):
            refused.append(f"Refused: how many {question.text}? {outcome}.")
            shown.add_row(question.text, price, "refused", "", "", gauge(budget))
        else:
            cells = (str(cell) for cell in (outcome.noisy, outcome.margin, outcome.truth))
            shown.add_row(question.text, price, *cells, gauge(budget))
    console.print(shown)
    console.print("* A real clinic never shows this column. Here nobody is real.\n")
    console.print(*refused, "A refused question costs nothing; a spent budget stays spent.\n", sep="\n")
    console.print(promise(TOTAL))


def promise(total: Pure) -> str:
    """The guarantee in the words of the person whose data it is."""
    factor = float(exp(total.epsilon).up)
    return (
        "Promised to every patient: whoever sees all these answers, whatever else they know, finds any conclusion at "
        f"most e^{total.epsilon} ≈ {factor:.2f} times as likely with that patient in the table as without, and the "
        "other way round."
    )
