"""Two measured series that a package of the lock ships: carbon dioxide at Mauna Loa, and the temperature of an ocean.

Dimensions: N samples in time. The files are read as they are; nothing of the package that carries them is imported.
"""

from __future__ import annotations

import csv
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from lessonlib.series import Array

MONTHS = 12


def rows_of(name: str) -> list[list[str]]:
    """The rows of a data file of statsmodels, heading left out.

    Raises
    ------
    FileNotFoundError
        If the package or the file is missing.
    """
    spec = find_spec("statsmodels")
    places = list(spec.submodule_search_locations or []) if spec else []
    for place in places:
        path = Path(place) / "datasets" / name / f"{name}.csv"
        if path.exists():
            with path.open(newline="", encoding="utf-8") as file:
                return list(csv.reader(file))[1:]
    raise FileNotFoundError(f"statsmodels/datasets/{name}/{name}.csv is missing; install the packages of requirements.txt")


def mauna_loa_weeks() -> tuple[Array, Array]:
    """Weekly means of carbon dioxide in the air at Mauna Loa, March 1958 to December 2001 (Keeling and Whorf, 2004).

    Returns
    -------
    months, ppm : np.ndarray, shape (N,)
        Months since January 1958, int, and parts per million by volume, NaN for a week without a measurement.
    """
    rows = rows_of("co2")
    months = np.array([MONTHS * (int(date[:4]) - 1958) + int(date[4:6]) - 1 for date, _ in rows])
    return months, np.array([float(value) if value else np.nan for _, value in rows])


def mauna_loa() -> Array:
    """Monthly means of the weeks of `mauna_loa_weeks`, March 1958 to December 2001, NaN where a month has no week.

    Returns
    -------
    np.ndarray, shape (526,), in ppm
    """
    months, ppm = mauna_loa_weeks()
    months, ppm = months[~np.isnan(ppm)] - months[0], ppm[~np.isnan(ppm)]
    weeks = np.bincount(months)
    return np.where(weeks > 0, np.bincount(months, ppm) / np.maximum(weeks, 1), np.nan)


def pacific() -> Array:
    """Monthly sea surface temperature off Peru (the region Nino 1+2), 1950 to 2010 (Smith et al., 2008).

    Returns
    -------
    np.ndarray, shape (732,), in degrees Celsius
    """
    return np.array([[float(value) for value in row[1:]] for row in rows_of("elnino")]).ravel()
