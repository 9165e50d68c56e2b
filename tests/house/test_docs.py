"""What the pages show is what happens: their Python runs, their commands run, and both print what is printed there."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from commandline import discreet
from house.tree import ROOT, pages

from discreet.cli.commands import COMMANDS, opened

OUTPUT = 'text title="output"'
SESSION = 'console title="session"'
# They start servers, draw thousands of times, decode, or fit many models.
LONG = {"docs/audit.md", "docs/doors.md", "docs/rappor.md", "docs/synthetic.md"}
NOISY = {"discreet demo"}  # what it prints differs from run to run, in digits


@dataclass(frozen=True)
class Block:
    """A fenced block: its language and title, its text, and the line it starts on."""

    language: str
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    lines = iter(enumerate(page.read_text(encoding="utf-8").splitlines(), start=1))
    for number, line in lines:
        if line.startswith("```"):
            inside = []
            for _, text in lines:
                if text == "```":
                    break
                inside.append(text)
            else:
                raise AssertionError(f"{page}:{number}: the block never ends")
            yield Block(line.removeprefix("```").strip(), "\n".join(inside), number)


def shown(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def pages_with(language: str) -> list[Path]:
    return [page for page in pages() if any(block.language == language for block in blocks(page))]


def as_long_as_it_takes(page: Path) -> object:
    return pytest.param(page, marks=pytest.mark.slow) if shown(page) in LONG else page


@pytest.mark.parametrize("page", [*map(as_long_as_it_takes, pages_with("python"))], ids=shown)
def test_the_python_of_a_page_runs_and_prints_what_the_page_says(page: Path) -> None:
    namespace: dict[str, object] = {"__name__": "page"}
    for block, after in pairwise([*blocks(page), Block("", "", 0)]):
        if block.language != "python":
            continue
        where = f"{shown(page)}:{block.line}"
        code = compile("\n" * block.line + block.text, shown(page), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, namespace)  # noqa: S102  # it is our own page
        if after.language == OUTPUT:
            assert printed.getvalue().strip() == after.text.strip(), where


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """Each `$ discreet …` of a page, and what the page says it prints."""
    for block in blocks(page):
        if block.language == "console":
            for part in re.split(r"(?m)^\$ ", block.text)[1:]:
                command, _, output = part.partition("\n")
                command = command.partition("  #")[0].strip()
                yield {"make demo": "discreet demo"}.get(command, command), output.strip("\n")


@cache
def printed(command: str) -> CompletedProcess[str]:
    """Several pages show the same."""
    return discreet(ROOT, *shlex.split(command)[1:])


CALLS = [(page, *call) for page in pages() for call in commands(page) if call[0].startswith("discreet ")]


@pytest.mark.parametrize(
    ("page", "command", "output"), CALLS, ids=[f"{shown(page)}: {call}" for page, call, _ in CALLS]
)
def test_a_command_on_a_page_runs_and_prints_what_the_page_says(page: Path, command: str, output: str) -> None:
    done = printed(command)
    assert (done.returncode, done.stderr) == (0, ""), page
    if output:
        say = masked if command in NOISY else exactly
        assert say(done.stdout) == say(output), page


SESSIONS = pages_with(SESSION)


@pytest.mark.parametrize("page", SESSIONS, ids=shown)
def test_the_commands_of_a_session_work_one_after_another(page: Path, tmp_path: Path) -> None:
    lines = [line for block in blocks(page) if block.language == SESSION for line in block.text.splitlines()]
    assert all(line.startswith("$ discreet ") for line in lines)
    for line in lines:
        done = discreet(tmp_path, *shlex.split(line.removeprefix("$ "))[1:])
        assert done.returncode == 0, (line, done.stderr)
        assert done.stdout, line


def test_a_session_is_shown() -> None:
    assert SESSIONS


def exactly(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def masked(text: str) -> str:
    """The text with every number in place of any other, and any stretch of white space in place of any other."""
    return " ".join(re.sub(r"-?\d+", "#", text).split())


def test_the_readme_shows_both_commands_and_a_transcript() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in readme
    assert "make test" in readme
    assert [output for command, output in commands(ROOT / "README.md") if command == "discreet demo" and output]


def test_every_command_and_option_is_documented() -> None:
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    sections = {part.split("\n", 1)[0].removeprefix("## "): part for part in re.split(r"(?m)^(?=## )", page)[1:]}
    for name in COMMANDS:
        for words, options in tree(opened(name), f"discreet {name}"):
            assert words in sections, f"docs/command-line.md has no section '## {words}'"
            missing = [option for option in options if f"`{option}" not in sections[words]]
            assert missing == [], words


def tree(command: object, words: str) -> Iterator[tuple[str, list[str]]]:
    """A command and its sub-commands, each with its long options."""
    options = [name for parameter in getattr(command, "params", []) for name in parameter.opts if name.startswith("--")]
    yield words, [option for option in options if option != "--help"]
    for name, inner in getattr(command, "commands", {}).items():
        yield from tree(inner, f"{words} {name}")


def test_a_proof_that_the_code_names_exists() -> None:
    named = {
        found
        for path in (ROOT / "src").rglob("*.py")
        for found in re.findall(r"docs/[\w/-]+\.md", path.read_text(encoding="utf-8"))
    }
    assert named
    assert [page for page in sorted(named) if not (ROOT / page).exists()] == []


def test_the_mission_tracks_all_rows() -> None:
    page = (ROOT / "docs" / "mission.md").read_text(encoding="utf-8")
    rows = re.findall(r"(?m)^\| (\d+) \| .* \| (works|partly|not yet) \|.*$", page)
    assert [int(number) for number, _ in rows] == list(range(1, 37))
