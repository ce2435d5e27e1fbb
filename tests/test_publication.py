"""What readers of a published book expect around its pages: addresses, previews, a site map, an archive, progress, search."""

from __future__ import annotations

import re
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urljoin
from xml.etree import ElementTree

import pytest
from browser import visit
from built import PAGES
from built import parsed as page
from conftest import ROOT

from lessonlib.book.publication import ARCHIVE, SCHEMA, pages_address
from lessonlib.book.repository import git
from lessonlib.book.search import BACK_MATTER

# What readers look for, and the page that they should find among the first three.
GOLDEN = {
    "causality": "01-sequences",
    "state space": "01-sequences",
    "Elman": "02-recurrent-network",
    "unrolling": "02-recurrent-network",
    "backpropagation through time": "03-bptt",
    "truncated": "03-bptt",
    "gradient check": "03-bptt",
    "singular value": "04-vanishing-gradients",
    "vanishing gradient": "04-vanishing-gradients",
    "forget bias": "05-lstm",
    "half-life": "05-lstm",
    "bidirectional": "06-gru-depth-direction",
    "reset gate": "06-gru-depth-direction",
    "packing": "07-training",
    "dropout": "07-training",
    "MASE": "08-forecasting",
    "walk-forward": "08-forecasting",
    "CUSUM": "09-monitoring",
    "point adjustment": "09-monitoring",
    "teacher forcing": "10-encoder-decoder",
    "beam search": "10-encoder-decoder",
    "additive attention": "11-attention",
    "key-value cache": "12-why-transformers-won",
    "parallel scan": "13-linear-recurrences",
    "minGRU": "13-linear-recurrences",
    "metamorphic test": "14-failure-guide",
    "n-gram": "lab-01-character-rnn",
    "gradient agreement": "lab-02-gradient-reach",
    "forecast and watch a machine": "lab-03-forecast-and-monitor",
    "reversing digits": "lab-04-reversal",
    "delayed recall": "lab-05-linear-recurrence",
    "bag of words": "lab-06-order",
    "memory signal": "lab-07-memory-length",
    "transformer": "lab-08-race",
    "reversal at length": "lab-10-reversal-at-length",
    "recurrent networks from Elman to state-space models": "index",
    "notation": "notation",
    "tolerance": "reading-this-book",
    "perplexity": "glossary",
}


def meta(site: Path, name: str) -> dict[str, str]:
    return {tag.get("property") or tag.get("name"): tag["content"] for tag in page(site, name).select("meta[content]")}


@pytest.mark.parametrize(("repository", "address"), [
    ("https://github.com/Pumps/book", "https://pumps.github.io/book/"),
    ("https://gitlab.com/pumps/deep/book", "https://pumps.gitlab.io/deep/book/"),
    ("https://github.com/pumps/pumps.github.io", "https://pumps.github.io/"),
    ("https://git.example.org/pumps/book", ""),
])
def test_the_address_of_a_fork_is_its_own(repository: str, address: str) -> None:
    assert pages_address(repository) == address


def last_change(name: str) -> int:
    """When the last commit changed a page, or a file that it shows, in seconds since 1970."""
    text = (ROOT / "book" / f"{name}.md").read_text("utf8")
    shown = re.findall(r"\{literalinclude\} (\S+)", text) + ["references.bib"] * ("```{bibliography}" in text)
    return max(map(int, git(ROOT, "log", "--format=%at", "--", *(f"book/{file}" for file in [f"{name}.md", *shown])).split()))


@pytest.fixture
def history() -> None:
    if git(ROOT, "rev-parse", "--is-shallow-repository") != "false":
        pytest.skip("this checkout has no whole history")


def published_at(site: Path) -> str:
    """Where the site will be read, as its first page names it; nothing where the host of the repository does not tell."""
    link = page(site, "index").select_one("link[rel='canonical']")
    return link["href"].removesuffix("index.html") if link else ""


def test_the_site_map_lists_every_page_with_its_last_change(site: Path, history: None) -> None:
    root = published_at(site)
    if not root:
        assert not (site / "sitemap.xml").exists()
        return
    urls = ElementTree.parse(site / "sitemap.xml").getroot().findall(f"{{{SCHEMA}}}url")
    changed = {url.findtext(f"{{{SCHEMA}}}loc"): url.findtext(f"{{{SCHEMA}}}lastmod") for url in urls}
    assert root.startswith("https://") and changed.keys() == {f"{root}{name}.html" for name in PAGES}
    assert changed == {f"{root}{name}.html": datetime.fromtimestamp(last_change(name), UTC).date().isoformat() for name in PAGES}


