"""The reproduction ledger: what the source documents report beside what this build measures.

`tests/expected/sources.yml` is a list of entries, one a figure. An entry is tied to measurements
of the book by name, with a tolerance, or states the reason why it is not reproduced. Everything
here is a pure function of the entries, of the measurements (name to plain value, full precision)
and of the names of the pages that stand; `ledger_values` compares and writes the values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml

from lessonlib.book.ledger_values import agrees, align, as_list, escaped, number, scaled, states, written
from lessonlib.book.lint import TYPED, sentences
from lessonlib.book.quote import ROLE, quoted

REQUIRED = ("id", "page", "what", "where", "reported", "reference")
TOLERANCES = ("abs", "rel", "decades", "equal")
STATUSES = ("reproduced", "differs", "not reproduced", "cited", "to come")
IN_ERROR = "in error"
NAME = re.compile(r"([a-z0-9]+(?:-[a-z0-9.]+)*)((?:\[\d+\])*)")
OWNED = re.compile(r"\b(?:source|reference)\b")  # a sentence with one of these says whose its figures are
FILE = "tests/expected/sources.yml"


@dataclass(frozen=True)
class Entry:
    """One figure of a source document; the header of the file explains the fields."""

    id: str
    page: str
    what: str
    where: str
    reported: Any
    reference: Any
    measurement: str | list[str] | None = None
    scale: float = 1
    tolerance: dict[str, Any] | None = None
    reason: str | None = None
    cited: bool = False
    holds: bool = True
    note: str | None = None

    @property
    def band(self) -> tuple[str | None, float]:
        """Kind and size of the tolerance."""
        if not self.tolerance:
            return None, 0.0
        kind, size = next(iter(self.tolerance.items()))
        return kind, 0.0 if kind == "equal" else size


@dataclass(frozen=True)
class Row:
    """An entry with its measured value, its status, and what is wrong with it."""

    entry: Entry
    status: str
    measured: Any = None
    errors: tuple[str, ...] = ()


def load(path: str | Path) -> list[Entry]:
    """Read and validate the ledger.

    Raises
    ------
    ValueError
        If an entry is malformed; the message has one line for each fault.
    """
    raw = yaml.load(Path(path).read_text(encoding="utf-8"), yaml.CSafeLoader) or []
    raw = raw if isinstance(raw, list) else [raw]
    faults: list[str] = []
    for place, item in enumerate(raw, 1):
        name = item.get("id", "?") if isinstance(item, dict) else "?"
        faults += [f"{path}: entry {place} ({name}): {fault}" for fault in faults_of(item)]
    counts = Counter(item.get("id") for item in raw if isinstance(item, dict))
    faults += [f"{path}: the id {name} stands {count} times" for name, count in counts.items() if count > 1]
    if faults:
        raise ValueError("\n".join(faults))
    return [Entry(**item) for item in raw]


def faults_of(item: Any) -> list[str]:
    """What is wrong with one entry as it was read."""
    if not isinstance(item, dict):
        return [f"a mapping is expected, this is {item!r}"]
    known = {field.name for field in fields(Entry)}
    faults = [f"unknown field {name!r}; known are {', '.join(sorted(known))}" for name in item if name not in known]
    faults += [f"the field {name!r} is missing" for name in REQUIRED if name not in item]
    for name in ("id", "page", "what", "where", "reason", "note"):
        if name in item and not (isinstance(item[name], str) and item[name].strip()):
            faults.append(f"{name} is {item[name]!r}; it must be text")
    for name in ("cited", "holds"):
        if name in item and not isinstance(item[name], bool):
            faults.append(f"{name} is {item[name]!r}; it must be true or false")
    if "measurement" in item and "reason" in item:
        faults.append("has both a measurement and a reason; keep one")
    if item.get("cited") and "reason" not in item:
        faults.append("is cited, so it needs a reason that says from where")
    if ("measurement" in item) != ("tolerance" in item):
        faults.append("measurement and tolerance stand together or not at all")
    return faults + measurement_faults(item) + tolerance_faults(item)


def measurement_faults(item: dict[str, Any]) -> list[str]:
    """What is wrong with the measurement names and the scale."""
    faults = []
    if "measurement" in item:
        names = item["measurement"] if isinstance(item["measurement"], list) else [item["measurement"]]
        if not names:
            faults.append("measurement is an empty list")
        faults += [
            f"measurement {name!r} is no name, name[3] or name[1][2]"
            for name in names
            if not (isinstance(name, str) and NAME.fullmatch(name))
        ]
    if "scale" in item and (isinstance(item["scale"], bool) or not isinstance(item["scale"], (int, float))):
        faults.append(f"scale is {item['scale']!r}; it must be a number")
    return faults


def tolerance_faults(item: dict[str, Any]) -> list[str]:
    """What is wrong with the tolerance."""
    if "tolerance" not in item:
        return []
    tolerance = item["tolerance"]
    if not isinstance(tolerance, dict) or len(tolerance) != 1 or next(iter(tolerance)) not in TOLERANCES:
        return [f"tolerance is {tolerance!r}; it must have exactly one of {', '.join(TOLERANCES)}"]
    kind, size = next(iter(tolerance.items()))
    if kind == "equal":
        return [] if size is True else [f"tolerance equal is {size!r}; only true is allowed"]
    if isinstance(size, bool) or not isinstance(size, (int, float)) or not 0 < size < float("inf"):
        return [f"tolerance {kind} is {size!r}; it must be a positive number (write 1.0e-9, not 1e-9)"]
    return []


def look_up(names: str | list[str], measurements: Mapping[str, Any]) -> Any:
    """The value of `name`, `name[3]`, `name[1][2]`, or the list of the values of several.

    Raises
    ------
    LookupError
        If a name is not recorded or has no such element; the message says which.
    """
    if isinstance(names, list):
        return [look_up(name, measurements) for name in names]
    match = NAME.fullmatch(names)
    if match is None or match[1] not in measurements:
        raise LookupError(f"no page records the measurement {names!r}")
    value = measurements[match[1]]
    for index in re.findall(r"\d+", match[2]):
        items = as_list(value)
        if items is None or int(index) >= len(items):
            raise LookupError(f"the measurement {match[1]!r} has no element {match[2]}")
        value = items[int(index)]
    return value


def status(entry: Entry, measurements: Mapping[str, Any], pages: Collection[str]) -> Row:
    """Compare one entry with this build.

    The measured value is held against the reported one, or against the reference where nothing was
    reported or the report is in words. It `differs` where only the reference is met, or where
    `holds: false` says that the source's statement fails; then a note must explain.
    """
    if entry.page not in pages:
        return Row(entry, "to come")
    if entry.reason:
        return Row(entry, "cited" if entry.cited else "not reproduced")
    if not entry.measurement:
        return failed(entry, "has neither a measurement nor a reason", "tie it to a measurement of the page")
    try:
        measured = scaled(look_up(entry.measurement, measurements), entry.scale)
    except LookupError as error:
        return failed(entry, str(error.args[0]), "record it on the page, or correct the name")
    reported = None if isinstance(entry.reported, str) and not isinstance(measured, str) else entry.reported
    try:
        triples = align(measured, reported, entry.reference)
    except ValueError as error:
        return failed(entry, str(error), "choose elements with name[3], or give the figure that shape", measured)
    return compared(entry, measured, triples)


def compared(entry: Entry, measured: Any, triples: list[tuple[Any, Any, Any]]) -> Row:
    """The row of a measured entry, from (measured, reported, reference) of each element."""
    kind, size = entry.band
    in_words = [isinstance(r, str) and not isinstance(m, str) for m, r, _ in triples]
    triples = [(m, None if words else r, f) for (m, r, f), words in zip(triples, in_words, strict=True)]
    if all(r is None and f is None for _, r, f in triples):
        return failed(entry, "has nothing to compare with", "give a reference, or a reason", measured)

    def meets(first: int) -> bool:
        """Every element agrees with its reported (1) or reference (2) figure, or else with the other."""
        for triple in triples:
            figure = triple[3 - first] if triple[first] is None else triple[first]
            if figure is not None and (triple[0] is None or not agrees(triple[0], figure, kind, size)):
                return False
        return True

    if entry.holds and meets(1):
        return Row(entry, "reproduced", measured)
    if not meets(2):
        shown = written(measured, kind, size)
        return failed(
            entry,
            f"measured {shown} is outside {tolerance(entry)} of the reported {written(entry.reported)} "
            f"and of the reference {written(entry.reference)}",
            "mend the page, or give a reason why it is not reproduced",
            measured,
        )
    if not entry.note:
        fault = f"measured {written(measured, kind, size)} is not what was reported, {written(entry.reported)}"
        return failed(entry, fault, "explain it in a note", measured)
    return Row(entry, "differs", measured)


def failed(entry: Entry, fault: str, remedy: str, measured: Any = None) -> Row:
    """A row in error, with a message that names figure, page and remedy."""
    return Row(entry, IN_ERROR, measured, (f"{entry.id} (page {entry.page}): {fault}; {remedy} ({FILE})",))


def ledger_errors(entries: Iterable[Entry], measurements: Mapping[str, Any], pages: Collection[str]) -> list[str]:
    """Every error of the ledger, one message each; empty where all is in order."""
    errors: list[str] = []
    for entry in entries:
        errors += status(entry, measurements, pages).errors
        if entry.page in pages:
            errors += [f"{entry.id} (page {entry.page}): {fault} ({FILE})" for fault in remark_faults(entry, measurements)]
    return errors


def remark_faults(entry: Entry, measurements: Mapping[str, Any]) -> list[str]:
    """What is wrong with the figures in an entry's note and reason, which the page of the ledger shows.

    What this book measured is quoted with the role `measured`. A decimal, a percentage or a power of ten is typed
    only where the entry itself states it, or where its sentence says that it is the source's or the reference's.
    """
    faults, own = [], [entry.what, entry.reported, entry.reference]
    for remark in filter(None, (entry.note, entry.reason)):
        for match in ROLE.finditer(remark):
            try:
                quoted(measurements, match["target"])
            except ValueError as error:
                faults.append(f"its remark quotes what it cannot: {error}")
        text = ROLE.sub("here", remark)
        if "{measured}" in text:
            faults.append("its remark has a role without a quotation; write {measured}`name:format`")
        for sentence in sentences(text):
            if OWNED.search(sentence):
                continue
            faults += [f"its remark types {match[0]}; quote a measurement with {{measured}}, or say whose figure it is, "
                       "the source's or the reference's"
                       for match in TYPED.finditer(sentence) if not states(own, match[0])]
    return faults


def tolerance(entry: Entry) -> str:
    """The tolerance as a table shows it."""
    kind, size = entry.band
    if kind is None:
        return "—"
    shown = {"abs": f"± {number(size)}", "rel": f"± {number(100 * size)} %", "decades": f"± {number(size)} decade"}
    return shown.get(kind, "equal")


def table(
    entries: Sequence[Entry],
    measurements: Mapping[str, Any],
    pages: Sequence[str],
    titles: Mapping[str, str] | None = None,
    level: int = 3,
) -> str:
    """The ledger as MyST text: counts, then a section for each page that stands, in the order of `pages`.

    Parameters
    ----------
    entries : sequence of Entry
    measurements : mapping
        Name of a measurement to its plain value.
    pages : sequence of str
        Names of the pages that stand, in the order of the book.
    titles : mapping, optional
        Title of each page; one made from its name serves where none is given.
    level : int
        Level of the headings.
    """
    rows = [status(entry, measurements, pages) for entry in entries]
    counts = Counter(row.status for row in rows)
    parts = [f"**{len(rows)} figures**"] + [f"{counts[s]} {s}" for s in (*STATUSES, IN_ERROR) if counts[s]]
    blocks = [" · ".join(parts) + "."]
    for page in pages:
        of_page = [row for row in rows if row.entry.page == page]
        if of_page:
            title = (titles or {}).get(page) or title_of(page)
            blocks += [f"{'#' * level} {title}", f"Measured in {{doc}}`{page}`.", section(of_page)]
    waiting = Counter(row.entry.page for row in rows if row.status == "to come")
    if waiting:
        lines = [f"| {escaped(page)} | {count} |" for page, count in sorted(waiting.items())]
        blocks += [f"{'#' * level} To come", "| Page | Figures to come |\n| --- | ---: |\n" + "\n".join(lines)]
    return "\n\n".join(blocks) + "\n"


def title_of(page: str) -> str:
    """A heading from the name of a page: `lab-08-race` gives `Lab 8: race`."""
    lab, number_of, words = re.fullmatch(r"(lab-)?(?:0*(\d+)-)?(.*)", page).groups()
    words = words.replace("-", " ")
    return f"Lab {number_of}: {words}" if lab else words[:1].upper() + words[1:]


def section(rows: Sequence[Row]) -> str:
    """The table of one page, and below it the notes and reasons to which its rows refer."""
    lines = ["| Figure (source) | Reported | Measured | Tolerance | Status |", "| --- | --- | --- | --- | --- |"]
    notes: list[str] = []
    for row in rows:
        entry, shown = row.entry, row.status
        text = entry.note or entry.reason
        if text:
            if text not in notes:
                notes.append(text)
            shown += f" (note {notes.index(text) + 1})"
        measured = "—" if row.measured is None else written(row.measured, *entry.band)
        cells = (f"{escaped(entry.what)} ({escaped(entry.where)})", written(entry.reported), measured, tolerance(entry))
        lines.append(f"| {' | '.join(cells)} | {shown} |")
    text = "\n".join(lines)
    if notes:
        text += "\n\nNotes\n\n" + "\n".join(f"{place}. {escaped(note)}" for place, note in enumerate(notes, 1))
    return text
