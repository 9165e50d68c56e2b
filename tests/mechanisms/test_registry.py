"""A mechanism goes through a door as a name and plain parameters, and comes back checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction

import pytest

from discreet.errors import Refusal
from discreet.mechanisms.additive import Laplace
from discreet.mechanisms.registry import REGISTRY, described, rebuilt, registered
from discreet.mechanisms.tulap import Tulap
from discreet.privacy import AddRemove, Replace


@dataclass(frozen=True)
class Sundry:
    """Every kind of field."""

    half: Fraction
    names: tuple[str, ...] = ()
    pair: tuple[int, Fraction] = (1, Fraction(1))
    maybe: int | None = None
    either: int | str = 0
    flag: bool = False
    nested: tuple[tuple[int, ...], ...] = ()
    neighbours: AddRemove | Replace = AddRemove()


@pytest.fixture
def sundry(monkeypatch: pytest.MonkeyPatch) -> type[Sundry]:
    monkeypatch.setitem(REGISTRY, "sundry", Sundry)
    return Sundry


VALUES = [
    Sundry(Fraction(1, 3)),
    Sundry(
        Fraction(-7),
        ("a", "b"),
        (5, Fraction(2, 7)),
        3,
        "x",
        flag=True,
        nested=((1, 2), (), (3,)),
        neighbours=Replace("person"),
    ),
]


@pytest.mark.parametrize("value", VALUES, ids=str)
@pytest.mark.usefixtures("sundry")
def test_every_kind_of_field_survives_the_door(value: Sundry) -> None:
    sent = json.loads(json.dumps(described(value)))
    back = rebuilt(**sent)
    assert back == value
    assert described(back) == sent


@pytest.mark.parametrize(
    "parameters",
    [
        {"half": 0.5},  # a float has no exact text
        {"half": "nan"},
        {"half": True},
        {"half": ["1/2"]},
        {"half": "1/2", "names": "a"},
        {"half": "1/2", "names": [1]},
        {"half": "1/2", "pair": [1]},
        {"half": "1/2", "pair": [1, "1", 2]},
        {"half": "1/2", "maybe": True},
        {"half": "1/2", "maybe": "1"},
        {"half": "1/2", "either": None},
        {"half": "1/2", "flag": 1},
        {"half": "1/2", "nested": [1]},
        {"half": "1/2", "neighbours": "add-remove"},
        {"half": "1/2", "neighbours": {"relation": "other"}},
        {"half": "1/2", "neighbours": {"relation": "replace", "unit": 3}},
        {"half": "1/2", "neighbours": {"relation": "replace", "more": 3}},
        {"half": "1/2", "neighbours": {"relation": ["replace"]}},
        {"half": "1/2", "__class__": "object"},
        {},
        [],
        None,
        "half",
    ],
    ids=str,
)
@pytest.mark.usefixtures("sundry")
def test_anything_else_is_refused(parameters: object) -> None:
    with pytest.raises(Refusal):
        rebuilt("sundry", parameters)


@pytest.mark.parametrize("name", ["os.system", "", None, 3, ["laplace"], {"name": "laplace"}])
def test_an_unknown_name_is_refused(name: object) -> None:
    with pytest.raises(Refusal, match="there is no mechanism called"):
        rebuilt(name, {})


def test_a_rebuilt_mechanism_is_checked_like_a_new_one() -> None:
    with pytest.raises(Refusal, match="scale > 0, got scale=-1"):
        rebuilt("laplace", {"scale": "-1"})
    with pytest.raises(Refusal, match="sensitivity >= 1, got sensitivity=0"):
        rebuilt("laplace", {"scale": "1", "sensitivity": 0})
    with pytest.raises(Refusal, match="has no parameter"):
        rebuilt("laplace", {"scale": "1", "rng": "seed"})
    with pytest.raises(Refusal, match=r"needs its parameter \['scale'\]"):
        rebuilt("laplace", {})


def test_what_is_written_is_what_a_person_can_read() -> None:
    assert described(Laplace.of("0.3", 2)) == {
        "name": "laplace",
        "parameters": {"scale": "20/3", "sensitivity": 2, "neighbours": {"relation": "add-remove", "unit": "row"}},
    }
    assert rebuilt("tulap", {"epsilon": "0.5", "delta": "1e-6"}) == Tulap(Fraction(1, 2), Fraction(1, 10**6))


def test_only_registered_mechanisms_are_described() -> None:
    with pytest.raises(Refusal, match="Sundry is not a registered mechanism"):
        described(VALUES[0])

    class Child(Laplace):
        """A child may mean something else by the same fields."""

    with pytest.raises(Refusal, match="Child is not a registered mechanism"):
        described(Child(Fraction(1)))


def test_a_name_is_given_once_and_to_frozen_values_only() -> None:
    with pytest.raises(ValueError, match="two mechanisms are called 'laplace'"):
        registered("laplace")(Sundry)
    with pytest.raises(TypeError, match="frozen dataclass"):
        registered("new")(type("Plain", (), {}))
    with pytest.raises(TypeError, match="frozen dataclass"):
        registered("new")(dataclass(type("Loose", (), {})))
    assert "new" not in REGISTRY
    assert registered("laplace")(Laplace) is Laplace
