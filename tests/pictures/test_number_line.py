"""Number lines: where a band, an estimate and a p-value stand."""

from __future__ import annotations

import re

import pytest

from discreet.pictures.number_line import interval_line, p_value_line


def boxes(drawn: str) -> list[tuple[float, float]]:
    """From where to where each box reaches."""
    found = re.findall(r'<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', drawn)
    return [(float(left), float(left) + float(width)) for left, width in found]


def test_a_band_reaches_from_end_to_end_and_stays_on_the_line() -> None:
    drawn = interval_line("<b>", "cost & care", (0.0, 500.0), (100.0, 200.0, 250.0))
    band, estimate = boxes(drawn.wide)  # 720 wide, 26 on either side
    per = (720 - 52) / 500
    assert band == pytest.approx((26 + 100 * per, 26 + 250 * per), abs=0.02)
    assert sum(estimate) / 2 == pytest.approx(26 + 200 * per, abs=0.02)
    assert "<b>" not in drawn.wide
    assert "cost &amp; care" in drawn.narrow
    band, estimate = boxes(interval_line("x", "x", (0.0, 1.0), (-3.0, -2.0, 4.0)).narrow)
    assert band == pytest.approx((26, 340 - 26))
    assert sum(estimate) / 2 == pytest.approx(26)


@pytest.mark.parametrize(("p", "place"), [(1.0, 0.0), (0.1, 0.25), (0.0001, 1.0), (1e-30, 1.0), (0.0, 1.0)])
def test_a_p_value_stands_the_farther_right_the_smaller_it_is(p: float, place: float) -> None:
    shaded, marker = boxes(p_value_line(p).wide)
    assert sum(marker) / 2 == pytest.approx(26 + place * (720 - 52), abs=0.02)
    assert shaded[0] == pytest.approx(26 + 0.32526 * (720 - 52), abs=0.05)  # log10(20) of 4
