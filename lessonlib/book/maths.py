"""Mathematics set while the site is built: SVG for the eye, MathML for the screen reader, no script in the page.

MathJax 3 runs inside this process, in the small JavaScript engine QuickJS; both are pip packages, so a
build needs no Node and no network. Formulas are sized in `ex` and painted in `currentColor`, so they
follow the text around them in size and colour, and nothing moves while a page loads. Each glyph's
outline stands in a page once, however often the page uses it. TeX that MathJax cannot set is a
Sphinx warning with file and line, hence the end of a strict build.
"""

from __future__ import annotations

import html
import json
import re
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

LOG = logging.getLogger(__name__)
RENDERER = "prerendered"
COMPONENTS = ["loader", "core", "adaptors/liteDOM", "input/tex-full", "output/svg", "output/svg/fonts/tex"]
PHONE = 30  # ex; a wider display may have to scroll on a phone, so that the keyboard must reach it
INNERMOST = re.compile(r"\\begin\{(\w+\*?)\}(?:(?!\\begin).)*?\\end\{\1\}", re.DOTALL)  # environment without another inside
NOT_OURS = re.compile(r"\\(label|tag|newcommand|def|require)\b")
GLYPHS = "math-glyphs"  # id of the element of a page that holds the outlines

# Packages: those that JupyterLab too has without being asked, so that a formula means the same there.
# `noundefined` and `noerrors` are left out: they would hide mistakes.
SCRIPT = """
const parts = MathJax._, adaptor = parts.adaptors.liteAdaptor.liteAdaptor();
parts.mathjax.mathjax.handlers.register(new parts.handlers.html.HTMLHandler.HTMLHandler(adaptor));
const tex = new parts.input.tex_ts.TeX({
  packages: ['base', 'ams', 'boldsymbol', 'cancel'], formatError(_, error) { throw error; }});
const svg = new parts.output.svg_ts.SVG({fontCache: 'global', font: new parts.output.svg.fonts.tex_ts.TeXFont()});
const paper = parts.mathjax.mathjax.document('', {InputJax: tex, OutputJax: svg});
const visitor = new parts.core.MmlTree.SerializedMmlVisitor.SerializedMmlVisitor();
function typeset(source, display) {
  try {
    const tree = paper.convert(source, {display, end: parts.core.MathItem.STATE.CONVERT});
    const drawn = paper.convert(source, {display, em: 16, ex: 8, containerWidth: 1280});
    return JSON.stringify({svg: adaptor.innerHTML(drawn), mathml: visitor.visitTree(tree)});
  } catch (error) { return JSON.stringify({error: error.message}); }
}
function outlines() { return adaptor.innerHTML(svg.fontCache.getCache()); }
"""


class Typesetter:
    """MathJax in a JavaScript engine of its own.

    Raises
    ------
    ExtensionError
        If one of the two packages is not installed.
    """

    def __init__(self) -> None:
        try:
            import quickjs
            folder = metadata.distribution("sphinx-mathjax-offline").locate_file("sphinx-mathjax-offline/static/mathjax")
        except (ImportError, metadata.PackageNotFoundError) as error:
            raise ExtensionError("mathematics are set with the packages quickjs-ng and sphinx-mathjax-offline; "
                                 f"install requirements.txt ({error})") from error
        engine = quickjs.Context()
        engine.eval("var global = globalThis, MathJax = {loader: {load: []}, startup: {typeset: false, ready() {}}};")
        for component in COMPONENTS:
            engine.eval(Path(str(folder), f"{component}.js").read_text("utf8"))
        engine.eval(SCRIPT)
        self._engine = engine  # the functions below live only as long as it
        self._typeset, self._outlines = engine.get("typeset"), engine.get("outlines")

    def typeset(self, tex: str, display: bool) -> dict[str, str]:
        """`{"svg": ..., "mathml": ...}` of a formula, or `{"error": why not}`."""
        if found := NOT_OURS.search(tex):
            return {"error": f"{found[0]} has no place in a formula here; number an equation with :label:"}
        answer = json.loads(self._typeset(tex, display))
        if "<text" in answer.get("svg", ""):
            missing = "".join(re.findall(r"<text[^>]*>([^<]*)", answer["svg"]))
            return {"error": f"the mathematics font has no {html.unescape(missing)!r}"}
        return {kind: compact(text) for kind, text in answer.items()}

    def outlines(self) -> dict[str, str]:
        """The `<path>` of every glyph used so far, by its id."""
        return {re.search(r'id="([^"]+)"', path)[1]: path
                for path in re.findall(r"<path .*?</path>", self._outlines())}


def without_plain_groups(markup: str) -> str:
    """Markup without the groups that neither move nor colour what they hold: each is an element that a phone lays out."""
    groups, kept_parts = [], []
    for part in re.split(r"(</?g\b[^>]*>)", markup):
        if part.startswith("<g"):
            groups.append(part)
        if (groups.pop() if part == "</g>" else part) != "<g>":
            kept_parts.append(part)
    return "".join(kept_parts)


