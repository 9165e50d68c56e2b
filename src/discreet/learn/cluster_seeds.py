"""Seeds of clusters: a coarse private picture of where rows are, and the centres that suit it best.

The picture is a tree of cells. Of each is bought how many rows it has, their sums and those of their squares; it is cut
at its noisy mean, across the feature that varies most by noisy numbers. What remains are points with weights, on which
anything may be tried as often as one likes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.learn.partition_sums import ONE, CellNoise, Places, Reals, cell_sums
from discreet.noise import SECURE, Entropy

_RESTARTS, _ROUNDS = 40, 25
_FAINT, _CUT = 2.0, 6.0  # standard deviations of noise: rows of a cell that is there, and of one that is worth cutting


@dataclass(frozen=True)
class Picture:
    """Points, in units of 2²⁰ steps, and how many rows each stands for."""

    points: Reals
    weights: Reals


def levels_for(clusters: int) -> int:
    """How many levels of cells there are: four cells or more for each cluster in the last."""
    return (clusters - 1).bit_length() + 2


def pictured(points: Reals, reach: Reals, noise: CellNoise, levels: int, rng: Entropy = SECURE) -> Picture:
    """The tree's leaves. Spends the price of `noise` once a level."""
    places: Places = np.zeros(len(points), dtype=np.int64)
    low, high = -reach[np.newaxis, :], reach[np.newaxis, :]
    told, weights = [np.zeros((0, len(reach)))], [np.zeros(0)]
    for level in range(levels):
        rows, sums, squares = noise.told(cell_sums(points, places, len(low), squares=True), rng)
        count = np.maximum(rows, noise.deviation)[:, np.newaxis]
        means = np.clip(sums / count, low, high)
        spread = squares / count - means**2
        cut = (rows > _CUT * noise.deviation) & (level < levels - 1)
        kept = ~cut & (rows > _FAINT * noise.deviation)
        told.append(means[kept])
        weights.append(rows[kept])
        if not cut.any():
            break
        number = np.where(cut, np.cumsum(cut) - 1, -1)
        along = spread.argmax(axis=1)
        edges = means[np.arange(len(means)), along]
        places = _halved(points, places, number, along, edges)
        low, high = (np.repeat(side[cut], 2, axis=0) for side in (low, high))
        each, axis = np.arange(cut.sum()), along[cut]
        high[2 * each, axis] = low[2 * each + 1, axis] = edges[cut]
    return Picture(np.concatenate(told), np.concatenate(weights))


def _halved(points: Reals, places: Places, number: Places, along: Places, edges: Reals) -> Places:
    """Where rows are when cell i is cut in two, 2 number[i] below its edge along one feature and the next above."""
    own = np.where(places >= 0, places, 0)
    above = points[np.arange(len(points)), along[own]] > np.floor(edges * ONE)[own]
    return np.where((places >= 0) & (number[own] >= 0), 2 * number[own] + above, -1)


def suited(picture: Picture, clusters: int, reach: Reals, rng: Entropy = SECURE) -> Reals:
    """Centres for a picture: Lloyd's rounds from seeds that are drawn far apart (Arthur & Vassilvitskii 2007)."""
    if not len(picture.points):
        return np.array([_scattered(reach, rng) for _ in range(clusters)])
    best, least = np.zeros((clusters, len(reach))), np.inf
    for _ in range(_RESTARTS):
        centers = _seeds(picture, clusters, reach, rng)
        for _ in range(_ROUNDS):
            near = _far(picture.points, centers).argmin(axis=1)
            weight = np.bincount(near, picture.weights, clusters)
            sums = np.column_stack([np.bincount(near, picture.weights * own, clusters) for own in picture.points.T])
            before = centers
            centers = np.where(weight[:, np.newaxis] > 0, sums / np.maximum(weight, 1e-300)[:, np.newaxis], centers)
            if np.array_equal(before, centers):
                break
        far = float(_far(picture.points, centers).min(axis=1) @ picture.weights)
        if far < least:
            best, least = centers, far
    return best


@dataclass(frozen=True)
class Seeds:
    """Centres, the share of rows of each, and how far rows vary around them by a picture."""

    centers: Reals
    weights: Reals
    variances: Reals


def seeds_of(picture: Picture, clusters: int, reach: Reals, rng: Entropy = SECURE) -> Seeds:
    """The centres that suit a picture, with what it says of each."""
    centers = suited(picture, clusters, reach, rng)
    if not len(picture.points):
        return Seeds(centers, np.full(clusters, 1 / clusters), np.tile(reach**2 / 4, (clusters, 1)))
    near = _far(picture.points, centers).argmin(axis=1)
    weight = np.bincount(near, picture.weights, clusters)
    off = (picture.points - centers[near]) ** 2
    wide = np.column_stack([np.bincount(near, picture.weights * own, clusters) for own in off.T])
    known = np.maximum(weight, 1)
    variances = wide / known[:, np.newaxis] + (reach / 16) ** 2
    return Seeds(centers, known / known.sum(), variances)


def _seeds(picture: Picture, clusters: int, reach: Reals, rng: Entropy) -> Reals:
    """Points of the picture, each drawn more often the farther it is from those before."""
    chance, told = picture.weights, []
    for _ in range(clusters):
        whole = np.cumsum(chance)
        if whole[-1] > 0:
            at = np.searchsorted(whole, rng.bits(53) * 2.0**-53 * whole[-1], side="right")
            told.append(picture.points[min(int(at), len(whole) - 1)])
        else:
            told.append(_scattered(reach, rng))
        chance = picture.weights * _far(picture.points, np.array(told)).min(axis=1)
    return np.array(told)


def _scattered(reach: Reals, rng: Entropy) -> Reals:
    """A place anywhere within reach."""
    told: Reals = reach * np.array([rng.bits(53) * 2.0**-52 - 1 for _ in reach])
    return told


def _far(points: Reals, centers: Reals) -> Reals:
    """The square of how far each point is from each centre."""
    told: Reals = ((points[:, np.newaxis, :] - centers[np.newaxis, :, :]) ** 2).sum(axis=2)
    return told
