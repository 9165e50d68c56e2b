"""The keys under which the ledger holds releases stay as they were: what was paid for is free in later versions too."""

from __future__ import annotations

import clinic
import pytest

from discreet.desk import HOME, Desk, ReleaseOrder
from discreet.release import Wish

KEYS: dict[str, tuple[str, dict[str, object]]] = {
    "0e4253dfc7c5d1dd788741ddbc527cd7a88c8171a804ebda48a63bc8ed8b4657": (
        "histogram",
        {"columns": ["cost"], "bins": {"cost": 10}, "max_rows": 3},
    ),
    "51cb2ea4eb32fe3dc57f1bf1e81849f8b104c76e855afd401893775c615f2f4e": (
        "histogram",
        {"columns": ["region", "urgent"]},
    ),
    "6e0887a752a990cba510437d9a1d4e8152cbd894180e7c61779e44cb994c945f": (
        "histogram",
        {"columns": ["cost"], "bins": {"cost": "private:4"}},
    ),
    "94ef0c3e67bcb6d4a7ac860138e7bac8deb9674fc48df8c095844fd698b2505b": ("ranges", {"columns": ["cost"]}),
    "bb53007f2134e6d8a50c217b0ace7776febfdd0730fdadc97e60efa7c23fbcba": (
        "ranges",
        {"columns": ["cost", "region"], "bins": {"cost": 8}, "method": "adaptive-grid"},
    ),
    "b2e8adb409355348cd487bb79ff971d064ab79b2c293e6377b1c1ca2d5b55aa4": (
        "ranges",
        {"columns": ["cost"], "method": "hierarchy"},
    ),
    "45e6ddd1ab77e0ac77b8f8844a9f5b9a9ceea7a487f056636ec769d3e3277d8d": (
        "marginals",
        {"columns": ["region", "urgent"]},
    ),
    "80cbe4b9ad40cbe4e184ca941f929e47ff0719a3d2e88bccbad26027943dbd8a": (
        "marginals",
        {"columns": ["region", "urgent"], "outside": "leave out"},
    ),
    "949b5a9433ee3b613942036c16132da804228e88f8969fda9c69bd7c83691250": (
        "marginals",
        {
            "columns": ["region", "urgent", "cost"],
            "delta": "1e-7",
            "bins": {"cost": "0:1000:250"},
            "tables": [["region", "urgent"], ["region", "cost"]],
        },
    ),
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(clinic.home(tmp_path_factory.mktemp("keys") / "home", epsilon=3, delta="1e-6"))


@pytest.mark.parametrize("key", KEYS)
def test_the_key_is_what_it_was(desk: Desk, key: str) -> None:
    kind, parts = KEYS[key]
    order = ReleaseOrder.of("visits", Wish.read({"kind": kind, "epsilon": "0.5", **parts}))
    assert desk.offered(HOME, order).run.question == key
