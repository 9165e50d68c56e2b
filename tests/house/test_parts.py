"""The programs that `.ci/parts` brings, on a made-up machine that has none of them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from house.tree import ROOT
from installed import missing, program

BASH = shutil.which("bash") or "/bin/bash"
BRINGS = {  # what stands on the machine when a package is installed
    "postgresql-client": ["psql"],
    "odbc-postgresql": ["odbcinst"],
    "nodejs": ["node", "npm"],
    "default-jdk-headless": ["javac"],
    "libpostgresql-jdbc-java": ["postgresql.jar"],
    "chromium": ["chromium"],
}


class Machine:
    """A folder that is all of PATH, with an apt-get that cannot install some packages."""

    def __init__(self, folder: Path, broken: set[str]) -> None:
        self._bin, self._log = folder / "bin", folder / "log"
        self._bin.mkdir()
        for name in ("grep", "cp"):
            (self._bin / name).symlink_to(shutil.which(name) or name)
        brought = folder / "brought"
        brought.write_text(f"#!{BASH}\necho '[PostgreSQL Unicode]'\n")
        brought.chmod(0o755)
        cases = [
            *(f'{name}) echo "held broken packages"; exit 100;;' for name in sorted(broken)),
            *(
                f"{name}) for one in {' '.join(brings)}; do cp {brought} {self._bin}/$one; done;;"
                for name, brings in BRINGS.items()
            ),
        ]
        apt = self._bin / "apt-get"
        apt.write_text(
            f'#!{BASH}\necho "$@" >> {self._log}\n'
            f'[ "$1" = update ] || for package in "${{@:4}}"; do case $package in {" ".join(cases)} esac; done\n'
        )
        apt.chmod(0o755)

    def run(self, **variables: str) -> tuple[int, str, list[str]]:
        """Its exit, what it says, and what apt-get was asked for."""
        environment = {"PATH": str(self._bin), "JDBC": str(self._bin / "postgresql.jar"), **variables}
        done = subprocess.run(
            [BASH, str(ROOT / ".ci" / "parts")],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        asked = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return done.returncode, done.stdout + done.stderr, [line.split()[-1] for line in asked]


@pytest.mark.parametrize("where", [{}, {"CI": "true"}])
def test_what_is_missing_is_installed_and_what_is_there_is_not(tmp_path: Path, where: Mapping[str, str]) -> None:
    machine = Machine(tmp_path, broken=set())
    assert machine.run(**where) == (0, "", ["-qq", "postgresql-client", "unixodbc", *list(BRINGS)[1:]])
    assert machine.run(**where) == (0, "", [])


@pytest.mark.parametrize("broken", [name for name in BRINGS if name != "nodejs"])
def test_a_package_that_conflicts_takes_no_other_along(tmp_path: Path, broken: str) -> None:
    code, said, asked = Machine(tmp_path, {broken}).run()
    assert (code, asked[-1]) == (0, "chromium")
    assert f"{broken} cannot be installed:\nheld broken packages" in said
    (name,) = [line for line in said.splitlines() if line.startswith("missing, so what needs it is not tested: ")]
    wanted = {"odbc-postgresql": "odbc", "libpostgresql-jdbc-java": "jdbc"}.get(broken, BRINGS[broken][0])
    assert name.rpartition(": ")[2] == wanted


def test_where_changes_are_checked_a_missing_part_fails(tmp_path: Path) -> None:
    code, said, _ = Machine(tmp_path, {"chromium", "nodejs"}).run(CI="true")
    assert code == 1
    assert said.endswith("missing: node chromium npm\n")


def test_a_test_without_its_program_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert program("no-such-program", "sh", package="dash") == shutil.which("sh")
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no-such-program is missing: apt-get install nothing"):
        program("no-such-program", package="nothing")
    monkeypatch.setitem(os.environ, "CI", "true")
    with pytest.raises(pytest.fail.Exception, match="a wheel is missing: pip install it"):
        missing("a wheel", "pip install it")
