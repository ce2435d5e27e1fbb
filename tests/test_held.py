"""How well the recorded numbers are held: those that nothing holds are counted, and may not become more."""

from __future__ import annotations

from conftest import ROOT

from lessonlib.book.expected import Coverage, Measured, Printed, Record, coverage, load
from lessonlib.book.pages import Project

FREE, LOOSE = 150, 200  # printed numbers in the whole book, beside some 8,000


def test_free_and_loose_numbers_are_counted() -> None:
    record = Record({"times": Printed("timing", "128 steps 0.5 s"), "said": Printed("sampled", "1 and 2"), "held": Printed("printed", "0.25 3"),
                     "learned": Printed("trained", "0.50 0.01 7", [0.1, 0.01, 0.0])}, {"a": Measured("held", "printed", [1.0, 2.0])})
    assert coverage(record, record) == Coverage(numbers=10, worst=0.0, free=3, loose=1)


def test_the_worst_drift_counts_measurements_too() -> None:
    record, got = (Record({"a": Printed("printed", "0.25")}, {"m": Measured("a", "printed", value)}) for value in (1.0, 1.0005))
    assert abs(coverage(record, got).worst - 0.5) < 1e-9


def test_numbers_that_nothing_holds_do_not_become_more() -> None:
    records = [record for name in Project(ROOT).page_names() if (record := load(Project(ROOT), name))]
    held = [coverage(record, record) for record in records]
    assert sum(item.numbers for item in held) > 8000
    assert sum(item.free for item in held) <= FREE and sum(item.loose for item in held) <= LOOSE
