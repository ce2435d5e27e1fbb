"""The kernel of a page: its variables, its threads, its memory, and what its figures say in numbers."""

from __future__ import annotations

import os

import matplotlib.pyplot as plt
import nbformat
import pytest

from lessonlib.book.expected import observed
from lessonlib.book.pages import Page
from lessonlib.book.run import Job, kernel_variables, peak_memory, run_page
from lessonlib.explorers import summary
from lessonlib.figures import labels_with_numbers, new_figure
from lessonlib.measure import DRAWN_MIME


def job(*cells: str, **options) -> Job:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source, metadata={"name": f"cell-{i}"}) for i, source in enumerate(cells)])
    return Job("a-page", nbformat.writes(notebook), {}, 60, **options)


def test_the_arithmetic_of_a_page_is_not_set_from_outside(monkeypatch, tmp_path):
    for name in ("MKL_CBWR", "ATEN_CPU_CAPABILITY", "OPENBLAS_CORETYPE", "LESSONLIB_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.setenv(name, "7")
    own = kernel_variables(job("1", variables={"MKL_CBWR": "COMPATIBLE"}), tmp_path)
    assert own["MKL_CBWR"] == "COMPATIBLE" and own["OMP_NUM_THREADS"] == own["MKL_NUM_THREADS"] == "1" and own["PATH"] == os.environ["PATH"]
    assert not {"ATEN_CPU_CAPABILITY", "OPENBLAS_CORETYPE", "LESSONLIB_THREADS"} & own.keys()


def test_a_page_runs_on_one_thread():
    outcome = run_page(job("import torch; print(torch.get_num_threads())"))
    assert nbformat.reads(outcome.notebook, 4).cells[0].outputs[0].text == "1\n"


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="only Linux tells the memory of another process")
def test_each_run_is_charged_with_its_own_memory():
    large, small = run_page(job("kept = bytearray(300_000_000); kept[::4096] = b'x' * len(kept[::4096])")), run_page(job("1"))
    assert large.peak_mb > 300 > small.peak_mb > 10
    assert peak_memory(2**22 + 1) is None  # no such process


def test_labels_of_a_figure_that_hold_numbers_are_found():
    fig, ax = new_figure()
    ax.plot([0, 1], label="lag 20")
    ax.text(0, 0, "half-life 13.5")
    ax.text(0, 0, "no number")
    ax.annotate("$h_0$", (0, 0))
    ax.legend()
    assert labels_with_numbers(fig) == ["half-life 13.5", "lag 20"]
    plt.close(fig)


def test_what_is_drawn_is_compared_like_printed_text():
    cells = [nbformat.v4.new_code_cell("", metadata={"name": f"fig-{kind}", "tags": [kind]}, outputs=[
        nbformat.v4.new_output("display_data", {DRAWN_MIME: ["half-life 13.5", "lag 20"]})]) for kind in ("exact", "trained")]
    record, faults = observed(Page("a-page", ""), nbformat.v4.new_notebook(cells=cells))
    assert faults == [] and {name: (cell.kind, cell.text) for name, cell in record.cells.items() if cell.text} == {
        "fig-exact.drawn": ("exact", "half-life 13.5\nlag 20"), "fig-trained.drawn": ("printed", "half-life 13.5\nlag 20")}


def test_a_moved_value_of_an_explorer_moves_its_summary():
    data = {"curves": [[0.5, -1.5], [2.0, 3.0]], "names": ["a", "b"], "on": True}
    assert summary(data) == "[explorer: 4 numbers, 1 negative, mean size 1.750e+00, root mean square 1.969e+00]"
    assert summary({**data, "curves": [[0.5, 1.5], [2.0, 3.0]]}) != summary(data) != summary({**data, "curves": [[0.6, -1.5], [2.0, 3.0]]})
