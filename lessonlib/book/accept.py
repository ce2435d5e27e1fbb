"""Record what pages printed and measured: deliberately, by name, after showing what moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from lessonlib.book import bands
from lessonlib.book.compare import FULL, count_numbers
from lessonlib.book.execute import Results, execute
from lessonlib.book.expected import Measured, Printed, Record, differences, drifts, load, observed, save
from lessonlib.book.pages import BookError


def banded(results: Results, page: Any, old: Record | None, new: Record) -> Record:
    """The new record with its bands: those measured for the page as it is, else those recorded before."""
    measured = bands.measured_bands(results, page)
    new.bands_from = measured["how"] if measured else old.bands_from if old else None
    for group in ("cells", "measurements"):
        for name, item in getattr(new, group).items():
            before = getattr(old, group).get(name) if old else None
            band = measured[group].get(name) if measured else band_of(before)
            if item.kind == "trained" and fits(item, band):
                set_band(item, band)
    return new


def fits(item: Printed | Measured, band: Any) -> bool:
    """Is there a band for each number? One that was recorded before may belong to a cell that printed others."""
    if band is None or isinstance(item, Printed):
        return band is not None and len(band) == count_numbers(item.text)
    return same_shape(item.value, band)


def same_shape(value: Any, band: Any) -> bool:
    if not (isinstance(value, list) and isinstance(band, list)):
        return not (isinstance(value, list) or isinstance(band, list))
    return len(value) == len(band) and all(map(same_shape, value, band))


def band_of(item: Printed | Measured | None) -> Any:
    if item is None:
        return None
    return item.bands if isinstance(item, Printed) else item.band


def set_band(item: Printed | Measured, band: Any) -> None:
    if isinstance(item, Printed):
        item.bands = band
    else:
        item.band = band


def widened(page: str, old: Record, new: Record) -> list[str]:
    """Items whose value left its old band in the same change that widens the band."""
    moved = {failure.cell for failure in differences(page, old, new)}
    return [name for cell, name, pairs in band_changes(old, new) if cell in moved and any(after > before for before, after in pairs)]


def band_changes(old: Record, new: Record) -> Iterator[tuple[str, str, list[tuple[float, float]]]]:
    """Cells and measurements that were there before and whose bands changed: the cell, the name, each band before and after (0 for none)."""
    for group in ("cells", "measurements"):
        for name, item in getattr(new, group).items():
            before, after = (bands.flat(band_of(one) if band_of(one) is not None else []) for one in (getattr(old, group).get(name), item))
            if name in getattr(old, group) and before != after:
                yield getattr(item, "cell", name), name, list(zip_longest(before, after, fillvalue=0.0))


def keep_what_holds(old: Record, new: Record) -> None:
    """Leave what moved within its tolerance as it was recorded; else it could walk off in small steps, one a machine."""
    left = {(cell, name) for cell, name, _ in drifts(old, new)}
    for name, cell in new.cells.items():
        known = old.cells.get(name)
        if known and cell.text and known.kind == cell.kind and (name, "") not in left:
            cell.text = known.text
    for name, item in new.measurements.items():
        known = old.measurements.get(name)
        if known and known.kind == item.kind and (item.cell, name) not in left:
            item.value = known.value


def moves(page: str, old: Record, new: Record) -> Iterator[str]:
    """Old, new and difference of all that moved: within its tolerance a line each, else as `check` explains it; then the bands."""
    for cell, name, drift in drifts(old, new, least=0.0):
        if drift.size <= FULL:
            yield f"{page}, cell {cell}: {name} {drift.recorded} -> {drift.got}  ({drift.size:.2f} tolerances, holds)"
    for failure in differences(page, old, new):
        yield f"{failure}" + ("" if failure.size == float("inf") else f"  ({failure.size:.2f} tolerances)")
    for _, name, pairs in band_changes(old, new):
        before, after = (max(widths) for widths in zip(*pairs, strict=True))
        yield (f"{page}, {name}: of {len(pairs)} bands {sum(b > a for a, b in pairs)} are wider and {sum(b < a for a, b in pairs)} narrower; "
               f"the widest was {before:g} and is {after:g}")


def accept(results: Results, names: Sequence[str], *, workers: int | None = None, say: Callable[[str], None] = print) -> None:
    """Rewrite the recorded numbers of these pages, after showing old, new and the difference in tolerances.

    Raises
    ------
    BookError
        If a page fails, has unnamed or doubly named cells, or a band would widen in the change that
        moves its value.
    """
    pages = results.project.pages(list(names))
    execute(results, pages, workers=workers)
    for page in (page for page in pages if page.code_cells):
        new, faults = observed(page, results.notebook(page))
        if faults:
            raise BookError("\n\n".join(map(str, faults)))
        old = load(results.project, page.name, results.profile)
        new = banded(results, page, old, new)
        for line in moves(page.name, old, new) if old else []:
            say(line)
        if old and not bands.measured_bands(results, page):  # bands are measured around the values of this run
            keep_what_holds(old, new)
        if old and (names_wider := widened(page.name, old, new)):
            raise BookError(f"{page.name}: the value of {', '.join(names_wider)} moved out of its band, and the same change would widen "
                            "the band; find out why it moved, accept the value under the old band, then the band in a change of its own")
        save(results.project, page.name, new, results.profile)
        say(f"{page.name}: recorded {len(new.measurements)} measurements and {sum(bool(c.text) for c in new.cells.values())} cells")
