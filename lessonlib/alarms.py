"""The numbers that judge a monitor: delay, events detected, false alarms a day, precision; and what chance alone gives.

Dimensions: alarms are truth values of shape (N,), one a sample. An event lasts from sample `start` to before sample `stop`.
An episode is a run of alarms that an operator would take for one; its gaps are no longer than `gap` samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike

from lessonlib.arguments import count, positive

DAY = 86_400  # seconds
Event = tuple[int, int]


def gaussian_exceedance(k: float) -> float:
    """Probability that a Gaussian value lies more than k standard deviations from its mean, on either side."""
    return math.erfc(positive("k", k, or_zero=True) / math.sqrt(2))


def expected_per_day(probability: float, *, rate_hz: float = 1.0, run: int = 1) -> float:
    """Alarms a day of independent samples that each exceed with this probability, `run` of them in a row.

    Counted are the samples at which a run is complete, rate p^run: the first two of four exceedances in
    a row complete no run of three, the other two do.
    """
    if not 0 <= probability <= 1:
        raise ValueError(f"probability is {probability}; it must lie from 0 to 1")
    return DAY * positive("rate_hz", rate_hz) * probability ** count("run", run)


def precision(false_per_day: float, faults_per_day: float, detected: float = 1.0) -> float:
    """Share of alarms that are true where that many false alarms and faults occur a day and this share of faults is detected."""
    if not 0 <= detected <= 1:
        raise ValueError(f"detected is {detected}; it must be a share from 0 to 1")
    true = positive("faults_per_day", faults_per_day, or_zero=True) * detected
    false = positive("false_per_day", false_per_day, or_zero=True)
    if true + false == 0:
        raise ValueError("false_per_day and faults_per_day give no alarm at all; precision is a share of alarms: give one above 0")
    return true / (true + false)


def chi_square_quantile(q: float, degrees: int) -> float:
    """Quantile of the chi-square distribution: what the squared Mahalanobis distance of `degrees` Gaussian channels
    stays below with probability q. By bisection on the regularised incomplete gamma function."""
    if not 0 < q < 1:
        raise ValueError(f"q is {q}; it must lie between 0 and 1")
    half = torch.tensor(count("degrees", degrees) / 2, dtype=torch.float64)
    low, high = 0.0, float(degrees)

    def beyond(x: float) -> bool:
        return torch.special.gammainc(half, torch.tensor(x / 2, dtype=torch.float64)).item() >= q
    while not beyond(high):
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return high


def rate_interval(counted: int, days: float, confidence: float = 0.95) -> tuple[float, float]:
    """Bounds on a rate a day of which `counted` events were seen in `days` days, if they come independently (Garwood 1936).

    With none seen, the upper bound of a one-sided 95 % interval is about 3 / days: the rule of three.
    """
    if counted != int(counted) or counted < 0 or not 0 < confidence < 1:
        raise ValueError(f"counted is {counted} and confidence {confidence}; they must be a whole number from 0 on and a share")
    days, tail = positive("days", days), (1 - confidence) / 2
    low = chi_square_quantile(tail, 2 * int(counted)) / 2 if counted else 0.0
    return low / days, chi_square_quantile(1 - tail, 2 * int(counted) + 2) / 2 / days


def checked_alarms(alarms: ArrayLike) -> np.ndarray:
    """Alarms as truth values of shape (N,), or a ValueError."""
    alarms = np.asarray(alarms)
    if alarms.dtype != bool or alarms.ndim != 1 or alarms.size == 0:
        raise ValueError(f"alarms has shape {alarms.shape} and type {alarms.dtype}; it must be truth values, one a sample, shape (N,)")
    return alarms


def checked_events(events: Sequence[Event], samples: int) -> list[Event]:
    """Events in order of time that lie in a record of that many samples and do not overlap, or a ValueError."""
    pairs = sorted((int(start), int(stop)) for start, stop in events)
    ends = [0, *(stop for _, stop in pairs)]
    if any(start < before or stop <= start for (start, stop), before in zip(pairs, ends)) or ends[-1] > samples:
        raise ValueError(f"events is {list(events)}; each must be (start, stop) with 0 <= start < stop <= {samples}, and none may overlap")
    return pairs


def episodes(alarms: ArrayLike, gap: int = 0) -> np.ndarray:
    """First sample, and first sample after it, of each episode, shape (episodes, 2).

    Parameters
    ----------
    gap : int
        Quiet samples that may lie within an episode; 0 joins neighbours only.
    """
    at = np.flatnonzero(checked_alarms(alarms))
    if gap != int(gap) or gap < 0:
        raise ValueError(f"gap is {gap}; it must be a whole number from 0 on")
    if not len(at):
        return np.empty((0, 2), dtype=int)
    cut = np.flatnonzero(np.diff(at) > gap + 1)
    return np.stack([at[np.r_[0, cut + 1]], at[np.r_[cut, len(at) - 1]] + 1], axis=1)


class Judgement(NamedTuple):
    """What `judge` found; lists have one entry an event, in order of time."""

    delays: list[int | None]  # samples from the onset to the first alarm; None where the event was missed
    alarm_samples: list[int]  # samples in alarm that count for the event
    detected: int             # events with an alarm
    false_episodes: int       # episodes that start in normal operation
    false_samples: int        # samples in alarm in normal operation
    normal_samples: int       # samples of normal operation

    def false_per_day(self, rate_hz: float = 1.0) -> float:
        """False episodes a day of normal operation."""
        if not self.normal_samples:
            raise ValueError("normal_samples is 0; a rate needs normal operation: judge on a longer record")
        return self.false_episodes / self.normal_samples * DAY * positive("rate_hz", rate_hz)

    def precision(self, faults_per_day: float, rate_hz: float = 1.0) -> float:
        """Share of true alarms at a realistic rate of faults, from the share detected and the false alarms a day found here."""
        if not self.delays:
            raise ValueError("delays is empty; precision needs the share of events detected: judge on a record with faults in it")
        return precision(self.false_per_day(rate_hz), faults_per_day, self.detected / len(self.delays))


def judge(alarms: ArrayLike, events: Sequence[Event], *, grace: int = 0, settle: int = 0, gap: int = 0) -> Judgement:
    """Compare alarms with the events that were put into the record.

    Parameters
    ----------
    alarms : shape (N,), bool
    events : sequence of (start, stop)
    grace : int
        Samples after `stop` in which an alarm still counts for its event.
    settle : int
        Samples after `stop` that count neither for the event nor as normal operation, at least `grace`
        where it is larger: what a window still holds of the fault.
    gap : int
        As for `episodes`.
    """
    alarms = checked_alarms(alarms)
    pairs = checked_events(events, len(alarms))
    if min(grace, settle) < 0:
        raise ValueError(f"grace is {grace} and settle {settle}; neither may be negative")
    normal = np.ones(len(alarms), dtype=bool)
    delays, counts = [], []
    for (start, stop), following in zip(pairs, [start for start, _ in pairs[1:]] + [len(alarms)]):
        at = np.flatnonzero(alarms[start:min(stop + grace, following)])
        delays.append(int(at[0]) if len(at) else None)
        counts.append(len(at))
        normal[start:stop + max(grace, settle)] = False
    starts = episodes(alarms, gap)[:, 0]
    return Judgement(delays, counts, len(pairs) - delays.count(None), int(normal[starts].sum()),
                     int((alarms & normal).sum()), int(normal.sum()))


def point_adjusted(alarms: ArrayLike, events: Sequence[Event]) -> np.ndarray:
    """Alarms with every event filled in that holds at least one: the "point adjustment" of many published scores.

    It credits a monitor with the whole of an event for one alarm inside it, so chance scores well on long
    events (Kim et al. 2022). It is here to be compared with.
    """
    adjusted = checked_alarms(alarms).copy()
    for start, stop in checked_events(events, len(adjusted)):
        adjusted[start:stop] |= adjusted[start:stop].any()
    return adjusted


def sample_f1(alarms: ArrayLike, events: Sequence[Event]) -> float:
    """F1 of alarms counted by samples: twice those inside events, over all alarms plus all samples of events."""
    alarms = checked_alarms(alarms)
    faulty = np.zeros(len(alarms), dtype=bool)
    for start, stop in checked_events(events, len(alarms)):
        faulty[start:stop] = True
    if not faulty.any():
        raise ValueError("events is empty; F1 needs at least one event in the record")
    return float(2 * (alarms & faulty).sum() / (alarms.sum() + faulty.sum()))
