"""Witnesses that a custodian named, and several processes that pay in one home."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from ledger.kept import copied, held, kept, left, name_of, root, spend

from discreet.errors import Fault, Refusal
from discreet.ledger import (
    SqliteLedger,
    adopt,
    file_access,
    found_ledger,
    head_keeper,
    merkle,
    open_ledger,
    sign,
    signing_key,
)
from discreet.ledger import witness as witnesses
from discreet.ledger.home_ledger import add_witness, keeper_of, named, remove_witness, standings
from discreet.ledger.signed_head import Head
from discreet.ledger.witness import Folder, Outside, Unreachable, witness_of
from discreet.privacy import Pure


def test_a_witness_elsewhere_knows_of_every_payment(home: Path, share: Path) -> None:
    assert add_witness(home, str(share)).size == 2
    ledger = open_ledger(home)
    ledger.append(spend("0.1"))
    newest = Folder(share).newest(name_of(home))
    assert newest is not None
    assert (newest.size, newest.root) == (3, root(home))
    assert [each.head and each.head.size for each in standings(home)] == [3, 3]


def test_a_witness_that_cannot_be_reached_stops_paying_and_not_reading(home: Path, share: Path) -> None:
    add_witness(home, str(share))
    share.rename(share.with_name("unmounted"))
    ledger = open_ledger(home)
    with pytest.raises(Unreachable, match="is not there"):
        ledger.append(spend("0.1"))
    share.mkdir()  # an empty mount point is no witness either
    with pytest.raises(Unreachable, match="is not there"):  # it is not asked again at once
        ledger.append(spend("0.1"))
    with pytest.raises(Unreachable, match="keeps no head of this ledger any more"):
        open_ledger(home).append(spend("0.1"))
    assert len(ledger.rows()) == 2
    assert standings(home)[1].trouble
    remove_witness(home, str(share))
    assert named(home) == []
    open_ledger(home).append(spend("0.1"))


def test_a_machine_put_back_as_a_whole_is_noticed_by_a_witness_elsewhere(home: Path, share: Path, state: Path) -> None:
    add_witness(home, str(share))
    backup = copied(home, "backup"), shutil.copytree(state, state.with_name("state backup"))
    open_ledger(home).append(spend("0.5"))
    for old, new in zip(backup, (home, state), strict=True):
        shutil.rmtree(new)
        Path(old).rename(new)
    with pytest.raises(Refusal, match=f"3 were known.*{share}.*rolled back"):
        open_ledger(home)


def test_of_two_copies_with_one_witness_the_second_to_pay_is_refused(
    home: Path, share: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_witness(home, str(share))
    fork, here = copied(home, "fork"), os.environ["DISCREET_STATE"]
    monkeypatch.setenv("DISCREET_STATE", f"{here} of another machine")
    adopt(fork, "there", root(fork))
    other = open_ledger(fork)
    monkeypatch.setenv("DISCREET_STATE", here)
    with pytest.raises(Refusal, match="rolled back"):
        open_ledger(home)
    monkeypatch.setenv("DISCREET_STATE", f"{here} of another machine")
    other.append(spend("0.5"))


def test_a_payment_that_a_witness_does_not_hear_of_stays_spent_and_is_read_for_nothing(
    home: Path, share: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_witness(home, str(share))
    ledger = open_ledger(home)
    with monkeypatch.context() as patched:
        patched.setattr(Folder, "keep", lambda *_: (_ for _ in ()).throw(Unreachable("gone")))
        with pytest.raises(Fault):
            ledger.append(spend("0.1"))
    assert left(home) == Pure("0.4")
    open_ledger(home).append(spend("0.1"))  # the witness lags behind, and the ledger goes on from it


@pytest.mark.parametrize("other", [False, True], ids=["one process", "another"])
def test_a_witness_that_is_read_and_not_written_costs_one_payment_and_not_each(
    home: Path, share: Path, monkeypatch: pytest.MonkeyPatch, *, other: bool
) -> None:
    add_witness(home, str(share))
    ledger = open_ledger(home)
    ledger.append(spend("0.1"))
    with monkeypatch.context() as patched:
        patched.setattr(Folder, "keep", lambda *_: (_ for _ in ()).throw(Unreachable("it is full")))
        with pytest.raises(Fault):
            ledger.append(spend("0.1"))
        for _ in range(2):
            with pytest.raises(Unreachable, match="it is full"):
                (open_ledger(home) if other else ledger).append(spend("0.1"))
    assert left(home) == Pure("0.3")
    ledger.append(spend("0.1"))
    assert left(home) == Pure("0.2")


def test_a_witness_takes_only_heads_that_are_signed_and_go_on(home: Path, share: Path) -> None:
    add_witness(home, str(share))
    witness, ledger = Folder(share), open_ledger(home)
    known = witness.newest(name_of(home))
    assert known is not None
    ledger.append(spend("0.1"))
    newest = witness.newest(name_of(home))
    assert newest is not None
    assert not witness.keep(newest, known, ())  # it has another by now
    with ledger.looked_at() as view:
        shorter, proof = view.head("now", signing_key(home / "ledger.key"), 2), view.past.since(2)
    for forged in (shorter, replace(newest, size=4), replace(newest, root="00" * 32)):
        with pytest.raises(Refusal, match="does not go on"):
            witness.keep(forged, newest, proof)
    other = share.with_name("other")
    other.mkdir()
    found_ledger(other)
    before = sorted(share.iterdir())
    with pytest.raises(Refusal, match="does not go on"):
        Folder(share).keep(replace(kept(other), size=7), None, ())
    assert sorted(share.iterdir()) == before  # whom it refuses leaves no file behind
    assert witness.newest(name_of(home)) == newest


def test_a_witness_takes_no_longer_ledger_that_was_rewritten(share: Path) -> None:
    """Signed with its own key, and with a true proof of how it grew: only not from the head that is known."""
    key, hashes = Ed25519PrivateKey.generate(), [f"{number:02x}" * 32 for number in range(9)]
    witness, known = Folder(share), sign(hashes[:3], "now", key)
    assert witness.keep(known, None, ())
    for true, past in ((False, [*hashes[3:6], *hashes[:3]]), (True, hashes[:6])):
        leaves = [merkle.leaf(bytes.fromhex(each)) for each in past]
        grown = [part.hex() for part in merkle.consistency(merkle.kept_in(leaves), 3, 6)]
        if true:
            assert witness.keep(sign(past, "now", key), known, grown)
        else:
            with pytest.raises(Refusal, match="does not go on"):
                witness.keep(sign(past, "now", key), known, grown)
            assert witness.newest(known.key) == known


class Slow:
    """A witness that takes four seconds by its own clock for each word, and keeps what it had."""

    where = "slow"

    def __init__(self, known: Head) -> None:
        self.known, self.now = known, 0.0
        self.waited: list[float] = []

    def newest(self, _: str, seconds: float = 5.0, /) -> Head:
        self.now += 4
        self.waited.append(seconds)
        return self.known

    def keep(self, head: Head, _: Head | None, __: object, seconds: float = 5.0, /) -> bool:
        self.newest(head.key, seconds)
        return False


def test_all_words_with_slow_witnesses_together_have_ten_seconds(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a payment nothing is charged; after it, it stays spent. Neither is held for twenty tries of each."""
    slow, ledger, guard = Slow(kept(home)), open_ledger(home), keeper_of(home)
    assert guard is not None
    monkeypatch.setattr(head_keeper, "time", SimpleNamespace(monotonic=lambda: slow.now))
    guard.others = [slow, slow, slow, slow]
    watched = SqliteLedger(home / "ledger.db", new=False, keeper=guard)
    with pytest.raises(Outside, match="nothing can be paid here for now; nothing was charged"):
        watched.append(spend("0.1", who="ada"))
    assert slow.waited == [10, 6, 2]  # of the second, the third and the fourth nobody was waited for beyond that
    assert left(home) == Pure("0.5")
    guard.others, slow.waited = [slow], []
    guard.keeping.add("slow")
    with pytest.raises(Fault):
        watched.append(spend("0.1"))
    assert slow.waited == [10, 10, 6, 2]
    assert left(home) == Pure("0.4")
    assert len(ledger.rows()) == 3


