"""Options that every command has, and what they mean where a home is not the point."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from commandline import discreet

from discreet.cli.commands import COMMANDS, opened
from discreet.privacy import account
from discreet.privacy.account import lifetime

WITHOUT_DATA = {  # they do something and say so in a sentence, or what they print is JSON by nature
    "demo", "init", "serve", "add", "update", "remove", "lift", "retire", "user add", "user revoke",
    "ledger verify", "ledger head", "ledger export", "ledger prove", "ledger extends", "ledger check",
    "ledger adopt", "ledger upgrade", "ledger witness add", "ledger witness remove",
    "survey new", "survey invite", "survey close", "survey forget", "session close", "stream close", "release link",
    "sum demo", "sum new", "sum invite", "sum start", "sum close", "sum join", "sum send",
    "visitors new", "visitors push", "visitors refresh", "visitors close",
}  # fmt: skip


def leaves(command: Any, words: str) -> Iterator[tuple[str, set[str]]]:  # noqa: ANN401  # typer keeps its types
    """Every command that does something, with its options."""
    inner = getattr(command, "commands", {})
    for name, found in inner.items():
        yield from leaves(found, f"{words} {name}")
    if not inner or command.invoke_without_command:
        yield words, {option for parameter in command.params for option in parameter.opts}


EVERY = dict(leaf for name in COMMANDS for leaf in leaves(opened(name), name))


def test_every_command_takes_a_home() -> None:
    assert {"account", "account lifetime", "audit", "demo", "init", "ledger check"} <= set(EVERY)
    assert [name for name, options in EVERY.items() if "--home" not in options] == []


def test_every_command_that_prints_data_takes_a_format() -> None:
    assert {name for name, options in EVERY.items() if "--format" not in options} == WITHOUT_DATA


def test_what_looks_into_no_home_needs_none(tmp_path: Path) -> None:
    arguments = ["--laplace", "0.1x10", "--delta", "1e-6", "--format", "csv"]
    plain = discreet(tmp_path, "account", *arguments)
    assert plain.returncode == 0
    assert discreet(tmp_path, "account", *arguments, "--home", "nowhere").stdout == plain.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_tour_is_kept_where_it_was_asked_for_and_nowhere_else(tmp_path: Path) -> None:
    assert discreet(tmp_path, "init", "people").returncode == 0
    before = sorted(path.name for path in (tmp_path / "people").iterdir())
    done = discreet(tmp_path, "demo", "--home", "tour", DISCREET_HOME="people")
    assert done.returncode == 0, done.stderr
    assert "The ledger holds" in done.stdout
    assert "discreet budget --home tour" in done.stderr
    assert "patient" in discreet(tmp_path, "budget", "--home", "tour").stdout
    assert sorted(path.name for path in (tmp_path / "people").iterdir()) == before
    again = discreet(tmp_path, "demo", "--home", "tour")
    assert (again.returncode, again.stdout) == (2, "")
    assert "'tour' is a home already" in again.stderr


def test_a_home_is_made_in_one_place(tmp_path: Path) -> None:
    done = discreet(tmp_path, "init", "one", "--home", "two")
    assert (done.returncode, done.stdout) == (2, "")
    assert "got 'one' and 'two'" in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert discreet(tmp_path, "init", "one", DISCREET_HOME="two").stdout == "made a home in one\n"
    assert discreet(tmp_path, "init", "--home", "three").stdout == "made a home in three\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "three"]


@pytest.mark.parametrize("price", ["1/3", "1/7", "2/3"])
def test_a_total_is_never_told_as_less_than_it_is(tmp_path: Path, price: str) -> None:
    """Thirds and sevenths have no end in decimals: whoever reads them back reads no less, and hardly more."""
    totals = [total.epsilon for total in account(pure=[(price, 5)], delta="1e-9")]
    assert 5 * Fraction(price) in totals
    arguments = ["account", "--pure", f"{price}x5", "--delta", "1e-9"]
    as_csv = csv.DictReader(discreet(tmp_path, *arguments, "--format", "csv").stdout.splitlines())
    on_screen = discreet(tmp_path, *arguments).stdout.splitlines()[3:]
    for told, digits in (
        ([each["epsilon"] for each in as_csv], 14),
        ([line.split()[0] for line in on_screen if line.strip()], 5),
    ):
        for text, true in zip(told, totals, strict=True):
            assert true <= Fraction(text) <= true * (1 + Fraction(1, 10**digits))


def test_what_one_may_use_is_never_told_as_more(tmp_path: Path) -> None:
    arguments = ["--databases", "3", "--epsilon", "1", "--delta", "1e-9", "--format", "csv"]
    told = csv.DictReader(discreet(tmp_path, "account", "lifetime", *arguments).stdout.splitlines())
    true = lifetime(3, 1, "1e-9")
    assert Fraction(1, 3) in [allowance.each for allowance in true]
    for row, allowance in zip(told, true, strict=True):
        assert allowance.each * (1 - Fraction(1, 10**14)) <= Fraction(row["each"]) <= allowance.each
        assert allowance.total <= Fraction(row["total"]) <= allowance.total * (1 + Fraction(1, 10**14))
