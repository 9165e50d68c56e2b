"""The contents complete themselves: mkdocs.yml orders the pages it names, the others follow under two headings.

So a new room brings its page, and a new mechanism its proof, without a change to a file that everyone shares.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def titles(folder: str) -> dict[str, str]:
    """The title of each page of a folder, by its path."""
    pages = sorted(page for page in (HERE / folder).glob("*.md") if page.name != "index.md")
    return {
        page.relative_to(HERE).as_posix(): page.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
        for page in pages
    }


def paths(contents: object) -> Iterator[str]:
    """Every page that a part of the contents names."""
    if isinstance(contents, dict):
        contents = list(contents.values())
    if isinstance(contents, list):
        for part in contents:
            yield from paths(part)
    else:
        yield str(contents)


def completed(contents: list[Any]) -> list[Any]:
    """The contents with the headings *Rooms* and *Proofs* filled with what no other heading names."""
    named = set(paths(contents))
    rooms = [{title: path} for path, title in titles(".").items() if path not in named]
    proofs = [{title: path} for path, title in titles("proofs").items()]
    filled = {"Rooms": rooms, "Proofs": ["proofs/index.md", *proofs]}
    return [{heading: filled.get(heading, inside) for heading, inside in part.items()} for part in contents]


def on_config(config: Any) -> Any:  # noqa: ANN401  # mkdocs ships no types
    """Called by mkdocs before it builds."""
    config["nav"] = [part for part in completed(config["nav"]) if all(part.values())]
    return config


def on_page_markdown(markdown: str, /, *, page: Any, **_: object) -> str:  # noqa: ANN401
    """The page of proofs, with the list of them."""
    if page.file.src_uri != "proofs/index.md":
        return markdown
    listed = (f"* [{title}]({Path(path).name})" for path, title in titles("proofs").items())
    return "\n".join([markdown, *listed])
