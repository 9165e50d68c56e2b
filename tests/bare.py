"""The environment of a command that a test starts: the code under test, and nothing of whoever runs the tests."""

import os
from pathlib import Path

import discreet

SOURCE = str(Path(discreet.__file__).parents[1])  # not what is installed: in a worktree or a copy that is another tree
BARE = {"PYTHONPATH": SOURCE, **{name: os.environ[name] for name in ("PATH", "DISCREET_STATE")}}
