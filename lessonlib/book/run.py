"""Run one page in a folder of its own. This module travels whole to the workers of a cluster.

The folder holds the files of the library that the page imports and nothing else of the book, so a
page cannot read what its key does not cover.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

ANSI = re.compile(r"\x1b\[[0-9;]*m")
ONE_THREAD = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
# Families of variables that change arithmetic. What is set outside does not reach a page, since its key could not tell.
ARITHMETIC = ("ATEN_", "DNNL_", "KMP_", "LESSONLIB_", "MKL_", "NPY_", "OMP_", "ONEDNN_", "OPENBLAS_", "TORCH_")


@dataclass(frozen=True)
class Job:
    """All that a run of a page needs: what to run, with which files, variables and limit."""

    name: str
    notebook: str  # JSON, without outputs
    files: dict[str, bytes]  # by path relative to the run's folder
    cell_limit: int  # seconds
    profile: str = "default"
    variables: dict[str, str] = field(default_factory=dict)
    packages: dict[str, str] = field(default_factory=dict)  # versions that the run must find


@dataclass(frozen=True)
class Outcome:
    """What a run gave: an executed notebook, or a failure in words."""

    name: str
    notebook: str | None
    seconds: float
    peak_mb: float | None  # largest resident memory of the kernel in MB; None where the system does not tell
    failure: str | None


def kernel_variables(job: Job, folder: Path) -> dict[str, str]:
    """The environment of the kernel: one thread, the run's folder first on the path, the job's own variables."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(ARITHMETIC)}
    variables.update(PYTHONPATH=str(folder), PYTHONHASHSEED="0", LESSONLIB_PROFILE=job.profile)
    variables.update(dict.fromkeys(ONE_THREAD, "1"))
    variables.update(job.variables)
    return variables


def cell_label(cell: nbformat.NotebookNode) -> str:
    """A cell's name, or its first line where it has none."""
    return cell.metadata.get("name") or repr((cell.source.strip().splitlines() or ["empty"])[0])


def indented(text: str, limit: int = 14) -> str:
    """The last lines of a text, each moved right by four blanks."""
    return "\n".join(f"    {line}" for line in text.rstrip().splitlines()[-limit:])


def fault(cell: nbformat.NotebookNode) -> str | None:
    """What is wrong with an executed cell whose exceptions, if any, were expected; None if nothing is."""
    errors = [output for output in cell.get("outputs", []) if output.output_type == "error"]
    wanted = cell.metadata.get("raises")
    if "raises-exception" in cell.metadata.get("tags", []):
        if not wanted:
            return "is tagged raises-exception but does not name the exception; add the option raises: TypeName"
        if not errors or errors[0].ename != wanted:
            return f"should raise {wanted} and raised {errors[0].ename if errors else 'nothing'}"
    for output in cell.get("outputs", []):
        if output.output_type == "stream" and output.name == "stderr":
            return "wrote to stderr, which readers would see; mend the cause:\n" + indented(output.text)
    return None


def run_page(job: Job, report: Callable[[str, int, int, str], None] | None = None,
             after_cell: Callable[[nbformat.NotebookNode], None] | None = None) -> Outcome:
    """Execute a page's cells from top to bottom in a fresh kernel.

    Parameters
    ----------
    report : callable, optional
        Called as `report(page, number, total, cell)` when a code cell starts.
    after_cell : callable, optional
        Called with each executed code cell; what it raises ends the run and passes through.
    """
    for package, version in job.packages.items():
        found = importlib.metadata.version(package)
        if found != version:
            return Outcome(job.name, None, 0.0, None, f"this worker has {package} {found}, the book {version}; "
                           "install the book's requirements.txt on every worker")
    started = time.perf_counter()
    notebook = nbformat.reads(job.notebook, as_version=4)
    code = [index for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    current: dict[str, nbformat.NotebookNode] = {}
    peak: float | None = None

    def on_start(cell: nbformat.NotebookNode, cell_index: int) -> None:
        if cell.cell_type == "code":
            current["cell"] = cell
            if report:
                report(job.name, code.index(cell_index) + 1, len(code), cell_label(cell))

    def on_executed(cell: nbformat.NotebookNode, cell_index: int, execute_reply: dict) -> None:
        nonlocal peak
        peak = peak_memory(client.km.provisioner.pid)
        if cell.cell_type == "code" and execute_reply["content"]["status"] == "ok" and after_cell:
            after_cell(cell)

    with tempfile.TemporaryDirectory(prefix="page-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        for path, content in job.files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        (folder / "book").mkdir(exist_ok=True)
        client = NotebookClient(notebook, timeout=job.cell_limit, record_timing=False, kernel_name="python3",
                                resources={"metadata": {"path": str(folder / "book")}},
                                on_cell_start=on_start, on_cell_executed=on_executed)
        client.create_kernel_manager()
        if os.name == "posix":
            client.km.transport = "ipc"  # TCP would be readable by others on this machine, and warns of it
            client.km.ip = str(folder / "kernel")  # for ipc a path; the default is relative to two different folders
        failure, log = None, folder / "kernel.log"
        try:
            with log.open("w") as stream:
                client.execute(env=kernel_variables(job, folder), stdout=stream, stderr=stream)
        except CellExecutionError as error:
            place = ANSI.sub("", error.traceback).replace(f"{folder}{os.sep}", "")
            failure = f"cell {cell_label(current['cell'])} failed:\n{indented(place)}"
        except CellTimeoutError:
            failure = (f"cell {cell_label(current['cell'])} ran longer than its limit of {job.cell_limit} s; make it "
                       "faster, or raise execution_timeout under mystnb in the page's front matter")
        except DeadKernelError:
            failure = (f"cell {cell_label(current['cell'])} killed its kernel: the process ended without an "
                       "exception, as it does when memory runs out or native code crashes\n" + indented(log.read_text()))
    if failure is None:
        faults = [(cell, fault(cell)) for cell in notebook.cells if cell.cell_type == "code"]
        failure = next((f"cell {cell_label(cell)} {text}" for cell, text in faults if text), None)
    seconds = time.perf_counter() - started
    return Outcome(job.name, None if failure else nbformat.writes(notebook), seconds, peak, failure)


def peak_memory(pid: int) -> float | None:
    """Largest resident memory of a running process so far, in MB (10**6 bytes); None where the system does not tell."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:  # not Linux
        return None
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else None
