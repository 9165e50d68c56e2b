"""A mechanism goes through a door as a name and plain parameters, and comes back checked."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction

import pytest

from discreet.errors import Refusal
from discreet.mechanisms.integer_noise import Laplace
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
    with pytest.raises(Refusal, match="needs scale"):
        rebuilt("laplace", {})


def test_what_is_written_is_what_a_person_can_read() -> None:
    assert described(Laplace.of("0.3", 2)) == {
        "name": "laplace",
        "parameters": {"scale": "20/3", "sensitivity": 2, "neighbours": {"relation": "add-remove", "unit": "row"}},
    }
    assert rebuilt("tulap", {"epsilon": "0.5", "delta": "1e-6"}) == Tulap(Fraction(1, 2), Fraction(1, 10**6))


@pytest.mark.parametrize("number", [Fraction(10**5000), Fraction(1, 10**5000 + 1), Fraction(10**1500, 7**1500)])
def test_a_number_that_no_door_takes_is_refused_in_words(number: Fraction) -> None:
    with pytest.raises(Refusal, match="a number of more than 2000 digits cannot go through a door, got"):
        described(Laplace(number))
    with pytest.raises(Refusal, match=r"more than 2000 digits cannot go through a door, got 1E\+5000"):
        described(Laplace(Fraction(1), 10**5000))


@pytest.mark.parametrize("scale", ["1e999", "1e-999", "1.5e-990", "7" * 900])
def test_the_largest_numbers_that_are_read_come_back(scale: str) -> None:
    mechanism = rebuilt("laplace", {"scale": scale})
    assert rebuilt(**json.loads(json.dumps(described(mechanism)))) == mechanism


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("laplace", {"scale": "1e٣٠٠٠٠٠"}),
        ("laplace", {"scale": "9" * 4000 + "e999"}),
        ("laplace", {"scale": -(10**5000)}),
        ("laplace", {"scale": [10**5000]}),
        ("laplace", {"scale": 1, "sensitivity": -(10**5000)}),
        ("laplace", {"scale": 1, 10**5000: 1}),
        ("laplace", {"scale": 1, "neighbours": 10**5000}),
        ("laplace", [10**5000]),
        (10**5000, {}),
        ("mean", {"epsilon": 1, "lower": 10**5000, "upper": 0, "step": 1}),
        ("mean", {"epsilon": 1, "lower": 0, "upper": 10**5000, "step": 1}),
        ("mean", {"epsilon": 1, "lower": 1, "upper": 2, "step": 10**5000}),
        ("mean", {"epsilon": 1, "lower": 0, "upper": 2, "step": 10**5000}),
        ("quantiles", {"epsilon": 1, "lower": 0, "upper": 2, "step": 1, "levels": [10**5000]}),
    ],
    ids=range(14),
)
def test_no_number_is_too_long_to_be_refused(name: object, parameters: object) -> None:
    with pytest.raises(Refusal) as refusal:
        rebuilt(name, parameters)
    assert len(str(refusal.value)) < 2500  # which may name all mechanisms, and no number


def test_only_registered_mechanisms_are_described() -> None:
    with pytest.raises(Refusal, match="Sundry is not a registered mechanism"):
        described(VALUES[0])

    class Child(Laplace):
        """A child may mean something else by the same fields."""

    with pytest.raises(Refusal, match="Child is not a registered mechanism"):
        described(Child(Fraction(1)))


def test_a_name_is_given_once_and_to_frozen_values_only() -> None:
    with pytest.raises(ValueError, match="two mechanisms are called 'laplace'"):
        registered("laplace")(Tulap)
    with pytest.raises(TypeError, match="frozen dataclass"):
        registered("new")(type("Plain", (), {}))
    with pytest.raises(TypeError, match="frozen dataclass"):
        registered("new")(dataclass(type("Loose", (), {})))
    with pytest.raises(TypeError, match="'new' must say what it takes"):
        registered("new")(Sundry)
    with pytest.raises(TypeError, match="'new' must say what it takes"):
        registered("new")(dataclass(frozen=True)(type("Loud", (), {"takes": "rows"})))
    assert "new" not in REGISTRY
    assert registered("laplace")(Laplace) is Laplace
