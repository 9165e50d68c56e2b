"""What every client of the room must obey: one suite, run over examples of all of them."""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from fractions import Fraction
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from doubles import Seeded
from house.tree import ROOT
from local.examples import EXAMPLES, ONE

import discreet.local
from discreet.audit import audit
from discreet.errors import Refusal
from discreet.local import (
    CLIENTS,
    CountMeanSketch,
    DuchiMean,
    Hadamard,
    HadamardSketch,
    HeavyHitters,
    HybridMean,
    LocalHashing,
    OptimizedUnary,
    PiecewiseMean,
    Rappor,
    Response,
    SubsetSelection,
    SymmetricUnary,
    Tally,
    VectorMean,
    described,
    rebuilt,
)
from discreet.mechanisms import REGISTRY, Mechanism, Pair
from discreet.noise import SECURE
from discreet.privacy import Loss, Pure, Replace

CASES = [(f"{name} {i}", one) for name, some in EXAMPLES.items() for i, one in enumerate(some)]
SAMPLES = 20_000
ALPHA = Fraction(1, 10**9) / (3 * len(CASES))  # of a false alarm: each is audited three times
each = pytest.mark.parametrize("client", [one for _, one in CASES], ids=[name for name, _ in CASES])
names = pytest.mark.parametrize("name", sorted(EXAMPLES))


def test_every_kind_is_a_mechanism_to_a_type_checker() -> None:
    kinds: list[Mechanism[Any, object, Loss]] = [
        Response(ONE, 2),
        SymmetricUnary(ONE, 2),
        OptimizedUnary(ONE, 2),
        LocalHashing(ONE, 2),
        Hadamard(ONE, 2),
        SubsetSelection(ONE, 2),
        DuchiMean(ONE),
        PiecewiseMean(ONE),
        HybridMean(ONE),
        VectorMean(ONE, 2),
        Rappor(Fraction(2)),
        CountMeanSketch(ONE, 3, 6),
        HadamardSketch(ONE, 3, 4),
        HeavyHitters(ONE, 2, 4, 4, 3, 8),
    ]
    assert {type(kind) for kind in kinds} == {REGISTRY[name] for name in EXAMPLES}


def test_every_client_has_an_example_of_its_own_kind() -> None:
    here = {name for name, kind in REGISTRY.items() if kind.__module__.startswith("discreet.local.")}
    assert here == set(CLIENTS)
    assert sorted(here - set(EXAMPLES)) == [], "add them to tests/local/examples.py"
    assert set(EXAMPLES) <= here
    assert [name for name, some in EXAMPLES.items() for one in some if type(one) is not CLIENTS[name]] == []


@names
def test_the_room_exports_it_and_its_page_lists_it(name: str) -> None:
    kind = CLIENTS[name]
    assert getattr(discreet.local, kind.__name__) is kind
    page = (ROOT / "docs" / "local.md").read_text(encoding="utf-8")
    assert re.search(rf"(?m)^\| `{kind.__name__}` \| `{name}` \| \S.* \|$", page)


@names
def test_its_docstring_states_a_guarantee_a_proof_and_a_source(name: str) -> None:
    text = inspect.cleandoc(vars(CLIENTS[name])["__doc__"])
    parts = dict(re.findall(r"(?ms)^(Guarantee|Proof|Source): (.*?)(?=^\S|\Z)", text))
    assert set(parts) == {"Guarantee", "Proof", "Source"}
    assert re.search(r"docs/proofs/\w+\.md", parts["Proof"])


@each
def test_it_is_a_frozen_mechanism_for_any_two_values_of_a_person(client: Any) -> None:  # noqa: ANN401
    assert client.privacy == Pure(client.epsilon)
    assert client.neighbours == Replace("person")
    with pytest.raises(dataclasses.FrozenInstanceError):
        client.epsilon = Fraction(7)
    twin = dataclasses.replace(client)
    assert twin == client
    assert hash(twin) == hash(client)


@each
def test_randomness_is_a_keyword_that_defaults_to_the_secure_source(client: Any) -> None:  # noqa: ANN401
    for call in (type(client).__call__, type(client).batch):
        rng = inspect.signature(call).parameters["rng"]
        assert rng.kind is inspect.Parameter.KEYWORD_ONLY
        assert rng.default is SECURE
    value = client.pairs()[0].left
    assert client(value, rng=Seeded(3)) == client(value, rng=Seeded(3))
    assert client.batch([value] * 99, rng=Seeded(3)).tolist() == client.batch([value] * 99, rng=Seeded(3)).tolist()
    assert client.batch([value] * 99).tolist() != client.batch([value] * 99).tolist()


@each
def test_it_goes_through_a_door_and_back(client: Any) -> None:  # noqa: ANN401
    sent = json.loads(json.dumps(described(client)))
    assert rebuilt(sent["name"], sent["parameters"]) == client
    changed: list[object] = [
        {**sent["parameters"], **more} for more in ({"other": 1}, {"epsilon": 0.5}, {"epsilon": True})
    ]
    for broken in (*changed, {}, []):
        with pytest.raises(Refusal):
            rebuilt(sent["name"], broken)


def test_a_door_knows_clients_by_name_only() -> None:
    for name in ("nonsense", None, 7, ["response"]):
        with pytest.raises(Refusal, match="there is no mechanism called"):
            rebuilt(name, {})
    with pytest.raises(Refusal, match="Fraction is not a registered mechanism"):
        described(Fraction(1))


