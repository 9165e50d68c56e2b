"""The page for strangers: a form, and no script at all."""

from __future__ import annotations

import re
from html import escape

from discreet.console import assets
from discreet.console.pages import PLACES

SAID = {  # what a page may ask to be said: constants, so that no link puts words into our mouth
    "ended": "You were away for a while, so you were signed out. Sign in again to go on.",
    "left": "You are signed out.",
    "revoked": "Your token does not let you in any more. A custodian can give you another.",
}

_QUERY = re.compile(r"[\w.~%&=+*!'()-]{1,20000}", re.ASCII)  # as browsers write it; nothing that could end a header

_PAGE = """<!doctype html>
<html lang="en" data-theme="{theme}">
<head>
<meta charset="utf-8">
<title>Sign in · discreet</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="{icon}">
<link rel="stylesheet" href="{style}">
</head>
<body class="stranger">
<main class="d-card d-door">
<p class="d-brand">discreet</p>
<h1>Sign in</h1>
<p class="d-muted">Ask questions about people, and learn almost nothing about any one of them.</p>
{said}
<form method="post" action="/sign-in">
<input type="hidden" name="next" value="{after}">
<label for="token">Your token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus maxlength="256"
 spellcheck="false" {described}>
<button type="submit">Sign in</button>
</form>
<p class="d-muted d-small">A custodian gives you a token. It is shown once, when it is made.</p>
<p class="d-small"><a href="/promise">Is your own data in here? What is promised to you</a></p>
</main>
</body>
</html>
"""
_WORDS = '<p id="said" class="d-said{kind}" role="{role}">{text}</p>'


def page(theme: str, *, said: str = "", wrong: bool = False, after: str = "") -> str:
    """The form, with a sentence above it."""
    words = _WORDS.format(kind=" d-wrong" if wrong else "", role="alert" if wrong else "status", text=escape(said))
    return _PAGE.format(
        theme=theme,
        icon=assets.ICON,
        style=assets.address("console.css"),
        said=words if said else "",
        after=escape(known(after), quote=True),
        described='aria-describedby="said"' if said else "",
    )


def known(path: str) -> str:
    """A page of ours to go to after signing in; the first if it is none."""
    place, _, query = path.partition("?")
    if place not in {each.path for each in PLACES}:
        return PLACES[0].path
    return f"{place}?{query}" if query and _QUERY.fullmatch(query) else place
