"""`discreet survey`: questions whose answers are randomised on people's own devices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.home import HOME, AtHome, new_app
from discreet.cli.printing import AsFormat, Format, print_rows

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.desk.surveys import Surveys
    from discreet.local.receipt import Standing

app = new_app()

Which = Annotated[str, typer.Argument(metavar="ID", help="The id of a survey, or how it begins.")]
Site = Annotated[str, typer.Option("--site", metavar="URL", help="Where people reach the server.")]
_HERE = "http://127.0.0.1:8410"


@app.command()
def new(  # noqa: PLR0913  # each is an option
    question: str,
    *,
    answer: Annotated[list[str], typer.Option(metavar="TEXT", help="An answer to choose from; give two or more.")],
    epsilon: Annotated[str, typer.Option(metavar="E", help="The privacy price of one report.")] = "1",
    minimum: Annotated[int, typer.Option(metavar="N", help="Reports before anything is told.")] = 100,
    days: Annotated[int, typer.Option(metavar="N", help="How long it is open.")] = 14,
    dishonest: Annotated[int, typer.Option(metavar="N", help="The most reports that may not be honest.")] = 0,
    invited: Annotated[bool, typer.Option("--invited", help="Only for people with an invitation.")] = False,
    site: Site = _HERE,
    home: AtHome = HOME,
) -> None:
    """Open a survey. Its address stands alone on the last line."""
    from discreet.desk import HOME as CUSTODIAN
    from discreet.desk.outlook import Outlook
    from discreet.desk.surveys import Plan, path

    plan = Plan(question, tuple(answer), epsilon, minimum, days, invited, dishonest)
    task = _surveys(home).made(CUSTODIAN, plan)
    outlook = Outlook(task.client, minimum)  # type: ignore[arg-type]  # what `Plan` makes asks for one of several
    typer.echo(f"survey {task.id} is open until {task.closes}", err=True)
    typer.echo(
        f"whoever reads a report guesses right between two answers in at most {outlook.guess} of 100 cases; with "
        f"{minimum:,} reports every share is exact to ±{outlook.error:.1f} percentage points, 19 times in 20",
        err=True,
    )
    if invited:
        typer.echo("invite people with discreet survey invite", err=True)
    typer.echo(site.rstrip("/") + path(task))


@app.command("list")
def list_(*, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """All surveys, the latest to close first."""
    from discreet.desk import HOME as CUSTODIAN
    from discreet.desk.surveys import shortened

    found = _surveys(home).listed(CUSTODIAN)
    short = shortened([each.task for each in found]) if form is Format.table else {}
    rows = [
        [
            short.get(each.task.id, each.task.id),
            each.task.question,
            _state(each),
            each.counts.get("accepted", 0),
            each.task.closes,
        ]
        for each in found
    ]
    print_rows(form, ["survey", "question", "state", "reports", "closes"], rows, right=["reports"])


@app.command()
def show(survey: Which, *, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """What a survey asks and promises, and how it stands."""
    from discreet.desk import HOME as CUSTODIAN
    from discreet.desk.outlook import guessed

    standing = _surveys(home).one(CUSTODIAN, survey)
    task = standing.task
    refused = {kind: number for kind, number in standing.counts.items() if kind != "accepted" and number}
    facts = {
        "survey": task.id,
        "version": task.version,
        "question": task.question,
        "answers": ", ".join(task.domain),
        "mechanism": f"{task.mechanism['name']}, epsilon {task.mechanism['parameters']['epsilon']}",
        "guess": f"right in at most {guessed(task.client.epsilon)} of 100 cases between two answers",
        "state": _state(standing),
        "opens": task.opens,
        "closes": task.closes,
        "minimum": task.minimum + task.dishonest,
        "invited": "yes" if task.invited else "no",
        "reports": standing.counts.get("accepted", 0),
        "refused": ", ".join(f"{kind} {number}" for kind, number in refused.items()) or "none",
        "key": task.key,
    }
    print_rows(form, ["fact", "value"], [[name, str(value)] for name, value in facts.items()])


@app.command()
def invite(survey: Which, people: int, *, site: Site = _HERE, home: AtHome = HOME) -> None:
    """Links for so many people, one a line. Each is for one person, and kept nowhere."""
    from discreet.desk import HOME as CUSTODIAN
    from discreet.desk.surveys import path

    surveys = _surveys(home)
    task = surveys.one(CUSTODIAN, survey).task
    for token in surveys.invited(CUSTODIAN, survey, people):
        typer.echo(site.rstrip("/") + path(task, token))


@app.command()
def close(survey: Which, *, home: AtHome = HOME) -> None:
    """Take no more reports, and compute the results, once and for all."""
    from discreet.desk import HOME as CUSTODIAN

    found = _surveys(home).closed(CUSTODIAN, survey)
    typer.echo(f"survey {found.body['id']} is closed with {found.body['reports']:,} reports")


@app.command()
def results(survey: Which, *, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """What a survey came to: the share of each answer in percent, and its standard error."""
    from discreet.desk import HOME as CUSTODIAN
    from discreet.desk.surveys import lines

    found = _surveys(home).results(CUSTODIAN, survey)
    rows = [[line.label, line.share, line.error] for line in lines(found)]
    if form is Format.table:
        rows = [[label, f"{share:.1f}", f"{error:.1f}"] for label, share, error in rows]
    print_rows(form, ["answer", "share", "error"], rows, right=["share", "error"])


def _surveys(home: Path) -> Surveys:
    from discreet.desk import Desk
    from discreet.desk.surveys import Surveys

    return Surveys(Desk(home))


def _state(standing: Standing) -> str:
    if standing.collected:
        return "results"
    return "closed" if standing.closed else "open"
