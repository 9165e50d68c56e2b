"""A plugin of pytest that notes which test runs which line, and for how long: `-p mutants.recorder`."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

FOLDER = "MUTANTS_RECORD"  # the variable that says where to


class _Recorder:
    def __init__(self, folder: Path) -> None:
        self._notes = folder / f"{os.getpid()}.json"
        self._seconds: dict[str, float] = {}
        self._coverage = coverage.Coverage(
            data_file=str(folder / f"{os.getpid()}.coverage"), source=["src"], config_file=False, messages=False
        )
        self._coverage.set_option("run:relative_files", value=True)  # the copy lies elsewhere each time
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._coverage.switch_context(item.nodeid)
        try:
            return (yield)
        finally:
            self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        self._coverage.save()
        self._notes.write_text(json.dumps(self._seconds), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """In the processes that run tests; who only hands them out has nothing to note."""
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", 0):
        config.pluginmanager.register(_Recorder(Path(os.environ[FOLDER])), "mutants-recorder")
