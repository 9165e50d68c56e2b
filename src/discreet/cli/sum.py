"""`discreet sum`: sums that nobody can look into, a demonstration and a planner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import NoHome, new_app, option
from discreet.cli.printing import AsFormat, Format, print_rows

if TYPE_CHECKING:
    from discreet.aggregate import Forecast

app = new_app()

_WORDS = {
    "diluted": "needs everybody; a few add noise",
    "gaussian": "needs everybody; all add noise; cheapest over many epochs",
    "masked": "four messages each; masks of people who fail come off",
    "tree": "one message; a block of people is lost with each failure",
    "tree-gaussian": "the same, with Gaussian noise",
    "local": "randomized response: no cryptography, nobody needs to be honest",
    "curator": "for comparison: somebody whom all trust",
}


@app.command()
def demo(*, _home: NoHome = None) -> None:
    """A street of meters that this program makes up: sums are read, a second number is refused, two houses fail."""
    from tempfile import TemporaryDirectory

    from discreet.aggregate.meter_demo import tour

    with TemporaryDirectory() as folder:
        for line in tour(folder):
            typer.echo(line)


@app.command()
def plan(  # noqa: PLR0913  # one option for each thing that an error depends on
    *,
    people: Annotated[int, option("N", "How many take part.")],
    failures: Annotated[int, option("K", "How many of them fail.")] = 0,
    honest: Annotated[str, option("SHARE", "Of people who do not work with the aggregator.")] = "1",
    limit: Annotated[int, option("X", "The largest value of one person.")] = 1,
    epsilon: Annotated[str, option("E", "The ε of one epoch.")] = "1",
    delta: Annotated[str, option("D", "The δ of one epoch.")] = "1e-6",
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """How far off each scheme's sum will be, the best first, and what a trusted curator's would be."""
    from discreet.aggregate.scheme_comparison import Forecast, curator_deviation
    from discreet.aggregate.scheme_comparison import plan as forecasts

    found = forecasts(people, failures, epsilon, delta, limit=limit, honest=honest)
    rows: list[tuple[object, ...]] = [
        (one.scheme, _rounded(one, form), one.remark or _WORDS[one.scheme])
        for one in (*found, Forecast("curator", curator_deviation(epsilon, limit)))
    ]
    print_rows(form, ("scheme", "deviation", "remark"), rows, right=("deviation",))


def _rounded(one: Forecast, form: Format) -> float | str | None:
    if one.deviation is None or form is not Format.table:
        return one.deviation
    return f"{one.deviation:,.1f}"
