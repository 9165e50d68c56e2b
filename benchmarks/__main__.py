"""Runs every benchmark, or those named, and writes what they print into benchmarks/README.md.

A benchmark is a file here: its docstring is the claim, its output is a Markdown table. `PEER = "opendp"` at its top
says that it needs that library, and it then runs in the environment that `make peers` builds.
"""

from __future__ import annotations

import ast
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
REPORT = HERE / "README.md"
NOT_CLAIMS = {"__init__", "__main__", "serving", "timing", "visits"}
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


@dataclass(frozen=True)
class Claim:
    """A benchmark: its name, the claim in words, and the library it is measured against, if that is a dependency."""

    name: str
    words: str
    peer: str | None

    @classmethod
    def read(cls, path: Path) -> Claim:
        """What a file says about itself, without running it."""
        tree = ast.parse(path.read_text(encoding="utf-8"))
        peers = [
            node.value.value
            for node in tree.body
            if isinstance(node, ast.Assign)
            and [ast.unparse(target) for target in node.targets] == ["PEER"]
            and isinstance(node.value, ast.Constant)
        ]
        return cls(path.stem, ast.get_docstring(tree) or path.stem, str(peers[0]) if peers else None)

    @property
    def python(self) -> Path:
        """The interpreter to run it with."""
        return HERE.parent / ".peers" / self.peer / "bin" / "python" if self.peer else Path(sys.executable)

    def measure(self) -> str:
        """The Markdown that it prints."""
        command = [str(self.python), "-m", f"benchmarks.{self.name}"]
        with tempfile.TemporaryDirectory() as state:  # where the homes that it makes have their heads kept
            own = {**os.environ, "DISCREET_STATE": state}
            done = subprocess.run(command, cwd=HERE.parent, env=own, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
        return done.stdout.strip()


def claims(names: list[str]) -> Iterator[Claim]:
    """The benchmarks named, or all."""
    known = {path.stem: path for path in sorted(HERE.glob("*.py")) if path.stem not in NOT_CLAIMS}
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"no benchmark named {', '.join(unknown)}; there are {', '.join(known)}")
    for name in names or known:
        yield Claim.read(known[name])


def merged(report: str, name: str, section: str) -> str:
    """The report with this section in place of the old one of that name, in alphabetical order."""
    head, rest = report.split(BEGIN)
    old, tail = rest.split(END)
    sections = {text.split("\n", 1)[0].removeprefix("### "): text for text in re.split(r"(?m)^(?=### )", old)[1:]}
    sections[name] = section
    body = "\n".join(sections[name].strip() + "\n" for name in sorted(sections))
    return f"{head}{BEGIN}\n\n{body}\n{END}{tail}"


def main() -> None:
    """Measure, print, and keep each result as soon as it is there."""
    where = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    for claim in claims(sys.argv[1:]):
        if not claim.python.exists():
            print(f"### {claim.name}\n\nNot measured now: `make peers` builds the environment with {claim.peer}.\n")
            continue
        stamp = f"Measured {datetime.now(UTC):%Y-%m-%d} on {where}."
        section = f"### {claim.name}\n\n{claim.words}\n\n{claim.measure()}\n\n{stamp}\n"
        print(section, flush=True)
        REPORT.write_text(merged(REPORT.read_text(encoding="utf-8"), claim.name, section), encoding="utf-8")


if __name__ == "__main__":
    main()
