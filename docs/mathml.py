"""Formulas become MathML while the pages are built: a page needs no script, hence no third party, to show them."""

import html
import re

from latex2mathml.converter import convert

_INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
_DISPLAYED = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)


def on_page_content(text: str, /, **_: object) -> str:
    """The page with every formula that arithmatex found turned into MathML."""
    text = _INLINE.sub(lambda found: convert(html.unescape(found[1])), text)
    return _DISPLAYED.sub(lambda found: convert(html.unescape(found[1]), display="block"), text)
