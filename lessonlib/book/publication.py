"""Sphinx extension: what a published site has around its pages: its address, a site map, a page for lost readers, and itself as one archive."""

from __future__ import annotations

import datetime
import html
import re
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

from sphinx.application import Sphinx

ARCHIVE = "sequences-measured.zip"
MISSING = """<h1>Page not found</h1>
<p>This address leads to no page of the book. It may have moved: look for it in the contents, or search for it.</p>"""
PREVIEW = "social.png"
PREVIEW_ALT = "Gradient norm by position for four kinds of layer, under the title Sequences, Measured."
SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"


def pages_address(repository: str) -> str:
    """Where the site of a repository is published, by the custom of its host.

    `https://github.com/OWNER/NAME` becomes `https://OWNER.github.io/NAME/`, and likewise for GitLab. The
    repository `OWNER.github.io` is published at the root. Other hosts have no custom; there, set
    `html_baseurl` in `_config.yml`.
    """
    match = re.fullmatch(r"https://(github|gitlab)\.com/([^/]+)/(.+)", repository)
    if not match:
        return ""
    host, owner, name = match[1], match[2].lower(), match[3]
    site = f"{owner}.{host}.io"
    return f"https://{site}/" if name.lower() == site else f"https://{site}/{name}/"


def derive_address(app: Sphinx, config: Any) -> None:
    """Set the address that search engines and previews need, where it is known; it ends with a slash."""
    address = config.html_baseurl or pages_address(config.html_theme_options["repository_url"])
    config.html_baseurl = f"{address.rstrip('/')}/" if address else ""


def add_preview(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """What a service shows of a link to the page. (sphinxext-opengraph imports Matplotlib, which costs every edit two seconds.)"""
    if doctree is None:
        return
    site = app.config.html_baseurl
    description = re.search(r'<meta content="([^"]*)" name="description"', context["metatags"])
    shown = {"title": context["title"], "type": "article", "site_name": app.config.html_title,
             "description": description[1] if description else ""}
    if site:  # these services take whole addresses alone
        shown |= {"url": f"{site}{pagename}.html", "image": f"{site}_static/{PREVIEW}", "image:alt": PREVIEW_ALT}
    context["metatags"] += "".join(f'<meta property="og:{name}" content="{html.escape(re.sub("<[^>]+>", "", text), quote=True)}" />\n'
                                   for name, text in shown.items())


def missing_page(app: Sphinx) -> list[tuple[str, dict[str, Any], str]]:
    """The page that hosts show for an address that leads nowhere."""
    return [("404", {"title": "Page not found", "body": MISSING}, "page.html")]


def with_whole_addresses(page: str, root: str) -> str:
    """A page whose links start at the root of its host, since it is shown at any depth."""
    page = re.sub(r'\b(href|src|action)="(?![a-z]+:|/|#)([^"]*)"', rf'\1="{root}\2"', page)
    return page.replace('data-content_root="./"', f'data-content_root="{root}"')


def write_site_map(app: Sphinx) -> None:
    """List all pages with the day of their last change, for search engines."""
    root = ElementTree.Element("urlset", xmlns=SCHEMA)
    for name in sorted(app.env.found_docs):
        url = ElementTree.SubElement(root, "url")
        ElementTree.SubElement(url, "loc").text = f"{app.config.html_baseurl}{name}.html"
        changed, _ = app.env.git_last_updated.get(name) or (None, False)
        if changed:
            day = datetime.datetime.fromtimestamp(int(changed), datetime.UTC).date()
            ElementTree.SubElement(url, "lastmod").text = day.isoformat()
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(Path(app.outdir) / "sitemap.xml", xml_declaration=True, encoding="utf-8")


def write_archive(out: Path) -> None:
    """The site as one file, for reading without a network; the same bytes for the same site."""
    archive = out / ARCHIVE
    archive.unlink(missing_ok=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for path in sorted(path for path in out.rglob("*") if path.is_file() and not path.name.startswith(".")):
            if path != archive:
                entry = zipfile.ZipInfo(f"sequences-measured/{path.relative_to(out).as_posix()}")
                packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 1)


def finish(app: Sphinx, failure: Exception | None) -> None:
    if failure is None and app.builder.format == "html":
        if app.config.html_baseurl:
            write_site_map(app)
        missing = Path(app.outdir) / "404.html"
        missing.write_text(with_whole_addresses(missing.read_text("utf8"), urlsplit(app.config.html_baseurl).path or "/"), "utf8")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", derive_address, priority=2)  # once the address of the repository is known
    app.connect("html-page-context", add_preview)
    app.connect("html-collect-pages", missing_page)
    app.connect("build-finished", finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
