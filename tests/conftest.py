"""How properties are searched: the same way every time in `make test`, anew each time in `make test-all`.

And where heads are kept while tests run: in a folder of their own, also by the processes that they start.
"""

import atexit
import os
import shutil
import tempfile

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("explore", deadline=None, print_blob=True)
settings.load_profile("house")

os.environ["DISCREET_STATE"] = tempfile.mkdtemp(prefix="discreet-state-")
atexit.register(shutil.rmtree, os.environ["DISCREET_STATE"], ignore_errors=True)
