"""Links and dates that a book takes from the repository it lives in, wherever that is."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml
from bs4 import BeautifulSoup
from conftest import ROOT, SmallBook

from lessonlib.book.pages import Project
from lessonlib.book.publication import SCHEMA, derive_address
from lessonlib.book.repository import binder_place, origin, provider, web_address

PAGES = Project(ROOT).page_names()
SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]
GIVEN = SETTINGS["url"]

# Remotes, the address where people read them, whose forms of links these have, and how BinderHub names their main branch.
REMOTES = [
    ("git@github.com:pumps/book.git", "https://github.com/pumps/book", "github", "gh/pumps/book/main"),
    ("https://pump:secret@GitHub.com/Pumps/book/", "https://github.com/Pumps/book", "github", "gh/Pumps/book/main"),
    ("ssh://git@ssh.github.com:443/pumps/book.git", "https://github.com/pumps/book", "github", "gh/pumps/book/main"),
    ("https://gitlab.com/pumps/deep/book.git", "https://gitlab.com/pumps/deep/book", "gitlab", "gl/pumps%2Fdeep%2Fbook/main"),
    ("ssh://git@gitlab.example.org:2222/pumps/book.git", "https://gitlab.example.org/pumps/book", "gitlab",
     "git/https%3A%2F%2Fgitlab.example.org%2Fpumps%2Fbook/main"),
    ("https://gitlab.example.org:8443/pumps/book.git", "https://gitlab.example.org:8443/pumps/book", "gitlab",
     "git/https%3A%2F%2Fgitlab.example.org%3A8443%2Fpumps%2Fbook/main"),
    ("https://codeberg.org/pumps/book.git", "https://codeberg.org/pumps/book", "",
     "git/https%3A%2F%2Fcodeberg.org%2Fpumps%2Fbook/main"),
    ("ssh://forge.example.org/~pump/book", "https://forge.example.org/~pump/book", "",
     "git/https%3A%2F%2Fforge.example.org%2F~pump%2Fbook/main"),
]

TITLE, BODY = "Issue%20on%20page%20%2Findex.html", "Your%20issue%20content%20here."

# What the buttons of the first page lead to, for a remote whose main branch is `trunk`.
BUTTONS = {
    "https://gitlab.com/pumps/deep/book.git": [
        "https://gitlab.com/pumps/deep/book",
        "https://gitlab.com/pumps/deep/book/-/edit/trunk/book/index.md",
        f"https://gitlab.com/pumps/deep/book/-/issues/new?issue[title]={TITLE}&issue[description]={BODY}",
        "https://mybinder.org/v2/gl/pumps%2Fdeep%2Fbook/trunk?urlpath=lab/tree/book/index.ipynb"],
    "git@github.com:pumps/book.git": [
        "https://github.com/pumps/book",
        "https://github.com/pumps/book/edit/trunk/book/index.md",
        f"https://github.com/pumps/book/issues/new?title={TITLE}&body={BODY}",
        "https://mybinder.org/v2/gh/pumps/book/trunk?urlpath=lab/tree/book/index.ipynb"],
    "https://pump:secret@codeberg.org/pumps/book.git": [
        "https://codeberg.org/pumps/book",
        "https://mybinder.org/v2/git/https%3A%2F%2Fcodeberg.org%2Fpumps%2Fbook/trunk?urlpath=lab/tree/book/index.ipynb"],
}
SITES = {"https://gitlab.com/pumps/deep/book.git": "https://pumps.gitlab.io/deep/book/",
         "git@github.com:pumps/book.git": "https://pumps.github.io/book/"}


def git(root: Path, *arguments: str, day: str = "2021-02-03") -> str:
    """Run git on a book of the tests, as nobody in particular."""
    settings = ["-c", "user.name=Pump", "-c", "user.email=pump@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *settings, *arguments], cwd=root, capture_output=True, text=True, check=True,
                          env=dict(os.environ, GIT_AUTHOR_DATE=f"{day}T12:00:00+00:00")).stdout


def shown(site: Path, name: str) -> BeautifulSoup:
    return BeautifulSoup((site / f"{name}.html").read_text("utf8"), "html.parser")


def buttons(site: Path, name: str) -> list[str]:
    """What the buttons at the top of a page lead to outside the site."""
    return sorted(link["href"] for link in shown(site, name).select(".article-header-buttons a[href^='http']"))


def date(site: Path, name: str) -> str:
    """When a page says that it last changed; nothing if it does not say."""
    found = re.search(r"\d+ \w+ 20\d\d", shown(site, name).select_one(".bd-footer-content").get_text())
    return found[0] if found else ""


@pytest.fixture(scope="module")
def fork(good_book: SmallBook, tmp_path_factory: pytest.TempPathFactory) -> SmallBook:
    """A small book of three pages in a repository of its own, which came from GitLab."""
    book = SmallBook(tmp_path_factory.mktemp("fork") / "book")
    shutil.copytree(good_book.root, book.root, symlinks=True)
    for name in ("valves", "pipes"):
        (book.root / "book" / f"{name}.md").write_text(f"# All about {name}\n\nAn [issue]({GIVEN}/issues) is welcome.\n")
    (book.root / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n  - file: valves\n  - file: pipes\n")
    git(book.root, "init", "--quiet")
    git(book.root, "remote", "add", "origin", next(iter(BUTTONS)))
    git(book.root, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    git(book.root, "add", "book/index.md", "book/valves.md")
    git(book.root, "commit", "--quiet", "--message", "Two pages")
    return book


@pytest.mark.parametrize(("remote", "address", "kind", "place"), REMOTES)
def test_a_remote_tells_where_the_repository_is_read(remote: str, address: str, kind: str, place: str) -> None:
    assert web_address(remote) == address and provider(address) == kind and binder_place(address, "main") == place


@pytest.mark.parametrize("remote", ["", "/srv/book.git", "../book", r"C:\books\book", "work:pumps/book", "file:///srv/book.git"])
def test_a_remote_on_no_host_tells_nothing(remote: str) -> None:
    assert web_address(remote) == ""


def test_a_given_address_of_the_site_is_a_folder() -> None:
    config = SimpleNamespace(html_baseurl="https://pumps.example.org/book", html_theme_options={"repository_url": ""})
    derive_address(None, config)
    assert config.html_baseurl == "https://pumps.example.org/book/"


@pytest.mark.parametrize("remote", BUTTONS)
def test_buttons_lead_to_the_repository_that_the_book_came_from(fork: SmallBook, remote: str) -> None:
    """Each build but the first is warm: a changed remote is a change like any other."""
    git(fork.root, "remote", "set-url", "origin", remote)
    run = fork.press("build")
    assert run.status == 0, run.output
    assert buttons(fork.site, "index") == sorted(BUTTONS[remote])
    assert shown(fork.site, "valves").select_one("article a[href$='/issues']")["href"] == f"{web_address(remote)}/issues"
    page, site = shown(fork.site, "index"), SITES.get(remote)
    tags = {tag["property"]: tag["content"] for tag in page.select("meta[property]")}
    assert tags.get("og:url") == (f"{site}index.html" if site else None)
    assert tags.get("og:image") == (f"{site}_static/social.png" if site else None)
    assert (fork.site / "sitemap.xml").exists() == bool(site)
    assert "secret" not in page.decode()


def test_a_commit_gives_its_pages_their_date_and_leaves_the_others(fork: SmallBook) -> None:
    git(fork.root, "remote", "set-url", "origin", "git@github.com:pumps/book.git")
    assert fork.press("build").status == 0
    assert [date(fork.site, name) for name in ("index", "valves", "pipes")] == ["3 February 2021"] * 2 + [""]
    written = (fork.site / "valves.html").stat().st_mtime_ns
    git(fork.root, "add", "book/pipes.md")
    git(fork.root, "commit", "--quiet", "--message", "A page", day="2022-05-06")
    assert fork.press("build").status == 0
    assert [date(fork.site, name) for name in ("index", "valves", "pipes")] == ["3 February 2021"] * 2 + ["6 May 2022"]
    urls = ElementTree.parse(fork.site / "sitemap.xml").getroot().findall(f"{{{SCHEMA}}}url")
    assert [url.findtext(f"{{{SCHEMA}}}lastmod") for url in urls] == ["2021-02-03", "2022-05-06", "2021-02-03"]
    assert (fork.site / "valves.html").stat().st_mtime_ns == written
    assert "up to date" in fork.press("build").output


def test_a_machine_without_git_takes_the_links_of_the_settings(book: SmallBook) -> None:
    book.replace("The pump idles at", "The pump idles now at")
    run = book.press("build", PATH="")
    assert run.status == 0, run.output
    assert GIVEN in buttons(book.site, "index") and len(buttons(book.site, "index")) == 4


# ---- the links of this book

@pytest.fixture(scope="module")
def committed() -> set[str]:
    """The files of the last commit."""
    try:
        return set(git(ROOT, "ls-tree", "-r", "--name-only", "--full-tree", "HEAD").splitlines())
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this checkout has no history")


@pytest.mark.parametrize("name", PAGES)
def test_links_into_the_repository_lead_to_files_of_its_last_commit(site: Path, committed: set[str], name: str) -> None:
    """A page opens in Binder as the notebook that `binder/postBuild` writes beside its source."""
    address, branch = (found or given for found, given in zip(origin(ROOT), (GIVEN, SETTINGS["branch"]), strict=True))
    source = re.compile(rf"{re.escape(address)}/(?:-/)?(?:edit|blob|tree|raw)/{re.escape(branch)}/([^?#]+)")
    notebook = re.compile(rf"https://mybinder.org/v2/{re.escape(binder_place(address, branch))}\?urlpath=lab/tree/(.+)\.ipynb")
    links = [link["href"] for link in shown(site, name).select(f"a[href^='{address}'], a[href*='urlpath=']")]
    for link in set(links) - {address}:
        if "/issues" not in link:
            file, run = source.fullmatch(link), notebook.fullmatch(link)
            assert (file and file[1] in committed) or (run and f"{run[1]}.md" in committed), link
    launches = [link for link in links if "urlpath=" in link]
    runs = "{code-cell}" in (ROOT / "book" / f"{name}.md").read_text("utf8")
    assert [link.rpartition("?")[2] for link in launches] == [f"urlpath=lab/tree/book/{name}.ipynb"] * runs