def test_pages_say_when_they_last_changed(site: Path, history: None) -> None:
    days = {name: datetime.fromtimestamp(last_change(name)) for name in PAGES}
    told = {name: page(site, name).select_one(".last-updated").get_text(strip=True) for name in PAGES}
    assert told == {name: f"Last updated on {day.day} {day:%B %Y}." for name, day in days.items()}


@pytest.mark.parametrize("name", PAGES)
def test_a_shared_link_has_a_preview(site: Path, name: str) -> None:
    tags = meta(site, name)
    assert tags["og:title"] and len(tags["og:description"]) > 30
    if root := published_at(site):
        assert root.startswith("https://")
        assert tags["og:url"] == f"{root}{name}.html" and tags["og:image"] == f"{root}_static/social.png"
        assert (site / "_static" / "social.png").stat().st_size < 150_000
    else:
        assert "og:url" not in tags and "og:image" not in tags


def test_titles_differ_and_name_the_book(site: Path) -> None:
    titles = [page(site, name).title.get_text() for name in PAGES]
    assert len(set(titles)) == len(titles) and all("Sequences, Measured" in title for title in titles)


def test_an_error_report_names_its_page(site: Path) -> None:
    link = page(site, "03-bptt").select_one('a[href*="/issues/new"]')["href"]
    assert "03-bptt" in link


def test_the_page_for_missing_pages_works_at_any_depth(site: Path) -> None:
    missing = page(site, "404")
    assert "leads to no page" in missing.get_text()
    links = [tag.get("href") or tag.get("src") for tag in missing.select("link[href], script[src], .bd-links a[href]")]
    assert [link for link in links if not re.match(r"/|https://|#|data:", link)] == []


def test_every_cell_and_number_has_a_permanent_address(site: Path) -> None:
    quoted, anchors = set(), set()
    for name in PAGES:
        shown = page(site, name)
        for cell in shown.select("div.cell"):
            assert cell["id"].startswith("cell-") and cell.select_one(f'a.headerlink[href="#{cell["id"]}"]'), (name, cell)
        assert shown.select("span.measured") == []
        quoted |= {urljoin(f"{name}.html", number["href"]) for number in shown.select("a.measured")}
        anchors |= {f"{name}.html#{number['id']}" for number in shown.select("div.cell > [id^='number-']")}
        for block in shown.select("div.math.display[id]"):
            assert block.select_one("a.headerlink"), (name, block["id"])
    assert quoted and quoted <= anchors


def test_the_archive_is_the_site(site: Path) -> None:
    with zipfile.ZipFile(site / ARCHIVE) as packed:
        names = {name.split("/", 1)[1] for name in packed.namelist()}
        assert packed.read("sequences-measured/index.html") == (site / "index.html").read_bytes()
    files = {path.relative_to(site).as_posix() for path in site.rglob("*") if path.is_file() and not path.name.startswith(".")}
    assert names == files - {ARCHIVE}
    assert page(site, "reading-this-book").select_one(f'a[href="{ARCHIVE}"]')


def test_every_page_of_text_is_what_some_reader_looks_for() -> None:
    assert set(PAGES) - set(BACK_MATTER) <= set(GOLDEN.values())


# ---- in a browser

@pytest.mark.parametrize("query", GOLDEN)
def test_search_finds_what_readers_look_for(browser: Any, address: str, query: str) -> None:
    with visit(browser, f"{address}/search.html?q={query.replace(' ', '+')}") as seen:
        seen.page.wait_for_selector("#search-results li a", timeout=20_000)
        seen.page.wait_for_function("document.querySelector('#search-results .search-summary')?.textContent.match(/found|finished/i)", timeout=20_000)
        found = seen.page.eval_on_selector_all("#search-results li > a", "found => found.map(e => e.href)")
        assert any(GOLDEN[query] in link for link in found[:3]), found[:6]


def test_reading_progress_is_kept_and_shown(browser: Any, address: str) -> None:
    with visit(browser, f"{address}/02-recurrent-network.html") as seen:
        assert seen.page.locator(".read-share").count() == 0
        seen.page.evaluate("scrollTo(0, document.body.scrollHeight)")
        seen.page.wait_for_timeout(900)
        seen.page.goto(f"{address}/index.html")
        marks = seen.page.locator(".bd-links .read-share")
        assert marks.count() == 1 and marks.first.text_content() == "✓"
        assert "02-recurrent-network" in marks.first.evaluate("e => e.closest('a').href")
        assert seen.foreign == [] and seen.errors == []
