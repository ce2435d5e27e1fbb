"""What a code cell prints, and the words and numbers in it.

`printed_text` gives the text that a reader sees below a cell; `tokens` splits it in words, which are
compared exactly, and numbers, which are compared within a tolerance. White space separates tokens
and is not compared. Lines and columns count from 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from html.parser import HTMLParser
from typing import Any

HIDDEN = "application/vnd.lessonlib."  # measurements and claims: read by the build, not by the reader


# ---------------------------------------------------------------- the text of a cell

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")


def printed_text(cell: Mapping[str, Any]) -> str:
    """The text that a code cell of an executed notebook shows.

    Standard output and results stand in their order. An HTML table becomes one line a row, its cells
    joined by ` | `; a figure stands for its description. An exception that a page shows on purpose
    gives its name and message. Standard error is not text of the page: see `stderr_text`.

    Parameters
    ----------
    cell : mapping
        A code cell as nbformat has it, with `outputs`.

    Returns
    -------
    str
        Without colour codes, without white space at the ends of lines or blank lines around.
    """
    shown = ""
    for output in cell.get("outputs", []):
        kind = output["output_type"]
        if kind == "stream":
            if output["name"] == "stdout":
                shown += _joined(output["text"])
            continue
        block = f"{output['ename']}: {output['evalue']}" if kind == "error" else _bundle_text(output["data"])
        if block.strip():
            shown += ("" if not shown or shown.endswith("\n") else "\n") + block.rstrip("\n") + "\n"
    return _tidy(shown)


def stderr_text(cell: Mapping[str, Any]) -> str:
    """What a code cell wrote to standard error: a fault of the page, not text of it."""
    return _tidy("".join(_joined(output["text"]) for output in cell.get("outputs", [])
                         if output["output_type"] == "stream" and output["name"] == "stderr"))


def _bundle_text(data: Mapping[str, Any]) -> str:
    """The text of one displayed object: the richest form that holds text, as the site shows it."""
    if any(mime.startswith(HIDDEN) for mime in data):
        return ""
    page = _joined(data.get("text/html", ""))
    if page and not ("<svg" in page.lower() and "text/plain" in data):
        return html_text(page)
    rich = () if page else ("text/markdown", "text/latex")
    return next((_joined(data[mime]) for mime in (*rich, "text/plain") if mime in data), "")


def _joined(text: str | list[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def _tidy(text: str) -> str:
    text = ESCAPES.sub("", text).replace("\r\n", "\n")
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def html_text(page: str) -> str:
    """HTML as lines of text: a table row or block a line, table cells joined by ` | `."""
    reader = _HTMLText()
    reader.feed(page)
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.pieces).split("\n"))
    return "\n".join(line for line in lines if line)


DROPPED = {"script", "style", "svg"}
BLOCKS = {"address", "article", "blockquote", "br", "caption", "dd", "details", "div", "dl", "dt", "figcaption",
          "figure", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "section", "summary", "table",
          "tr", "ul"}


class _HTMLText(HTMLParser):
    """Collects the text of a page with a line break around each block."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self.dropped: list[str] = []  # open elements whose content is not text
        self.cells = 0  # cells so far in the row
        self.in_cell = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in DROPPED:
            self.dropped.append(tag)
        elif self.dropped:
            return
        elif tag in {"td", "th"}:
            self.pieces.append(" | " if self.cells else "")
            self.cells, self.in_cell = self.cells + 1, True
        elif tag == "sup":
            self.pieces.append("^")
        else:
            self._separate(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.dropped:
            if tag == self.dropped[-1]:
                self.dropped.pop()
        elif tag in {"td", "th"}:
            self.in_cell = False
        else:
            self._separate(tag)

    def _separate(self, tag: str) -> None:
        if tag in {"tr", "table"}:
            self.cells, self.in_cell = 0, False
        if tag in BLOCKS:
            self.pieces.append(" " if self.in_cell else "\n")

    def handle_data(self, data: str) -> None:
        if not self.dropped:
            self.pieces.append(data.replace("\n", " "))


# ---------------------------------------------------------------- words and numbers

@dataclass(frozen=True)
class Word:
    """Anything printed that is not a number: a name, a unit, one mark of punctuation."""

    text: str
    line: int
    column: int


@dataclass(frozen=True)
class Number:
    """A printed number.

    `decimals` counts the digits after the point, `exponent` is the power of ten that is written
    with it (None without one), `exact` is the decimal number that the text denotes.
    """

    text: str
    line: int
    column: int
    exact: Decimal
    decimals: int
    exponent: int | None

    @property
    def is_integer(self) -> bool:
        """Whether it is written without point and power of ten."""
        return self.exact.is_finite() and self.decimals == 0 and self.exponent is None

    @property
    def is_lone_digit(self) -> bool:
        """Whether it is a fraction or a power of ten with one digit that counts, such as 0.05 or 1e-04."""
        return not self.is_integer and (self.decimals == 0 or len(self.exact.as_tuple().digits) == 1 and not self.exact.is_zero())

    @property
    def value(self) -> int | float:
        return int(self.exact) if self.is_integer else float(self.exact)

    @property
    def last_place(self) -> Decimal:
        """One unit of the last printed digit."""
        return Decimal((0, (1,), (self.exponent or 0) - self.decimals))

    @property
    def unit_in_last_place(self) -> float:
        return float(self.last_place)


LETTER = r"[^\W\d]"  # of any alphabet, and the underscore
SIGN = "[-+\u2212]"
INTEGER = r"(?:(?<![0-9],)[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9]|,[0-9])|[0-9]{1,400}(?![0-9]))"
MANTISSA = rf"(?:{INTEGER}(?:\.[0-9]{{1,400}}(?![0-9]))?|\.[0-9]{{1,400}}(?![0-9]))"
SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺\u2212", "0123456789-+-")
RAISED = "[⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,4}(?![⁰¹²³⁴⁵⁶⁷⁸⁹])"
SMALL = rf"{SIGN}?[0-9]{{1,4}}(?![0-9])"
POWER = rf"10(?P<raised>{RAISED}|(?:\^|\*\*)(?:{SMALL}|\{{{SMALL}\}}|\({SMALL}\)))"  # 10⁻⁵, 10^-5, 10**(-5), 10^{{-5}}

TOKEN = re.compile(rf"""
    (?P<date> [0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?![0-9]) )
  | (?P<hexadecimal> 0[xX][0-9a-fA-F]+(?!\w) )
  | (?P<version> (?: [vV][0-9]+(?:\.[0-9]+)+ | [0-9]+(?:\.[0-9]+){{2,}} ) (?: [.+-]?{LETTER}\w* )* )
  | (?P<number>
      (?P<sign> (?<![\w)\]}}%]){SIGN}                                   # a sign; between numbers it is an operator,
        | {SIGN}(?=(?:[0-9.]+(?:[eE]{SIGN}?[0-9]+)?|nan|inf)[jJ](?!\w)) # except in a complex number
      )?
      (?: (?P<special> (?i:nan|inf(?:inity)?)(?= [jJ]?(?!\w) )(?! [-.]\w ) | ∞ )
        | (?P<power> (?:(?P<factor>{MANTISSA})[ \u00a0]?[×·x*][ \u00a0]?)?{POWER} )
        | (?P<plain> (?P<mantissa>{MANTISSA})(?:[eE](?P<exponent>{SIGN}?[0-9]{{1,3}})(?![0-9]))?
            (?= {LETTER}{{0,12}}(?!\w) | [x×][0-9] ) (?! \.(?![jJ](?!\w)){LETTER} ) )
      ) )
  | (?P<times> [xX×](?=[0-9]+\.[0-9]) )                                 # x1.5
  | (?P<name> {LETTER}\w* (?: [-.](?: {LETTER}\w* | [0-9]+(?!\w|\.[0-9]) | [0-9]+(?:\.[0-9]+){{2,}} )
                            | (?:\.[0-9]+){{2,}} )* )
  | (?P<run> \w+ (?: \.{LETTER}\w* )* )                                 # 3f9c2e, 0.weight
  | (?P<mark> \S )
""", re.VERBOSE)


def tokens(text: str) -> list[Word | Number]:
    """Split printed text in words and numbers.

    Numbers are integers, decimals, either with thousands separators (`1,024`), scientific notation (`1.3e-07`,
    `7.8 × 10⁻⁵⁷`), `nan` and `inf`, each with its sign, also when glued to a name or unit (`T=256`, `12ms`, `12.5%`,
    `x1.5`, `(1+2j)`). Versions (`1.2.3`), dates, hexadecimal ids and names that hold digits
    (`W_h1`, `utf-8`, `0.weight`) are words. Every other mark is a word of its own.
    """
    found: list[Word | Number] = []
    for line, content in enumerate(text.split("\n"), start=1):
        for match in TOKEN.finditer(content):
            number = match["number"] is not None
            found.append(_number(match, line) if number else Word(match[0], line, match.start() + 1))
    return found


def _number(match: re.Match[str], line: int) -> Number:
    sign = "-" if match["sign"] in ("-", "\u2212") else ""
    if match["special"]:
        digits, decimals, exponent = ("nan" if match["special"].lower() == "nan" else "inf"), 0, None
    else:
        if match["power"]:
            digits, written = match["factor"] or "1", match["raised"].strip("^*{}()")
        else:
            digits, written = match["mantissa"], match["exponent"]
        digits = digits.replace(",", "")
        decimals = len(digits.partition(".")[2])
        exponent = None if written is None else int(written.translate(SUPERSCRIPTS))
    exact = Decimal(f"{sign}{digits}" + ("" if exponent is None else f"e{exponent}"))
    return Number(match["number"], line, match.start() + 1, exact, decimals, exponent)