def compact(markup: str) -> str:
    """Markup without MathJax's notes to itself, which are more than half of it."""
    markup = re.sub(r' (data-[\w-]+|xmlns(:\w+)?|role|focusable)="[^"]*"', "", markup)
    markup = without_plain_groups(re.sub(r">\s+<", "><", markup.replace("xlink:href", "href")))
    return markup.replace("<svg ", '<svg aria-hidden="true" ', 1)


@cache
def typesetter() -> Typesetter:
    """The one engine of this process."""
    return Typesetter()


FORMULAS: dict[str, dict[str, str]] = {}  # what is set already, by style and TeX
OUTLINES: dict[str, str] = {}  # the glyphs of all these


def typeset(tex: str, display: bool) -> dict[str, str]:
    """A formula, set once however often the book uses it, and kept from one build to the next."""
    key = f"{'display' if display else 'inline'} {tex}"
    if key not in FORMULAS:
        FORMULAS[key] = typesetter().typeset(tex, display)
    return FORMULAS[key]


def kept(app: Sphinx) -> Path:
    """Where formulas wait for the next build: beside the doctrees, which end with whatever may change them."""
    return Path(app.doctreedir) / "maths.json"


def recall(app: Sphinx) -> None:
    """Take up the formulas of the last build."""
    if kept(app).is_file():
        formulas, outlines = json.loads(kept(app).read_text("utf8"))
        FORMULAS.update(formulas)
        OUTLINES.update(outlines)


def displayed(tex: str) -> str:
    """TeX of a `{math}` block: lines parted by `\\\\` are aligned at `&`, as Sphinx's own renderers do it."""
    outside = tex
    while (fewer := INNERMOST.sub("", outside)) != outside:
        outside = fewer
    return rf"\begin{{aligned}}{tex.strip()}\end{{aligned}}" if r"\\" in outside else tex.strip()


def formula(node: nodes.Element, tex: str, display: bool) -> tuple[str, float]:
    """Markup of a formula and its width in `ex`; a formula that cannot be set is a warning at its place."""
    answer = typeset(tex, display)
    if "error" in answer:
        LOG.warning("mathematics: %s in: %s", answer["error"], node.astext().strip(), location=node, type="maths")
        return f"<code>{html.escape(node.astext())}</code>", 0.0
    return answer["svg"] + answer["mathml"], float(re.search(r'width="([\d.]+)ex"', answer["svg"])[1])


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write an inline formula."""
    translator.body.append(f'<span class="math">{formula(node, node.astext(), False)[0]}</span>')
    raise nodes.SkipNode


def visit_display(translator: Any, node: nodes.math_block) -> None:
    """Write a display, in a box that scrolls when the page is too narrow for it, with its number beside it."""
    tex = node.astext() if node.get("no-wrap", node.get("nowrap")) else displayed(node.astext())
    markup, width = formula(node, tex, True)
    number = get_node_equation_number(translator, node) if node.get("number") else ""
    name = f"Equation {number}" if number else "Equation"
    reach = f' tabindex="0" role="group" aria-label="{name}"' if width > PHONE else ""
    translator.body.append(translator.starttag(node, "div", "", CLASS="math display"))
    translator.body.append(f'<div class="math-box"{reach}>{markup}</div>')
    if number:
        translator.body.append(f'<span class="eqno">({number})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def with_glyphs(page: str, outlines: dict[str, str]) -> str:
    """A page with the outlines of the glyphs it uses; unchanged if it has them, or has no formula."""
    used = sorted(set(re.findall(r'<use [^>]*href="#(MJX-[^"]+)"', page)))
    if not used or f'id="{GLYPHS}"' in page:
        return page
    paths = "".join(outlines[name] for name in used)
    svg = f'<svg id="{GLYPHS}" aria-hidden="true" width="0" height="0" style="position:absolute"><defs>{paths}</defs></svg>'
    return re.sub(r"<body[^>]*>", lambda body: body[0] + svg, page, count=1)


def add_glyphs(app: Sphinx, failure: Exception | None) -> None:
    """Give every page that was written the outlines that it uses."""
    if failure is not None or app.builder.format != "html":
        return
    if typesetter.cache_info().currsize:  # formulas were set in this build
        OUTLINES.update(typesetter().outlines())
    kept(app).write_text(json.dumps([FORMULAS, OUTLINES]), "utf8")
    for path in Path(app.outdir).rglob("*.html"):
        page = path.read_text("utf8")
        if (complete := with_glyphs(page, OUTLINES)) != page:
            path.write_text(complete, "utf8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer the renderer to Sphinx: `html_math_renderer = "prerendered"`."""
    app.add_html_math_renderer(RENDERER, (visit_inline, None), (visit_display, None))
    app.connect("builder-inited", recall)
    app.connect("build-finished", add_glyphs)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
