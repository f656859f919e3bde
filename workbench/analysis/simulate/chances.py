"""Draws of a simulation: each a keyed hash of the seed and of what it is for, never the next of a stream."""

from collections.abc import Mapping
from itertools import accumulate
from statistics import NormalDist

from workbench.domain.ids import Draws

_BITS = 53
_NORMAL = NormalDist()


class Chances:
    """Shares and choices by their natural key; asking for one more shifts none of the others."""

    def __init__(self, seed: str) -> None:
        self._draws = Draws(seed)

    def share(self, *natural_key: str | int) -> float:
        """A number above 0 and below 1. It decides how much money there is, and never holds any."""
        drawn = int.from_bytes(self._draws.digest("share", *natural_key, size=8), "big") >> (64 - _BITS)
        return (drawn + 0.5) / (1 << _BITS)

    def normal(self, *natural_key: str | int) -> float:
        """A number of the standard normal distribution."""
        return _NORMAL.inv_cdf(self.share(*natural_key))

    def rank(self, *natural_key: str | int) -> int:
        """Where something stands when all of its kind are shuffled: the lowest are taken first."""
        return int.from_bytes(self._draws.digest("rank", *natural_key, size=8), "big")

    def below(self, bound: int, *natural_key: str | int) -> int:
        """A whole number from 0 up to, not including, `bound`."""
        return self._draws.below(bound, *natural_key)

    def between(self, bounds: tuple[int, int], *natural_key: str | int) -> int:
        """A whole number from the first to the last of `bounds`."""
        low, high = bounds
        return low + self.below(high - low + 1, *natural_key)

    def happens(self, per_100k: int, *natural_key: str | int) -> bool:
        """Whether something that happens so often in a hundred thousand happens here."""
        return self.below(100_000, *natural_key) < per_100k

    def one_of(self, weights: Mapping[str, int], *natural_key: str | int) -> str:
        """One of the names, as often as its weight says."""
        at = self.below(sum(weights.values()), *natural_key)
        return next(name for name, reached in zip(weights, accumulate(weights.values()), strict=True) if at < reached)
