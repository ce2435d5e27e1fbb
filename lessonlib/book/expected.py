"""The recorded numbers: what each page printed and measured when a person accepted it.

`tests/expected/<page>.yml` holds, per named cell, its class and the text that it printed, per
measurement its value at full precision, and the claims. The numbers that a cell wrote into its figure stand
under its name with `.drawn`. Only `accept` writes these files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import yaml

from lessonlib.book.compare import FULL, Drift, Number, cell_class, compare, compare_value, tokens
from lessonlib.book.execute import write_whole
from lessonlib.book.pages import BookError, Page, Project
from lessonlib.book.printed import printed_text
from lessonlib.measure import CLAIM_MIME, DRAWN_MIME, MEASUREMENT_MIME

HEADER = """\
# What {page} printed and measured when it was accepted. Only this writes here:
#   python -m lessonlib.book accept {page}
"""


@dataclass
class Printed:
    """What a cell printed: its class, its text, and for a trained cell the band of each of its numbers."""

    kind: str
    text: str
    bands: list[float] | None = None


@dataclass
class Measured:
    """A measurement: the cell that records it, that cell's class, its value and its band."""

    cell: str
    kind: str
    value: Any
    band: Any = None


@dataclass
class Record:
    """All that a page printed and measured."""

    cells: dict[str, Printed] = field(default_factory=dict)
    measurements: dict[str, Measured] = field(default_factory=dict)
    claims: list[str] = field(default_factory=list)
    seconds: float | None = None
    bands_from: str | None = None


@dataclass(frozen=True)
class Failure:
    """One reason why a page does not hold: where, and what, in words."""

    page: str
    cell: str | None
    message: str
    size: float = float("inf")  # in tolerances, where a number drifted

    def __str__(self) -> str:
        where = f"{self.page}, cell {self.cell}" if self.cell else self.page
        return f"{where}\n{self.message}"


def hidden_outputs(cell: nbformat.NotebookNode, mime: str) -> Iterator[Any]:
    """The records of one kind that a cell left: measurements, claims or the numbers in a figure."""
    for output in cell.get("outputs", []):
        if mime in output.get("data", {}):
            yield output["data"][mime]


def observed(page: Page, notebook: nbformat.NotebookNode) -> tuple[Record, list[Failure]]:
    """What a page printed and measured in its last run, and what is wrong with how it says so."""
    record, failures = Record(claims=claims(notebook), seconds=notebook.metadata.get("lessonlib", {}).get("seconds")), []
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        name, text = cell.metadata.get("name"), printed_text(cell)
        if not name:
            failures.append(Failure(page.name, repr(cell.source.splitlines()[0] if cell.source else ""),
                                    "this cell has no name; give it the option :name:"))
            continue
        if name in record.cells:
            failures.append(Failure(page.name, name, "two cells have this name; give each its own"))
        try:
            kind = cell_class(cell.metadata.get("tags", []))
        except ValueError as error:
            failures.append(Failure(page.name, name, str(error)))
            continue
        record.cells[name] = Printed(kind, text)
        if drawn := [line for lines in hidden_outputs(cell, DRAWN_MIME) for line in lines]:
            record.cells[f"{name}.drawn"] = Printed("printed" if kind == "trained" else kind, "\n".join(drawn))
        for item in hidden_outputs(cell, MEASUREMENT_MIME):
            if item["name"] in record.measurements:
                failures.append(Failure(page.name, name, f"the measurement {item['name']} is recorded twice; rename one"))
            record.measurements[item["name"]] = Measured(name, kind, item["value"])
    return record, failures


def claims(notebook: nbformat.NotebookNode) -> list[str]:
    """The sentences that a page claims and its run bore out."""
    return [item["sentence"] for cell in notebook.cells if cell.cell_type == "code"
            for item in hidden_outputs(cell, CLAIM_MIME)]


def record_path(project: Project, page: str, profile: str) -> Path:
    folder = project.expected if profile == "default" else project.expected / profile
    return folder / f"{page}.yml"


def load(project: Project, page: str, profile: str = "default") -> Record | None:
    """The recorded numbers of a page, or None where nothing was ever accepted.

    Raises
    ------
    BookError
        If the file cannot be read as such a record.
    """
    path = record_path(project, page, profile)
    return load_file(path) if path.is_file() else None


def load_file(path: Path) -> Record:
    """The recorded numbers in a file that `accept` wrote.

    Raises
    ------
    BookError
        If the file is missing or cannot be read as such a record.
    """
    try:
        data = yaml.load(path.read_text("utf8"), yaml.CSafeLoader)
        return Record({name: Printed(**cell) for name, cell in (data.get("cells") or {}).items()},
                      {name: Measured(**item) for name, item in (data.get("measurements") or {}).items()},
                      data.get("claims") or [], data.get("seconds"), data.get("bands_from"))
    except (OSError, yaml.YAMLError, TypeError, AttributeError) as error:
        raise BookError(f"{path} cannot be read: {error}; restore it with: git checkout -- {path}") from error


class Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, lists of numbers on one line."""


class Lines(list):
    """A list that is written with one item a line."""


def represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def represent_list(dumper: yaml.SafeDumper, items: list) -> yaml.Node:
    return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)


Dumper.add_representer(str, represent_text)
Dumper.add_representer(list, represent_list)
Dumper.add_representer(Lines, lambda dumper, items: dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=False))


def save(project: Project, page: str, record: Record, profile: str = "default") -> None:
    """Write the recorded numbers of a page."""

    def filled(item: Printed | Measured) -> dict[str, Any]:
        return {key: value for key, value in vars(item).items() if value is not None}

    data: dict[str, Any] = {"seconds": record.seconds}
    if record.bands_from:
        data["bands_from"] = record.bands_from
    data["cells"] = {name: filled(cell) for name, cell in record.cells.items() if cell.text}
    data["measurements"] = {name: filled(item) for name, item in record.measurements.items()}
    data["claims"] = Lines(record.claims)
    text = HEADER.format(page=page) + yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)
    write_whole(record_path(project, page, profile), text)


def explain(page: str, cell: str, drift: Drift, measurement: str = "") -> Failure:
    """A drift as a failure that says how to look at it and how to accept it."""
    what = f"measurement {measurement}: " if measurement else ""
    return Failure(page, cell, f"{what}{drift}\n  rerun:  python -m lessonlib.book check {page}\n"
                   f"  accept: python -m lessonlib.book accept {page}   (after you know why it moved)", drift.size)


def drifts(recorded: Record, got: Record, least: float = FULL) -> Iterator[tuple[str, str, Drift]]:
    """Each number and word that moved by more than `least` tolerances: its cell, its measurement ("" if printed), and how."""
    for name, cell in got.cells.items():
        known = recorded.cells.get(name)
        if known and cell.text and known.kind == cell.kind:
            yield from ((name, "", drift) for drift in compare(known.text, cell.text, cell.kind, known.bands, least=least))
    for name, item in got.measurements.items():
        if known := recorded.measurements.get(name):
            yield from ((item.cell, name, drift) for drift in compare_value(known.value, item.value, item.kind, known.band, least=least))


def differences(page: str, recorded: Record | None, got: Record) -> list[Failure]:
    """Everything in which a run differs from the record beyond its tolerance."""
    if recorded is None:
        if not any(cell.text for cell in got.cells.values()) and not got.measurements and not got.claims:
            return []
        return [Failure(page, None, f"nothing is recorded for this page; run: python -m lessonlib.book accept {page}")]
    failures = [explain(page, cell, drift, name) for cell, name, drift in drifts(recorded, got)]
    for name, cell in got.cells.items():
        known = recorded.cells.get(name)
        if cell.text and known is None:
            failures.append(Failure(page, name, "this cell prints, and nothing is recorded for it; accept the page:\n    "
                                    + cell.text.replace("\n", "\n    ")))
        elif cell.text and known.kind != cell.kind:
            failures.append(Failure(page, name, f"its class is {cell.kind}, recorded as {known.kind}; accept the page"))
    for name, item in got.measurements.items():
        known = recorded.measurements.get(name)
        if known is None:
            failures.append(Failure(page, item.cell, f"the measurement {name} is not recorded; accept the page"))
        elif known.kind != item.kind:
            failures.append(Failure(page, item.cell, f"the class of {name} is {item.kind}, recorded as {known.kind}; accept the page"))
    printing = {name for name, cell in got.cells.items() if cell.text}
    for name in recorded.cells.keys() - printing:
        failures.append(Failure(page, name, "numbers are recorded for this cell, but no cell prints them any more; accept the page"))
    for name in recorded.measurements.keys() - got.measurements.keys():
        failures.append(Failure(page, recorded.measurements[name].cell,
                                f"the measurement {name} is recorded, but nothing measures it any more; accept the page"))
    for text, sentences, others in (("is claimed, and not recorded", got.claims, recorded.claims),
                                    ("is recorded as a claim, but this run did not come to it", recorded.claims, got.claims)):
        failures += [Failure(page, None, f'"{sentence}" {text}; accept the page') for sentence in sentences if sentence not in others]
    return failures


@dataclass(frozen=True)
class Coverage:
    """How well the numbers of a page are held.

    Attributes
    ----------
    numbers : int
        Those that are compared with a record, printed ones and measurements.
    worst : float
        The largest drift, as a share of its tolerance.
    free : int
        Printed numbers that may have any size, by their class: times and what is sampled.
    loose : int
        Printed numbers whose measured band is as wide as they are.
    """

    numbers: int = 0
    worst: float = 0.0
    free: int = 0
    loose: int = 0


def coverage(recorded: Record, got: Record) -> Coverage:
    """How well the numbers that a run printed and measured are held by the record."""
    numbers, free, loose = len(got.measurements), 0, 0
    for name, cell in got.cells.items():
        if known := recorded.cells.get(name):
            printed = [token for token in tokens(known.text) if isinstance(token, Number)]
            numbers += len(printed)
            free += sum(cell.kind == "sampled" or cell.kind == "timing" and not token.is_integer for token in printed)
            loose += sum(band >= abs(token.value) for token, band in zip(printed, known.bands or [], strict=False) if band)
    return Coverage(numbers, max((drift.size for _, _, drift in drifts(recorded, got, least=0.0)), default=0.0), free, loose)
