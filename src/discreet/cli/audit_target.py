"""What an audit is about, by its name on the command line: a mechanism, a function, a question, or a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import Refusal

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.privacy.loss import Loss

_MANY = 10**6  # questions: more than anybody waits for
ROOMS = ("mechanisms", "local", "release", "learn", "stream")


@dataclass(frozen=True)
class Rows:
    """Made-up rows for a question: a file, whose they are, of whom the neighbour lacks the rows, and declarations."""

    file: Path | None
    unit: str | None
    without: str | None
    declared: Mapping[str, Any]


@contextmanager
def opened(target: str, parameters: str | None, rows: Rows, promise: Loss | None) -> Iterator[Callable[..., Any]]:
    """The mechanism that a target names."""
    kind, colon, rest = target.partition(":")
    if colon and kind == "sql":
        with _asked(rest, rows, promise) as question:
            yield question
    elif rows.file is not None:
        raise Refusal(f"--rows is for questions, and {target!r} is none", hint="write 'sql:SELECT …'")
    else:
        yield mechanism(target, parameters)


def mechanism(target: str, parameters: str | None) -> Callable[..., Any]:
    """A specimen of the zoo, a function of a module, or a registered mechanism."""
    module, colon, name = target.partition(":")
    if not colon:
        return registered(target, parameters)
    if parameters is not None:
        raise Refusal(f"--parameters is for registered mechanisms, and {target!r} is not a name of one")
    if module == "zoo":
        from discreet.audit import ZOO

        if name not in ZOO:
            raise Refusal(f"the zoo has no {name!r}", hint=f"it has {', '.join(ZOO)}")
        return ZOO[name]
    sys.path.insert(0, "")  # the folder one stands in, as `python -m` does
    try:
        named = getattr(import_module(module), name)
    except (ImportError, AttributeError) as missing:
        raise Refusal(f"cannot find {target!r}: {missing}", hint="write MODULE:NAME, as in survey:count") from None
    if not callable(named) or isinstance(named, type):
        raise Refusal(f"expected {target!r} to be a mechanism or a function, got {type(named).__name__}")
    return named  # type: ignore[no-any-return]


def registered(name: str, parameters: str | None) -> Callable[..., Any]:
    """A mechanism by its registered name: of noise, of a local client, a release, a model or a stream."""
    from discreet.mechanisms.registry import rebuilt

    for room in ROOMS:
        import_module(f"discreet.{room}")  # they register themselves
    return rebuilt(name, parameters_of(parameters))  # type: ignore[no-any-return]


def parameters_of(text: str | None) -> dict[str, Any]:
    """A JSON object."""
    values = read_json(text, "--parameters") if text else {}
    if not isinstance(values, dict):
        raise Refusal(f"--parameters takes a JSON object, got {text}")
    return values


def read_json(text: str, option: str) -> Any:  # noqa: ANN401  # whatever the mechanism takes
    """JSON, or a refusal that names the option."""
    try:
        return json.loads(text)
    except ValueError:
        raise Refusal(f"{option} takes JSON, got {text!r}") from None


def estimator(name: str, parameters: str | None) -> Any:  # noqa: ANN401  # as scikit-learn's
    """An estimator of `discreet.learn` by the name of its class."""
    from discreet import learn

    made = getattr(learn, name, None)
    if not isinstance(made, type) or not hasattr(made, "fit"):
        raise Refusal(f"there is no estimator {name!r} in discreet.learn", hint="write model:LogisticRegression, say")
    try:
        return made(**parameters_of(parameters))
    except TypeError as wrong:
        raise Refusal(f"{name} cannot be made of these parameters: {wrong}", hint="see its documentation") from None


@contextmanager
def _asked(sql: str, rows: Rows, promise: Loss | None) -> Iterator[Callable[..., Any]]:
    from discreet.audit.question import questioned
    from discreet.curator.custody import Declared
    from discreet.privacy.loss import Approximate, Pure

    if rows.file is None or rows.unit is None or rows.without is None:
        raise Refusal(
            "a question needs made-up rows to be asked about",
            hint="say --rows FILE, whose file name is the table's, --unit COLUMN and --without WHOM",
        )
    if not isinstance(promise, Pure | Approximate):
        raise Refusal("a question needs a price, which is its claim", hint="say --claim epsilon=1")
    delta = promise.delta if isinstance(promise, Approximate) else 0
    said = Declared(unit=rows.unit, **rows.declared)
    with questioned(
        sql,
        rows.file.stem,
        _table(rows.file),
        said,
        unit=rows.without,
        epsilon=promise.epsilon,
        delta=delta,
        runs=_MANY,
    ) as question:
        yield question


def _table(file: Path) -> pa.Table:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    try:
        return pa.parquet.read_table(file) if file.suffix == ".parquet" else pa.csv.read_csv(file)
    except (OSError, pa.ArrowInvalid) as wrong:
        raise Refusal(f"cannot read {str(file)!r}: {wrong}") from None
