"""The page of a release: plain words, nothing that runs, nothing from elsewhere, and true to the release."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser import launched
from playwright.sync_api import Browser
from release.published import AGE, NASTY, SQL, people, published, released

from discreet.mechanisms import Column
from discreet.pictures.svg import rounded
from discreet.release.estimate import error_bar

HOSTILE = Column("<b onclick=alert(4)>", keys=NASTY)
CASES: dict[str, dict[str, object]] = {
    "histogram": {"kind": "histogram", "columns": ["age"], "bins": {"age": 20}},
    "keys": {"kind": "histogram", "columns": ["region"]},
    "plane": {"kind": "histogram", "columns": ["age", "cost"]},
    "marginals": {"kind": "marginals", "columns": ["age", "cost", "region"], "delta": "1e-9"},
}


class Seen(HTMLParser):
    """What a browser would see: elements with their attributes, and the text between them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[tuple[str, str]] = []  # the innermost heading, and what stands under it
        self._heading = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in self.open
        while self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "h2" in self.open:
            self._heading = data
        elif "style" not in self.open:
            self.text.append((self._heading, data))

    def under(self, heading: str) -> str:
        return " ".join(text for own, text in self.text if own == heading)


@pytest.fixture(name="pages", scope="module")
def _pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("pages")
    for name, wish in CASES.items():
        published(root / name, released(wish))
    wish = {"kind": "marginals", "columns": [HOSTILE.name, "age"]}
    published(root / "hostile", released(wish, people((HOSTILE, AGE))), "</title><script>alert(3)</script>")
    return {name: root / name / "index.html" for name in (*CASES, "hostile")}


def seen(page: Path) -> Seen:
    return Seen(page.read_text(encoding="utf-8"))


NAMES = pytest.mark.parametrize("name", [*CASES, "hostile"])


@NAMES
def test_a_page_has_no_script_and_loads_nothing(pages: dict[str, Path], name: str) -> None:
    page = seen(pages[name])
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "img", "iframe", "object", "embed", "link", "form", "base", "image", "use", "b"}
    for _, attributes in page.tags:
        assert not any(key.startswith("on") or key in {"src", "style", "xlink:href", "srcset"} for key in attributes)
        if "href" in attributes:
            assert re.fullmatch(r"[A-Za-z0-9_-]+\.(parquet|json)", str(attributes["href"]))
    policy = next(attributes for _, attributes in page.tags if attributes.get("http-equiv"))
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[\w+/=]+'; base-uri 'none'; form-action 'none'", str(policy["content"])
    )


@NAMES
def test_letters_are_for_experts(pages: dict[str, Path], name: str) -> None:
    page = seen(pages[name])
    before = " ".join(text for heading, text in page.text if heading != "For experts")
    assert not re.search("[εδρσ]", before)
    assert re.search("[ερ] = ", page.under("For experts"))


def test_a_page_says_what_is_promised_how_exact_and_how_to_go_on(pages: dict[str, Path]) -> None:
    page = seen(pages["histogram"])
    assert "the records of one patient" in page.under("What is promised")
    assert "at most 74 times" in page.under("What is promised")
    assert "within what follows ± 19 times in 20" in page.under("How exact it is")
    assert "Not counted are records" in page.under("How exact it is")
    assert "from 0 to before 101 in 20 bins" in page.under("What was public")
    assert "no more than 1 record of each" in page.under("What was public")
    assert "Ages of patients (differentially private histogram; epsilon = 1" in page.under("How to cite")
    assert "discreet release verify DIR" in page.under("How to verify")
    assert {"cells.parquet", "release.json"} <= set(page.under("Files").split())
    for said in (SQL, "ε = 1", "identity", "visits (version 3)", "paid by entry 3, recorded by entry 4"):
        assert said in page.under("For experts")


def test_the_guarantee_is_also_told_in_the_measure_in_which_it_was_asked_for(pages: dict[str, Path]) -> None:
    told = seen(pages["marginals"]).under("For experts")
    found = re.search(r"ε = ≈?([\d.]+), δ = 0.000000001", told)
    assert found is not None
    assert 0.99 < float(found[1]) <= 1


def test_private_bins_are_no_public_fact(tmp_path: Path) -> None:
    wish: dict[str, object] = {"kind": "histogram", "columns": ["cost"], "bins": {"cost": "private:6"}}
    published(tmp_path / "out", released(wish))
    public = seen(tmp_path / "out" / "index.html").under("What was public")
    assert re.search(r"to before 500.01; its \d bins were chosen privately, and are part of this release", public)


