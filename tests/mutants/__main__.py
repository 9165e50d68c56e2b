"""`python -m tests.mutants [ROOM …]`: which careless edits would the quick suite let through?"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests find each other as they do under pytest

from mutants.campaign import main

if __name__ == "__main__":
    sys.exit(main())