def test_a_witness_that_another_program_holds_is_one_that_cannot_be_told(
    home: Path, share: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_witness(home, str(share))
    ledger = open_ledger(home)
    monkeypatch.setattr(file_access, "PATIENCE", 0.1)
    with held(share / f"{name_of(home)}.lock"):
        with pytest.raises(Fault):  # it was asked before, and could be: the payment is written
            ledger.append(spend("0.1"))
        with pytest.raises(Unreachable, match="is in use by another program"):
            ledger.append(spend("0.1"))
    assert left(home) == Pure("0.4")
    ledger.append(spend("0.1"))
    assert left(home) == Pure("0.3")


@contextmanager
def lying(said: Iterator[bytes]) -> Iterator[str]:
    """A witness at an address, which says this to whoever asks it first, and then nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def speak() -> None:
            with suppress(OSError):
                there, _ = listener.accept()
                with there:
                    for part in said:
                        there.sendall(part)

        threading.Thread(target=speak, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize(
    "said",
    [b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}", b"HTTP/1.1 200 OK\r\n\r\n\xff[[", b""],
    ids=["no answer", "half an answer", "no text", "nothing"],
)
def test_whatever_a_witness_says_instead_of_a_head_it_cannot_be_asked(said: bytes) -> None:
    with lying(iter([said])) as address, pytest.raises(Unreachable, match=r"cannot be reached|no head of this ledger"):
        witness_of(address).newest("00" * 32)


def test_a_witness_that_never_comes_to_an_end_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(witnesses, "PATIENCE", 0.1)
    go_on = threading.Event()

    def drops() -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\n"
        while not go_on.wait(0.01):
            yield b"X: y\r\n"

    with lying(drops()) as address:
        with pytest.raises(Unreachable, match="cannot be reached"):
            witness_of(address).newest("00" * 32)
        go_on.set()


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_token_is_for_one_server_and_not_for_where_that_sends_us(code: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere:
        address = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/"
        moved = f"HTTP/1.1 {code} Moved\r\nLocation: {address}\r\nContent-Length: 0\r\n\r\n"
        with lying(iter([moved.encode()])) as there, pytest.raises(Unreachable, match=f"refuses \\({code}\\)"):
            witness_of(there, "a token").newest("00" * 32)
        elsewhere.setblocking(False)  # noqa: FBT003
        with pytest.raises(BlockingIOError):  # nobody has come
            elsewhere.accept()


@pytest.mark.parametrize("where", ["ftp://x", "http://example.org:1", "http://localhost:1@example.org"])
def test_a_token_goes_nowhere_in_the_clear(where: str) -> None:
    with pytest.raises(Refusal, match=r"https"):
        witness_of(where)


# several processes ----------------------------------------------------------------------------------------------------

FORK = multiprocessing.get_context("fork")


def pay(home: Path, times: int) -> None:
    for _ in range(times):
        open_ledger(home).append(spend("0.001"))


def test_processes_that_pay_at_once_leave_one_head_of_them_all(home: Path, share: Path) -> None:
    add_witness(home, str(share))
    payers = [FORK.Process(target=pay, args=(home, 3)) for _ in range(3)]
    for payer in payers:
        payer.start()
    for payer in payers:
        payer.join()
    assert [payer.exitcode for payer in payers] == [0, 0, 0]
    assert left(home) == Pure("0.491")
    assert (kept(home).size, kept(home).root) == (11, root(home))
    newest = Folder(share).newest(name_of(home))
    assert newest is not None
    assert (newest.size, newest.root) == (11, root(home))


@pytest.mark.parametrize("rounds", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_a_home_whose_payers_are_killed_goes_on_and_is_not_refilled(home: Path, rounds: int) -> None:
    pause = random.Random(rounds)
    for _ in range(rounds):
        payer = FORK.Process(target=pay, args=(home, 10_000))
        payer.start()
        payer.join(pause.uniform(0.01, 0.1))
        payer.kill()
        payer.join()
        payments = len(open_ledger(home).rows()) - 2
        assert left(home) == Pure(Fraction(500 - payments, 1000))
        assert kept(home).size == payments + 2
