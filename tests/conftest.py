"""How properties are searched: the same way every time in `make test`, anew each time in `make test-all`.

And where heads are kept while tests run: in a folder of their own, also by the processes that they start. The event
loop of the browser, which is there until the end, is out of sight of tests that do without it, for they may want one.
"""

import asyncio
import atexit
import gc
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

TOGETHER = {"server", "console"}  # they share servers, a browser and what both have loaded

settings.register_profile("house", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("house")

# Files that are synced thousands of times, and gone in the end, lie in memory where there is enough of it.
_MEMORY, _ENOUGH = Path("/dev/shm"), 4 << 30  # noqa: S108  # tempfile makes the names
if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ENOUGH:
    os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)

os.environ["DISCREET_STATE"] = tempfile.mkdtemp(prefix="discreet-state-")
atexit.register(shutil.rmtree, os.environ["DISCREET_STATE"], ignore_errors=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays to the end: nobody looks through it for what could go, a third of the work."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()  # or engines say at the end that they were not let go


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What shares most comes first: where tests are handed out, others take from the end of somebody's part."""
    items.sort(key=lambda item: TOGETHER.isdisjoint(item.path.parts))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    yield from _without_browser(item)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    yield from _without_browser(item)


def _without_browser(item: pytest.Item) -> Generator[None]:
    loop = asyncio._get_running_loop()
    if loop is None or "chromium" in getattr(item, "fixturenames", ()):
        yield
        return
    asyncio._set_running_loop(None)
    try:
        yield
    finally:
        asyncio._set_running_loop(loop)