@each
def test_nonsense_is_refused_by_name(client: Any) -> None:  # noqa: ANN401
    for nonsense in (0, -1, "x", float("nan"), None, "0.0000001", 21):
        with pytest.raises(Refusal, match="epsilon"):
            dataclasses.replace(client, epsilon=nonsense)


@each
def test_a_price_that_no_description_can_hold_is_refused(client: Any) -> None:  # noqa: ANN401
    """A description goes through a door and into a tally: both read numbers of at most 2000 characters."""
    for digits in (601, 2500, 5000):
        with pytest.raises(Refusal, match="expected epsilon as a fraction of numbers below 1e600"):
            dataclasses.replace(client, epsilon=Fraction(10**digits + 1, 10**digits))
    long = dataclasses.replace(client, epsilon=Fraction(10**599 + 1, 10**599))
    assert rebuilt(*json.loads(json.dumps(described(long))).values()) == long
    assert Tally.decode(long.tally(b"").encode()).client == long.tally(b"").client


@each
def test_reports_travel_and_come_back(client: Any) -> None:  # noqa: ANN401
    pair = client.pairs()[0]
    many = client.batch([pair.left, pair.right] * 50, rng=Seeded(1))
    data = client.encode(many)
    assert len(data) == 100 * client.form.itemsize
    assert client.decode(data).tolist() == many.tolist()
    assert client.encode(client.decode(data)) == data
    one = client(pair.left, rng=Seeded(2))
    assert client.encode(client.decode(client.encode(one))) == client.encode(one)
    assert len(client.encode(one)) == client.form.itemsize
    assert client.decode(b"").size == 0


@each
def test_what_is_no_report_is_refused(client: Any) -> None:  # noqa: ANN401
    width = client.form.itemsize
    if width > 1:
        with pytest.raises(Refusal, match=f"expected a multiple of {width} bytes, got {width + 1}"):
            client.decode(bytes(width + 1))
    if client.encode(client(client.pairs()[0].left)) != b"\xff" * width:
        with pytest.raises(Refusal, match="report 0 of 1 is none"):
            client.decode(b"\xff" * width)
    for text in (None, "a text", 7):
        with pytest.raises(Refusal, match="expected reports as bytes"):
            client.decode(text)
    for nonsense in (None, "a text", 1.5, -1, 1 << 80, (1,), np.array([1.5]), np.array([1 << 40])):
        with pytest.raises(Refusal):
            client.encode(nonsense)
        with pytest.raises(Refusal):
            client.tally(nonsense)


@each
def test_tallies_add_up_in_any_order_and_travel(client: Any) -> None:  # noqa: ANN401
    pair = client.pairs()[0]
    many = client.batch([pair.left, pair.right] * 300, rng=Seeded(5))
    whole = client.tally(many)
    one, two, three = (client.tally(part) for part in (many[:7], many[7:400], many[400:]))
    assert whole == one + two + three == three + (one + two)
    assert hash(whole) == hash(three + two + one)
    assert whole != one
    assert whole.people == 600
    assert Tally.decode(whole.encode()) == whole
    assert client.tally(many[:0]) + whole == whole
    with pytest.raises(Refusal, match="no reports"):
        client.estimate(client.tally(many[:0]))
    stranger = dataclasses.replace(client, epsilon=client.epsilon / 2)
    with pytest.raises(Refusal, match="does not add"):
        whole + stranger.tally(stranger.batch([]))
    with pytest.raises(Refusal, match="expected a tally of"):
        stranger.estimate(whole)


@each
def test_its_error_shrinks_with_people_and_grows_with_confidence(client: Any) -> None:  # noqa: ANN401
    errors = [client.error(level, people=100) for level in ("0.01", "0.5", "0.95", "0.9999")]
    assert all(isinstance(error, Fraction) and error > 0 for error in errors)
    assert errors == sorted(set(errors))
    assert client.error() == client.error("0.95", people=1) == pytest.approx(10 * errors[2])
    for nonsense in (0, 1, "1.5"):
        with pytest.raises(Refusal, match="confidence"):
            client.error(nonsense)
    with pytest.raises(Refusal, match="people"):
        client.error(people=0)


@each
@pytest.mark.slow
def test_it_passes_its_audit_alone_together_and_through_the_wire(client: Any) -> None:  # noqa: ANN401
    for pair in client.pairs():
        assert isinstance(pair, Pair)
        assert pair.left != pair.right
    coins = Seeded(crc32(repr(client).encode()))
    assert not audit(client, samples=SAMPLES, alpha=ALPHA, rng=coins).refuted

    def alone(value: object) -> object:
        return client(value, rng=coins)

    assert not audit(alone, client.pairs(), client.privacy, samples=3000, alpha=ALPHA).refuted

    def sent(value: object) -> object:
        return client.encode(client(value, rng=coins))

    assert not audit(sent, client.pairs(), client.privacy, samples=3000, alpha=ALPHA).refuted


@each
@pytest.mark.slow
def test_the_same_audit_would_refute_a_quarter_of_the_price(client: Any) -> None:  # noqa: ANN401
    if client.epsilon > 4:
        pytest.skip("a smaller loss is rarer than 20,000 runs show")
    verdict = audit(client, claim=Pure(client.epsilon / 4), samples=SAMPLES, alpha=ALPHA, rng=Seeded(4))
    assert verdict.refuted, verdict
