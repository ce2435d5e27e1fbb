"""Numbers typed by hand, words that the book does not use, and figures that no sentence mentions, in the prose of a page.

A page's source is read as MyST reads it, roughly: everything that is not prose (code, maths, quotations,
roles, link targets, options of directives, comments) is blanked, character by character, so that what
remains stands where it stood. The rules then apply to what remains. Lines and columns count from 1.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from lessonlib.book.quote import parse


class Finding(NamedTuple):
    """Something in prose that may not stand there."""

    line: int
    column: int
    found: str
    why: str


class Quote(NamedTuple):
    """A measurement that prose quotes: `race-curve[2]` with the format `.3f`."""

    line: int
    target: str
    spec: str


# ---------------------------------------------------------------- what is typed

UNIT_OF_PARTS = r"(?:%|‰|per[\s-]?cent(?:age)?\b|percentage\spoints?\b)"
AMOUNT = r"(?:[0-9][0-9,]*(?:\.[0-9]+)?|\.[0-9]+)"
DECIMAL = r"(?:[0-9][0-9,]*)?\.[0-9]+"
PARTS_OF_A_BOOK = r"(?i:chapters?|sections?|figures?|fig\.|tables?|equations?|eq\.|labs?)"
TYPED = re.compile(rf"""
    (?P<reference> \b {PARTS_OF_A_BOOK} \s [0-9]+ (?:\.[0-9]+)* )
  | (?P<percentage> (?<![\w.]) [-+\u2212]? {AMOUNT} [\s-]? \\?{UNIT_OF_PARTS} )
  | (?P<power> (?<![\w.]) (?: {AMOUNT}\s?(?:[×·]|\\?\*)\s? )?
        10(?: [⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+ | (?: \^ | (?:\\?\*){{2}} | <sup> | \{{sup\}}` )(?: \{{[-+\u2212]?[0-9]+\}} | [-+\u2212]?[0-9]+ ) )
      | (?<![\w.]) {AMOUNT}[eE][-+\u2212]?[0-9]+(?!\w) )
  | (?P<factor> (?<!\w)[x×]\s?{DECIMAL}(?![\w.]*[0-9]) | (?<![\w.]) {DECIMAL}[\s-]?(?: × | x\b | times\b | fold\b ) )
  | (?P<decimal> (?<![\w.]) [-+\u2212]? {DECIMAL} (?! [0-9]*\.[0-9] ) (?: [^\W\d_]{{1,4}}\b )? )
""", re.VERBOSE)
MEND = " typed into prose; quote a measurement with {measured}, cite whose figure it is, or set arithmetic as maths"
WHY = {
    "reference": "a reference by a number, which may come to be that of something else; refer by a label with {ref}, {numref} or {eq}",
    "percentage": "a percentage" + MEND,
    "power": "a power of ten" + MEND,
    "factor": "a factor" + MEND,
    "decimal": "a decimal" + MEND,
}

PRODUCTS = ("Python|CPython|PyTorch|Torch|NumPy|SciPy|Matplotlib|Jupyter(?: Book)?|JupyterLab|IPython|Sphinx|MyST(?:-NB)?|"
            "MathJax|KaTeX|Dask|CUDA|Node|HTML|CSS|WCAG|Unicode|Linux|Ubuntu|Debian|Windows|macOS|Apache|GPL|CC[ -]BY(?:-SA)?")
VERSION = re.compile(rf"(?:\b(?:{PRODUCTS})|\b[Vv]ersions?|\b[Rr]eleases?)\s+v?[0-9]+\.[0-9]+(?![\w%]|\s?[%×])"
                     r"(?:\s?(?:,|to|or|and|–)\s?[0-9]+\.[0-9]+(?![\w%]|\s?[%×]))*")


def lint(text: str) -> list[Finding]:
    """Numbers typed into the prose of a page, quotations of measurements that are none, and figures left unmentioned.

    Found are decimals, percentages, powers of ten, factors with decimals, and references such as "Section 3.2". A
    sentence with a citation may hold the figures that it cites; versions may stand after the name of the software
    or the word version. Prose includes the description of the page, the captions and descriptions of figures, and
    fences named text. A directive raw is found too: it would set what nothing reads.

    Parameters
    ----------
    text : str
        The source of a page.
    """
    visible = prose(text)
    exempt = [match.span() for match in VERSION.finditer(visible)] + _cited(visible)
    findings = [Finding(*_place(text, match.start()), " ".join(match[0].split()), WHY[match.lastgroup])
                for match in TYPED.finditer(visible)
                if not any(start <= match.start() < end for start, end in exempt)]
    return sorted(findings + _misquotations(text) + _unmentioned(text) + _unclosed(text) + _raw(text))


BANNED = re.compile(r"(?<![\w-])(?:simply|obviously|powerful|let['’]s|it\s+is\s+important\s+to\s+note|we\s+will\s+now)(?![\w-])",
                    re.IGNORECASE)


def banned_words(text: str) -> list[Finding]:
    """Words and phrases that the book does not use, in the prose of a page."""
    return [Finding(*_place(text, match.start()), " ".join(match[0].split()), "the book does not use this; say what it adds, or cut it")
            for match in BANNED.finditer(prose(text))]


# ---------------------------------------------------------------- quotations of measurements

def quotes(text: str) -> list[Quote]:
    """The measurements that a page quotes, in prose, tables and captions; `lint` finds the malformed ones."""
    found = []
    for line, _, target in _measured_roles(text):
        try:
            parse(target)
        except ValueError:
            continue
        name, _, spec = target.strip().partition(":")
        found.append(Quote(line, name, spec))
    return found


def _measured_roles(text: str) -> list[tuple[int, int, str]]:
    """Line, column and content of each `measured` role that MyST would see outside maths."""
    source = _outside_maths(_blocks(text, block_quotes=True)[0])
    return [(*_place(text, match.start()), text[match.start("body"):match.end("body")])
            for match in SPAN.finditer(source) if match["role"] == "measured"]


def _misquotations(text: str) -> list[Finding]:
    findings = []
    for line, column, target in _measured_roles(text):
        try:
            parse(target)
        except ValueError as error:
            findings.append(Finding(line, column, target, str(error)))
    source = _blocks(text, block_quotes=True)[0]
    without_code = SPAN.sub(lambda span: _filled(span[0]), _outside_maths(source))
    for match in re.finditer(r"\{measured\}", without_code):
        findings.append(Finding(*_place(text, match.start()), match[0], "no quotation follows; write {measured}`name:format`"))
    for maths in MATHS.finditer(_without_code(source)):
        for match in re.finditer(r"\{measured\}", text[maths.start():maths.end()]):
            findings.append(Finding(*_place(text, maths.start() + match.start()), match[0],
                                    "no measurement can be quoted within maths; close the maths before it"))
    return findings


# ---------------------------------------------------------------- figures

FIGURE = re.compile(r"(?m)^\s*:?name:\s+(fig-[\w-]+)\s*$")
REFERENCES = {"ref", "numref"}


def _unmentioned(text: str) -> list[Finding]:
    """Figures to which no reference leads on their own page: where a reader sees one, a sentence says what to see in it."""
    source = _outside_maths(_blocks(text, block_quotes=True)[0])
    spans = [text[match.start("body"):match.end("body")] for match in SPAN.finditer(source) if match["role"] in REFERENCES]
    mentioned = {span.rpartition("<")[2].rstrip(">").strip() for span in spans}
    return [Finding(*_place(text, match.start(1)), match[1], f"no sentence of this page refers to this figure; write {{numref}}`{match[1]}`")
            for match in FIGURE.finditer(text) if match[1] not in mentioned]


# ---------------------------------------------------------------- what is prose

FILLED = "\ue000"  # stands where something was that is part of a sentence but is not prose
CITED = "\ue001"  # the same, where it was a citation
FENCE = re.compile(r"(?P<indent>\s*)(?P<fence>`{3,}|~{3,}|:{3,})\s*(?:\{(?P<name>[\w:.-]+)\})?(?P<rest>.*)")
OPAQUE = {"code-cell", "code", "code-block", "sourcecode", "literalinclude", "math", "raw", "toctree", "bibliography", "mermaid",
          "include", "eval-rst", "ledger", "status", "times", "epigraph", "pull-quote"}
PATHS = {"figure", "image", "download", "iframe", "solution"}  # whose argument is no prose
SILENT = re.compile(r"\s*%|\([\w.:-]+\)=\s*$")  # a comment, a label
SILENT_OR_QUOTE = re.compile(rf"\s*>|{SILENT.pattern}")
OPTION = re.compile(r"\s*:(?P<name>[\w-]+):(?:\s+|$)")
GAP = r"(?!\n[ \t]*\n)"  # what stands in a line of text does not go beyond its paragraph
SPAN = re.compile(rf"(?<![\\`])(?:\{{(?P<role>[\w:.+-]+)\}})?(?P<ticks>`+)(?!`)(?P<body>(?:{GAP}[\s\S])+?)(?<!`)(?P=ticks)(?!`)")
MATHS = re.compile(rf"\$\$[\s\S]+?\$\$|\\begin\{{(?P<environment>[\w*]+)\}}[\s\S]+?\\end\{{(?P=environment)\}}|\\\[[\s\S]+?\\\]"
                   rf"|(?<![\\$])\$(?!\$)(?:{GAP}(?:\\[\s\S]|[^$\\]))+?\$(?!\$)")
NOT_PROSE = [re.compile(pattern) for pattern in (
    r"\{\{.*?\}\}",  # a substitution
    r"(?<=[\])])\{[^}\n]*\}",  # attributes
    r"(?<=\])\([^)\n]*\)",  # the target of a link
    r"(?m)^\s*\[[^\]\n]+\]:\s+\S+",
    r"<[A-Za-z][\w+.-]*:[^>\s]*>|https?://[^\s)>\]]+",
    r"(?i)\b(?:doi|arxiv)[:\s]\s?(?=\S*[0-9])\S*[0-9]|\b10\.[0-9]{4,}/\S*[\w]",
    r"</?(?!sup>)[A-Za-z][^>\n]*>",
)]


def prose(text: str) -> str:
    """The source of a page with all that is not prose blanked; every character left stands where it stood."""
    source = _blocks(text)[0]
    source = SPAN.sub(_blank_span, _outside_maths(source))
    for pattern in NOT_PROSE:
        source = pattern.sub(lambda match: _filled(match[0]), source)
    return source


def _filled(text: str, mark: str = FILLED) -> str:
    return re.sub(r"[^\n]", mark, text)


def _blank_span(span: re.Match[str]) -> str:
    role = span["role"] or ""
    if role in {"sup", "superscript"}:
        return span[0]  # 10{sup}`-5` is a number
    return _filled(span[0], CITED if role.startswith("cite") else FILLED)


def _without_code(source: str) -> str:
    """Code in a line, and roles, blanked: a dollar in them opens no maths."""
    return SPAN.sub(lambda span: _filled(span[0]), source)


def _outside_maths(source: str) -> str:
    """Maths blanked; what looks like maths in code is not."""
    pieces, end = [], 0
    for match in MATHS.finditer(_without_code(source)):
        pieces += [source[end:match.start()], _filled(match[0])]
        end = match.end()
    return "".join([*pieces, source[end:]])


def _blocks(text: str, *, block_quotes: bool = False) -> tuple[str, list[tuple[int, str]], list[int]]:
    """The source with whole lines that are not prose blanked, the fences that nothing closes (line, opening), the lines of raw.

    Block quotes are blanked too, unless asked for: their words are others', but a measurement may be quoted there.
    """
    text = re.sub(r"<!--[\s\S]*?-->", lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    lines = text.split("\n")
    kept = _front_matter(lines)
    open_fences: list[tuple[str, bool, int]] = []  # the marks, whether the content is code, the line
    raw: list[int] = []
    while len(kept) < len(lines):
        line = lines[len(kept)]
        match = FENCE.fullmatch(line)
        opaque = bool(open_fences) and open_fences[-1][1]
        if match and open_fences and _closes(match, open_fences[-1][0]):
            open_fences.pop()
            kept.append("")
        elif match and not opaque and _opens(match):
            directive = match["name"]
            code = directive in OPAQUE if directive else match["rest"].strip() != "text"
            open_fences.append((match["fence"], code, len(kept) + 1))
            raw += [len(kept) + 1] if directive == "raw" else []
            titled = directive and not code and directive not in PATHS
            kept.append(" " * match.start("rest") + match["rest"] if titled else "")
            if directive:
                kept += _options(lines[len(kept):])
        elif opaque or (SILENT if block_quotes else SILENT_OR_QUOTE).match(line):
            kept.append("")
        else:
            kept.append(line)
    padded = (short.ljust(len(line)) for short, line in zip(kept, lines, strict=True))
    return "\n".join(padded), [(number, marks) for marks, _, number in open_fences], raw


def _front_matter(lines: list[str]) -> list[str]:
    """Blank lines for the front matter of a page, but for the description that search engines and previews show."""
    end = next((i for i in range(1, len(lines)) if lines[i].rstrip() == "---"), 0) if lines[0].rstrip() == "---" else 0
    keys = [re.match(r"\s*description:\s*", line) for line in lines[:end]]
    shown = [" " * key.end() + line[key.end():] if key else "" for key, line in zip(keys, lines, strict=False)]
    return [*shown, ""] if end else []


def _closes(match: re.Match[str], marks: str) -> bool:
    return not match["name"] and not match["rest"].strip() and match["fence"][0] == marks[0] and len(match["fence"]) >= len(marks)


def _opens(match: re.Match[str]) -> bool:
    """A fence opens code or a directive; with a backtick behind it, it is code in a line; bare colons open nothing."""
    return "`" not in match["rest"] and (match["name"] is not None or match["fence"][0] != ":")


def _options(lines: list[str]) -> list[str]:
    """The lines at the head of a directive that are options, blanked but for captions and descriptions of figures.

    Options stand as `:name: value` or as YAML between two lines `---`.
    """
    shown: list[str] = []
    if lines and lines[0].strip() == "---":
        end = next((i for i in range(1, len(lines)) if lines[i].strip() == "---"), 0)
        caption = None  # the depth of a caption that goes on below its key
        for line in lines[1:end]:
            key = re.match(r"(\s*)(?:caption|alt):\s*(?:[|>][-+0-9]*\s*$)?", line)
            if caption is not None and line.strip() and len(line) - len(line.lstrip()) <= caption:
                caption = None
            if caption is not None:
                shown.append(line)
            else:
                caption = len(key[1]) if key else None
                shown.append(" " * key.end() + line[key.end():] if key else "")
        return ["", *shown, ""] if end else []
    for line in lines:
        match = OPTION.match(line)
        if not match:
            break
        shown.append(" " * match.end() + line[match.end():] if match["name"] in ("caption", "alt") else "")
    return shown


def _unclosed(text: str) -> list[Finding]:
    return [Finding(line, 1, marks, "nothing closes this fence; the prose after it is read as part of it")
            for line, marks in _blocks(text)[1]]


def _raw(text: str) -> list[Finding]:
    return [Finding(line, 1, "{raw}", "nothing reads what this sets; write it in Markdown") for line in _blocks(text)[2]]


# ---------------------------------------------------------------- sentences and places

ABBREVIATED = r"(?<!\be\.g)(?<!\bi\.e)(?<!\bal)(?<!\bcf)(?<!\bvs)(?<!\b[Ff]ig)(?<!\bEq)(?<!\bSec)(?<!\bresp)(?<!\bca)"
SENTENCE_END = re.compile(rf"""
    \n[ \t]*(?=\n)                                      # a paragraph
  | \n(?=\s*(?:[-*+]|[0-9]+[.)]|[|:#])(?:\s|\#))        # an item, a row, a definition, a heading
  | (?m:^[ \t]*\#.*$)
  | {ABBREVIATED}[.!?]["'”’)*_]*\s+(?![a-z(\s])         # a full stop
""", re.VERBOSE)


def _cited(visible: str) -> list[tuple[int, int]]:
    """The extents of the sentences that hold a citation."""
    return [(start, end) for start, end in _extents(visible) if CITED in visible[start:end]]


def sentences(text: str) -> list[str]:
    """The sentences of a text, in their order."""
    return [text[start:end] for start, end in _extents(text)]


def _extents(text: str) -> list[tuple[int, int]]:
    cuts = [0, *(match.end() for match in SENTENCE_END.finditer(text)), len(text)]
    return list(pairwise(cuts))


def _place(text: str, position: int) -> tuple[int, int]:
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)
