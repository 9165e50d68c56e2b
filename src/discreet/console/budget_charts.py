"""Pictures of a budget: a bar of who spent what, and the line of spending over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from nicegui import ui

from discreet.console import theme
from discreet.console.amounts import Step, figure, path

_AREA = (600.0, 140.0)


@dataclass(frozen=True)
class Share:
    """A piece of a bar: whose it is, how much, and which part of the whole."""

    name: str
    amount: str
    part: float
    kind: str  # own, others or left


def bar(shares: Sequence[Share], label: str) -> None:
    """One bar of several pieces, with its legend in words."""
    with ui.element("div").classes("d-gauge").props('role="img"') as made:
        made.props["aria-label"] = label
        for each in shares:
            if each.part > 0:
                ui.element("span").classes(f"d-piece d-{each.kind}").style(f"flex-grow: {max(each.part, 0.004):.4f}")
    with ui.element("ul").classes("d-legend"):
        for each in shares:
            with ui.element("li"):
                ui.element("span").classes(f"d-dot d-{each.kind}").props('aria-hidden="true"')
                theme.tag("span", each.name).classes("d-muted")
                theme.tag("span", each.amount).classes("d-figure")


def meter(part: float) -> None:
    """A small bar in a table."""
    with ui.element("span").classes("d-meter").props('aria-hidden="true"'):
        ui.element("span").style(f"width: {100 * part:.1f}%")


def line(steps: Sequence[Step], now: datetime, whole: Fraction, level: Fraction | None) -> None:
    """Spending over time. The top of the picture is the whole budget; a level is what everybody spent together."""
    width, height = _AREA
    drawn = path(steps, now, whole, _AREA)
    with ui.element("figure").classes("d-line"):
        with ui.element("div").classes("d-line-top"):
            theme.tag("span", f"{figure(whole)} in all")
        with (
            ui.element("svg")
            .props(f'viewBox="0 -4 {width:g} {height + 8:g}" preserveAspectRatio="none" role="img"')
            .classes("d-svg") as picture
        ):
            picture.props["aria-label"] = f"Spending grew to {figure(steps[-1].amount, up=True)} of {figure(whole)}"
            ui.element("path").props(f'd="M0 0H{width:g}"').classes("d-whole")
            if level is not None:
                y = height * (1 - float(min(Fraction(1), level / whole)))
                ui.element("path").props(f'd="M0 {y:.1f}H{width:g}"').classes("d-level")
            ui.element("path").props(f'd="{drawn}V{height:g}H0Z"').classes("d-under")
            ui.element("path").props(f'd="{drawn}"').classes("d-stroke")
            ui.element("path").props(f'd="M0 {height:g}H{width:g}"').classes("d-ground")
        with ui.element("figcaption").classes("d-line-foot"):
            theme.tag("span", f"{steps[0].since:%-d %b %Y}")
            theme.tag("span", "now")
