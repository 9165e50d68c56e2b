"""How far a table is that is being taken in."""

from __future__ import annotations

from dataclasses import dataclass

from nicegui import ui

from discreet.console import theme

_GLANCE = 0.25  # seconds


@dataclass
class Share:
    """A share of some work, told by one thread and read by another."""

    done: float = 0.0

    def hear(self, done: float) -> None:
        """What the work says of itself."""
        self.done = done


def progress(share: Share, what: str) -> None:
    """A bar that follows a share."""
    with ui.element("div").classes("d-coming").props('role="status"'):
        bar = ui.element("progress").props('max="100"')
        bar.props["aria-label"] = what
        theme.tag("span", what).classes("d-muted")

    def look() -> None:
        bar.props["value"] = str(round(100 * max(0.0, min(1.0, share.done))))
        bar.update()

    ui.timer(_GLANCE, look)
