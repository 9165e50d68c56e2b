"""Static files: style sheets, scripts and HTML, and the addresses under which browsers keep them."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).with_name("static")
_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}

ICON = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' "
    "rx='8' fill='%230f766e'/%3E%3Cpath d='M7 21c3 0 3-10 9-10s6 10 9 10' fill='none' stroke='white' stroke-width='3' "
    "stroke-linecap='round'/%3E%3C/svg%3E"
)


@cache
def files() -> dict[str, tuple[bytes, str]]:
    """What each file holds, and its media type."""
    return {path.name: (path.read_bytes(), _KINDS[path.suffix]) for path in _FOLDER.iterdir() if path.suffix in _KINDS}


@cache
def text(name: str) -> str:
    """A text of ours that is put into pages: no file that browsers get."""
    return (_FOLDER / name).read_text(encoding="utf-8")


def address(name: str) -> str:
    """Where a file is. It changes with the file, so that a browser may keep it for ever."""
    return f"/console/{name}?v={hashlib.sha256(files()[name][0]).hexdigest()[:12]}"
