"""Fitted model as a kind of release: paid for once, kept with a certificate, and read by anybody without the home."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from discreet.declared.table import Caps, Outline, chosen
from discreet.errors import Refusal, about
from discreet.exact import Number, exact, shown, spoken
from discreet.learn.fit_price import FitLoss
from discreet.learn.fitted_model import Model
from discreet.mechanisms import Pair, Relation, Takes
from discreet.mechanisms.mechanism import USUAL, settle
from discreet.mechanisms.registry import REGISTRY, Plain, known, names
from discreet.mechanisms.run_by_name import admitted, plain_parameters
from discreet.noise import SECURE, Entropy
from discreet.pictures import Picture
from discreet.privacy import Neighbours
from discreet.release import Kind, Release, Wish
from discreet.release.counting_mechanism import facts_of
from discreet.release.release_kind import Option, Preview, part

_OWN = ("features", "label", "epsilon", "delta", "rho")  # what a wish says by words of its own


class ModelMechanism(Protocol):
    """A registered mechanism over a relation that tells a model, and says by `model` of which class.

    Its fields are `features`, a `label` if it needs one, the price as `epsilon`, `delta` and `rho`, and whatever else
    it has; `max_rows` and `neighbours` come from what is declared.
    """

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that it predicts from."""
        ...

    @property
    def privacy(self) -> FitLoss:
        """What a fit loses when one unit changes."""
        ...

    @property
    def neighbours(self) -> Neighbours:
        """How a unit changes."""
        ...

    @property
    def caps(self) -> Caps:
        """How much of one unit it may be shown."""
        ...

    @property
    def numbers(self) -> int:
        """How many numbers the model has."""
        ...

    def error(self, confidence: Number = USUAL, /) -> None:
        """How far off it is depends on the rows."""
        ...

    def pairs(self) -> Sequence[Pair[Any]]:
        """Neighbouring inputs that an audit should try first."""
        ...

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> Model:
        """The model. Spends `privacy`."""
        ...


@dataclass(frozen=True)
class Fit:
    """A mechanism's model, published.

    Guarantee: `privacy`, for all rows of one unit.
    Proof: the model is all that is told, and a release adds public facts to it.
    Source: that of the mechanism.
    """

    takes: ClassVar[Takes] = Takes.RELATION

    mechanism: ModelMechanism
    columns: tuple[str, ...]

    privacy = property(lambda self: self.mechanism.privacy)
    neighbours = property(lambda self: self.mechanism.neighbours)
    caps = property(lambda self: self.mechanism.caps)

    @property
    def preview(self) -> Preview:
        """What is public about it before it is paid."""
        name = next(name for name, kind in REGISTRY.items() if type(self.mechanism) is kind)
        lines = (
            "rows in which a column has no value are left out",
            "numbers beyond declared bounds count as the bound",
        )
        norm = getattr(self.mechanism, "data_norm", None)
        shorter = (
            () if norm is None else (f"rows of features longer than data_norm={spoken(norm)} count as shorter ones",)
        )
        return Preview(
            self.mechanism.numbers,
            "the model",
            tuple((name,) for name in self.columns),
            {"estimator": name},
            (*lines, *shorter),
            name,
            "numbers",
            "says nothing of its own error",
        )

    def refuse_unfit(self, known: Outline) -> None:
        """What the mechanism refuses, if it does so before it runs."""
        if hasattr(self.mechanism, "refuse_unfit"):
            self.mechanism.refuse_unfit(known)

    def error(self, confidence: Number = USUAL) -> None:
        """How far off a model is depends on the rows."""
        self.mechanism.error(confidence)

    def pairs(self) -> tuple[Pair[Any], ...]:
        """Those of the mechanism."""
        return tuple(self.mechanism.pairs())

    def __call__(self, relation: Relation, /, *, rng: Entropy = SECURE) -> ModelRelease:
        """The release. Spends `privacy`."""
        return ModelRelease(facts_of("model", self.columns, self.mechanism, self), self.mechanism(relation, rng=rng))


@dataclass(frozen=True)
class ModelRelease(Release):
    """A published model. `predict` needs nothing else."""

    heading: ClassVar[str] = "The model"

    model: Model = field(default=None)  # type: ignore[assignment]  # facts stand first, and have no default

    @property
    def bounding(self) -> str:
        """That no error is known of its numbers."""
        return (
            "How far off the numbers of this model may be is not known. Rows in which one of its columns has no value "
            "were left out; numbers beyond the declared bounds counted as the nearer bound."
        )

    @staticmethod
    def left_out(facts: Mapping[str, Plain], unit: str) -> tuple[str, ...]:  # noqa: ARG004  # of kinds that leave out
        """That long rows were shortened, if they were."""
        mechanism: Any = facts["mechanism"]
        settings = mechanism["parameters"].get("settings", ())
        said = [mechanism["parameters"].get("data_norm"), *(dict(each).get("data_norm") for each in settings)]
        norms = sorted({exact(norm, "data_norm") for norm in said if norm is not None})
        some = " or ".join(map(spoken, norms))
        long = f"Rows of which the features together were longer than {some} counted as shorter ones of that length."
        return (long,) if norms else ()

    def to_arrow(self) -> dict[str, pa.Table]:
        """Its numbers, one a row."""
        return {"model": self.model.table()}

    def pictures(self) -> Sequence[Picture]:
        """Those of a model that draws itself."""
        drawn: Sequence[Picture] = self.model.pictures() if hasattr(self.model, "pictures") else ()
        return drawn

    def body(self) -> dict[str, Any]:
        """The model, as JSON can hold it."""
        return {"model": self.model.body()}

    @classmethod
    def read(cls, facts: Mapping[str, Plain], body: Mapping[str, Any]) -> ModelRelease:
        """The release that `body` told of."""
        mechanism: Any = facts["mechanism"]
        return cls(facts, model_class(mechanism["name"]).read(body["model"]))


