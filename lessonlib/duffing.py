"""A machine on a stiffening mount, and the displacement sensor that the signal chapters forecast and watch.

The mount is a forced, damped Duffing oscillator with displacement x, velocity v, time in seconds, and white noise xi:

    x'' = -2 zeta w0 x' - w0^2 x - k3 x^3 + A sin(2 pi t / P) + sigma_F xi(t)

Dimensions: N samples of one sensor; every sample takes `substeps` steps of the integrator. The sensor adds a drift
in proportion to the sample's index, and noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from lessonlib.arguments import count


@dataclass(frozen=True)
class Mount:
    """The machine, its mount and its sensor.

    Attributes
    ----------
    natural_frequency : float
        w0 of the linear part, rad/s; a period of 2 s.
    damping : float
        zeta, a share of critical damping.
    stiffening : float
        k3 of the cubic part; 0 makes the mount linear.
    load, load_period : float
        Amplitude A and period P (s) of the periodic load.
    forcing : float
        Strength sigma_F of the white-noise force.
    step, substeps : float, int
        Integration step (s) and steps a sample; 0.1 s a sample.
    drift, noise : float
        Rise of the reading a sample, and standard deviation of the sensor's noise.
    """

    natural_frequency: float = math.pi
    damping: float = 0.05
    stiffening: float = 40.0
    load: float = 3.0
    load_period: float = 5.0
    forcing: float = 3.0
    step: float = 0.01
    substeps: int = 10
    drift: float = 1e-3
    noise: float = 0.05

    def __post_init__(self) -> None:
        count("substeps", self.substeps)
        for field in fields(self):
            value = getattr(self, field.name)
            if not math.isfinite(value):
                raise ValueError(f"{field.name} is {value}; it must be a finite number")
            if field.name in ("step", "load_period") and value <= 0:
                raise ValueError(f"{field.name} is {value}; it must be positive")
            if field.name in ("forcing", "noise", "damping") and value < 0:
                raise ValueError(f"{field.name} is {value}; it must not be negative")

    @property
    def season(self) -> float:
        """Samples in one period of the load."""
        return self.load_period / (self.step * self.substeps)

    @property
    def samples_a_day(self) -> float:
        """Samples in 86,400 s."""
        return 86_400 / (self.step * self.substeps)


def displacement(mount: Mount, kicks: ArrayLike) -> np.ndarray:
    """Displacement of the mount under given kicks, started at rest and sampled every `substeps` steps.

    Semi-implicit Euler: the velocity steps first, and the displacement uses the new velocity.

    Parameters
    ----------
    kicks : array, shape (N substeps,)
        What the random force adds to the velocity in each step.

    Returns
    -------
    array, shape (N,)
        The displacement at the end of each sample's last step.
    """
    kicks = np.asarray(kicks, dtype=float)
    if kicks.ndim != 1 or not len(kicks) or len(kicks) % mount.substeps or not np.isfinite(kicks).all():
        raise ValueError(f"kicks has shape {kicks.shape}; it must be (N substeps,) with N at least 1, all finite; "
                         f"a sample has {mount.substeps} steps")
    w0, zeta, k3, step, load = mount.natural_frequency, mount.damping, mount.stiffening, mount.step, mount.load
    x = v = 0.0
    path = []
    try:
        for k, kick in enumerate(kicks.tolist()):
            force = -2 * zeta * w0 * v - w0**2 * x - k3 * x**3 + load * math.sin(2 * math.pi * k * step / mount.load_period)
            v += step * force + kick
            x += step * v
            path.append(x)
    except OverflowError:
        path.append(math.inf)
    if not math.isfinite(path[-1]):
        raise ValueError(f"step is {step}; the integration diverges with it, choose a smaller one")
    return np.array(path[mount.substeps - 1::mount.substeps])


def simulate_mount(samples: int = 8000, *, rng: np.random.Generator, mount: Mount = Mount(),
                   force_scale: ArrayLike | None = None) -> np.ndarray:
    """Readings of the sensor.

    The generator draws the force of every step first and the sensor's noise after it, so two calls with generators of
    one seed and equal `samples` agree up to the first sample at which their force scales differ.

    Parameters
    ----------
    samples : int
        N.
    rng : np.random.Generator
        Draws N substeps standard normals, then N.
    force_scale : array, shape (N,), optional
        Factor on the random force while each sample is integrated; 1 everywhere where it is not given.

    Returns
    -------
    array, shape (N,)
    """
    samples = count("samples", samples)
    scale = np.ones(samples) if force_scale is None else np.asarray(force_scale, dtype=float)
    if scale.shape != (samples,) or not np.isfinite(scale).all() or (scale < 0).any():
        raise ValueError(f"force_scale has shape {scale.shape}; it must be ({samples},), finite and not negative")
    force = rng.standard_normal(samples * mount.substeps)
    noise = rng.standard_normal(samples)
    kicks = mount.forcing * np.repeat(scale, mount.substeps) * math.sqrt(mount.step) * force
    return displacement(mount, kicks) + mount.drift * np.arange(samples) + mount.noise * noise


def excited(samples: int, spans: Mapping[tuple[int, int], float]) -> np.ndarray:
    """A force scale of 1 with other values on spans of samples: `{(start, end): scale}`, `end` not included."""
    scale = np.ones(count("samples", samples))
    for (start, end), factor in spans.items():
        if not 0 <= start < end <= samples:
            raise ValueError(f"spans has ({start}, {end}); a span must lie in 0 to {samples} and hold at least one sample")
        scale[start:end] = factor
    return scale
