"""Mathematics set at build time: what is drawn, what is spoken, and that bad TeX stops a build."""

from __future__ import annotations

import io
import re
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree

import pytest
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from lessonlib.book import maths

GOOD = [
    r"\mathbf h_t \in \mathbb R^H",
    r"\left\lVert \frac{\partial \mathbf h_T}{\partial \mathbf h_t} \right\rVert_2 \le (\gamma\,\sigma_\text{max})^{T-t}",
    r"\mathbf W = \begin{bmatrix} a & \cdots & b \\ \vdots & \ddots & \vdots \\ c & \cdots & d \end{bmatrix}",
    r"\mathbf g \leftarrow \begin{cases} \mathbf g & \text{if } \lVert \mathbf g \rVert \le c \\ 0 & \text{otherwise} \end{cases}",
    r"\begin{aligned} \mathbf z_t &= \mathbf W_h \mathbf h_{t-1} \\ \mathbf h_t &= \phi(\mathbf z_t) \end{aligned}",
    r"\underbrace{\sum_{k=1}^{T} \ell_k}_{\text{loss}} = \overbrace{\prod_j \boldsymbol\Lambda_j}^{\text{product}}",
    r"\operatorname*{arg\,max}_{y} \log p(y \mid \mathbf x), \quad \widehat\theta, \quad \mathcal O(T^2), \quad \boxed{x}",
]
BAD = {
    "unknown macro": (r"\foo x", r"\foo"),
    "unknown font": (r"\mathbff x", r"\mathbff"),
    "unbalanced brace": (r"\frac{a}{b", "brace"),
    "brace too many": (r"a}b", "brace"),
    "unknown environment": (r"\begin{nope}x\end{nope}", "nope"),
    "environments crossed": (r"\begin{matrix}x\end{pmatrix}", "pmatrix"),
    "missing argument": (r"\frac{a}", "argument"),
    "two exponents": (r"a^b^c", "exponent"),
    "left without right": (r"\left( x", "right"),
    "stray ampersand": (r"a & b", "&"),
    "number inside": (r"x \tag{1}", ":label:"),
    "macro of a page's own": (r"\newcommand{\x}{y} \x", "newcommand"),
    "no such glyph": (r"\text{é}", "é"),
}


@pytest.mark.parametrize("tex", GOOD)
def test_formula_is_drawn_and_spoken(tex: str) -> None:
    answer = maths.typeset(tex, True)
    drawing, speech = ElementTree.fromstring(answer["svg"]), ElementTree.fromstring(answer["mathml"])
    assert drawing.get("aria-hidden") == "true" and drawing.get("width").endswith("ex")
    assert 'fill="currentColor"' in answer["svg"]
    assert speech.tag == "math" and "".join(speech.itertext()).strip()
    uses = re.findall(r'href="#([^"]+)"', answer["svg"])
    assert uses and set(uses) <= set(maths.typesetter().outlines())
    assert " id=" not in answer["svg"], "an id would stand twice in a page that uses the formula twice"


def test_spoken_form_has_the_structure_of_the_formula() -> None:
    spoken = ElementTree.fromstring(maths.typeset(r"\frac{\mathbf a}{b_i}", False)["mathml"])
    numerator, denominator = spoken.find("mfrac")
    assert "".join(numerator.itertext()) == "a" and numerator.find(".//mi").get("mathvariant") == "bold"
    assert denominator.tag == "msub" and "".join(denominator.itertext()) == "bi"


@pytest.mark.parametrize(("tex", "said"), BAD.values(), ids=BAD)
def test_bad_tex_is_refused(tex: str, said: str) -> None:
    assert said in maths.typeset(tex, True)["error"]


def test_lines_are_aligned_unless_they_belong_to_an_environment() -> None:
    assert maths.displayed(r"a &= b \\ c &= d") == r"\begin{aligned}a &= b \\ c &= d\end{aligned}"
    matrix = r"\begin{bmatrix} a \\ b \end{bmatrix}"
    assert maths.displayed(matrix) == matrix
    nested = r"\begin{cases} a \\ \begin{matrix} b \\ c \end{matrix} \end{cases}"
    assert maths.displayed(nested) == nested
    assert maths.displayed(rf"x &= {matrix} \\ y &= {nested}").startswith(r"\begin{aligned}")


