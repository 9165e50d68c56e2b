"""The source of randomness: fresh in every process and thread, never repeated, without a seed."""

from __future__ import annotations

import inspect
import os
import threading

import pytest

from discreet.noise import SECURE, Secure
from discreet.noise.entropy import STRETCH


def _in_child(count: int) -> bytes:
    """What a forked child draws from the inherited source."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, SECURE.raw(count))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        drawn = stream.read()
    os.waitpid(child, 0)
    return drawn


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_forked_children_share_no_byte_with_parent_or_each_other() -> None:
    SECURE.raw(1)  # a half-used stretch is what a child inherits
    children = [_in_child(32) for _ in range(4)]
    assert len({*children, SECURE.raw(32)}) == 5


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_that_no_python_hook_saw_is_noticed_by_its_process_id() -> None:
    source = Secure()  # no fork hook is registered for this one
    source.raw(1)
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.write(write, source.raw(32))
        os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        drawn = stream.read()
    os.waitpid(child, 0)
    assert drawn != source.raw(32)


def test_threads_share_no_byte() -> None:
    drawn: list[bytes] = []
    threads = [threading.Thread(target=lambda: drawn.append(SECURE.raw(32))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({*drawn, SECURE.raw(32)}) == 9


@pytest.mark.parametrize("count", [16, 1000, STRETCH // 4, STRETCH // 4 + 1, 3 * STRETCH + 7, (1 << 20) + 5])
def test_requests_of_any_size_have_their_length_and_no_repeated_block(count: int) -> None:
    drawn = b"".join(SECURE.raw(count) for _ in range(3))
    assert len(drawn) == 3 * count
    blocks = [drawn[i : i + 16] for i in range(0, len(drawn) - 15, 16)]
    assert len(set(blocks)) == len(blocks)  # a collision of 128-bit blocks has probability below 2^-90


def test_a_stretch_is_left_for_a_new_one_without_overlap() -> None:
    drawn = b"".join(SECURE.raw(48) for _ in range(2 * STRETCH // 48))
    blocks = [drawn[i : i + 48] for i in range(0, len(drawn), 48)]
    assert len(set(blocks)) == len(blocks)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 64, 65, 257])
def test_bits_reach_every_place_and_no_further(count: int) -> None:
    union, meet = 0, (1 << count) - 1
    for _ in range(60):
        drawn = SECURE.bits(count)
        assert 0 <= drawn < 1 << count
        union, meet = union | drawn, meet & drawn
    # a place that stays 0, or 1, in 60 draws has probability 2^-59; there are 412 places in this test: below 1e-15
    assert union == (1 << count) - 1
    assert meet == 0


def test_production_takes_no_seed() -> None:
    assert list(inspect.signature(Secure).parameters) == []
