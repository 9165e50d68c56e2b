"""`discreet fit` and `discreet predict`: a model bought like a release, and read without the home."""

from __future__ import annotations

import csv
import json
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli.options import HOME, AtHome, NoHome, new_app, option, pairs, value_of
from discreet.cli.printing import AsFormat, Format, busy, print_rows, write_rows
from discreet.errors import Refusal
from discreet.exact import shown

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.learn import ModelRelease

app = new_app()


@app.command()
def fit(  # noqa: PLR0913  # the terms of a fit
    estimator: Annotated[str, typer.Argument(metavar="ESTIMATOR", help="Such as linear-regression.")],
    source: Annotated[str, typer.Argument(metavar="TABLE", help="A table, or a SELECT of rows in quotes.")],
    *,
    features: Annotated[str, option("A,B", "The columns to predict from.")],
    label: Annotated[str | None, option("COLUMN", "The column to predict.")] = None,
    epsilon: Annotated[str | None, option("E", "The price.")] = None,
    rho: Annotated[str | None, option("R", "The price, in zCDP.")] = None,
    delta: Annotated[str | None, option("D", "Beside epsilon, for Gaussian noise.")] = None,
    param: Annotated[list[str] | None, option("NAME=VALUE", "A parameter. May be repeated.")] = None,
    attempt: Annotated[
        list[str] | None,
        typer.Option(
            "--try", metavar="NAME=A,B", help="Values to choose a parameter from, privately. May be repeated."
        ),
    ] = None,
    max_rows: Annotated[int | None, option("N", "Rows of one unit that count, instead of as declared.")] = None,
    name: Annotated[str, option("TEXT", "What the model is called.")] = "",
    out: Annotated[Path | None, option("DIR", "A new folder to write it to.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say price and size; pay and write nothing.")] = False,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """Fit a model. Its price is spent before a row is read; the folder predicts without the home."""
    from discreet.cli.publishing import propose, publish
    from discreet.desk import ReleaseOrder
    from discreet.release import Wish

    columns = [*next(csv.reader([features]), []), *([] if label is None else [label])]
    price = {"epsilon": epsilon, "rho": rho, "delta": delta, "max_rows": max_rows}
    parameters = {key: value_of(text) for key, text in pairs(param, "--param")}
    if attempt:
        estimator, parameters = "private-search", _searched(estimator, parameters, dict(pairs(attempt, "--try")))
    wish = Wish.of("model", columns, estimator=estimator, label=label, parameters=parameters, **price)
    order = ReleaseOrder.of(source, wish, name)
    if dry_run:
        propose(home, order, form)
    elif out is None:
        raise Refusal(
            f"a model of {shown(source)} goes to a folder", hint="say --out DIR, or --dry-run to see its price"
        )
    else:
        publish(home, order, out, form)


def _searched(estimator: str, fixed: dict[str, Any], tried: dict[str, str]) -> dict[str, Any]:
    """What a search takes: of the parameters some are its own, and every setting has the others."""
    own: dict[str, Any] = {name: fixed.pop(name) for name in ("tries", "holdout") if name in fixed}
    values = [[(name, value_of(text)) for text in next(csv.reader([texts]), [])] for name, texts in tried.items()]
    settings = [[[name, value] for name, value in (*fixed.items(), *each)] for each in product(*values)]
    return {"estimator": estimator, "settings": settings, **own}


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a model.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Rows: a CSV or Parquet file with a column a feature.")],
    *,
    out: Annotated[
        Path | None, option("FILE", "A new file, .csv or .parquet, for the rows and their predictions.")
    ] = None,
    _home: NoHome = None,
    form: AsFormat = Format.table,
) -> None:
    """What a model predicts for each row of a file: free, and without the home that fitted it."""
    from discreet.learn.fitted_model import outputs
    from discreet.learn.prediction_rows import features_of

    with busy("reading"):
        release = _released(model)
        rows = _rows(file)
        names, keys = outputs(release.model), getattr(release.model, "keys", ())
        given = features_of(rows, release.model.features, keys)
        told = release.model.predict(given).reshape(rows.num_rows, len(names))
    if out is None:
        print_rows(form, [*names], told.tolist(), right=[*names])
    else:
        _write(out, rows, dict(zip(names, told.T.tolist(), strict=True)))
        typer.echo(f"written to {out}", err=True)


@app.command()
def score(  # noqa: PLR0913  # the terms of a score
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The folder of a model.")],
    source: Annotated[str, typer.Argument(metavar="TABLE", help="A table, or a SELECT of rows in quotes.")],
    *,
    label: Annotated[str | None, option("COLUMN", "The column that it predicts, if it has another name there.")] = None,
    epsilon: Annotated[str | None, option("E", "The price.")] = None,
    rho: Annotated[str | None, option("R", "The price, in zCDP.")] = None,
    delta: Annotated[str | None, option("D", "Beside epsilon, for Gaussian noise.")] = None,
    bins: Annotated[int, option("N", "Bins of the chance that it gives to the second of two classes.")] = 20,
    max_rows: Annotated[int | None, option("N", "Rows of one unit that count, instead of as declared.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say the price; pay nothing.")] = False,
    home: AtHome = HOME,
    form: AsFormat = Format.table,
) -> None:
    """How good a model is about private rows: accuracy and more, or R². Paid like an answer."""
    from discreet.cli.run import run

    fitted, usual = _fitted(model)
    told = [f"fitted={fitted}", f"label={usual if label is None else label}", f"bins={bins}"]
    run(
        "model-score", source, param=told, epsilon=epsilon, rho=rho, delta=delta,
        max_rows=max_rows, dry_run=dry_run, home=home, form=form,
    )  # fmt: skip


def _released(folder: Path) -> ModelRelease:
    """The model of a folder."""
    from discreet.learn import ModelRelease
    from discreet.release.folder import read

    release, _ = read(folder)
    if not isinstance(release, ModelRelease):
        raise Refusal(f"{str(folder)!r} is the folder of a {release.kind}, and no model", hint="discreet release show")
    return release


def _fitted(folder: Path) -> tuple[str, str]:
    """The model of a folder as JSON with the name of its estimator, as a text in JSON itself; and what it predicts."""
    release = _released(folder)
    mechanism: Any = release.facts["mechanism"]
    label = mechanism["parameters"].get("label")
    if label is None:
        raise Refusal("this model predicts no label", hint="a score is of a classifier or a regression")
    return json.dumps(json.dumps({"estimator": mechanism["name"], "model": release.model.body()})), str(label)


def _rows(file: Path) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv as pa_csv
    from pyarrow import parquet

    try:
        return parquet.read_table(file) if file.suffix == ".parquet" else pa_csv.read_csv(file)
    except (OSError, pa.ArrowException):
        raise Refusal(f"{str(file)!r} cannot be read as CSV or Parquet", hint="its name ends with what it is") from None


def _write(out: Path, rows: pa.Table, told: dict[str, list[Any]]) -> None:
    import pyarrow as pa

    from discreet.learn.prediction_rows import unlike

    whole = rows
    for name, values in told.items():
        whole = whole.append_column(unlike(name, whole.column_names), pa.array(values))
    write_rows(out, whole)
