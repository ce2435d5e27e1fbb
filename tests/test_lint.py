"""Numbers typed into prose are found there, and only there."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessonlib.book.compare import compare
from lessonlib.book.expected import explain, load
from lessonlib.book.lint import FILLED, banned_words, lint, prose, quotes, sentences
from lessonlib.book.pages import Project

settings.register_profile("book", deadline=None, derandomize=True, database=None, max_examples=60)
settings.load_profile("book")


def found(text):
    return [finding.found for finding in lint(text)]


TYPED = ["3.14", ".5", "-0.5", "\u22120.5", "1,024.5", "0.5s", "12 %", "12%", r"12\%", "1.5 %", ".5%", "12 per cent", "12 percent", "12-percent",
         "3 ‰", "1e-5", "1.5e-05", "2E+6", "10⁻⁵", "10^-5", "10^5", "10**5", "10^{-5}", "7.8 × 10⁻⁵⁷", "3 · 10⁴", "10<sup>-5", "10{sup}`-5",
         "×1.5", "x1.5", "1.5×", "1.5 times", "2.5-fold", "2.5x"]


@pytest.mark.parametrize("number", TYPED)
def test_a_typed_number_is_found_where_it_stands(number):
    text = f"# Title\n\nThe loss of the GRU\nis {number} here, and no more.\n"
    (finding,) = lint(text)
    assert (finding.line, finding.column, finding.found) == (4, 4, number)
    assert "{measured}" in finding.why


@pytest.mark.parametrize("text", [
    "There are 12 lags, 1,024 steps and 3 models.", "In 1997, after 10 to 20 epochs, 2 times.", "1. First\n2. Second", "Use torch 2.13.0 or v1.5.",
    "Python 3.11 to 3.13 and PyTorch 2.13 run.", "Text under CC BY 4.0 is free.", "From version 1.2 on.", "Versions 3.11, 3.12 and 3.13 work.",
    "The file 2024-05-17 holds W_h1, conv2d and s000.5 only.", "The step 5.", "See arXiv:1412.3555 and doi:10.1162/neco.1997.9.8.1735 for it.",
    "The first 10, then 5 more.", "One hundred {measured}`x:.1%` or {measured}`y:.3f` %.",
])
def test_what_is_no_measured_number_passes(text):
    assert found(text) == []


NOT_PROSE = {
    "front matter": "---\nexecution: 0.5\n---\nText",
    "inline code": "Text `0.5` and ``lr = `1e-5` `` here",
    "code over two lines": "Text `a =\n0.5` here",
    "role": "Text {term}`hidden 0.5` and {ref}`part 2.5 <x>` here",
    "measured role": "Text {measured}`race-curve[2]:.3f` here",
    "inline maths": "Text $0.9^{100} = 2.7 \\times 10^{-5}$ here, and $a$ is 12",
    "maths over two lines": "Text $0.9 +\n0.1$ here",
    "display maths": "$$\n0.5\n$$\n\nText\n\n\\begin{align}\n0.5\n\\end{align}",
    "display maths with a label": "$$ 0.5 $$ (eq-x)",
    "maths fence": "```{math}\n:label: eq-x\n0.5\n```",
    "colon maths fence": ":::{math}\n0.5\n:::",
    "code fence": "```python\nx = 0.5\n```",
    "tilde fence": "~~~\nx = 0.5\n~~~",
    "tilde in a fence": "```python\n~~~\nx = 0.5\n```",
    "bare fence": "```\n0.5\n```",
    "code block of text": "```{code-block} text\n0.5\n```",
    "long fence": "````\n```\n0.5\n```\n0.5\n````",
    "code cell": "```{code-cell} ipython3\n:name: x-y\nx = 0.5\n# 12 %\n```",
    "code cell with YAML": "```{code-cell} ipython3\n---\nname: x\nwidth: 0.5\n---\nx = 0.5\n```",
    "included code": "```{literalinclude} ../a0.5.py\n:lines: 0.5\n```",
    "block quote": "> it was 0.5, they said\n> and 12 %\n\nText",
    "link target": "[text](https://x.org/0.5/a) and <https://x.org/0.5> and https://x.org/v/0.5 too",
    "relative link": "[text](file-0.5.md)",
    "link definition": "[id]: https://x.org/0.5",
    "comment": "Text <!-- 0.5\n12 % --> here\n% 0.5 is a comment",
    "directive option": ":::{admonition} Note\n:width: 0.5\n:class: check\nText\n:::",
    "figure path and width": "```{figure} images/0.5.svg\n:width: 50%\nText\n```",
    "label": "(sec-0.5)=\n# Title",
    "attributes": "![text](a.png){width=50%} and [text]{.x size=0.5}",
    "substitution": "Text {{ x_0.5 }} here",
    "HTML tag": 'Text <span style="width: 50%">here</span>',
    "code in a list": "- item\n\n  ```python\n  x = 0.5\n  ```\n",
    "nested code": "::::{admonition} A\n:::{dropdown} B\n```{code-block} python\nx = 0.5\n```\n:::\n::::",
}


@pytest.mark.parametrize("text", NOT_PROSE.values(), ids=NOT_PROSE.keys())
def test_what_is_not_prose_passes_and_hides_nothing_after_it(text):
    assert found(text) == []
    after = text + "\n\nThen 0.75 follows.\n"
    (finding,) = lint(after)
    assert (finding.found, finding.line) == ("0.75", after.count("\n"))


PROSE = {
    "heading": "## The 0.5 mark",
    "list": "- first\n- then 0.5",
    "table": "| a | b |\n| - | - |\n| GRU | 0.5 |",
    "emphasis": "it is **0.5** here",
    "link text": "[the 0.5 run](x.md)",
    "admonition": ":::{admonition} Check\n:class: check\nIs it 0.5?\n:::",
    "admonition title": ":::{admonition} The 0.5 rule\nText\n:::",
    "dropdown in an admonition": ":::{admonition} Check\nWhat?\n\n```{dropdown} Answer\nIt is 0.5.\n```\n:::",
    "caption in YAML": "See {numref}`fig-x`.\n\n```{code-cell} ipython3\n---\nname: x\nmystnb:\n  figure:\n    name: fig-x\n    caption: |\n      A message\n      with 0.5 in it.\n---\ny = 0.25\n```",
    "caption on one line": "```{code-cell} ipython3\n---\nmystnb:\n  figure:\n    caption: A message with 0.5 in it.\n    width: 0.25\n---\n```",
    "caption as an option": "```{literalinclude} a.py\n:caption: The 0.5 rule\n:lines: 0.25\n```",
    "figure caption": "```{figure} a0.25.svg\n:width: 25%\nA rule of 0.5.\n```",
    "description of a figure": "```{figure} a0.25.svg\n:alt: A curve that ends at 0.5.\n:width: 25%\n```",
    "description in YAML": "```{code-cell} ipython3\n---\nmystnb:\n  image:\n    alt: A curve\n      at 0.5.\n    width: 0.25\n---\n```",
    "description of the page": "---\nexecution: 0.25\nmyst:\n  html_meta:\n    description: \"It reaches 0.5.\"\n---\nText",
    "text fence": "```text\nrecorded 0.5\n```",
    "list table": "```{list-table}\n:widths: 1 2\n* - a\n  - 0.5\n```",
    "glossary": "```{glossary}\nterm\n: It is 0.5.\n```",
    "image text": "![a curve at 0.5](a0.25.svg)",
    "after an escaped dollar": r"It costs \$5 and 0.5 \$ more",
    "between two prices in two paragraphs": "It costs $5\n\nand 0.5 or $6",
    "after a stray backtick": "A ` is a mark\n\nand 0.5 or ` too",
    "beside a role": "{measured}`x:.1f` of 0.5",
    "after another product": "The GRU 0.5 is ahead.",
    "footnote": "[^1]: It is 0.5.",
}


@pytest.mark.parametrize("text", PROSE.values(), ids=PROSE.keys())
def test_prose_is_looked_at_wherever_it_stands(text):
    assert found(text) == ["0.5"]


def test_a_version_is_no_excuse_for_a_percentage_or_factor():
    assert found("With Python 3.5 % of them") == ["3.5 %"]
    assert found("With Python 3.5× the speed") == ["3.5×"]


@pytest.mark.parametrize(("text", "numbers"), [
    ("They report 0.5 on it {cite:p}`x`. We see 0.7.", ["0.7"]),
    ("We see 0.7. They report 0.5,\nas {cite:t}`x` says. So 0.8 it is.", ["0.7", "0.8"]),
    ("Jozefowicz et al. reached 0.5 with 12 %, e.g. there {cite}`x`.", []),
    ("Others got 0.5, see e.g. Smith {cite:p}`x`.", []),
    ("| 0.5 | {cite}`x` |\n| 0.7 | - |", ["0.7"]),
    ("- 0.5 {cite}`x`\n- 0.7", ["0.7"]),
    ("0.7 stands alone\n\nand 0.5 is cited {cite}`x`", ["0.7"]),
    ("# A title with {cite}`x`\nand 0.7", ["0.7"]),
    ("{cite:t}`x` found 0.5! And 0.7?", ["0.7"]),
    ("It is 0.7. `code` then 0.5 {cite}`x`", ["0.7"]),
    ("{term}`x` found 0.5.", ["0.5"]),
    ("`{cite}` found 0.5.", ["0.5"]),
])
def test_a_sentence_with_a_citation_may_hold_its_figures(text, numbers):
    assert found(text) == numbers


@pytest.mark.parametrize("reference", ["Chapter 7", "Section 3.2", "figures 4", "Fig. 4", "table\n2", "Eq. 12", "lab 3"])
def test_a_reference_by_a_number_is_found_once(reference):
    (finding,) = lint(f"# Title\n\nAs {reference} shows, it holds.")
    assert (finding.line, finding.column, finding.found) == (3, 4, reference.replace("\n", " "))
    assert "{numref}" in finding.why


@pytest.mark.parametrize("text", [
    "See {numref}`Figure 4 <fig-x>` and {ref}`a`.", "As in Figure 4 of {cite:t}`x`.", "`Section 3`", "In exercise 3, four tables.",
    "> Figure 4 shows it", "```python\n# Figure 4\n```", "The table: 3 rows.", "A collab 3 years long.",
])
def test_other_references_pass(text):
    assert found(text) == []


FIGURES = ["```{code-cell} ipython3\n---\nname: x\nmystnb:\n  figure:\n    name: fig-x\n    caption: Text.\n---\n1\n```",
           "```{figure} x.svg\n:name: fig-x\n:alt: Text\nText.\n```"]


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("reference", ["{numref}`fig-x`", "{ref}`the curve <fig-x>`", "{numref}`Figure %s\n<fig-x>`"])
def test_a_figure_needs_a_sentence_that_refers_to_it(figure, reference):
    (finding,) = lint(f"Text\n\n{figure}\n\nOf {{numref}}`fig-xy` and `` {reference} ``.\n<!-- {reference} -->\n")
    assert finding.found == "fig-x" and "{numref}`fig-x`" in finding.why
    assert found(f"See {reference}.\n\n{figure}\n") == []


def test_findings_come_in_the_order_of_the_page():
    assert found("It is 0.1, 2 % and\n10⁻³ or 0.4 {measured}`X`.") == ["0.1", "2 %", "10⁻³", "0.4", "X"]


@given(st.lists(st.sampled_from([*NOT_PROSE.values(), *PROSE.values(), "Text 0.5 {cite}`x`.", "```", ":::", "$", "`", "{measured}`a-b:.1f`"]), max_size=4))
def test_blanking_keeps_every_place(pieces):
    text = "\n\n".join(pieces)
    visible = prose(text)
    assert [len(line) for line in visible.split("\n")] == [len(line) for line in text.split("\n")]
    assert all(mark in {original, " "} or mark >= FILLED for mark, original in zip(visible, text, strict=True))
    lines = text.split("\n")
    for finding in lint(text):
        assert "".join(lines[finding.line - 1][finding.column - 1:].split()).startswith("".join(finding.found.split()))


@given(st.text(alphabet="a.0 \n`$:{}-|>#%~[]()<!=\\"))
def test_any_text_can_be_read(text):
    assert len(prose(text)) == len(text)
    lint(text)
    banned_words(text)
    quotes(text)


@given(st.lists(st.sampled_from([text for name, text in NOT_PROSE.items() if name != "front matter"]), max_size=5), st.sampled_from(TYPED))
def test_a_number_among_much_that_is_not_prose_is_found(pieces, number):
    assert found("\n\n".join([*pieces, f"It is {number} here.", *pieces])) == [number]


def test_an_unclosed_fence_is_named():
    (finding,) = lint("Text\n\n```python\nx = 0.5\n\nText 0.5\n")
    assert (finding.line, finding.found) == (3, "```")


@pytest.mark.parametrize("text", ["Text\n\n```{raw} html\n<b>0.5</b>\n```", "Text\n\n:::{raw} latex\n:::",
                                  "::::{admonition} A\n\n:::{raw} html\n:::\n::::"])
def test_raw_is_refused(text):
    (finding,) = lint(text)
    assert (finding.line, finding.found) == (3, "{raw}")
    assert lint(f"`````python\n{text}\n`````") == []


def test_sentences_are_told_apart():
    parts = ["At 0.5 it ends, e.g. here. ", "The rest (5.) stays! ", "So"]
    assert sentences("".join(parts)) == parts


def test_the_failure_that_the_book_shows_is_one_of_its_own_record():
    project = Project(Path(__file__).parent.parent)
    cell = load(project, "reading-this-book").cells["reading-printed"]
    third = re.search(r"step 3: (\S+)", cell.text)[1]
    (drift,) = compare(cell.text, cell.text.replace(third, f"{float(third) + 4e-4:.4f}"), cell.kind)
    shown = str(explain("reading-this-book", "reading-printed", drift))
    assert f"```{{code-block}} text\n{shown}\n```" in (project.book / "reading-this-book.md").read_text("utf8")


# ---------------------------------------------------------------- quotations of measurements

def test_quotations_are_listed_with_their_lines():
    text = ("---\ntitle: x\n---\nA {measured}`race-loss:.3f`, B {measured}`race-curve[2]:.1e`\n"
            "```{code-cell} ipython3\n---\nmystnb:\n  figure:\n    caption: |\n      It is {measured}`race-curve[-1][0]:+.2f`.\n---\n"
            "x = '{measured}`no:.1f`'\n```\n> quoted {measured}`race-name`\n\n| {measured}`race-n:,d` | `` {measured}`no-code:d` `` |\n"
            "<!-- {measured}`no-comment:d` -->\n```python\n{measured}`no:d`\n```\n")
    assert quotes(text) == [(4, "race-loss", ".3f"), (4, "race-curve[2]", ".1e"), (10, "race-curve[-1][0]", "+.2f"),
                            (14, "race-name", ""), (16, "race-n", ",d")]
    assert found(text) == []


@pytest.mark.parametrize("role", ["{measured}`Race-loss:.3f`", "{measured}`race loss`", "{measured}`race-curve[x]:.3f`", "{measured}`race-curve[2:.3f`",
                                  "{measured}`:.3f`", "{measured} `race-loss:.3f`", "$a = {measured}`race-loss:.3f`$", "$$\n{measured}`race-loss:.3f`\n$$"])
def test_malformed_quotations_are_found(role):
    text = f"Text {role} here"
    assert len(lint(text)) == 1
    assert "measure" in lint(text)[0].why
    assert quotes(text) == []


def test_a_quotation_between_two_formulas_is_none_of_their_business():
    text = "With $a$ it is {measured}`race-loss:.3f` and with $b$ not; `$` {measured}`race-n:d` `$`"
    assert found(text) == []
    assert [quote.target for quote in quotes(text)] == ["race-loss", "race-n"]


# ---------------------------------------------------------------- words

@pytest.mark.parametrize("phrase", ["simply", "Obviously", "powerful", "let's", "Let’s", "It is important to note", "we will\nnow"])
def test_words_that_the_book_does_not_use(phrase):
    (finding,) = banned_words(f"# Title\n\nHere {phrase} stands.")
    assert (finding.line, finding.column, finding.found) == (3, 6, phrase.replace("\n", " "))


@pytest.mark.parametrize("text", ["a simpler way", "`simply`", "```python\n# simply\n```", "> obviously", "powerfully", "we will", "$simply$", "outlet's"])
def test_other_words_and_code_may_hold_them(text):
    assert banned_words(text) == []
