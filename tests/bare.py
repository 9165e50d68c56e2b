"""The environment of a command that a test starts: nothing of the person who runs the tests."""

import os

BARE = {name: os.environ[name] for name in ("PATH", "DISCREET_STATE")}
