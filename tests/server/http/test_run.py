"""Mechanisms through the HTTP door: by their names, over what is declared, at their price, and the same again free."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import commandline
import pytest
from server.http.conftest import Place
from server.served import Server

import discreet as dp
from discreet.errors import Refusal
from discreet.learn.model_release import model_class
from discreet.privacy import Approximate

PRICED = {"epsilon": "1", "column": "cost"}


def run(server: Server, token: str, path: str = "run", **body: Any) -> Any:  # noqa: ANN401
    return server.call("POST", f"/api/v1/{path}", token, {"mechanism": "mean", "parameters": PRICED, **body})


def test_an_analyst_runs_a_mean_and_the_same_again_is_free_by_whichever_door(place: Place, server: Server) -> None:
    offer = run(server, place.ann, "run/offer", table="visits").json
    assert offer["price"]["epsilon"] == "1"
    assert offer["entry"] is None
    assert offer["words"].startswith("price    epsilon 1\n")
    said = run(server, place.ann, table="visits").json
    assert set(said["value"]) == {"rows", "mean"}
    assert 0 <= said["value"]["mean"] <= 1000
    assert said["cost"]["epsilon"] == "1"
    assert said["bounding"] == offer["bounding"]
    assert "Values of cost are rounded to steps of 0.01." in said["bounding"]
    again = run(server, place.cleo, table="visits").json
    assert (again["value"], again["cost"], again["entry"]) == (said["value"], None, said["entry"])
    assert run(server, place.ann, "run/offer", table="visits").json["entry"] == int(said["entry"])
    there, here = server.connect(place.ann), dp.open(place.home)
    for db in (there, here):
        known = db.run("mean", "visits", epsilon=1, column="cost")
        assert (known.value, known.cost, known.entry) == (said["value"], None, said["entry"])
        assert db.offer_run("mean", "visits", epsilon=Fraction(1), column="cost").entry == int(said["entry"])
    told = ["run", "mean", "visits", "--param", "column=cost", "--epsilon", "1", "--home", str(place.home)]
    typed = commandline.discreet(Path("/"), *told)
    assert "free: this was answered before" in typed.stderr
    assert f"mean  {said['value']['mean']!r}" in typed.stdout
    dry = commandline.discreet(Path("/"), *told, "--dry-run").stdout
    assert dry == f"{there.offer_run('mean', 'visits', epsilon=1, column='cost')}\n"
    line = next(line for line in server.lines() if line.get("path") == "/api/v1/run" and line.get("entry"))
    assert line["entry"] == said["entry"]
    assert "mean" not in {key for key in line if key != "path"}


def test_a_private_test_goes_through_the_door_for_one_row_a_person(place: Place, server: Server) -> None:
    there = server.connect(place.ann)
    asked: dict[str, Any] = {"column": "cost", "mean": 500, "blocks": 5, "epsilon": "0.01"}
    told = there.run("t-test", "visits", max_rows=1, **asked)
    assert set(told.value) == {"p_value", "statistic", "says"}
    assert 0 <= told.value["p_value"] <= 1
    with pytest.raises(Refusal, match="rows that are independent"):
        there.run("t-test", "visits", **asked)
    line = there.run("population-mean", "visits", max_rows=1, column="cost", epsilon="0.01").value
    assert line["low"] <= line["estimate"] <= line["high"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 400, "name one of table and sql"),
        ({"table": "visits", "sql": "SELECT cost FROM visits"}, 400, "name one of table and sql"),
        ({"mechanism": "laplace", "table": "visits"}, 400, "through no door goes 'laplace'"),
        ({"mechanism": "nothing", "table": "visits"}, 400, "no mechanism called 'nothing'"),
        (
            {"table": "visits", "parameters": {**PRICED, "max_rows": 1}},
            400,
            "mean takes max_rows from what",
        ),
        ({"table": "visits", "parameters": {**PRICED, "lower": 1}}, 400, "mean takes lower from what is declared"),
        ({"table": "visits", "parameters": {**PRICED, "sensitivity": 1}}, 400, "has no parameter ['sensitivity']"),
        ({"table": "visits", "parameters": {**PRICED, "epsilon": 0}}, 400, "expected epsilon > 0"),
        ({"table": "visits", "parameters": {**PRICED, "epsilon": {"a": [1]}}}, 400, "expected epsilon as Fraction"),
        ({"table": "visits", "parameters": {**PRICED, "column": "region"}}, 400, "no declared bounds"),
        ({"sql": "SELECT count(*) FROM visits"}, 400, "without aggregates"),
        ({"table": "visits", "parameters": {**PRICED, "epsilon": 10**6}}, 402, "this costs epsilon"),
        ({"table": "visits", "more": 1}, 422, "more"),
    ],
)
def test_what_cannot_be_run_is_refused_and_costs_nothing(
    place: Place, server: Server, body: dict[str, Any], status: int, words: str
) -> None:
    before = server.connect(place.ann).budget("patient").spent
    reply = run(server, place.ann, **body)
    assert reply.status in (status, 400)
    assert words in reply.error["message"] + reply.error["hint"]
    assert server.connect(place.ann).budget("patient").spent == before


def test_a_table_that_is_not_granted_is_not_there(place: Place, server: Server) -> None:
    refused, nowhere = (run(server, place.bob, table=table).error for table in ("visits", "nowhere"))
    assert refused["message"].replace("visits", "nowhere") == nowhere["message"]
    assert run(server, place.bob, "run/offer", table="visits").error["message"] == refused["message"]


def test_a_delta_is_the_mechanisms_own_where_it_has_one(place: Place, server: Server) -> None:
    there = server.connect(place.ann)
    quote = there.offer_run("smooth-median", "SELECT cost FROM visits", epsilon=1, delta="1e-6", max_rows=1)
    assert quote.price == Approximate(1, "1e-6")
    assert quote.error is not None
    answer = there.run("quantiles", "SELECT cost FROM visits", epsilon=2, levels=[0.25, Fraction(1, 2), "0.75"])
    assert answer.value == sorted(answer.value)
    assert len(answer.value) == 3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("random-forest-classifier", "urgent"),
        ("random-forest-regressor", "cost"),
        ("additive-classifier", "urgent"),
        ("additive-regressor", "cost"),
    ],
)
def test_forests_and_additive_models_are_fitted_by_their_names(
    place: Place, server: Server, name: str, label: str
) -> None:
    """The answer is the model itself: read where it was asked for, it predicts; and the same again is free."""
    features = ["region", "cost" if label == "urgent" else "urgent"]
    given: dict[str, Any] = {"epsilon": "1", "features": features, "label": label}
    said = run(server, place.ann, table="visits", mechanism=name, parameters=given).json
    model: Any = model_class(name).read(said["value"])
    assert model.features == tuple(features)
    told = model.predict([[0.0, 1.0], [1.0, 0.0]]).tolist()
    assert all(0 <= each <= 1000 if label == "cost" else each in {True, False} for each in told)
    again = run(server, place.cleo, table="visits", mechanism=name, parameters=given).json
    assert (again["value"], again["cost"]) == (said["value"], None)
    assert server.connect(place.ann).run(name, "visits", **given).value == said["value"]