def test_page_gets_each_outline_once() -> None:
    formula = maths.typeset(r"h_t + h_k", False)["svg"]
    page = maths.with_glyphs(f"<html><body class='x'>{formula}{formula}</body></html>", maths.typesetter().outlines())
    ids = re.findall(r'id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'href="#([^"]+)"', page)) == set(ids) - {maths.GLYPHS}
    assert maths.with_glyphs(page, {}) == page, "a second build leaves a finished page alone"
    assert maths.with_glyphs("<body>no formula</body>", {}) == "<body>no formula</body>"


def test_same_formula_is_the_same_text_in_another_engine() -> None:
    first, second = maths.Typesetter(), maths.Typesetter()
    second.typeset("y^2", False)
    assert first.typeset(r"\frac{x}{2}", True) == second.typeset(r"\frac{x}{2}", True)


@pytest.mark.parametrize("name", ["quickjs", "sphinx-mathjax-offline"])
def test_missing_package_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise metadata.PackageNotFoundError(name)
    if name == "quickjs":
        monkeypatch.setitem(__import__("sys").modules, name, None)
    else:
        monkeypatch.setattr(metadata, "distribution", missing)
    with pytest.raises(ExtensionError, match=f"install requirements.txt.*{name}"):
        maths.Typesetter()


def built(folder: Path, text: str) -> tuple[str, str]:
    """HTML of a page of a small project, and the warnings of its build."""
    source, out = folder / "source", folder / "out"
    source.mkdir()
    (source / "index.md").write_text(text, "utf8")
    warnings = io.StringIO()
    settings = {"extensions": ["myst_parser", "lessonlib.book.maths"], "html_math_renderer": maths.RENDERER,
                "myst_enable_extensions": ["dollarmath"], "math_eqref_format": "({number})"}
    Sphinx(source, None, out, folder / "trees", "html", confoverrides=settings, status=None, warning=warnings).build()
    return (out / "index.html").read_text("utf8"), warnings.getvalue()


@pytest.fixture(scope="module")
def good_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    wide = " + ".join(rf"\mathbf W_{{{k}}} \mathbf h_{{{k}}}" for k in range(12))
    page, warnings = built(tmp_path_factory.mktemp("good"), f"""\
# A page about $x_t$

Inline $\\mathbf h_t$, see {{eq}}`eq-one`.

```{{math}}
:label: eq-one
a = b
```

$$
{wide}
$$ (eq-two)

$$
c \\\\ d
$$
""")
    assert warnings == ""
    return page


def test_equations_are_numbered_and_linked(good_page: str) -> None:
    assert re.search(r'<div class="math display"[^>]* id="equation-eq-one"', good_page)
    assert re.search(r'<span class="eqno">\(1\)<a class="headerlink" href="#equation-eq-one"', good_page)
    assert re.search(r'<a class="reference internal" href="#equation-eq-one">\(1\)</a>', good_page)
    assert good_page.count('class="eqno"') == 2, "a display without a label has no number"


def test_only_wide_displays_stop_the_keyboard(good_page: str) -> None:
    assert re.findall(r'class="math-box"( tabindex="0")?', good_page) == ["", ' tabindex="0"', ""]
    assert 'role="group" aria-label="Equation 2"' in good_page


def test_page_needs_no_script_and_shows_no_tex(good_page: str) -> None:
    assert "MathJax" not in good_page and "\\mathbf" not in good_page
    assert len(re.findall("<math", good_page)) >= 5 and good_page.count(f'id="{maths.GLYPHS}"') == 1


def test_every_bad_formula_is_a_warning_at_its_place(tmp_path: Path) -> None:
    _, warnings = built(tmp_path, """\
# Page

A line, then
a bad $\\foo$ formula.

$$
\\frac{a}{b
$$

| table |
| --- |
| $\\bar$ |

- item with $a^b^c$
""")
    places = re.findall(r"index\.md:(\d+): WARNING: mathematics: ([^\n]*)", warnings)
    assert [int(line) for line, _ in places] == [3, 6, 12, 14], warnings
    assert r"\foo" in places[0][1]
