"""The command line as a person meets it: a real process, its exit code, and what it prints where."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import commandline
import pytest
from bare import BARE
from house.tree import ROOT

import discreet
from discreet.cli.commands import COMMANDS

HEAVY = {"numpy", "scipy", "dp_accounting", "cryptography", "rich", "discreet.noise", "discreet.privacy"}

# A command whose module raises, put in the place of the demo, then run as `discreet demo`.
RAISING = """
import sys, types, typer
import discreet.errors
from discreet.cli import main

app = typer.Typer()

@app.command()
def demo() -> None:
    secret = 4711
    raise {raised}

sys.modules["discreet.cli.demo"] = types.SimpleNamespace(app=app)
sys.argv = ["discreet", "demo"]
main()
"""


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    bare = {
        **BARE,
        **environment,
    }  # no COLUMNS, no FORCE_COLOR of the person who runs the tests
    parts = [str(part) for part in command]
    return subprocess.run(parts, capture_output=True, encoding="utf-8", check=False, env=bare)


def discreet_(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "discreet", *arguments, **environment)


def test_the_installed_command_and_the_module_are_one() -> None:
    installed, module = run(Path(sys.executable).with_name("discreet"), "--help"), discreet_("--help")
    assert installed.returncode == module.returncode == 0
    assert installed.stdout.split("\n", 1)[1] == module.stdout.split("\n", 1)[1]
    assert all(re.search(rf"^  {name} ", installed.stdout, re.MULTILINE) for name in COMMANDS)


def test_a_command_runs_the_code_that_is_tested() -> None:
    where = run(sys.executable, "-c", "import discreet; print(discreet.__file__)").stdout.strip()
    assert Path(where).samefile(discreet.__file__)


def test_help_imports_nothing_heavy() -> None:
    done = run(sys.executable, "-X", "importtime", "-m", "discreet", "--help")
    imported = {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "discreet.cli.commands" in imported
    assert {name for name in imported for heavy in HEAVY if name == heavy or name.startswith(f"{heavy}.")} == set()


def test_version() -> None:
    assert discreet_("--version").stdout == f"discreet {discreet.__version__}\n"


@pytest.mark.parametrize("arguments", [["nonsense"], ["demo", "--nonsense"], ["demo", "nonsense"], ["--nonsense"], []])
def test_wrong_usage_is_refused_with_2(arguments: list[str]) -> None:
    done = commandline.discreet(ROOT, *arguments)
    assert done.returncode == 2
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_every_listed_command_opens_and_explains_itself(name: str) -> None:
    done = commandline.discreet(ROOT, name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: discreet {name}")


def test_a_refusal_says_its_sentence_and_hint_and_exits_2() -> None:
    raised = "discreet.errors.OverBudget('this costs 0.5, and 0.2 of 1 is left', hint='ask for less')"
    done = run(sys.executable, "-c", RAISING.format(raised=raised))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "refused: this costs 0.5, and 0.2 of 1 is left\nhint: ask for less\n"


def test_a_fault_says_a_constant_sentence_and_exits_1() -> None:
    done = run(sys.executable, "-c", RAISING.format(raised="discreet.errors.Fault() from ValueError('row 17')"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"fault: {discreet.Fault.SENTENCE}\n"


def test_a_bug_shows_no_local_variable() -> None:
    done = run(sys.executable, "-c", RAISING.format(raised="ZeroDivisionError"))
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
    assert "4711" not in done.stdout + done.stderr


def test_a_terminal_without_greek_letters_is_no_reason_to_fail() -> None:
    asked = ("account", "--gaussian", "10x100", "--delta", "1e-6")
    assert not commandline.discreet(ROOT, *asked).stdout.isascii()
    done = discreet_(*asked, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.isascii()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--laplace", "-1x1", "--delta", "1e-6"], "-1"),
        (["--laplace", "nanx1", "--delta", "1e-6"], "nan"),
        (["--gaussian", "0", "--delta", "1e-6"], "0"),
        (["--laplace", "1x1", "--delta", "1"], "1"),
        (["--laplace", "1x1.5", "--delta", "1e-6"], "1x1.5"),
    ],
)
def test_nonsense_is_refused_with_the_value_named(arguments: list[str], named: str) -> None:
    done = commandline.discreet(ROOT, "account", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    first = done.stderr.splitlines()[0]
    assert first.startswith("refused: ")
    assert named in first
