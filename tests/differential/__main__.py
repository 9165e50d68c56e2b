"""`python -m tests.differential --seed 7`: ask a made-up world, and compare with plain DuckDB."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # tests find each other as they do under pytest

from differential.campaign import main

if __name__ == "__main__":
    sys.exit(main())
