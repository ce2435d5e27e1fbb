"""Execute the pages that need it, longest first, and keep what they gave.

A result is one executed notebook in `_build/executed`, named by the page's key, written in one
move; a page whose key is there already is not executed. Failures keep nothing.
"""

from __future__ import annotations

import datetime
import json
import multiprocessing
import os
import queue
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat

from lessonlib.book.pages import BookError, Page, Project, data_files, environment, library_files, page_key
from lessonlib.book.progress import Progress
from lessonlib.book.run import Job, Outcome, run_page

FULL_LIMIT_FACTOR = 20  # the full profile trains with the sources' budgets; its cells may take so much longer
SETTING_FACTOR = 5  # a narrower instruction set is slower
MEMORY_LIMIT_MB = 1500  # what Binder leaves a page


def write_whole(path: Path, text: str) -> None:
    """Write a file in one move: a reader, or a build that is killed, sees the old text or the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf8") as file:
        file.write(text)
    os.chmod(temporary, 0o644)
    os.replace(temporary, path)


@contextmanager
def alone(project: Project) -> Iterator[None]:
    """Let one command at a time work in a build folder; the lock ends with the process, however that ends.

    Raises
    ------
    BookError
        If another command is at work there, or the folder cannot be written.
    """
    try:
        project.build.mkdir(parents=True, exist_ok=True)
        lock = (project.build / "lock").open("w")
    except OSError as error:
        raise BookError(f"nothing can be written in {project.build} ({error.strerror}); copy the book to a folder of your own") from error
    with lock:
        try:
            import fcntl
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except ImportError:  # Windows
            pass
        except BlockingIOError:
            raise BookError("another build of this book is running; wait until it has ended") from None
        yield


class Results:
    """The executed notebooks of a project, by page and by key."""

    def __init__(self, project: Project, profile: str = "default", variables: dict[str, str] | None = None) -> None:
        self.project, self.profile, self.variables = project, profile, variables or {}
        self.folder = project.build / "executed"

    def key(self, page: Page) -> str:
        return page_key(self.project.root, page, self.profile, self.variables)

    def path(self, page: Page) -> Path:
        return self.folder / f"{self.key(page)}.ipynb"

    def has(self, page: Page) -> bool:
        return not page.code_cells or self.path(page).is_file()

    def executed(self, page: Page) -> Path:
        """Where the last run of a page under the present key is kept.

        Raises
        ------
        BookError
            If the page was not executed since it, or what it uses, changed.
        """
        path = self.path(page)
        if not path.is_file():
            raise BookError(f"{page.name} has not been executed since its code changed; "
                            f"run: python -m lessonlib.book build {page.name}")
        return path

    def ran(self, page: Page) -> str:
        """Which run of a page this is; empty for a page without code."""
        if not page.code_cells:
            return ""
        path = self.executed(page)
        return f"{path.stem} {path.stat().st_mtime_ns}"

    def notebook(self, page: Page) -> nbformat.NotebookNode:
        """A page's notebook with the outputs of its last run under the present key; raises as `executed` does."""
        if not page.code_cells:
            return page.notebook
        stored = nbformat.v4.reads(self.executed(page).read_text("utf8"))  # valid, since `keep` wrote it
        outputs = iter(cell for cell in stored.cells if cell.cell_type == "code")
        merged = nbformat.from_dict(page.notebook)
        for index, cell in enumerate(merged.cells):
            if cell.cell_type == "code":
                merged.cells[index] = next(outputs)
        merged.metadata |= {name: stored.metadata[name] for name in ("lessonlib", "language_info")}
        return merged

    def keep(self, page: Page, outcome: Outcome) -> None:
        """Store the executed notebook of a page, with what the run cost."""
        notebook = nbformat.reads(outcome.notebook, as_version=4)
        ran = dict(date=datetime.date.today().isoformat(), seconds=round(outcome.seconds, 1), environment=dict(environment()))
        if outcome.peak_mb:
            ran["peak_mb"] = round(outcome.peak_mb)
        notebook.metadata["lessonlib"] = ran
        write_whole(self.path(page), nbformat.writes(notebook) + "\n")

    def job(self, page: Page) -> Job:
        """All that a worker needs to run this page."""
        sources = [cell.source for cell in page.code_cells]
        files = {name: text.encode() for name, text in library_files(self.project.root, sources).items()}
        limit = page.cell_limit * (FULL_LIMIT_FACTOR if self.profile == "full" else 1) * (SETTING_FACTOR if self.variables else 1)
        packages = {name: version for name, version in environment() if name not in ("python", "machine", "system")}
        return Job(page.name, nbformat.writes(page.notebook), files | data_files(self.project.root), limit, self.profile,
                   self.variables, packages)


class Durations:
    """Seconds that each page took in its last run: they order the next, and estimate what is left."""

    def __init__(self, project: Project, profile: str) -> None:
        self.path = project.build / f"seconds-{profile}.json"
        folder = project.expected if profile == "default" else project.expected / profile
        self.seconds: dict[str, float] = {}
        for record in folder.glob("*.yml"):  # a fresh clone knows what the pages took when they were accepted
            if match := re.search(r"^seconds: ([\d.]+)$", record.read_text("utf8"), re.MULTILINE):
                self.seconds[record.stem] = float(match[1])
        if self.path.is_file():
            self.seconds |= json.loads(self.path.read_text("utf8"))

    def of(self, page: Page) -> float:
        """Seconds of the last run; of a page never run, a guess from its number of cells, put first."""
        return self.seconds.get(page.name, 1000.0 + len(page.code_cells))

    def note(self, name: str, seconds: float) -> None:
        self.seconds[name] = round(seconds, 1)
        write_whole(self.path, json.dumps(self.seconds, indent=1, sort_keys=True))