def test_the_rows_are_those_of_the_release(pages: dict[str, Path]) -> None:
    table = released(CASES["histogram"]).to_arrow()["cells"].to_pylist()
    text = pages["histogram"].read_text(encoding="utf-8")
    rows = re.findall(r"<tr>(<td>.*?)</tr>", text)
    assert len(rows) == 12
    for shown, row in zip(rows, table, strict=False):
        count, error, whole = row["count"], row["standard_error"], row["count_whole"]
        spread = f'<span class="error">± {rounded(error_bar(error, count), error)}</span>'
        assert f"<td>{row['age_from']}</td><td>{row['age_to']}</td>" in shown
        assert f'<td class="number">{rounded(count, error)} {spread}</td>' in shown
        assert f'<td class="number">{whole:,}</td>' in shown
    assert "12 of 20 rows. 8 more are in its file." in text


def test_errors_that_nobody_knows_are_not_spoken_of(tmp_path: Path) -> None:
    published(tmp_path / "out", released({"kind": "histogram", "columns": ["age"], "method": "mwem"}))
    page = seen(tmp_path / "out" / "index.html")
    assert "±" not in " ".join(text for _, text in page.text)
    assert "There are no error bars" in page.under("How exact it is")


def test_many_keys_are_told_by_the_first_of_them(tmp_path: Path) -> None:
    towns = Column("town", keys=tuple(f"Town {i}" for i in range(40)))
    published(tmp_path / "out", released({"kind": "histogram", "columns": ["town"]}, people((towns,))))
    public = seen(tmp_path / "out" / "index.html").under("What was public")
    assert "by its 40 keys" in public
    assert "and 28 more" in public


def test_each_picture_is_there_for_wide_and_for_narrow_screens(pages: dict[str, Path]) -> None:
    text = pages["marginals"].read_text(encoding="utf-8")
    assert len(re.findall('<div class="wide"><svg', text)) == len(re.findall('<div class="narrow"><svg', text)) == 6


def test_the_same_release_gives_the_same_page(pages: dict[str, Path], tmp_path: Path) -> None:
    published(tmp_path / "again", released(CASES["plane"]))
    keyless = [
        re.sub(r"[0-9a-f]{64}", "", page.read_text(encoding="utf-8"))
        for page in (pages["plane"], tmp_path / "again" / "index.html")
    ]
    assert keyless[0] == keyless[1]


# in a browser ---------------------------------------------------------------------------------------------------------


@pytest.fixture(name="chromium", scope="module")
def _chromium() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


_FITS = "document.documentElement.scrollWidth <= window.innerWidth"
_SHOWN = "[...document.querySelectorAll('svg')].filter(each => each.getBoundingClientRect().height > 50).length"
_SMALLEST = """Math.min(...[...document.querySelectorAll('svg text')].map(each => each.getBoundingClientRect().height)
    .filter(height => height > 0))"""
_RAN = "document.querySelectorAll('script, img, b').length"


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_browser_shows_the_pages_without_a_complaint_or_a_request(
    chromium: Browser, pages: dict[str, Path], width: int, scheme: str
) -> None:
    dark = scheme == "dark"
    context = chromium.new_context(viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light")
    page, complaints, asked = context.new_page(), list[str](), list[str]()
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda broken: complaints.append(str(broken)))
    page.on("dialog", lambda said: complaints.append(said.message))
    page.on("request", lambda sent: asked.append(sent.url))
    for name, path in pages.items():
        page.goto(path.as_uri())
        assert page.evaluate(_FITS), name
        assert page.evaluate(_SHOWN) == len(re.findall('<div class="wide">', path.read_text(encoding="utf-8"))), name
        assert page.evaluate(_SMALLEST) >= 9.5, name
        assert page.evaluate(_RAN) == 0, name
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert paper == ("rgb(15, 21, 20)" if dark else "rgb(247, 248, 248)"), name  # the style sheet was let in
        bar = page.evaluate("getComputedStyle(document.querySelector('svg rect')).fill")
        assert bar == ("rgb(79, 195, 181)" if dark else "rgb(15, 118, 110)"), name
    assert complaints == []
    assert asked == [path.as_uri() for path in pages.values()]
    assert "</title><script>alert(3)</script>" in page.locator("h1").inner_text()
    context.close()


def test_a_style_or_script_that_somebody_adds_is_shut_out(
    chromium: Browser, pages: dict[str, Path], tmp_path: Path
) -> None:
    text = pages["keys"].read_text(encoding="utf-8")
    added = "<style>body { background: red !important }</style><script>document.title = 'broken'</script></main>"
    (tmp_path / "index.html").write_text(text.replace("</main>", added), encoding="utf-8")
    page = chromium.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    assert page.title() == "Ages of patients"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != "rgb(255, 0, 0)"
    page.close()


def test_a_page_prints_in_light_colours(chromium: Browser, pages: dict[str, Path]) -> None:
    context = chromium.new_context(color_scheme="dark")
    page = context.new_page()
    page.goto(pages["keys"].as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(21, 33, 31)"
    assert page.pdf(format="A4").startswith(b"%PDF")
    context.close()
