"""`python -m tests.fuzz --seconds 3600 --seed 1 --jobs 2`: look for questions that break the curator."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests find each other as they do under pytest

from fuzz.campaign import main

if __name__ == "__main__":
    sys.exit(main())
