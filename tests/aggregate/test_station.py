"""A station forgets nothing when it is killed, takes what people sent and nothing else, and reads a sum once."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from aggregate.test_sum_task import DILUTED, MASKED, METERS

from discreet.aggregate import Sender, Station, StreamSum, opened, uploaded
from discreet.errors import Refusal

TASK = DILUTED.sum
assert isinstance(TASK, StreamSum)

TAKES = """
import os, signal, sys
from pathlib import Path
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from discreet.aggregate import Station, SumTask

folder = Path(sys.argv[1])
task = SumTask.read((folder / "task").read_bytes())
key = X25519PrivateKey.from_private_bytes((folder / "key").read_bytes())
Station(task, key, folder / "station").take((folder / "upload").read_bytes())
os.kill(os.getpid(), signal.SIGKILL)
"""


def sent(folder: Path, epoch: int) -> list[bytes]:
    assert isinstance(TASK, StreamSum)
    people = [Sender(TASK, DILUTED.exponent(own), folder / f"person-{place}") for place, own in enumerate(METERS[1:])]
    messages = [one.encrypt(30, epoch) for one in people]
    return [uploaded(DILUTED, own, epoch, message) for own, message in zip(METERS[1:], messages, strict=True)]


def test_a_station_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    uploads = sent(tmp_path, 0)
    (tmp_path / "task").write_bytes(DILUTED.document)
    (tmp_path / "key").write_bytes(METERS[0].private_bytes_raw())
    (tmp_path / "upload").write_bytes(uploads[1])
    done = subprocess.run([sys.executable, "-c", TAKES, str(tmp_path)], check=False)
    assert done.returncode == -signal.SIGKILL
    again = Station(DILUTED, METERS[0], tmp_path / "station")
    assert again.missing(0) == (0, 2)
    with pytest.raises(Refusal, match="misses 2 of 3"):
        again.total(0)
    for upload in (*uploads, uploads[1]):
        again.take(upload)
    assert isinstance(TASK, StreamSum)
    messages = [upload[8:-32] for upload in uploads]
    true = opened(TASK, 0, DILUTED.exponent(METERS[0]), messages, TASK.table(tmp_path))
    assert again.total(0) == true
    assert Station(DILUTED, METERS[0], tmp_path / "station").total(0) == true
    assert again.missing(1) == (0, 1, 2)


def test_what_is_not_a_persons_own_is_refused(tmp_path: Path) -> None:
    station, uploads, later = Station(DILUTED, METERS[0], tmp_path / "station"), sent(tmp_path, 0), sent(tmp_path, 1)
    station.take(uploads[0])
    stranger = uploads[1][:4] + uploads[0][4:8] + uploads[1][8:]
    for wrong in (stranger, later[1][:4] + uploads[1][4:], uploads[1][:-1] + bytes([uploads[1][-1] ^ 1])):
        with pytest.raises(Refusal, match="tag"):
            station.take(wrong)
    other = uploaded(DILUTED, METERS[1], 0, later[0][8:-32])  # her own key, another message
    with pytest.raises(Refusal, match="something else for epoch 0 before"):
        station.take(other)
    for wrong, words in (
        (uploads[1][:-1], "no upload"),
        ((96).to_bytes(4, "big") + uploads[1][4:], "no epoch"),
        (uploads[1][:4] + (3).to_bytes(4, "big") + uploads[1][8:], "no person"),
        (uploaded(DILUTED, METERS[2], 0, bytes(65)), "not a point"),
    ):
        with pytest.raises(Refusal, match=words):
            station.take(wrong)
    assert station.missing(0) == (1, 2)


def test_a_station_needs_the_aggregators_key_and_a_task_of_its_kind(tmp_path: Path) -> None:
    for task, key in ((DILUTED, METERS[1]), (MASKED, METERS[0])):
        with pytest.raises(Refusal, match="key of its aggregator"):
            Station(task, key, tmp_path)
