"""Pages as notebooks: each construct of MyST in its plain form, and nothing raw left over."""

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from lessonlib.book import plain_markdown
from lessonlib.book.notebooks import context, measured, readable, write_notebooks
from lessonlib.book.pages import BookError, Project

ROOT = Path(__file__).parents[1]
FRONT = "---\nfile_format: mystnb\nkernelspec: {name: python3, display_name: Python 3}\n---\n"
MEASUREMENTS = {"probe-loss": 0.12345, "probe-norms": [1.0, 7.8e-57], "probe-steps": 12000}
BIBLIOGRAPHY = """
@article{elman1990finding, author = {Elman, Jeffrey L.}, title = {Finding structure in time},
  journal = {Cognitive Science}, year = {1990}, doi = {10.1207/s15516709cog1402_1}}
@article{hochreiter1997long, author = {Hochreiter, Sepp and Schmidhuber, J{\\"u}rgen},
  title = {Long short-term memory}, journal = {Neural Computation}, year = {1997}}
@article{cho2014learning, author = {Cho, Kyunghyun and van Merri{\\"e}nboer, Bart and others},
  title = {Learning phrase representations}, journal = {arXiv preprint}, year = {2014}, eprint = {1406.1078},
  archiveprefix = {arXiv}}
"""
OTHER = """\
(other)=
# The other page

(other-result)=
## What came *out*

```{math}
:label: eq-other
a = b
```
"""


def project(folder: Path, text: str) -> Project:
    """A book of two pages, `probe` with this text and `other`."""
    (folder / "book").mkdir(parents=True)
    (folder / "_toc.yml").write_text("format: jb-book\nroot: probe\nchapters:\n  - file: other\n")
    (folder / "book" / "references.bib").write_text(BIBLIOGRAPHY, "utf8")
    (folder / "book" / "other.md").write_text(OTHER)
    (folder / "book" / "probe.md").write_text(FRONT + text, "utf8")
    return Project(folder)


def notebook(folder: Path, text: str, values: dict = MEASUREMENTS) -> nbformat.NotebookNode:
    """The page `probe` with this text as a readable notebook."""
    book = project(folder, text)
    page = book.pages(["probe"])[0]
    made = readable(page, page.notebook, context(book, values))
    nbformat.validate(made)
    return made