def model_class(name: object) -> type[Model]:
    """The class of the models that a mechanism of this name tells."""
    made: type[Model] | None = getattr(known(name), "model", None)
    if made is None:
        raise Refusal(f"{shown(name)} fits no model", hint=f"take one of {', '.join(estimators())}")
    return made


def estimators() -> list[str]:
    """What the mechanisms that fit models are called; of those that are not imported yet, all that are offered."""
    return [name for name in names() if hasattr(known(name), "model")]


ESTIMATOR = Option(
    "What is fitted, such as linear-regression.",
    "NAME",
    label="Estimator",
    choices=lambda _: {name: _in_words(name) for name in estimators() if _asks_no_more(name)},
)
_ELSEWHERE = (*_OWN, "max_rows", "neighbours")  # what a form asks for in fields of their own, or a home declares
_DELTA = Option(label="delta, for Gaussian noise, or what doubles cost", usual="none")  # else it is of all kinds


def _in_words(name: str) -> str:
    """An estimator with its parameters, and what each is if nobody says it."""
    own = [f"{each.name}={_shown(each.default)}" for each in fields(known(name)) if each.name not in _ELSEWHERE]  # type: ignore[arg-type]  # a dataclass
    return f"{name} ({', '.join(own)})" if own else name


def _shown(default: object) -> str:
    if default is None:
        return "none"
    return str(default).lower() if isinstance(default, bool) else str(default)


def _parameters(text: str) -> dict[str, object]:
    """NAME=VALUE, one after another: each value is JSON, or a text that is none."""
    told: dict[str, object] = {}
    for each in text.split(","):
        name, equals, value = (part.strip() for part in each.partition("="))
        if not name or not equals or name in told:
            raise Refusal(f"expected NAME=VALUE, NAME=VALUE, got {shown(text)}", hint="as in max_depth=4, cuts=7")
        try:
            told[name] = json.loads(value, parse_float=str)
        except ValueError:
            told[name] = value
    return told


def _asks_no_more(name: str) -> bool:
    """Whether an estimator needs nothing but columns and a price: what a form has no field for cannot be filled in."""
    needed = [each.name for each in fields(known(name)) if each.default is MISSING and each.default_factory is MISSING]  # type: ignore[arg-type]
    return set(needed) <= {*_OWN}


@dataclass(frozen=True)
class ModelWish(Wish):
    """A model that somebody asks for: of which estimator, predicting which column from the others.

    `columns` are the features and the label; `parameters` are what else the estimator takes.
    """

    estimator: str = part(ESTIMATOR, "")
    label: str | None = part(Option("The column that is predicted.", "COLUMN", label="Label", usual="none"))
    delta: Number | None = part(_DELTA)  # noqa: RUF009  # a field
    parameters: Mapping[str, object] = part(
        Option(
            "A parameter of the estimator. May be repeated.",
            "NAME=VALUE",
            many=True,
            together=True,
            label="Parameters",
            usual="NAME=VALUE, NAME=VALUE",
            read=_parameters,
        ),
        {},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.label is not None and self.label not in self.columns:
            label = chosen(self.label, self.columns)
            if label is None:
                raise Refusal(
                    f"the label {shown(self.label)} is none of the columns", hint="choose it as well", field="label"
                )
            settle(self, label=label)
        if taken := sorted({*self.parameters} & {*_OWN}):
            raise Refusal(f"a model names {', '.join(taken)} by words of their own", hint="leave out the parameter")
        settle(self, parameters=plain_parameters(self.parameters))
        with about("estimator"):
            model_class(self.estimator)

    @property
    def takes_delta(self) -> bool:
        """With δ noise is Gaussian."""
        return True

    @property
    def features(self) -> tuple[str, ...]:
        """The columns that are predicted from."""
        return tuple(name for name in self.columns if name != self.label)

    def respelled(self, spelling: Mapping[str, str]) -> dict[str, Any]:
        """Its label, so spelled."""
        return {} if self.label is None else {"label": spelling[self.label]}


def _planned(outline: Outline, wish: ModelWish) -> Fit:
    """The mechanism of a wish, for rows of which only what is declared is known."""
    said = {"label": wish.label, "epsilon": wish.epsilon, "delta": wish.delta, "rho": wish.rho, **wish.parameters}
    given = plain_parameters({name: value for name, value in said.items() if value is not None})
    return Fit(admitted(outline, wish.estimator, {"features": list(wish.features), **given}), wish.columns)  # type: ignore[arg-type]  # it has a model


MODEL = Kind(
    "model",
    "Model",
    "A model fitted to the rows, with noise in it, that predicts from columns of a row.",
    ModelWish,
    _planned,
    ModelRelease,
    phrase="A model",
)
