"""Exact laws of discrete Laplace noise, and of how far many draws are from nothing when they are added up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Law = NDArray[np.float64]


def laplace(scale: float, reach: int) -> tuple[NDArray[np.int64], Law]:
    """Discrete Laplace noise up to so far, and its chances."""
    noise, q = np.arange(-reach, reach + 1), np.exp(-1 / scale)
    return noise, (1 - q) / (1 + q) * q ** np.abs(noise)


def added_sizes(scale: float, draws: int) -> Law:
    """How likely the absolute values of so many independent draws add up to 0, 1, 2, …"""
    reach = int(45 * scale) + 2  # beyond that lies less than 1e-19
    _, chances = laplace(scale, reach)
    sizes = np.concatenate([chances[reach : reach + 1], 2 * chances[reach + 1 :]])
    room = draws * reach + 1
    law = np.fft.irfft(np.fft.rfft(sizes, room) ** draws, room)
    return np.maximum(0, law)
