"""`discreet survey`: questions whose answers are randomised on people's own devices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.options import HOME, AtHome, new_app, option
from discreet.cli.printing import AsFormat, Format, print_rows

if TYPE_CHECKING:
    from discreet.desk import Visitor
    from discreet.desk.surveys import Surveys
    from discreet.survey.collector import TaskStanding
    from discreet.survey.results import Results
    from discreet.survey.task import Task

app = new_app()

Which = Annotated[str, typer.Argument(metavar="ID", help="The id of a survey, or how it begins.")]
Site = Annotated[str, typer.Option("--site", metavar="URL", help="Where people reach the server.")]
_HERE = "http://127.0.0.1:8410"


@app.command()
def new(  # noqa: PLR0913  # each is an option
    question: str,
    *,
    answer: Annotated[list[str] | None, option("TEXT", "An answer to choose from; give two or more.")] = None,
    texts: Annotated[bool, typer.Option("--texts", help="People send any text, by RAPPOR.")] = False,
    bits: Annotated[int, option("N", "Bits of a text's Bloom filter.")] = 128,
    hashes: Annotated[int, option("N", "Hash functions of a filter.")] = 2,
    cohorts: Annotated[int, option("N", "Groups of people with functions of their own.")] = 64,
    epsilon: Annotated[str, option("E", "The privacy price of one report.")] = "1",
    minimum: Annotated[int, option("N", "Reports before anything is told.")] = 100,
    days: Annotated[int, option("N", "How long it is open.")] = 14,
    dishonest: Annotated[int, option("N", "The most reports that may not be honest.")] = 0,
    most: Annotated[int, option("N", "The most reports that are taken in all.")] = 1 << 20,
    invited: Annotated[bool, typer.Option("--invited", help="Only for people with an invitation.")] = False,
    site: Site = _HERE,
    home: AtHome = HOME,
) -> None:
    """Open a survey. Its address stands alone on the last line."""
    from discreet.desk.surveys import BloomFilter, SurveyPlan, path
    from discreet.survey.device_memory import USUAL

    shape = BloomFilter(bits, hashes, cohorts) if texts else None
    plan = SurveyPlan(question, tuple(answer or ()), epsilon, minimum, days, invited, dishonest, shape, most)
    surveys, who = _surveys(home)
    task = surveys.made(who, plan)
    typer.echo(f"survey {task.id} is open until {task.closes}", err=True)
    typer.echo(_prospect(task), err=True)
    if task.client.epsilon > USUAL.epsilon:
        usual = f"a device tells one collector at most {USUAL.epsilon} in all, until its owner says otherwise"
        typer.echo(f"at this price few will answer: {usual}", err=True)
    if invited:
        typer.echo("invite people with discreet survey invite", err=True)
    typer.echo(site.rstrip("/") + path(task))


def _prospect(task: Task) -> str:
    """What is promised and, where it can be told before there are texts, how exact it will be."""
    from discreet.desk.surveys import Outlook, guessed
    from discreet.local import Oracle

    said = "whoever reads a report guesses right between two answers in at most "
    if not isinstance(task.client, Oracle):
        return f"{said}{guessed(task.client.epsilon)} of 100 cases, however often a person reports the same text"
    outlook = Outlook(task.client, task.minimum)
    return (
        f"{said}{outlook.guess} of 100 cases; with {task.minimum:,} reports every share is exact to "
        f"±{outlook.points} percentage points, 19 times in 20"
    )


@app.command("list")
def list_(*, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """All surveys, the latest to close first."""
    from discreet.desk.surveys import shortened

    surveys, who = _surveys(home)
    standings = surveys.listed(who)
    short = shortened([each.task for each in standings]) if form is Format.table else {}
    rows = [
        [
            short.get(each.task.id, each.task.id),
            each.task.question,
            _state(each),
            each.counts.get("accepted", 0),
            each.task.closes,
        ]
        for each in standings
    ]
    print_rows(form, ["survey", "question", "state", "reports", "closes"], rows, right=["reports"])


@app.command()
def show(survey: Which, *, home: AtHome = HOME, form: AsFormat = Format.table) -> None:
    """What a survey asks and promises, and how it stands."""
    from discreet.desk.surveys import guessed

    surveys, who = _surveys(home)
    standing = surveys.one(who, survey)
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
        "most": task.most,
        "invited": "yes" if task.invited else "no",
        "reports": standing.counts.get("accepted", 0),
        "refused": ", ".join(f"{kind} {number}" for kind, number in refused.items()) or "none",
        "key": task.key,
    }
    print_rows(form, ["fact", "value"], [[name, str(value)] for name, value in facts.items()])


@app.command()
def invite(survey: Which, people: int, *, site: Site = _HERE, home: AtHome = HOME) -> None:
    """Links for so many people, one a line. Each is for one person, and kept nowhere."""
    from discreet.desk.surveys import path

    surveys, who = _surveys(home)
    task = surveys.one(who, survey).task
    for token in surveys.invited(who, survey, people):
        typer.echo(site.rstrip("/") + path(task, token))


@app.command()
def close(survey: Which, *, home: AtHome = HOME) -> None:
    """Take no more reports, and compute the results, once and for all."""
    surveys, who = _surveys(home)
    outcome = surveys.closed(who, survey)
    typer.echo(f"survey {outcome.body['id']} is closed with {outcome.body['reports']:,} reports")


@app.command()
def forget(survey: Which, *, home: AtHome = HOME) -> None:
    """Delete report ids and invitations that a survey needs no more. Its document and results stay."""
    surveys, who = _surveys(home)
    task, gone = surveys.forgotten(who, survey)
    if task.version not in gone:
        typer.echo(
            f"version {task.version} needs its report ids and invitations: only older ones are deleted", err=True
        )
    typer.echo(f"report ids and invitations of survey {task.id} are deleted; its document and results stay")


@app.command()
def results(
    survey: Which,
    *,
    candidates: Annotated[
        Path | None, option("FILE", "Texts to look for, one a line, if the survey asked for texts.")
    ] = None,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """What a survey came to: the share of each answer in percent, between `low` and `high` 19 times in 20.

    `shift` is by how much the reports that were declared dishonest can move it on top of that.
    """
    from discreet.desk.surveys import doubts, lines

    surveys, who = _surveys(home)
    outcome = surveys.results(who, survey)
    if candidates is not None or not outcome.estimates:
        _print_texts(outcome, [] if candidates is None else _read(candidates), form)
        return
    if "mean" in outcome.estimates[0]:
        columns = [name for name in ("mean", "low", "high", "shift") if name in outcome.estimates[0]]
        print_rows(form, columns, [[float(row[name]) for name in columns] for row in outcome.estimates], right=columns)
        return
    rows = [[line.label, line.share, line.low, line.high, line.shift] for line in lines(outcome)]
    if form is Format.table:
        rows = [[label, *("" if n is None else f"{n:.1f}" for n in numbers)] for label, *numbers in rows]
    names = ["share", "low", "high", "shift"]
    print_rows(form, ["answer", *names], rows, right=names)
    for sentence in doubts(outcome):
        typer.echo(sentence, err=True)


def _print_texts(outcome: Results, candidates: list[str], form: Format) -> None:
    """Texts with shares in percent, ends that hold all of them together, and how likely chance shows as much."""
    texts = outcome.texts(candidates)
    rows = [[one.text, 100 * one.share, 100 * one.low, 100 * one.high, one.chance] for one in texts]
    if form is Format.table:
        rows = [[text, *(f"{part:.1f}" for part in parts), f"{chance:.2g}"] for text, *parts, chance in rows]
    names = ["share", "low", "high", "chance"]
    print_rows(form, ["answer", *names], rows, right=names)
    if candidates:
        typer.echo("chance is for a list made without the reports", err=True)


def _read(path: Path) -> list[str]:
    """The lines of a file that are not empty."""
    from discreet.errors import Refusal

    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        raise Refusal(f"{path.name} cannot be read as text", hint="write one text a line, in UTF-8") from None
    return [line for line in lines if line]


def _surveys(home: Path) -> tuple[Surveys, Visitor]:
    """The surveys of a home, and whoever holds it, who may do everything with them."""
    from discreet.desk import HOME as HOLDER
    from discreet.desk import Desk
    from discreet.desk.surveys import Surveys

    return Surveys(Desk(home)), HOLDER


def _state(standing: TaskStanding) -> str:
    if standing.collected:
        return "results"
    return "closed" if standing.closed else "open"
