"""The demonstration and the planner as a person meets them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from commandline import discreet

from discreet.aggregate import plan
from discreet.aggregate.scheme_comparison import curator_deviation


def test_the_street_is_shown(tmp_path: Path) -> None:
    done = discreet(tmp_path, "sum", "demo")
    assert (done.returncode, done.stderr) == (0, "")
    assert "House 7 wants to send again. Refused: a number was encrypted for epoch 1 already" in done.stdout
    assert "epoch 1 has 19 of 20 messages" in done.stdout
    assert done.stdout.count("the sum that is read is") == 3
    assert "of 18 houses" in done.stdout


@pytest.mark.slow
def test_the_street_over_http_survives_a_killed_server_and_a_killed_house(tmp_path: Path) -> None:
    done = discreet(tmp_path, "sum", "demo", "--http")
    assert (done.returncode, done.stderr) == (0, "")
    assert [int(n) for n in re.findall(r"the sum of (\d+) people is", done.stdout)] == [6, 5, 7]
    found = re.findall(
        r"people is ([-\d.,]+), with noise\n +\(in truth (\d+); the noise has a deviation of (\d+)", done.stdout
    )
    assert len(found) == 3
    for total, truth, spread in found:
        assert abs(float(total.replace(",", "")) - int(truth)) < 7 * int(spread)
    assert "House 1 wants to tell more. Refused: who asks this was told rho=0.375 of 0.375" in done.stdout


def test_the_plan_is_that_of_python(tmp_path: Path) -> None:
    asked = ("sum", "plan", "--people", "1000", "--failures", "3", "--honest", "0.8", "--limit", "4")
    found = {one["scheme"]: one for one in json.loads(discreet(tmp_path, *asked, "--format", "json").stdout)}
    for one in plan(1000, 3, 1, "1e-6", limit=4, honest="0.8", mixer=True):
        assert found[one.scheme]["deviation"] == one.deviation
    assert found["curator"]["deviation"] == curator_deviation(1, 4)
    assert found["diluted"]["remark"] == "everybody has to be there"
    table = discreet(tmp_path, *asked).stdout
    assert "masks of people who fail" in table
    refused = discreet(tmp_path, "sum", "plan", "--people", "10", "--failures", "10")
    assert (refused.returncode, refused.stderr) == (
        2,
        "refused: expected failures < people, got failures=10 people=10\n",
    )