def follow_parent() -> None:
    """End this process when the build that started it is gone, so that a killed build leaves nothing running."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def start_worker(events: Any) -> None:
    follow_parent()
    run_in_worker.events = events  # type: ignore[attr-defined]


def run_in_worker(job: Job) -> Outcome:
    events = run_in_worker.events  # type: ignore[attr-defined]
    return run_page(job, report=lambda *event: events.put(event))


def run_locally(jobs: Sequence[Job], workers: int, progress: Progress) -> Iterator[Outcome]:
    """Run jobs in processes of this machine, in the order given; outcomes come as they are ready."""
    import matplotlib.font_manager  # noqa: F401  builds its font cache once, here, and not in every kernel

    context = multiprocessing.get_context("spawn")
    events = context.Queue()
    with ProcessPoolExecutor(workers, context, start_worker, (events,), max_tasks_per_child=1) as pool:
        waiting = {pool.submit(run_in_worker, job): job for job in jobs}
        yield from as_ready(waiting, progress, events)


def run_on_cluster(jobs: Sequence[Job], scheduler: str, progress: Progress) -> Iterator[Outcome]:
    """Run jobs on the workers of a Dask cluster. They need the book's packages, and none of its files.

    Raises
    ------
    BookError
        If Dask is missing here, or no scheduler answers at the address.
    """
    try:
        import cloudpickle
        from dask.distributed import Client, as_completed
    except ImportError as error:
        raise BookError(f"--scheduler needs Dask ({error}); run: pip install 'distributed'") from error
    from lessonlib.book import run

    cloudpickle.register_pickle_by_value(run)
    try:
        client = Client(scheduler, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise BookError(f"no Dask scheduler answers at {scheduler} ({error}); start one with: dask scheduler") from error
    with client:
        futures = [client.submit(run_page, job, pure=False, retries=0, key=f"{job.name}-{time.time_ns()}")
                   for job in jobs]
        for job in jobs:
            progress.cell(job.name, 0, 0, "on the cluster")
        for future in as_completed(futures):
            name = jobs[futures.index(future)].name
            if future.status == "error":
                yield Outcome(name, None, 0.0, None, f"the cluster lost this page: {future.exception()}")
            else:
                yield future.result()


def as_ready(waiting: dict[Future, Job], progress: Progress, events: Any) -> Iterator[Outcome]:
    """Outcomes of futures as they are ready, with the cells that start in between shown as progress."""
    while waiting:
        done, _ = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
        while True:
            try:
                progress.cell(*events.get_nowait())
            except queue.Empty:
                break
        for future in done:
            job = waiting.pop(future)
            error = future.exception()
            yield (Outcome(job.name, None, 0.0, None, f"its worker ended: {error!r}") if error else future.result())


def execute(results: Results, pages: Sequence[Page], *, workers: int | None = None, scheduler: str | None = None,
            say: Callable[[str], None] = print) -> list[Page]:
    """Execute those of the pages that have no result under their present key.

    Parameters
    ----------
    workers : int, optional
        Pages that run at once; as many as there are cores by default.
    scheduler : str, optional
        Address of a Dask scheduler, such as `tcp://host:8786`; its workers run the pages instead.

    Returns
    -------
    list of Page
        The pages that were executed.

    Raises
    ------
    BookError
        If pages failed, after all others have run and their results were kept; it names page, cell
        and cause of each.
    """
    durations = Durations(results.project, results.profile)
    todo = sorted((page for page in pages if not results.has(page)), key=durations.of, reverse=True)
    if not todo:
        return []
    by_name = {page.name: page for page in todo}
    jobs = [results.job(page) for page in todo]
    failures = []
    with Progress({page.name: durations.seconds.get(page.name) for page in todo}, say) as progress:
        outcomes = (run_on_cluster(jobs, scheduler, progress) if scheduler
                    else run_locally(jobs, workers or os.cpu_count() or 1, progress))
        for outcome in outcomes:
            if outcome.failure is None and (outcome.peak_mb or 0) > MEMORY_LIMIT_MB:
                outcome = Outcome(outcome.name, None, outcome.seconds, outcome.peak_mb, f"took {outcome.peak_mb:.0f} MB of memory; "
                                  f"the limit is {MEMORY_LIMIT_MB} MB, which is what readers have in Binder")
            if outcome.failure is None:
                results.keep(by_name[outcome.name], outcome)
                durations.note(outcome.name, outcome.seconds)
            else:
                failures.append(f"{outcome.name}: {outcome.failure}\n  to run it alone: "
                                f"python -m lessonlib.book build {outcome.name}")
            progress.done(outcome.name, outcome.seconds, outcome.failure)
    if failures:
        raise BookError("\n\n".join(failures))
    return todo