def prose(made: nbformat.NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in made.cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("source, plain", [
    ("A loss of {measured}`probe-loss:.3f`.", "A loss of 0.123."),
    ("{measured}`probe-steps:,d` steps, {measured}`probe-norms[1]:.1e`", "12,000 steps, 7.8 × 10⁻⁵⁷"),
    ("| a | b |\n| --- | --- |\n| {measured}`probe-loss:.1%` | `x` |", "| a | b |\n| --- | --- |\n| 12.3% | `x` |"),
    ("- one {measured}`probe-loss:.1f`\n- two", "- one 0.1\n- two"),
    ("The {term}`hidden state`, {term}`two gates <gate>`.", "The *hidden state*, *two gates*."),
    ("H{sub}`2`O, x{sup}`2`, {math}`a_1`", "H<sub>2</sub>O, x<sup>2</sup>, $a_1$"),
    ("{cite:t}`elman1990finding` found it.", "Elman (1990) found it."),
    ("It is known {cite:p}`cho2014learning,hochreiter1997long`.",
     "It is known (Cho et al., 2014; Hochreiter and Schmidhuber, 1997)."),
    ("See {doc}`other` and {doc}`there </other>`.", "See [The other page](other.ipynb) and [there](other.ipynb)."),
    ("See {ref}`other-result`, {ref}`that <other-result>`.", "See [What came *out*](other.ipynb), [that](other.ipynb)."),
    ("See [there](other.md), [](#other-result), [a site](https://example.org).",
     "See [there](other.ipynb), [What came *out*](other.ipynb), [a site](https://example.org)."),
    ("By {eq}`eq-other`.", "By (equation 1 on [The other page](other.ipynb))."),
    ("Split over\na line {ref}`the\nresult <other-result>`.", "Split over\na line [the result](other.ipynb)."),
    ("kept\n% a comment\n\nalso kept", "kept\n\nalso kept"),
    (":::{admonition} Check\n:class: check\nWhy $a\n= b$?\n:::", "> **Check**\n>\n> Why $a = b$?"),
    ("```{note}\nText.\n\n$$\nx\n$$\n```", "> **Note**\n>\n> Text.\n>\n> $$ x $$"),
    ("```{warning} On the line.\n```", "> **Warning**\n>\n> On the line."),
    ("```{tip}\n:class: dropdown\nText.\n```", "<details>\n<summary>Tip</summary>\n\nText.\n\n</details>"),
    (":::{dropdown} Is `a` < b?\nYes: {measured}`probe-loss:.1f`.\n:::",
     "<details>\n<summary>Is a &lt; b?</summary>\n\nYes: 0.1.\n\n</details>"),
    ("::::{admonition} Check\n:::{dropdown} Answer\nIt is.\n:::\n::::",
     "> **Check**\n>\n> <details>\n> <summary>Answer</summary>\n>\n> It is.\n>\n> </details>"),
    ("- item\n\n  ```{note}\n  Inside.\n  ```\n- next", "- item\n\n  > **Note**\n  >\n  > Inside.\n- next"),
    ("1. ```{tip}\n   First.\n   ```", "1. > **Tip**\n   >\n   > First."),
    ("~~~{list-table} Sizes of {math}`x`\n:header-rows: 1\n:name: tab-sizes\n\n* - a\n  - b\n* - 1\n  - {measured}`probe-loss:.2f`\n    more\n~~~",
     "**Table 1.** Sizes of $x$\n\n| a | b |\n| --- | --- |\n| 1 | 0.12 more |"),
    ("```{list-table}\n* - a\n  -\n* - 1\n```", "|  |  |\n| --- | --- |\n| a |  |\n| 1 |  |"),
    ('```{csv-table}\n:header: a, "b, c"\n1, 2\n```', "| a | b, c |\n| --- | --- |\n| 1 | 2 |"),
    ("```{table} Sizes\n| a |\n| --- |\n| 1 |\n```", "**Table 1.** Sizes\n\n| a |\n| --- |\n| 1 |"),
    ("```{glossary}\n:sorted:\n\ngate\n  A number between 0 and 1,\n  by {cite:t}`cho2014learning`.\n\nlag\n  A distance.\n```",
     "**gate**  \nA number between 0 and 1,\nby Cho et al. (2014).\n\n**lag**  \nA distance."),
    ("gate\n: A number.\n\nlag\n: A distance.", "**gate**  \nA number.\n\n**lag**  \nA distance."),
    ("````{grid} 2\n:gutter: 1\n```{grid-item-card} Start\n:link: other-result\n:link-type: ref\nHere.\n+++\nFoot\n```\n````",
     "**[Start](other.ipynb)**\n\nHere.\n\nFoot"),
    ("::::{tab-set}\n:::{tab-item} One\nFirst.\n:::\n:::{tab-item} Two\nSecond.\n:::\n::::", "**One**\n\nFirst.\n**Two**\n\nSecond."),
    ("```{figure} assets/unit.svg\n:name: fig-unit\n:alt: A unit\n\nA *unit*.\n```", "![A unit](assets/unit.svg)\n\n**Figure 1.** A *unit*."),
    ("```{image} a.svg\n:alt: A\n```", "![A](a.svg)"),
    ("```{code-block} bash\nmake book\n```", "```bash\nmake book\n```"),
    ("```{bibliography}\n```", "*What stands here is made when the site is built; see the page “Probe” there.*"),
    ("```{ledger}\n```", "*What stands here is made when the site is built; see the page “Probe” there.*"),
    ("```{epigraph}\nWords.\n```", "> Words."),
    ("```{prf:theorem} Bound\n:label: thm\nIt holds.\n```\n\nBy {prf:ref}`thm`.",
     "**Theorem 1** (Bound)\n\nIt holds.\n\nBy Theorem 1."),
])
def test_a_construct_has_its_plain_form(tmp_path, source, plain):
    text = prose(notebook(tmp_path, f"# Probe\n\n{source}\n")).split("\n\n## References")[0]
    assert re.sub(r"\n{3,}", "\n\n", text) == f"# Probe\n\n{plain}"


@pytest.mark.parametrize("source", [
    "`{measured}` and ``a ` {ref}`x` b``", "Escaped \\{ref}`x`", "$a_{ref}`x`$ and $$\\{b\\}$$", "    {ref}`in code`",
    "```python\n# {ref}`x`\n```", "````md\n```{note}\nshown\n```\n````", "$$\n\\mathbf{h}\n$$", "<div>{ref}`x`</div>", "a {b} `c`",
])
def test_code_and_mathematics_are_not_touched(tmp_path, source):
    assert prose(notebook(tmp_path, f"# Probe\n\ntext\n\n{source}\n")) == f"# Probe\n\ntext\n\n{source}"


def test_equations_are_numbered_in_order(tmp_path):
    text = prose(notebook(tmp_path, """\
# Probe
First {eq}`eq-b`, then {eq}`eq-a`.

```{math}
:label: eq-a
x &= 1 \\\\
y &= 2
```

```{math}
z
```

$$
w
$$ (eq-b)

```{math}
:label: eq-c
\\begin{align}
u &= 1
\\end{align}
```
"""))
    assert "First (2), then (1)." in text
    assert "$$\n\\begin{split}\nx &= 1 \\\\\ny &= 2\n\\end{split} \\tag{1}\n$$" in text
    assert "$$\nz\n$$" in text and "$$\nw \\tag{2}\n$$" in text
    assert "$$\n\\begin{aligned}\nu &= 1\n\\end{aligned} \\tag{3}\n$$" in text


def test_labels_go_and_references_on_the_page_stay_on_it(tmp_path):
    text = prose(notebook(tmp_path, "(top)=\n# Probe\n\n(one)=\n(uno)=\n## A first part\nSee {ref}`uno`, {ref}`it <one>`, {ref}`two`.\n\n"
                          "(two)=\n## The state $h$\n"))
    assert text == "# Probe\n\n## A first part\nSee [A first part](#A-first-part), [it](#A-first-part), The state $h$.\n\n## The state $h$"


def test_exercises_and_solutions(tmp_path):
    text = prose(notebook(tmp_path, """\
# Probe
```{exercise} A count
:label: ex-count
How many?
```

```{solution} ex-count
:class: dropdown
{measured}`probe-steps:d`, as {ref}`ex-count` asks.
```
"""))
    assert "**Exercise 1** (A count)\n\nHow many?" in text
    assert "<details>\n<summary>Solution to Exercise 1</summary>\n\n12000, as Exercise 1 asks.\n\n</details>" in text


def test_library_code_is_shown_from_its_source(tmp_path):
    (tmp_path / "lessonlib").mkdir()
    (tmp_path / "lessonlib" / "some.py").write_text('def one():\n    """First."""\n    return 1\n\n\nclass Two:\n    def three(self):\n        return 3\n')
    text = prose(notebook(tmp_path, """\
# Probe
```{literalinclude} ../lessonlib/some.py
:pyobject: one
:language: python
```

```{literalinclude} ../lessonlib/some.py
:pyobject: Two.three
:dedent:
```

```{literalinclude} ../lessonlib/some.py
:lines: 1,3
```

```{literalinclude} ../lessonlib/some.py
:pyobject: Two.three
:lines: 2
:dedent: 8
```
"""))
    assert '```python\ndef one():\n    """First."""\n    return 1\n```' in text
    assert "```python\ndef three(self):\n    return 3\n```" in text
    assert "```python\ndef one():\n    return 1\n```" in text
    assert "```python\nreturn 3\n```" in text


FIGURES = """\
# Probe
{numref}`fig-two` follows {numref}`fig-one`; {numref}`picture %s <fig-two>`.

```{code-cell} ipython3
---
name: probe-one
tags: [trained, hide-input]
mystnb:
  figure:
    name: fig-one
    caption: |
      Reached {measured}`probe-loss:.2f`, as {cite:t}`elman1990finding` did.
---
value = 6 * 7
print(value)
```

Between.

```{code-cell} ipython3
---
name: probe-two
mystnb:
  figure:
    name: fig-two
    caption: Second.
---
from lessonlib.measure import record
_ = record("probe-value", value)
```
"""


def test_captions_follow_their_figures_and_cells_stay_as_they_are(tmp_path):
    made = notebook(tmp_path, FIGURES)
    kinds = [cell.cell_type for cell in made.cells]
    assert kinds == ["markdown", "code", "markdown", "markdown", "code", "markdown", "markdown"]
    assert made.cells[0].source.endswith("Figure 2 follows Figure 1; picture 2.")
    assert made.cells[1].source == "value = 6 * 7\nprint(value)"
    assert made.cells[1].metadata == {"name": "probe-one", "tags": ["trained", "hide-input"], "jupyter": {"source_hidden": True}}
    assert made.cells[2].source == "**Figure 1.** Reached 0.12, as Elman (1990) did."
    assert made.cells[5].source == "**Figure 2.** Second."
    assert made.cells[6].source == (
        "## References\n\n- Jeffrey L. Elman. Finding structure in time. *Cognitive Science*, 1990. "
        "[doi:10.1207/s15516709cog1402\\_1](https://doi.org/10.1207/s15516709cog1402_1).")
    assert [cell.id for cell in made.cells] == [f"cell-{index:03d}" for index in range(7)]
    assert made.metadata == {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
                             "language_info": {"name": "python"}}


def test_the_same_page_gives_the_same_notebook_and_its_source_is_not_changed(tmp_path):
    book = project(tmp_path, FIGURES)
    page = book.pages(["probe"])[0]
    before = nbformat.writes(page.notebook)
    made = [nbformat.writes(readable(page, page.notebook, context(book, MEASUREMENTS))) for _ in range(2)]
    assert made[0] == made[1] and nbformat.writes(page.notebook) == before


def test_outputs_are_kept_without_what_only_the_build_reads(tmp_path):
    book = project(tmp_path, "# Probe\n\n```{code-cell} ipython3\n:name: probe-one\n1\n```\n")
    page = book.pages(["probe"])[0]
    given = nbformat.from_dict(page.notebook)
    svg = '<svg class="figure" role="img" viewBox="0 0 330 210" xmlns="http://www.w3.org/2000/svg"><path d="M0 0"/></svg>'
    display = lambda data, **metadata: nbformat.v4.new_output("display_data", data=data, metadata=metadata)
    given.cells[1].outputs = [
        nbformat.v4.new_output("stream", name="stdout", text="42\n"),
        display({"application/vnd.lessonlib.measurement+json": {"name": "probe-value", "value": 42}}),
        display({"text/html": "<p>bold</p>"}),
        display({"text/html": svg, "text/plain": "[figure: a line]"}, lessonlib={"alt": "a line"}),
    ]
    outputs = readable(page, given, context(book, {})).cells[1].outputs
    assert [output.output_type for output in outputs] == ["stream", "display_data", "display_data"]
    assert outputs[0].text == "42\n" and outputs[1].data == {"text/html": "<p>bold</p>"}
    assert set(outputs[2].data) == {"image/svg+xml", "text/plain"} and outputs[2].metadata == {}
    assert '<svg width="440" height="280" ' in outputs[2].data["image/svg+xml"]
    assert len(given.cells[1].outputs) == 4


@pytest.mark.parametrize("source, message", [
    ("a {mystery}`x`", r"book/probe.md, line 7: the role \{mystery\} has no plain form"),
    ("a\n\n```{mystery}\n```", r"line 9: the directive \{mystery\} has no plain form"),
    (":::{note}\na\n\n- {mystery}`x`\n:::", "line 10: the role"),
    ("{measured}`probe-los:.3f`", "line 7: no page records a measurement named probe-los; did you mean probe-loss?"),
    ("{measured}`probe-norms:.3f`", "list of 2"),
    ("{ref}`other-resul`", "no label 'other-resul' in the book; did you mean other-result?"),
    ("[x](#nowhere)", "no label 'nowhere'"),
    ("{doc}`othr`", "no page 'othr' in the book; did you mean other?"),
    ("{cite:t}`elman1990`", "no entry 'elman1990'; did you mean elman1990finding?"),
    ("{{ name }}", "is a substitution"),
    ("a[^1]\n\n[^1]: b", "footnote"),
    ("```{literalinclude} ../none.py\n```", "there is no file ../none.py"),
    ("```{solution} none\n```", "no exercise 'none'"),
    ("(here)=\n\ntext {ref}`here`", "the label here names nothing with a title"),
    ("(other)=\n## Twice", "the label other stands in book/probe.md too"),
])
def test_what_has_no_plain_form_stops_with_page_and_line(tmp_path, source, message):
    with pytest.raises(BookError, match=message.replace("?", r"\?")):
        notebook(tmp_path, f"# Probe\n\n{source}\n")


def test_recorded_numbers_serve_where_nothing_was_executed(tmp_path):
    book = project(tmp_path, FIGURES)
    book.expected.mkdir(parents=True)
    (book.expected / "probe.yml").write_text(
        "seconds: 1\ncells: {}\nmeasurements:\n  probe-loss: {cell: probe-one, kind: trained, value: 0.5}\n")
    assert measured(book, None) == {"probe-loss": 0.5}
    paths = write_notebooks(book, None, tmp_path / "out")
    assert [path.name for path in paths] == ["probe.ipynb", "other.ipynb"]
    made = nbformat.read(paths[0], as_version=4)
    nbformat.validate(made)
    assert "Reached 0.50" in prose(made)
    assert all(cell.outputs == [] for cell in made.cells if cell.cell_type == "code")


def test_a_readable_notebook_runs(tmp_path):
    made = notebook(tmp_path, FIGURES)
    NotebookClient(made, timeout=60, kernel_name="python3", record_timing=False).execute()
    assert made.cells[1].outputs[0].text == "42\n"


def without_code(text: str) -> str:
    """Markdown without blocks of code, code spans and mathematics."""
    text = re.sub(r"(?ms)^([> ]*)(`{3,}).*?^\1\2[ ]*$", "", text)
    return re.sub(r"(?s)(`+)(?!`).+?(?<!`)\1(?!`)|\$\$.+?\$\$|\$[^$]+\$", "", text)


def test_no_page_of_the_book_leaves_anything_raw(monkeypatch):
    monkeypatch.setattr(plain_markdown, "quoted", lambda measurements, target: "0")
    book = Project(ROOT)
    found = context(book, {})
    for page in book.pages():
        made = readable(page, page.notebook, found)
        nbformat.validate(made)
        text = prose(made)
        assert not re.search(r"(?m)^[> ]*(`{3,}|:{3,})\{", text), page.name
        assert not re.search(r"\{[\w:.+-]+\}`|^\([\w-]+\)=$|^%|^:::", without_code(text), re.MULTILINE), page.name
        sources = [cell.source for cell in made.cells if cell.cell_type == "code"]
        assert sources == [cell.source for cell in page.code_cells]
        assert text.startswith("# "), page.name


def test_each_page_of_the_book_can_be_written_from_the_recorded_numbers(tmp_path):
    book = Project(ROOT)
    assert [path.stem for path in write_notebooks(book, None, tmp_path)] == book.page_names()


def test_binder_takes_no_build_of_pytorch_with_cuda():
    lines = (ROOT / "binder" / "requirements.txt").read_text().split("\n")
    assert "--extra-index-url https://download.pytorch.org/whl/cpu" in lines and "-r ../requirements.txt" in lines
    versions = [re.match(r"torch==([\d.]+)\+cpu$", line) for line in lines]
    version = next(match[1] for match in versions if match)
    lock = (ROOT / "requirements.txt").read_text()
    assert re.search(rf"(?m)^torch=={re.escape(version)}(\s|$)", lock)
    assert not re.search(r"(?m)^(nvidia|triton|cuda)", lock)
    assert (ROOT / "binder" / "runtime.txt").read_text().strip() == "python-3.11"
    assert "lessonlib.book notebooks book" in (ROOT / "binder" / "postBuild").read_text()


def test_lines_in_errors_are_those_of_the_page(tmp_path):
    text = "# Probe\n\n```{code-cell} ipython3\n:name: a\n1\n```\n\ntext\n\n{mystery}`x`\n"
    line = (FRONT + text).split("\n").index("{mystery}`x`") + 1
    with pytest.raises(BookError, match=f"line {line}:"):
        notebook(tmp_path, text)
