"""What a page sets up before it computes: one thread, seeded generators, a profile.

Numbers depend on the machine only as far as arithmetic forces it, so a page uses one thread and
draws every random number from a generator with a stated seed.
"""

from __future__ import annotations

import os
import random
from typing import TypeVar

import numpy as np
import torch

T = TypeVar("T")

PROFILES = ("default", "full")
PROFILE_VARIABLE = "LESSONLIB_PROFILE"
THREADS_VARIABLE = "LESSONLIB_THREADS"  # set only where the effect of the thread count is measured


def set_up(seed: int) -> None:
    """Use one thread and seed the global generators of Python, NumPy and PyTorch.

    Parameters
    ----------
    seed : int
        Non-negative; the same for the three generators.
    """
    if seed < 0:
        raise ValueError(f"seed is {seed}; it must not be negative")
    torch.set_num_threads(int(os.environ.get(THREADS_VARIABLE, "1")))
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def profile() -> str:
    """The profile under which the page runs: `default`, or `full` with the sources' own budgets.

    Raises
    ------
    ValueError
        If the variable `LESSONLIB_PROFILE` holds anything else.
    """
    name = os.environ.get(PROFILE_VARIABLE, "default")
    if name not in PROFILES:
        raise ValueError(f"{PROFILE_VARIABLE} is {name!r}; it must be one of {', '.join(PROFILES)}")
    return name


def by_profile(default: T, full: T) -> T:
    """The budget of this run: `default`, or `full` where the full profile was asked for."""
    return full if profile() == "full" else default
