"""The reproduction ledger: what the source documents report beside what this build measures.

`tests/expected/sources.yml` is a list of entries, one a figure. An entry is tied to measurements
of the book by name, with a tolerance, or states the reason why it is not reproduced. Everything
here is a pure function of the entries, of the measurements (name to plain value) and of the names
of the pages that stand. Figures are compared element by element: a mapping counts as the list of
its values, and an element that is null is not compared.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lessonlib.book.ledger_table import shorten, tolerance_in_words

FIELDS = {
    "id", "page", "what", "where", "reported", "reference", "measurement", "scale", "tolerance",
    "reason", "cited", "holds", "note",
}
REQUIRED = ("id", "page", "what", "where", "reported", "reference")
TOLERANCES = ("abs", "rel", "decades", "equal")
STATUSES = ("reproduced", "differs", "not reproduced", "cited", "to come")
MEASUREMENT = re.compile(r"([a-z0-9]+(?:-[a-z0-9.]+)*)((?:\[\d+\])*)")
