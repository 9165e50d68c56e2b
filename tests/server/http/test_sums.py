"""Sums over the real HTTP door: devices take part by processes of their own, and the server may be killed meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import clinic
import pytest
from bare import BARE
from commandline import discreet
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from server.served import Server, served

from discreet.aggregate.sum_aggregator import SumAggregator
from discreet.aggregate.sum_courier import SumCourier
from discreet.aggregate.sum_device import Steps, SumDevice, SumRead
from discreet.aggregate.sum_messages import MARK, joining
from discreet.aggregate.sum_plan import SumPlan
from discreet.aggregate.sum_task import SumTask
from discreet.errors import Refusal
from discreet.survey.task import LARGEST
from discreet.transport.device_client import Unreached

PLAN = SumPlan("Power in Mill Lane", 50, Fraction(1, 8), epochs=3, patience=3_600)
BINARY = {"Content-Type": "application/octet-stream"}
VALUES = (50, 0, 7, 31)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clinic.home(tmp_path_factory.mktemp("sums") / "home")


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    with served(home, "--rate", "100000") as running:
        yield running


def begun(home: Path, server: Server, folder: Path, people: int = len(VALUES)) -> tuple[str, list[SumDevice]]:
    """A sum that so many devices have joined over HTTP."""
    aggregator = SumAggregator(home)
    name = aggregator.plan(PLAN, datetime.now(UTC) + timedelta(days=1))
    devices = [SumDevice(folder / f"device-{place}") for place in range(people)]
    for device, token in zip(devices, aggregator.invite(name, people), strict=True):
        device.join(SumCourier(server.url), name, token)
    aggregator.start(name)
    return name, devices


def together(steps: list[Steps]) -> list[SumRead]:
    """Everybody's turn until all have read the sum."""
    told = dict[int, SumRead]()
    while len(told) < len(steps):
        for place, each in enumerate(steps):
            if place not in told:
                try:
                    next(each)
                except StopIteration as over:
                    told[place] = over.value
    return [told[place] for place in range(len(steps))]


def test_devices_read_the_sum_over_http(server: Server, home: Path, tmp_path: Path) -> None:
    name, devices = begun(home, server, tmp_path)
    courier = SumCourier(server.url)
    told = together([each.taking_part(courier, name, value) for each, value in zip(devices, VALUES, strict=True)])
    assert len(set(told)) == 1
    (outcome,) = server.call("GET", f"/sum/v1/{name}/outcomes").json["outcomes"]
    task = SumTask.read(server.call("GET", f"/sum/v1/{name}").body)
    sum_: Any = task.sum
    assert tuple(map(Fraction, outcome["total"])) == told[0].total
    assert (outcome["people"], outcome["error"]) == (4, sum_.noise.error())
    assert abs(told[0].total[0] - sum(VALUES)) < 7 * sum_.noise.deviation
    shown = discreet(home.parent, "sum", "results", name[:10], "--home", str(home), "--format", "json")
    assert json.loads(shown.stdout)[0]["total"] == float(told[0].total[0])
    quiet = [line for line in server.lines() if line.get("path") in ("/sum/v1/{name}/messages", "/sum/v1/{name}/steps")]
    assert quiet == []  # whoever reads the journal does not learn who took part, or when


def test_strangers_hear_constant_sentences(server: Server, home: Path, tmp_path: Path) -> None:
    name, _ = begun(home, server, tmp_path)
    own = joining(name, Ed25519PrivateKey.generate())
    assert server.call("POST", f"/sum/v1/{name}/join", None, own).status == 401
    assert server.call("POST", f"/sum/v1/{name}/join", "wrong", own).status == 401
    assert server.call("POST", f"/sum/v1/{name}/join", "wrong", {**own, "signature": "0" * 128}).status == 400
    assert server.call("POST", f"/sum/v1/{name}/join", "wrong", {"key": own["key"]}).status == 400
    for path in ("", "/outcomes", "/steps?epoch=0&step=0&place=0"):
        assert server.call("GET", f"/sum/v1/{'0' * 32}{path}").status == 404
        assert server.call("GET", f"/sum/v1/nothing{path}").status == 404
    for path in ("epoch=-1&step=0&place=0", "epoch=0&step=5&place=0", "epoch=0&step=0"):
        assert server.call("GET", f"/sum/v1/{name}/steps?{path}").status == 400
    for body in (b"", b"x", MARK + bytes(200), bytes(1000)):
        assert server.call("POST", f"/sum/v1/{name}/messages", None, body, BINARY).status in (400, 409)
    assert server.call("POST", f"/sum/v1/{name}/messages", None, bytes(LARGEST + 1), BINARY).status == 413
    assert server.call("POST", f"/sum/v1/{name}/messages", None, b"{}").status == 400
    with pytest.raises(Refusal, match="the id of a sum"):
        SumCourier(server.url).step("x", 0, 0, 0)
    with pytest.raises(Unreached, match="status 404"):
        SumDevice(tmp_path / "lost").task(SumCourier(server.url), "0" * 32)


@pytest.mark.slow
def test_processes_take_part_while_the_server_is_killed(tmp_path: Path) -> None:
    home = clinic.home(tmp_path / "home")
    with served(home, "--rate", "100000") as first:
        new = ("new", "Power", "--limit", "50", "--rho", "1/8", "--patience", "600")
        name = discreet(tmp_path, "sum", *new, "--home", str(home)).stdout.split()[-1]
        port = first.http
        links = discreet(
            tmp_path, "sum", "invite", name, "4", "--site", first.url, "--home", str(home)
        ).stdout.splitlines()
        for place, link in enumerate(links):
            assert discreet(tmp_path, "sum", "join", link, "--device", f"device-{place}").returncode == 0
        early = discreet(tmp_path, "sum", "send", links[0], "5", "--device", "device-0")
        assert (early.returncode, "status 404" in early.stderr) == (2, True)
        assert "4 people, 4 have to survive" in discreet(tmp_path, "sum", "start", name, "--home", str(home)).stdout
        sent = [_sending(tmp_path, link, place) for place, link in enumerate(links[:3])]
        for process in sent:
            assert process.stderr is not None
            assert process.stderr.readline() == "said hello\n"
        first.process.kill()
        first.process.wait()
    with served(home, "--rate", "100000", "--http", f"127.0.0.1:{port}"):
        last = _sending(tmp_path, links[3], 3)
        told = {process.communicate(timeout=500)[0] for process in (*sent, last)}
    (line,) = told
    assert line.startswith("epoch 0: the sum of 4 people is ")
    again = discreet(tmp_path, "sum", "show", name, "--home", str(home), "--format", "json")
    assert {"fact": "state", "value": "over"} in json.loads(again.stdout)
    assert "is closed" in discreet(tmp_path, "sum", "close", name, "--home", str(home)).stdout
    assert (
        json.loads(discreet(tmp_path, "sum", "list", "--home", str(home), "--format", "json").stdout)[0]["joined"] == 4
    )


def _sending(folder: Path, link: str, place: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "discreet", "sum", "send", link, str(VALUES[place]), "--device", f"device-{place}"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, env=BARE, stdout=pipe, stderr=pipe, text=True)
