"""NumPy's default generator, PCG64, for thousands of streams at once: array operations instead of one call per stream.

Bit for bit what `numpy.random.default_rng` gives, stream by stream: the seeds are spread as `numpy.random.SeedSequence`
spreads them (M. E. O'Neill, "Developing a seed_seq Alternative", 2015), and the generator is a 128-bit linear
congruence with a permuted output (PCG XSL RR 128/64; O'Neill, "PCG: A Family of Simple Fast Space-Efficient
Statistically Good Algorithms for Random Number Generation", 2014, Section 6.3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fedabm.common.arrays import Array

__all__ = ["AT_ONCE", "Bits", "begun", "spread", "uniform"]

#: 32-bit words, one row per stream
Words = NDArray[np.uint32]
Halves = NDArray[np.uint64]

_POOL = 4
_FIRST, _SECOND = (0x43B0D7E5, 0x931E8875), (0x8B51F9DD, 0x58F38DED)
_MIX_LEFT, _MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_FOLD = np.uint32(16)
_FACTOR_HIGH, _FACTOR_LOW = np.uint64(0x2360ED051FC65DA4), np.uint64(0x4385DF649FCCF645)
_HALF = np.uint64(32)
_LOWER = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
#: streams that are worked on together: few enough for a processor's cache
AT_ONCE = 8192


class Bits(NamedTuple):
    """The states of many generators and what each adds in a step, 128 bits as two halves."""

    high: Halves
    low: Halves
    add_high: Halves
    add_low: Halves


def spread(entropy: Iterable[NDArray[np.uint32]], wanted: int) -> Words:
    """What `SeedSequence(entropy).generate_state(wanted)` gives, (n, wanted), for words of entropy of n rows each."""
    words = list(entropy)
    words += [np.zeros(1, dtype=np.uint32)] * (_POOL - len(words))
    stir = _hashed(*_FIRST)
    pool = [stir(word) for word in words[:_POOL]]
    for source in range(_POOL):
        for place in range(_POOL):
            if source != place:
                pool[place] = _mixed(pool[place], stir(pool[source]))
    for word in words[_POOL:]:
        pool = [_mixed(part, stir(word)) for part in pool]
    stir = _hashed(*_SECOND)
    return np.stack(np.broadcast_arrays(*(stir(pool[place % _POOL]) for place in range(wanted))), axis=1)


def _hashed(constant: int, factor: int) -> Callable[[NDArray[np.uint32]], NDArray[np.uint32]]:
    """A hash whose constants change with every word."""

    def stir(word: NDArray[np.uint32]) -> NDArray[np.uint32]:
        nonlocal constant
        value = word ^ np.uint32(constant)
        constant = constant * factor & 0xFFFFFFFF
        value = value * np.uint32(constant)
        return value ^ (value >> _FOLD)

    return stir


def _mixed(one: NDArray[np.uint32], other: NDArray[np.uint32]) -> NDArray[np.uint32]:
    mixed = one * _MIX_LEFT - other * _MIX_RIGHT
    return mixed ^ (mixed >> _FOLD)


def begun(words: Words) -> Bits:
    """The generators `default_rng(row)` of all rows of words (n, k), before anything is drawn."""
    parts = [_begun(words[first : first + AT_ONCE]) for first in range(0, len(words), AT_ONCE)] or [_begun(words)]
    return Bits(*(np.concatenate(halves) for halves in zip(*parts, strict=True)))


def _begun(words: Words) -> Bits:
    seeds = np.ascontiguousarray(spread(words.T, 8).astype("<u4")).view("<u8").astype(np.uint64)
    start_high, start_low, high, low = seeds.T
    add_high, add_low = high << _ONE | low >> np.uint64(63), low << _ONE | _ONE
    sum_low = add_low + start_low
    bits = Bits(add_high + start_high + (sum_low < start_low), sum_low, add_high, add_low)
    return Bits(*_stepped(bits), add_high, add_low)


def _stepped(bits: Bits) -> tuple[Halves, Halves]:
    """state * factor + what is added, modulo 2^128."""
    lower, upper = bits.low & _LOWER, bits.low >> _HALF
    factor_lower, factor_upper = _FACTOR_LOW & _LOWER, _FACTOR_LOW >> _HALF
    cross, across = lower * factor_upper, upper * factor_lower
    middle = (lower * factor_lower >> _HALF) + (cross & _LOWER) + (across & _LOWER)
    carried = upper * factor_upper + (cross >> _HALF) + (across >> _HALF) + (middle >> _HALF)
    low = bits.low * _FACTOR_LOW + bits.add_low
    high = carried + bits.high * _FACTOR_LOW + bits.low * _FACTOR_HIGH + bits.add_high + (low < bits.add_low)
    return high, low


def uniform(bits: Bits, rows: NDArray[np.intp] | None = None) -> Array:
    """A number from [0, 1) from each of the generators (of those in `rows`), which take a step."""
    n = len(bits.low) if rows is None else len(rows)
    drawn = np.empty(n)
    for first in range(0, n, AT_ONCE):
        part = slice(first, first + AT_ONCE)
        some = part if rows is None else rows[part]
        high, low = _stepped(Bits(*(column[some] for column in bits)))
        bits.high[some], bits.low[some] = high, low
        turn, value = high >> np.uint64(58), high ^ low
        turned = value >> turn | value << (np.uint64(64) - turn & np.uint64(63))
        drawn[part] = (turned >> np.uint64(11)) * 2.0**-53
    return drawn
