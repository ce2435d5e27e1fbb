"""Sphinx extension: what pages take from the repository that this checkout came from: links into it, and their dates.

A fork's buttons open the fork, wherever it lives. GitHub and GitLab have links for an edit and for an
issue that the theme knows; on any other host those two buttons are left out.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from docutils import nodes
from sphinx.application import Sphinx

from lessonlib.book.extension import results

BY_SSH = {"ssh.github.com": "github.com", "altssh.gitlab.com": "gitlab.com"}  # hosts that take SSH on the port of HTTPS
OTHER = "bitbucket"  # of the kinds of host that the theme knows, the one that stands for all others


def git(root: Path, *arguments: str) -> str:
    """What git says of a checkout; nothing where there is no git or nothing to say."""
    try:
        return subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def head(root: Path) -> str:
    """The commit of a checkout, which tells the dates of its pages."""
    return git(root, "rev-parse", "--verify", "--quiet", "HEAD")


def web_address(remote: str) -> str:
    """Where people read the repository of a remote; nothing for a folder or an abbreviation.

    A port of SSH tells nothing of the web, a port of HTTPS is kept, and a name or password never is.
    """
    if short := re.fullmatch(r"(?:[\w.-]+@)?([\w-]+(?:\.[\w-]+)+):(?!//)/?(.+)", remote):  # git@host.org:owner/name
        remote = f"ssh://{short[1]}/{short[2]}"
    parts = urlsplit(remote)
    path = parts.path.strip("/").removesuffix(".git")
    if parts.scheme not in ("https", "http", "ssh", "git") or not parts.hostname or not path:
        return ""
    if parts.scheme in ("https", "http"):
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}/{path}"
    return f"https://{BY_SSH.get(parts.hostname, parts.hostname)}/{path}"


def origin(root: Path) -> tuple[str, str]:
    """The address of the repository that a checkout came from, and its main branch; empty where they are not known."""
    address = web_address(git(root, "remote", "get-url", "origin"))
    branch = git(root, "symbolic-ref", "--short", "refs/remotes/origin/HEAD") if address else ""
    return address, branch.removeprefix("origin/")


def provider(address: str) -> str:
    """The kind of host whose links a repository has, by the host's name; nothing for one that we do not know."""
    host = urlsplit(address).hostname or ""
    return next((kind for kind in ("github", "gitlab") if kind in host), "")


def binder_place(address: str, branch: str) -> str:
    """How BinderHub names a branch of a repository: it splits at the first slash, so those of an address are escaped."""
    host, path = urlsplit(address).hostname, urlsplit(address).path.strip("/")
    place = {"github.com": f"gh/{path}", "gitlab.com": f"gl/{quote(path, safe='')}"}.get(host, f"git/{quote(address, safe='')}")
    return f"{place}/{quote(branch)}"


def derive_repository(app: Sphinx, config: Any) -> None:
    """Tell the theme where the repository lives: where the checkout came from, else what `_config.yml` says."""
    options = config.html_theme_options
    address, branch = origin(results().project.root)
    config.html_context["repository_given"] = options["repository_url"]
    options["repository_url"] = address or options["repository_url"]
    options["repository_branch"] = branch or options["repository_branch"]
    kind = options.get("repository_provider") or provider(options["repository_url"])
    options["repository_provider"] = kind or OTHER
    if not kind:
        options.update(use_edit_page_button=False, use_issues_button=False)


def mend_links(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Let links in the text that lead to the repository of `_config.yml` lead to the one that the checkout came from."""
    given, address = app.config.html_context["repository_given"], app.config.html_theme_options["repository_url"]
    for link in doctree.findall(nodes.reference):
        if re.match(rf"{re.escape(given)}(/|$)", link.get("refuri", "")):
            link["refuri"] = address + link["refuri"].removeprefix(given)


def mend_buttons(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Let the launch button open the notebook that Binder writes beside each page, from hosts of every kind."""
    options = app.config.html_theme_options
    place = binder_place(options["repository_url"], options["repository_branch"])
    for group in context.get("header_buttons", []):
        for button in [group, *(group.get("buttons") or [])]:
            button["icon"] = button["icon"].replace(f"fa-{OTHER}", "fa-git-alt")
            if button.get("text") == "Binder":
                button["url"] = re.sub(r"/v2/[^?]*", f"/v2/{place}", button["url"].removesuffix(".md") + ".ipynb")


def forget_dates(app: Sphinx, env: Any, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """Have git asked again when each page last changed, where there is another commit than at the last build."""
    known, env.commit = getattr(env, "commit", None), head(results().project.root)
    env.dates_before = dict(env.git_last_updated)
    if env.commit != known:
        env.git_last_updated.update(dict.fromkeys(env.git_last_updated))
    return []


def redated(app: Sphinx, env: Any) -> list[str]:
    """Pages to write again because they have another date; without git they have none, and still show their source."""
    env.git_last_updated.update({name: (None, True) for name, date in env.git_last_updated.items() if date is None})
    return [name for name, date in env.git_last_updated.items() if env.dates_before.get(name) != date]


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", derive_repository, priority=1)
    app.connect("env-get-outdated", forget_dates)
    app.connect("env-updated", redated, priority=900)  # once the dates are known
    app.connect("doctree-resolved", mend_links)
    app.connect("html-page-context", mend_buttons, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "version": "1"}
