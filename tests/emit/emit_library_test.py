"""Kernels emitted from TTGIR modules with forms that kernels of other libraries have: additions in memory under masks and in 16 bits,
sums of integers, bits taken for numbers, running maxima: executed on the CPU beside formulas written here by hand, every wait and every fence
removed once, and compiled.

usage: emit_library_test.py TWILL [--compile] [--removed] [MODULE...]
As emit_pointers_test.py, whose runs these are. The functions are those of library_kernels.py.
"""
import sys
import tempfile

import emit_around_test as around
import emit_pointers_test as pointers
import numpy as np
import stand_in
from emit_whole_test import Taps, same

stand_in.NAN_DROPPED = True

BOTH = ("hopper", "blackwell")
CASES = [f"{name}-{machine}" for name in ("parts-added", "experts-added", "sums-added", "counted", "bits-changed", "running-most",
                                                 "behind-in-two", "stats-updated", "long-taps", "last-block-first", "any-and-all", "numbers-stored", "numbers-where", "last-kept", "every-third", "sums-from-end", "left-before", "odd-loads", "numbers-kept",
                                                 "bytes-stored", "nibbles-mixed", "experts-counted", "odd-tiles", "halves", "pairs-turned", "groups-scaled", "between-groups", "peaks-stored", "rows-chosen", "while-counted", "blocks-by-pointers", "blocks-measured", "rows-in-turn", "heads-added", "numbers-before", "both-chosen", "without-sign", "words-carried", "begun-with", "keys-grouped", "scores-biased", "blocks-counted", "scores-dropped", "places-hashed", "experts-skipped", "parts-merged", "gap-jumped", "gates-multiplied", "splits-combined", "blocks-left-out", "lengths-in-turn", "blocks-attended", "row-rewritten", "loss-and-gradient", "residual-normed", "taken-and-cleared") for machine in BOTH] + ["half-sums-hopper", "integers"]
# Vectors of 256 numbers, for 128 threads.
pointers.NARROW.update({f"{name}-{machine}": 8 for name in ("bits-changed", "blocks-counted", "last-block-first", "while-counted", "numbers-before") for machine in BOTH})
pointers.NARROW.update({f"scores-biased-{machine}": 4 for machine in BOTH})  # (vectors of 32 and of 64)
pointers.NARROW["integers"] = 4  # (its arguments say nothing of where they begin)
# (Vectors of 32 and of 64.)
pointers.NARROW.update({f"{name}-{machine}": 4 for name in ("pairs-turned", "odd-tiles") for machine in BOTH})
# The sum that the loading slot has waited for was made when the next iteration's tile had been read; what that slot tells of one store it tells
# behind the other's.
IMPLIED = {"bits-changed-hopper": 1, "bits-changed-blackwell": 1, "running-most-hopper": 1,
           "running-most-blackwell": 2, "sums-from-end-hopper": 2, "sums-from-end-blackwell": 1}
# What was stored through registers was stored before the copies that the other barrier tells of were issued.
IMPLIED.update({"odd-loads-blackwell": 2})
# Where rows and counts lie is loaded again by who needs it: nobody reads the buffers of these places, so their fences and waits do nothing. What the
# loading slot tells of one store it tells behind the other's.
IMPLIED.update({"any-and-all-hopper": 9, "any-and-all-blackwell": 10})
# (No run here is as long as their rings.)
IMPLIED.update({f"{name}-{machine}": 1 for machine in BOTH
                for name in ("behind-in-two", "stats-updated", "numbers-stored", "numbers-where", "every-third", "numbers-kept")})
IMPLIED.update({"splits-combined-hopper": 1, "splits-combined-blackwell": 2})
# (A ring of six for seven blocks at most; the first iteration's factor is of sums that are 0.)
IMPLIED.update({"blocks-attended-hopper": 1, "blocks-attended-blackwell": 1})
# (What the storing slot tells of one store it tells behind the other's; no run here goes
# round a ring of five twice.)
IMPLIED.update({"halves-hopper": 1, "halves-blackwell": 2, "groups-scaled-hopper": 2, "groups-scaled-blackwell": 2, "between-groups-hopper": 2,
                "between-groups-blackwell": 1})
# (Likewise rings of nine and eleven; the words are loaded again by who needs their rows.)
IMPLIED.update({"rows-chosen-hopper": 3, "rows-chosen-blackwell": 3})
# (Where columns lie the loading slot computes itself, so that their fences and that wait do nothing. It waits for a mask and for what is stored
# under it, of which one slot made the latter first; and tells of one store behind the others.)
IMPLIED.update({"peaks-stored-hopper": 18, "peaks-stored-blackwell": 18})
# (Rings of five and six, of which a run of few blocks needs no copy twice; and a store's end, which the next load's wait tells.)
IMPLIED.update({"rows-in-turn-hopper": 22, "rows-in-turn-blackwell": 22})
IMPLIED.update({f"last-kept-{machine}": 2 for machine in BOTH})
# (Six stores of one iteration, of which a slot tells behind the last: what it tells of the others is told then, too.)
IMPLIED.update({"without-sign-hopper": 7, "without-sign-blackwell": 5})
# (The slot that adds to the results has waited for the products of the other; one slot's copies are there in their order, and a ring of two.)
IMPLIED.update({"scores-dropped-blackwell": 1, "places-hashed-hopper": 2, "places-hashed-blackwell": 1})
# (Likewise; vectors of sixteen.)
IMPLIED.update({"parts-merged-hopper": 2, "parts-merged-blackwell": 1})
pointers.NARROW.update({f"parts-merged-{machine}": 4 for machine in BOTH})
# (Where columns lie the loading slot computes itself, so that their fences and waits do nothing.)
IMPLIED.update({"gap-jumped-hopper": 17, "gap-jumped-blackwell": 7})
# (What the storing slot tells of the first of four stores it tells behind all of the iteration before; the last that it waits for was made last.)
IMPLIED.update({"gates-multiplied-hopper": 4, "gates-multiplied-blackwell": 5})
# (The largest number of all lies in its ring before the last sum can be made.)
IMPLIED.update({f"loss-and-gradient-{machine}": 1 for machine in BOTH})
off = around.off
# Where the last loop stores what the one before it loads, or loads what that one stores: its end must be waited for.
ENDS = {f"{name}-{machine}" for name in ("row-rewritten", "loss-and-gradient", "residual-normed", "taken-and-cleared") for machine in BOTH}


def sixteenths(random, *shape):
    """Of so few numbers that sums in 16 bits are exact."""
    return random.integers(-2, 3, shape).astype(np.float16)


def upper_half(x, y):
    """Of the 64 bits of each product, both without sign."""
    return np.array([int(one) % 2**32 * (y % 2**32) >> 32 for one in np.ravel(x)], np.int64).reshape(np.shape(x))


class PartsAdded:
    """parts_added(x, w, y, M, N, K): Y += X W in f16, in two parts; all ends are ragged."""

    def make(self, n, random):
        self.m, self.n, self.k, self.grid = 112, 80, 128 * n - (16 if n else 0), (2, 2, 2)
        self.x, self.w = sixteenths(random, self.m, self.k), sixteenths(random, self.k, self.n)
        self.before = sixteenths(random, self.m, self.n)
        self.y = self.before.copy()

    def arguments(self):
        return [self.x, self.w, self.y, self.m, self.n, self.k]

    def errors(self):
        yield same(self.y, self.before + self.x.astype(np.float64) @ self.w.astype(np.float64))


class ExpertsAdded:
    """experts_added(x, w, y, token, expert, tokens, K, N): the tokens of a block of rows, some of which are none."""

    def make(self, n, random):
        self.tokens, self.k, self.n, self.grid = 100, 64 * n, 128, (2, 2)
        self.x, self.w = pointers.half(random, self.tokens, self.k), pointers.half(random, 3, self.k, self.n)
        self.before = around.floats(random, self.tokens, self.n)
        self.y = self.before.copy()
        self.token = np.concatenate([random.permutation(self.tokens), np.full(28, 10**6)])[random.permutation(128)].astype(np.int32)
        self.expert = np.array([2, 0], np.int32)

    def arguments(self):
        return [self.x, self.w, self.y, self.token, self.expert, self.tokens, self.k, self.n]

    def errors(self):
        want = self.before.astype(np.float64)
        for row, token in enumerate(self.token):
            if token < self.tokens:
                want[token] += self.x[token].astype(np.float64) @ self.w[self.expert[row // 64]].astype(np.float64)
        yield off(self.y, want)


class SumsAdded:
    """sums_added(x, y, rows): of few numbers, in bf16."""

    def make(self, n, random):
        self.rows, self.grid = 32 * n, (1,)
        self.x, self.y = sixteenths(random, self.rows, 128), random.integers(-4, 5, 128).astype(np.float32)
        self.before = self.y.copy()

    def arguments(self):
        return [self.x, self.y, self.rows]

    def errors(self):
        # (Up to 256 bf16 has all whole numbers.)
        yield same(self.y, self.before + self.x.astype(np.float64).sum(axis=0))


class Counted:
    """counted(x, y, z, columns): numbers above 0.25, and sums of their upper bits."""

    def make(self, n, random):
        self.columns, self.grid = 64 * n, (2,)
        self.x = around.floats(random, 64, self.columns) * np.float32(3)
        self.y, self.z = (np.full(64, -7, np.int32) for _ in range(2))

    def arguments(self):
        return [self.x, self.y, self.z, self.columns]

    def errors(self):
        yield same(self.y, (self.x > 0.25).sum(axis=1))
        yield same(self.z, (self.x.view(np.int32) >> 20).sum(axis=1))


class BitsChanged:
    """bits_changed(x, y, z, steps): numbers without their sign and their last bits; their exponents."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x = around.floats(random, n, 256) * np.float32(5)
        self.y, self.z = np.full((n, 256), np.nan, np.float32), np.full((n, 256), -7, np.int32)

    def arguments(self):
        return [self.x, self.y, self.z, self.steps]

    def errors(self):
        bits = self.x.view(np.int32)
        yield same(self.y, ((bits & 0x7FFF0000) + 0x100).view(np.float32) * np.float32(0.5))
        yield same(self.z, bits >> 23)


class RunningMost:
    """running_most(x, y, z, steps): the largest number of each row so far, and the least of each column."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x = around.floats(random, n, 16, 64)
        self.y, self.z = (np.full((n, 16, 64), np.nan, np.float32) for _ in range(2))

    def arguments(self):
        return [self.x, self.y, self.z, self.steps]

    def errors(self):
        yield same(self.y, np.maximum.accumulate(self.x, axis=2))
        yield same(self.z, np.minimum.accumulate(self.x, axis=1))


class HalfSums:
    """half_sums(q, k, v, o, n): O = relu(Q K') V, whose sums are exact in f16."""

    def make(self, n, random):
        self.n, self.grid = 64 * n, (2,)
        self.q, self.k = (sixteenths(random, rows, 64) for rows in (256, self.n))
        self.v = (random.random((self.n, 64)) < 0.02).astype(np.float16)
        self.o = np.full((256, 64), np.nan, np.float16)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.n]

    def errors(self):
        s = np.maximum(self.q.astype(np.float64) @ self.k.astype(np.float64).T, 0)
        want = s @ self.v.astype(np.float64)
        assert np.abs(want).max(initial=0) < 2048  # up to here f16 has all whole numbers
        yield same(self.o, want)


class BehindInTwo:
    """behind_in_two(x, y, w, columns, scaled): three ways out."""

    def make(self, n, random):
        self.columns, self.grid, self.scaled = 256 * n, (2,), (1, 0, -4, -3, 7)[n % 5]
        self.x, self.w = around.floats(random, 2, self.columns), around.floats(random, 256)
        self.y = np.full((2, 256), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.y, self.w, self.columns, self.scaled]

    def errors(self):
        want = np.square(self.x.astype(np.float64)).reshape(2, -1, 256).sum(axis=1)
        yield off(self.y, want * self.w if self.scaled > 0 else -want if self.scaled < -3 else want)


class StatsUpdated:
    """stats_updated(x, mean, rows, scale, momentum)."""

    def make(self, n, random):
        self.rows, self.grid = n, (2,)
        self.x, self.before = around.floats(random, n, 512).astype(np.float16), around.floats(random, 512)
        self.mean = self.before.copy()

    def arguments(self):
        return [self.x, self.mean, self.rows, 0.25, 0.1]

    def errors(self):
        yield off(self.mean, self.before * 0.9 + self.x.astype(np.float64).sum(axis=0) * 0.025)


class LastBlockFirst:
    """last_block_first(x, y, columns): Y = 2 X."""

    def make(self, n, random):
        self.columns, self.grid = 256 * n + 204, (2,)
        self.x = around.floats(random, 2, self.columns)
        self.y = np.full((2, self.columns), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.y, self.columns]

    def errors(self):
        yield same(self.y, self.x * np.float32(2))


class AnyAndAll:
    """any_and_all(x, i, y, z, h, steps): rows of 50, chosen; none is -1 everywhere."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x, self.i = around.floats(random, 50, 64) * np.float32(2), random.integers(-3, 50, (n, 16)).astype(np.int32)
        self.x[5:20] = np.abs(self.x[5:20])
        self.y, self.z, self.h = np.full((n, 16), -7, np.int32), np.full((n, 16), -7, np.int32), np.full(50, 3, np.int32)

    def arguments(self):
        return [self.x, self.i, self.y, self.z, self.h, self.steps]

    def errors(self):
        kept = np.where(self.i[:, :, None] >= 0, self.x[self.i], np.float32(-1))
        yield same(self.y, (kept > 1.9).any(axis=2))
        yield same(self.z, (kept > -1.9).all(axis=2))
        yield same(self.h, 3 + np.bincount(self.i[self.i >= 0], minlength=50))


class NumbersStored:
    """numbers_stored(x, s, mean, twice, count, most, one, steps)."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x, self.s = around.floats(random, n, 256), around.floats(random, n)
        self.mean, self.twice, self.count = np.full(n, np.nan, np.float16), np.full(3 * n, np.nan, np.float32), np.full(n, -7, np.int32)
        self.most, self.one = np.full(n, np.nan, np.float32), np.full(256, np.nan, np.float32)

    def arguments(self):
        return [self.x, self.s, self.mean, self.twice, self.count, self.most, self.one, self.steps]

    def errors(self):
        yield off(self.mean, self.x.astype(np.float64).mean(axis=1) * self.s)
        yield same(self.twice[::3], self.s * np.float32(2))
        yield same(self.count, (self.x > 0).sum(axis=1))
        yield same(self.most, np.maximum.accumulate(np.maximum(self.x.max(axis=1, initial=-100.0), np.float32(-100))))
        yield same(self.one, np.full(256, 1.5))


class NumbersWhere:
    """numbers_where(x, first, sum, most, steps, limit)."""

    def make(self, n, random):
        self.steps, self.grid, self.limit = n, (3,), (1, 0, 2, 5, 3)[n % 5]
        self.x = around.floats(random, 3, n, 256)
        self.first, self.sum, self.most = np.full(1, 7, np.float32), np.full((3, n), 7, np.float32), np.full(3, 7, np.float32)

    def arguments(self):
        return [self.x, self.first, self.sum, self.most, self.steps, self.limit]

    def errors(self):
        sums = self.x.astype(np.float64).sum(axis=2)
        yield off(self.sum, np.where(np.arange(self.steps)[None, :] >= self.limit, np.cumsum(sums, axis=1), 7))
        yield off(self.first, sums[:1].sum(axis=1))
        yield off(self.most, np.where(np.arange(3) < self.limit, sums.sum(axis=1), 7))


class LastKept:
    """last_kept(x, i, y, z, w, steps): without a step what there was before."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x, self.i = around.floats(random, n, 16, 64), random.integers(0, 99, (n, 16)).astype(np.int32)
        self.y, self.z = (np.full((16, 64), np.nan, np.float32) for _ in range(2))
        self.w = np.full(16, -7, np.int32)

    def arguments(self):
        return [self.x, self.i, self.y, self.z, self.w, self.steps]

    def errors(self):
        yield off(self.y, self.x.astype(np.float64).sum(axis=0))
        yield same(self.z, np.square(self.x[-1]) if self.steps else np.full((16, 64), 3.0))
        yield same(self.w, 1 - self.i[-1] % 2 if self.steps else np.full(16, 7))


class SumsFromEnd:
    """sums_from_end(x, w, y, z, v, all, steps)."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x, self.w = around.floats(random, n, 16, 64), random.integers(-99, 99, (n, 64)).astype(np.int32)
        self.y, self.z = (np.full((n, 16, 64), np.nan, np.float32) for _ in range(2))
        self.v, self.all = np.full((n, 64), 5, np.int32), np.full(n + 1, 0.5, np.float32)

    def arguments(self):
        return [self.x, self.w, self.y, self.z, self.v, self.all, self.steps]

    def errors(self):
        yield off(self.y, np.cumsum(self.x[:, :, ::-1].astype(np.float64), axis=2)[:, :, ::-1])
        yield same(self.z, np.maximum.accumulate(self.x[:, ::-1], axis=1)[:, ::-1])
        yield same(self.v, 5 + np.cumsum(self.w[:, ::-1], axis=1)[:, ::-1])
        sums = self.w.sum(axis=1)
        yield same(self.all, 0.5 + np.concatenate([[sums.sum()], sums]))


class LeftBefore:
    """left_before(q, s, x, y, steps)."""

    def make(self, n, random):
        self.steps, self.grid = n, (2,)
        self.q, self.x = pointers.half(random, 128, 128), pointers.half(random, 128 * n, 128)
        self.s, self.y = random.random(n).astype(np.float32), np.full((128, 128), np.nan, np.float32)
        self.s[n - 1:] = 0.75  # (The last product is of something.)

    def arguments(self):
        return [self.q, self.s, self.x, self.y, self.steps]

    def errors(self):
        want = np.zeros((128, 128))
        for t in range(self.steps):
            if self.s[t] > 0.5:
                want += 2 * self.q.astype(np.float64) @ self.x[128 * t:128 * t + 128].astype(np.float64).T
        yield off(self.y, want)


class OddLoads:
    """odd_loads(x, w, y, steps, stride)."""

    def make(self, n, random):
        self.steps, self.grid, self.stride = n, (1,), 3
        self.x, self.w = around.floats(random, n, 256, 3).astype(np.float16), around.floats(random, n, 256).astype(np.float16)
        self.y = np.full((n, 256), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.y, self.steps, self.stride]

    def errors(self):
        w = np.where(np.arange(256) < self.steps * 40, self.w, np.float16(1)).astype(np.float64)
        yield off(self.y, self.x[:, :, 0].astype(np.float64) * w)


class EveryThird:
    """every_third(x, y, first, steps): `first` may be less than 0, and the rest has its sign."""

    def make(self, n, random):
        self.steps, self.grid, self.first = n, (1,), (0, 1, -5, 2)[n % 4]
        self.x, self.y = around.floats(random, n, 256), np.full(256, np.nan, np.float32)

    def arguments(self):
        return [self.x, self.y, self.first, self.steps]

    def errors(self):
        want = np.zeros(256)
        for k in range(self.steps):
            want = want + self.x[k] if np.fmod(self.first + k, 3) == 1 else want * 0.5 - self.x[k]
        yield off(self.y, want)


class NumbersKept:
    """numbers_kept(x, s, y, factor, last, most, steps): y has the sum, and behind it each row's."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x, self.s = around.floats(random, n, 256), random.random(n).astype(np.float32)
        self.y = np.full(256 + n, np.nan, np.float32)
        self.factor, self.last, self.most = (np.full(1, np.nan, np.float32) for _ in range(3))

    def arguments(self):
        return [self.x, self.s, self.y, self.factor, self.last, self.most, self.steps]

    def errors(self):
        rows, factor, most = self.x.astype(np.float64).sum(axis=1), 1.0, 0.0
        for s, row in zip(self.s.astype(np.float64), rows):
            factor, most = factor * s if s > 0.5 else factor * 0.75 + 0.125, max(most * 0.75, row)
        yield off(self.y, np.concatenate([self.x.astype(np.float64).sum(axis=0) * factor, rows]))
        yield off(self.factor, np.array([factor]))
        yield same(self.last, self.s[-1:] * 2 if self.steps else np.full(1, -5.0))
        yield off(self.most, np.array([most]))


class OddTiles:
    """odd_tiles(x, s, y, steps, stride)."""

    def make(self, n, random):
        self.steps, self.stride, self.grid = n, 61, (1,)
        self.x, self.s = around.floats(random, n * 64, 61).astype(np.float16), around.floats(random, n * 64)
        self.y = np.full((n * 64, 64), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.s, self.y, self.steps, self.stride]

    def errors(self):
        x = np.concatenate([self.x.astype(np.float64), np.ones((64 * self.steps, 3))], axis=1)
        yield off(self.y, x * self.s[:, None].astype(np.float64))


class Halves:
    """halves(x, y, z, steps): of even and odd numbers the differences and the products."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x = around.floats(random, n, 512)
        self.y, self.z = np.full((n, 256), np.nan, np.float32), np.full((n, 256), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.y, self.z, self.steps]

    def errors(self):
        even, odd = (self.x[:, k::2].astype(np.float64) for k in (0, 1))
        yield off(self.y, even - odd)
        yield off(self.z, even * odd)


class PairsTurned:
    """pairs_turned(x, c, s, y, steps)."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x, self.c, self.s = around.floats(random, n, 16, 64), around.floats(random, n, 32), around.floats(random, n, 32)
        self.y = np.full((n, 16, 64), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.c, self.s, self.y, self.steps]

    def errors(self):
        even, odd = (self.x[:, :, k::2].astype(np.float64) for k in (0, 1))
        c, s = self.c[:, None].astype(np.float64), self.s[:, None].astype(np.float64)
        yield off(self.y[:, :, 0::2], even * c - odd * s)
        yield off(self.y[:, :, 1::2], even * s + odd * c)


class GroupsScaled:
    """groups_scaled(x, y, s, z, steps)."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x = around.floats(random, n, 16, 64)
        self.y, self.s, self.z = (np.full(shape, np.nan, np.float32) for shape in ((n, 16, 64), (n, 16, 4), (16, 64)))

    def arguments(self):
        return [self.x, self.y, self.s, self.z, self.steps]

    def errors(self):
        x = self.x.astype(np.float64).reshape(self.steps, 16, 4, 16)
        most = np.abs(x).max(axis=3) + 0.125
        y = x / most[..., None]
        yield off(self.y, y.reshape(self.y.shape))
        yield off(self.s, most)
        yield off(self.z, y.sum(axis=0).swapaxes(1, 2).reshape(16, 64))


class BetweenGroups:
    """between_groups(x, y, z, steps)."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x = around.floats(random, n, 16, 64)
        self.y, self.z = np.full((n, 16, 64), np.nan, np.float32), np.full((n, 16, 32), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.y, self.z, self.steps]

    def errors(self):
        x = self.x.astype(np.float64).reshape(self.steps, 16, 4, 16)
        yield off(self.y, (x - x.mean(axis=2, keepdims=True)).reshape(self.y.shape))
        yield off(self.z, (self.x[:, :, :32].astype(np.float64) - self.x[:, :, 32:]))


class BytesStored:
    """bytes_stored(x, y, z, steps): numbers whose lowest bytes have both signs."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x = random.integers(-2**29, 2**29, (n, 512)).astype(np.int32)
        self.y, self.z = np.full((n, 512), 5, np.int8), np.full(512, 5, np.int8)

    def arguments(self):
        return [self.x, self.y, self.z, self.steps]

    def errors(self):
        lowest = lambda x: ((x & 255) ^ 128) - 128  # noqa: E731
        yield same(self.y, lowest(self.x.astype(np.int64) * 3 + 1))
        yield same(self.z, lowest(self.x.astype(np.int64).sum(axis=0)))


class NibblesMixed:
    """nibbles_mixed(x, w, y, z, steps)."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x = random.integers(-128, 128, (n, 512)).astype(np.int8)
        self.w = random.integers(-2**31, 2**31, (n, 512)).astype(np.int32)
        self.y, self.z = np.full((n, 512), 5, np.int32), np.full(512, 5, np.int32)

    def arguments(self):
        return [self.x, self.w, self.y, self.z, self.steps]

    def errors(self):
        x, w = self.x.astype(np.int64), self.w.astype(np.int64)
        low, high = ((x & 15) ^ 8) - 8, (x & 255) // 16
        mixed = upper_half(w, -766435501) ^ (low * 16 + high)
        yield same(self.y, mixed.astype(np.uint32).view(np.int32))
        yield same(self.z, low.sum(axis=0))


class ExpertsCounted:
    """experts_counted(i, each, all, steps)."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.i = random.integers(0, 128, (n, 512)).astype(np.int32)
        self.each, self.all = np.full((n, 128), -1, np.int32), np.full(128, -1, np.int32)

    def arguments(self):
        return [self.i, self.each, self.all, self.steps]

    def errors(self):
        want = np.array([np.bincount(row, minlength=128) for row in self.i], np.int64).reshape(-1, 128)
        yield same(self.each, want)
        yield same(self.all, want.sum(axis=0))


class Integers:
    """integers(w, b, v, y, counts, count), written by hand: its steps as they stand there."""

    def make(self, n, random):
        self.n, self.count, self.grid = n, 32 * n, (1,)
        self.w = random.integers(-2**31, 2**31, (n, 32, 32)).astype(np.int32)
        self.b = random.integers(-128, 128, (n, 32, 32)).astype(np.int8)
        self.v = random.integers(0, 64, 32 * n + 32).astype(np.int32)
        self.y, self.counts = np.full((n, 32, 32), np.nan, np.float32), np.full(64, -1, np.int32)

    def arguments(self):
        return [self.w, self.b, self.v, self.y, self.counts, self.count]

    def errors(self):
        w, b = self.w.astype(np.int64), self.b.astype(np.int64)
        signed = lambda x: ((x & (2**32 - 1)) ^ 2**31) - 2**31  # noqa: E731
        towards_zero = lambda x, y: np.sign(x) * np.sign(y) * (np.abs(x) // abs(y))  # noqa: E731
        low = (w >> 4 * (np.arange(32) % 8)) & 15
        lower, upper = ((b & 15) ^ 8) - 8, (b & 255) >> 4
        high = signed(upper_half(w, -766435501))
        product = signed(w * -766435501)
        mixed = high ^ product
        left = ((mixed & (2**32 - 1)) >> 7) - 1024 * np.arange(self.n).reshape(-1, 1, 1)
        rests = mixed - towards_zero(mixed, -3) * -3
        least = np.minimum(signed(towards_zero(left, -3) + rests) | (b & 255), product)
        less = lower < rests
        chosen = np.where(less ^ (low >= 8), least.astype(np.float32) * np.float32(2**-31), low.astype(np.float32))
        cut = ((least & 255) ^ 128) - 128
        yield same(self.y, chosen + upper.astype(np.float32) + less.astype(np.float32) + cut.astype(np.float32))
        counts = sum((np.bincount(self.v[32 * k:32 * k + 64], minlength=64) for k in range(self.n)), np.zeros(64, np.int64))
        yield same(self.counts, counts)


class PeaksStored:
    """peaks_stored(x, y, most, added, last, steps, length). What is not stored must stay."""

    def make(self, n, random):
        self.steps, self.length, self.grid = n, max(0, 64 * n - 9), (2,)
        self.x = np.round(random.standard_normal((32, 64 * n)) * 64).astype(np.float32) / 64
        self.y, self.most = np.full((32, 64 * n), 77, np.float32), np.full((n, 32), 77, np.float32)
        self.before = np.round(random.standard_normal((32, 64)) * 64).astype(np.float32) / 64
        self.added, self.last = self.before.copy(), np.full(32, 77, np.float32)

    def arguments(self):
        return [self.x, self.y, self.most, self.added, self.last, self.steps, self.length]

    def errors(self):
        x = self.x.astype(np.float64)
        inside = np.arange(x.shape[1]) < self.length
        yield same(self.y, np.where((x > 0.75) & inside, 2 * x, 77))
        tiles = x.reshape(32, self.steps, 64)
        row = tiles.max(axis=2) if self.steps else np.zeros((32, 0))
        yield same(self.most, np.where(row > 1.5, row, 77).T)
        yield same(self.added, self.before + np.where((row > 1.5)[:, :, None], tiles, 0).sum(axis=1))
        last = row.max(axis=1, initial=-8.0)
        yield same(self.last, np.where(last > 2.0, last, 77))


class RowsChosen:
    """rows_chosen(table, i, steps, y): the words have other bits than those that are read, too."""

    def make(self, n, random):
        self.n, self.grid = n, (2,)
        self.table = sixteenths(random, 65, 64)
        self.i = random.integers(-2**31, 2**31, max(1, n) * 32).astype(np.int32)
        self.steps = np.array([n + 8 * 3, max(0, n - 1) - 8], np.int32)
        self.y = np.full((2, 32, 64), np.nan, np.float32)

    def arguments(self):
        return [self.table, self.i, self.steps, self.y]

    def errors(self):
        word = self.i.astype(np.int64).reshape(-1, 32)
        rows = self.table.astype(np.float64)[(word & 63) + ((word >> 6) & 1)]
        yield same(self.y, np.stack([rows[:count].sum(axis=0) for count in (self.n, max(0, self.n - 1))]))


class WhileCounted:
    """while_counted(x, y, z, first, steps)."""

    def make(self, n, random):
        self.n, self.first, self.steps, self.grid = n, 1, 2 * n, (1,)
        self.x = around.floats(random, 2 * n + 1, 256)
        self.y, self.z = np.full((2 * n + 1, 256), 77, np.float32), np.full(256, np.nan, np.float32)

    def arguments(self):
        return [self.x, self.y, self.z, self.first, self.steps]

    def errors(self):
        want, total = np.full(self.y.shape, 77.0), np.zeros(256)
        for t in range(1, 2 * self.n, 2):
            total = total * 0.5 + self.x[t]
            want[t] = total
        yield off(self.y, want)
        yield off(self.z, total)


class NumbersBefore:
    """numbers_before(x, w, y, z, v, last, steps). (Random kernel 60114 stored the numbers of the iteration itself until 2026-11-30.)"""

    def make(self, n, random):
        self.n, self.grid = n, (1,)
        self.x, self.w = around.floats(random, n, 256), np.array([1.25], np.float32)
        self.y, self.z, self.last = (np.full(k, np.nan, np.float32) for k in (n, n, 1))
        self.v = np.full((n, 256), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.y, self.z, self.v, self.last, self.n]

    def errors(self):
        decayed = [0.0]
        for _ in range(self.n):
            decayed.append(decayed[-1] * 0.5 + 1.25)
        yield off(self.y, np.array(decayed[:-1]))
        yield off(self.last, np.array(decayed[-1:]))
        yield off(self.z, np.array(decayed[:-1]) * 2)
        yield same(self.v, self.x.astype(np.float64) * 0.5)


class BlocksByPointers:
    """blocks_by_pointers(x, w, s, y, M, N, K): two programs, and six blocks for them."""

    def make(self, n, random):
        self.m, self.n, self.k, self.grid = 2 * 128 + 16, 80, 64 * n - (16 if n else 0), (2,)
        self.x, self.w = sixteenths(random, self.m, self.k), sixteenths(random, self.k, self.n)
        self.s = np.arange(1, 7).astype(np.float32)
        self.y = np.full((self.m, self.n), np.nan, np.float16)

    def arguments(self):
        return [self.x, self.w, self.s, self.y, self.m, self.n, self.k]

    def errors(self):
        factor = self.s.astype(np.float64).reshape(3, 2)[np.arange(self.m)[:, None] // 128, np.arange(self.n)[None, :] // 64]
        yield same(self.y, (self.x.astype(np.float64) @ self.w.astype(np.float64) * factor).astype(np.float16).astype(np.float64))


class BlocksMeasured:
    """blocks_measured(x, w, v, y, most, blocks, K): two programs, and seven blocks for them. (Of a slot that stores what it alone has made nothing
    kept the barriers between blocks in step: random kernel 60201 hung with no iterations until 2026-11-30.)"""

    def make(self, n, random):
        self.k, self.grid = 64 * n, (2,)
        self.x, self.w, self.v = sixteenths(random, 7 * 128, 64 * n), sixteenths(random, 64 * n, 64), around.floats(random, n, 512)
        self.y, self.most = np.full((7 * 128, 64), np.nan, np.float16), np.full((7, 512), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.v, self.y, self.most, 7, self.k]

    def errors(self):
        yield same(self.y, (self.x.astype(np.float64) @ self.w.astype(np.float64)).astype(np.float16).astype(np.float64))
        yield same(self.most, np.repeat(self.v.astype(np.float64).max(axis=0, initial=-8.0)[None, :], 7, 0))


class BothChosen:
    """both_chosen(x, y, z, w, last, steps, limit): of 64 rows; limit 3."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x = around.floats(random, n, 64, 64)
        self.y, self.z, self.w, self.last = (np.full(shape, np.nan, np.float32) for shape in ((64,), (64,), (n, 64), (1,)))

    def arguments(self):
        return [self.x, self.y, self.z, self.w, self.last, self.steps, 3]

    def errors(self):
        most, total, scale, want = np.full(64, -8.0), np.zeros(64), 1.0, []
        for t in range(self.steps):
            top = self.x[t].astype(np.float64).max(axis=1)
            if t % 3 == 1:
                most, scale = np.maximum(most * 0.5, top), scale * 0.5
                if t > 3:
                    most, total = most + 1.0, total - top
            else:
                scale, total = scale + 0.25, total + top * 0.125
            want.append(most * scale)
        if self.steps > 3:
            most, total = most * 2.0, total + most
        yield off(self.w, np.array(want).reshape(self.steps, 64))
        yield off(self.y, total)
        yield off(self.z, most)
        yield off(self.last, np.array([scale]))


class WordsCarried:
    """words_carried(x, i, y, state, count, steps): words of all 32 bits, and small ones."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x, self.i = around.floats(random, n, 512), random.integers(-20, 21, n).astype(np.int32)
        self.y, self.state, self.count = np.full((n, 512), np.nan, np.float32), np.full(1, -7, np.int32), np.full(2, -7, np.int32)

    def arguments(self):
        return [self.x, self.i, self.y, self.state, self.count, self.steps]

    def errors(self):
        state, count, total, acc, want = 12345, 0, 7, np.zeros(512), []
        for t in range(self.steps):
            i = int(self.i[t])
            state = (state * 1664525 + i ^ 1013904223) % 2**32
            count += i & 7 if i > 0 else 0
            total += int((self.x[t] > 0.25).sum())
            if t % 2 == 0:
                acc = acc * 2.0 ** -abs(i * 0.125) + self.x[t]
            want.append(acc)
        yield same(self.state, np.array([state], np.uint32).view(np.int32))
        yield same(self.count, [count, total])
        yield off(self.y, np.array(want).reshape(self.steps, 512))


class BegunWith:
    """begun_with(x, y, state, scale, steps, seed, first): seed 77, first 2.75. (The text began with the numbers that stand for arguments, 0 and 1/8,
    until 2026-11-30.)"""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x, self.y = around.floats(random, n, 512), np.full((n, 512), np.nan, np.float32)
        self.state, self.scale = np.full(1, -7, np.int32), np.full(1, np.nan, np.float32)

    def arguments(self):
        return [self.x, self.y, self.state, self.scale, self.steps, 77, 2.75]

    def errors(self):
        acc, state, scale, want = np.full(512, 2.75), 77 * 3 + 1, 2.75, []
        for t in range(self.steps):
            acc, state, scale = acc * 0.5 + self.x[t], (state * 1664525 + 1013904223) % 2**32, scale * 0.5 + 0.25
            want.append(acc)
        yield off(self.y, np.array(want).reshape(self.steps, 512))
        yield same(self.state, np.array([state], np.uint32).view(np.int32))
        yield off(self.scale, np.array([scale]))


class KeysGrouped:
    """keys_grouped(q, k, table, s, steps, limit): three pages more than are read."""

    def make(self, n, random):
        self.steps, self.grid, self.limit = n, (1,), 150
        self.q = (random.standard_normal((16, 64)) * 0.25).astype(np.float16)
        self.k = random.integers(-128, 128, (n + 3, 4, 64, 16)).astype(np.int8)  # page, 16 of the 64 numbers, key, number
        self.table = random.permutation(n + 3).astype(np.int32)
        self.s = np.full((n, 16, 64), np.nan, np.float32)

    def arguments(self):
        return [self.q, self.k, self.table, self.s, self.steps, self.limit]

    def errors(self):
        keys = self.k[self.table[:self.steps]].astype(np.float64).transpose(0, 1, 3, 2).reshape(self.steps, 64, 64)
        places = np.minimum(np.arange(64 * self.steps), self.limit).reshape(self.steps, 1, 64)
        yield off(self.s, np.matmul(self.q.astype(np.float64), keys) + places)


def philox(seed, places):
    """The first word of Philox-4x32-10 (Salmon and others, SC 2011) of counters (place, 0, 0, 0) under a key of 64 bits."""
    word = np.uint64(0xFFFFFFFF)
    c = [places.astype(np.uint64) & word] + [np.zeros(places.shape, np.uint64)] * 3
    key = [seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF]
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> np.uint64(32)) ^ c[1] ^ np.uint64(key[0]), b & word, (a >> np.uint64(32)) ^ c[3] ^ np.uint64(key[1]), a & word]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c[0].astype(np.uint32).view(np.int32)


class ScoresDropped:
    """scores_dropped(q, k, v, o, n, seed, p): two blocks of queries, seeds of both signs."""

    def make(self, n, random):
        self.n, self.seed, self.p, self.grid = 64 * n, int(random.integers(-2**31, 2**31)), 0.25, (2,)
        self.q, self.k, self.v = (pointers.half(random, rows, 64) / np.float16(4) for rows in (128, self.n, self.n))
        self.o = np.full((128, 64), np.nan, np.float32)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.n, self.seed, self.p]

    def errors(self):
        if self.n == 0:
            return
        w = np.exp2(self.q.astype(np.float64) @ self.k.astype(np.float64).T)
        words = philox(self.seed, np.arange(128 * self.n).reshape(128, self.n))
        kept = np.where(words < 0, -words.astype(np.int64) - 1, words) * np.float32(4.6566127342e-10) > self.p
        yield off(self.o, np.where(kept, w, 0) @ self.v.astype(np.float64) / (w.sum(axis=1) * (1 - self.p))[:, None])


class PlacesHashed:
    """places_hashed(x, y, h, steps, seed): three programs."""

    def make(self, n, random):
        self.steps, self.seed, self.grid = n, int(random.integers(-2**31, 2**31)), (3,)
        self.x = around.floats(random, 3, n, 16, 64)
        self.y, self.h = np.full_like(self.x, np.nan), np.full(self.x.shape, -7, np.int32)

    def arguments(self):
        return [self.x, self.y, self.h, self.steps, self.seed]

    def errors(self):
        first = np.arange(3, dtype=np.uint64)[:, None] * np.uint64(4096) + np.arange(self.steps, dtype=np.uint64)
        word = np.uint64(0xFFFFFFFF)
        h = first[..., None, None] * np.uint64(1024) + np.arange(1024, dtype=np.uint64).reshape(16, 64)
        h = h * np.uint64(-1640531527 % 2**32) & word ^ np.uint64(self.seed % 2**32)
        for shift, factor in ((15, 739982445), (12, 695872825), (15, 1)):
            h = (h ^ h >> np.uint64(shift)) * np.uint64(factor) & word
        h = h.astype(np.uint32).view(np.int32)
        yield same(self.h, h)
        yield same(self.y, np.where(h < 0, self.x, 0))


class ScoresBiased:
    """scores_biased(q, k, row, column, l, s, n): two blocks of queries."""

    def make(self, n, random):
        self.n, self.grid = 32 * n, (2,)
        self.q, self.k = [(random.standard_normal((rows, 64)) * 0.25).astype(np.float16) for rows in (128, self.n)]
        self.row, self.column = around.floats(random, 128), around.floats(random, self.n)
        self.l, self.s = np.full(128, np.nan, np.float32), np.full((128, self.n), np.nan, np.float32)

    def arguments(self):
        return [self.q, self.k, self.row, self.column, self.l, self.s, self.n]

    def errors(self):
        scores = self.q.astype(np.float64) @ self.k.astype(np.float64).T
        yield off(self.l, np.exp2(scores + self.column[None, :]).sum(axis=1))
        yield off(self.s, scores + self.row[:, None])


class BlocksCounted:
    """blocks_counted(x, y, n, limit): two blocks more than are read."""

    def make(self, n, random):
        self.steps, self.grid, self.limit = n, (1,), 700
        self.x, self.y = around.floats(random, n + 2, 256), np.full((n, 256), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.y, 256 * (self.steps + 2), self.limit]

    def errors(self):
        below = np.arange(256 * (self.steps + 2)).reshape(-1, 256) < self.limit
        yield off(self.y, np.where(below, self.x, self.x * 0.5)[2:])


class ExpertsSkipped:
    """experts_skipped(x, w, scale, y, most, none, token, expert, blocks, tokens, experts, K, N): five blocks, of which one has no tokens and
    two no expert, on either side; 112 columns."""

    def make(self, n, random):
        self.k, self.grid, self.tolerance = 64 * n, (5, 2), 2e-3  # (f16)
        self.token = np.concatenate([random.permutation(230), np.full(90, 230)]).astype(np.int32)
        self.expert = np.array([1, -1, 2, 3, 0], np.int32)
        self.x, self.w = [(random.standard_normal(shape) * 0.25).astype(np.float16) for shape in ((230, self.k), (3, self.k, 112))]
        self.scale = around.floats(random, 3, 112)
        self.y = np.full((230, 112), np.nan, np.float16)
        self.most, self.none = np.full((5, 64), np.nan, np.float32), np.full((5, 64), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.scale, self.y, self.most, self.none, self.token, self.expert, np.array([4], np.int32), 230, 3, self.k, 112]

    def errors(self):
        none, most = np.full((5, 64), np.nan), np.full((5, 64), np.nan)
        for block, expert in enumerate(self.expert[:4]):
            token = self.token[64 * block:64 * block + 64]
            there = token < 230
            if not 0 <= expert < 3:
                none[block] = there
                yield off(self.y[token[there]], np.full((there.sum(), 112), -1.0))
                continue
            x = self.x[np.minimum(token, 229)].astype(np.float64) * there[:, None]
            want = (x @ self.w[expert].astype(np.float64)) * self.scale[expert]
            most[block] = np.maximum(want[:, 64:].max(axis=1), 0)  # (of whichever half is stored last; what is outside is 0)
            first = want[:, :64].max(axis=1)
            most[block] = np.where(np.abs(self.most[block] - first) < np.abs(self.most[block] - most[block]), first, most[block])
            yield off(self.y[token[there]], want[there])
        yield same(np.isnan(self.none), np.isnan(none))
        yield off(np.nan_to_num(self.none), np.nan_to_num(none))
        yield same(np.isnan(self.most), np.isnan(most))
        yield off(np.nan_to_num(self.most), np.nan_to_num(most))


class PartsMerged:
    """parts_merged(o, lse, new, new_lse, steps): two programs."""

    def make(self, n, random):
        self.steps, self.grid = n, (2,)
        self.before = [around.floats(random, 2 * n, 16, 128), around.floats(random, 2 * n, 16)]
        self.o, self.lse = (one.copy() for one in self.before)
        self.new, self.new_lse = around.floats(random, 2 * n, 16, 128), around.floats(random, 2 * n, 16)

    def arguments(self):
        return [self.o, self.lse, self.new, self.new_lse, self.steps]

    def errors(self):
        a, b = (np.exp2(one.astype(np.float64)) for one in (self.before[1], self.new_lse))
        yield off(self.o, (self.before[0] * a[:, :, None] + self.new * b[:, :, None]) / (a + b)[:, :, None])
        yield off(self.lse, np.log2(a + b))


class GapJumped:
    """gap_jumped(x, y, sum, steps, first, skip, columns): two blocks, a gap of three, the others; the last one is ragged."""

    def make(self, n, random):
        self.steps, self.grid, self.columns = n, (1,), 64 * (n + 3) - 16
        self.x = around.floats(random, 16, self.columns)
        self.y, self.sum = np.full((n, 16, 64), np.nan, np.float32), np.full(16, np.nan, np.float32)

    def arguments(self):
        return [self.x, self.y, self.sum, self.steps, 2, 3, self.columns]

    def errors(self):
        places = np.concatenate([np.arange(128), np.arange(320, 320 + 64 * self.steps)])[:64 * self.steps]
        x = np.pad(self.x.astype(np.float64), ((0, 0), (0, 64)))[:, np.minimum(places, self.columns)]
        s = np.where((np.arange(16)[:, None] * 50 >= places) | (places < 80), x, -1)
        yield off(self.y.transpose(1, 0, 2).reshape(16, -1), s + places % 8)
        yield off(self.sum, s.sum(axis=1))


class GatesMultiplied:
    """gates_multiplied(x, y, z, each, all, v, steps): numbers near 1, some of them below 0."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x = (np.exp2(random.uniform(-0.1, 0.1, (n, 16, 64))) * random.choice([-1, 1], (n, 16, 64))).astype(np.float32)
        self.y, self.z = (np.full((n, 16, 64), np.nan, np.float32) for _ in range(2))
        self.each, self.v = (np.full((n, 16), np.nan, np.float32) for _ in range(2))
        self.all = np.full(16, np.nan, np.float32)

    def arguments(self):
        return [self.x, self.y, self.z, self.each, self.all, self.v, self.steps]

    def errors(self):
        x = self.x.astype(np.float64)
        each = x.prod(axis=2)
        so_far = np.concatenate([np.ones((1, 16)), each.cumprod(axis=0)])
        yield off(self.all, so_far[-1])
        if self.steps:
            yield off(self.y, x.cumprod(axis=2) * so_far[:-1, :, None])
            yield off(self.z, x[:, ::-1].cumprod(axis=1)[:, ::-1])
            yield off(self.each, each)
            yield off(self.v, each.cumprod(axis=1))


class SplitsCombined:
    """splits_combined(x, lse, steps, y, all): three rows, of n parts, none, and one."""
    MOST = 8

    def make(self, n, random):
        self.steps, self.grid = np.array([n, 0, min(n, 1)], np.int32), (3,)
        self.trips = int(self.steps.sum())
        self.x, self.lse = around.floats(random, 3, self.MOST, 128), around.floats(random, 3, self.MOST) * np.float32(8)
        self.y, self.all = np.full((3, 128), np.nan, np.float32), np.full(3, np.nan, np.float32)

    def arguments(self):
        return [self.x, self.lse, self.steps, self.y, self.all]

    def errors(self):
        for row, steps in enumerate(self.steps):
            lse = self.lse[row, :steps].astype(np.float64)
            most = lse.max(initial=-64.0)
            weights = np.exp2(lse - most)
            total = max(weights.sum(), 0.0078125)
            yield off(self.y[row], weights @ self.x[row, :steps].astype(np.float64) / total)
            yield off(self.all[row], most + np.log2(total))


class BlocksLeftOut:
    """blocks_left_out(a, b, on, c, M, N, K): what is left out is no number."""

    def make(self, n, random):
        self.m, self.k, self.grid = 200, 64 * n, (2,)
        self.a, self.b = sixteenths(random, self.m, self.k), sixteenths(random, self.k, 64)
        self.on = random.integers(0, 3, (2, n)).astype(np.int32)
        for row, column in np.argwhere(self.on == 0):
            self.a[128 * row:128 * (row + 1), 64 * column:64 * (column + 1)] = np.nan
        for column in np.flatnonzero(~self.on.any(axis=0)):
            self.b[64 * column:64 * (column + 1)] = np.nan
        self.c = np.full((self.m, 64), np.nan, np.float32)

    def arguments(self):
        return [self.a, self.b, self.on, self.c, self.m, 64, self.k]

    def errors(self):
        there = np.repeat(np.repeat(self.on != 0, 128, axis=0)[:self.m], 64, axis=1)
        yield same(self.c, np.where(there, self.a, 0).astype(np.float64) @ np.nan_to_num(self.b.astype(np.float64)))


class LengthsInTurn:
    """lengths_in_turn(x, w, length, y, tiles, K): seven tiles for two programs; behind the block of a length X is no number."""

    def make(self, n, random):
        self.tiles, self.k, self.grid = 7, 64 * n, (2,)
        self.length = random.integers(0, 64 * n + 1, 7).astype(np.int32)
        self.length[random.integers(7)] = 64 * n
        self.x, self.w = sixteenths(random, 128 * self.tiles, self.k), sixteenths(random, self.k, 64)
        self.right = np.concatenate([self.x[128 * t:128 * t + 128, :length].astype(np.float64) @ self.w[:length].astype(np.float64)
                                     for t, length in enumerate(self.length)])
        for t, length in enumerate(self.length):
            self.x[128 * t:128 * t + 128, -(-length // 64) * 64:] = np.nan
        self.y = np.full((128 * self.tiles, 64), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.length, self.y, self.tiles, self.k]

    def errors(self):
        yield same(self.y, self.right)


class BlocksAttended:
    """blocks_attended(q, k, v, on, o, n, scale): the last block has 40 keys; what no row attends to is no number."""

    def make(self, n, random):
        self.n, self.grid, self.scale = 64 * n - (24 if n else 0), (3,), 0.25
        self.q, self.k, self.v = (pointers.half(random, rows, 64) for rows in (192, self.n, self.n))
        self.on = random.integers(0, 3, (3, n)).astype(np.int32)
        for block in np.flatnonzero(~self.on.any(axis=0)):
            self.k[64 * block:64 * (block + 1)] = self.v[64 * block:64 * (block + 1)] = np.nan
        self.o = np.full((192, 64), np.nan, np.float32)

    def arguments(self):
        return [self.q, self.k, self.v, self.on, self.o, self.n, self.scale]

    def errors(self):
        for row, on in enumerate(self.on):
            keys = np.repeat(on != 0, 64)[:self.n]
            q, k, v = (x.astype(np.float64) for x in (self.q[64 * row:64 * (row + 1)], self.k[keys], self.v[keys]))
            s = q @ k.T * self.scale
            p = np.exp2(s - s.max(axis=1, initial=-128.0)[:, None])
            yield off(self.o[64 * row:64 * (row + 1)], p @ v / np.maximum(p.sum(axis=1), 0.0078125)[:, None])


class WithoutSign:
    """without_sign(x, y, z, v, most, least, place, steps): words of all 32 bits, some of them next to each other."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x = random.integers(-2**31, 2**31, (n, 16, 64)).astype(np.int32)
        self.x[:, :, ::5] = np.array([2**31 - 1, -2**31, -1, 0], np.int32)[random.integers(0, 4, self.x[:, :, ::5].shape)]
        self.x[:, 3] = 2**30 + np.arange(64) // 2  # (Numbers that f32 has not.)
        self.y, self.z, self.v = (np.full((n, 16, 64), -7, np.int32) for _ in range(3))
        self.most, self.least, self.place = (np.full((n, 16), -7, np.int32) for _ in range(3))

    def arguments(self):
        return [self.x, self.y, self.z, self.v, self.most, self.least, self.place, self.steps]

    def errors(self):
        x = self.x.astype(np.int64) % 2**32
        mixed = x * 2654435761 % 2**32

        def word(value):
            return (value % 2**32).astype(np.uint32).view(np.int32)

        yield same(self.y, word(mixed // 10 + mixed % 6700417 + mixed // 64 * 3 + mixed % 32))
        yield same(self.z, word(np.maximum(np.minimum(x, mixed), 77)))
        yield same(self.v, (x < mixed) + 2 * (x >= 3000000000))
        if self.steps:
            yield same(self.most, word(x.max(axis=2)))
            yield same(self.least, word(mixed.min(axis=2)))
            yield same(self.place, self.x.argmin(axis=2))


class RowsInTurn:
    """rows_in_turn(x, w, y, z, blocks, columns): two programs, and five blocks for them."""

    def make(self, n, random):
        self.columns, self.grid = 64 * n, (2,)
        self.x, self.w = around.floats(random, 80, 64 * n), around.floats(random, 80)
        self.y, self.z = np.full((80, 64 * n), np.nan, np.float32), np.full(80, np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.y, self.z, 5, self.columns]

    def errors(self):
        x = self.x.astype(np.float64) * self.w.astype(np.float64)[:, None]
        yield off(self.y, x)
        most = x.max(axis=1, initial=-8.0)
        total = np.exp2(x - most[:, None]).sum(axis=1)
        yield off(self.z, most + np.log2(np.maximum(total, 0.0078125)))


class HeadsAdded:
    """heads_added(x, w, y, steps, first, heads): three heads of two programs, with n steps each."""

    def make(self, n, random):
        self.steps, self.grid, self.trips = n, (2,), 3 * n
        self.x, self.w = around.floats(random, 7, 32, 64 * n), around.floats(random, 7)
        self.y = np.full((32, 64), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.y, self.steps, 2, 7]

    def errors(self):
        heads = self.x[2::2].astype(np.float64) * self.w[2::2, None, None].astype(np.float64)
        yield off(self.y, heads.reshape(3, 32, self.steps, 64).sum(axis=(0, 2)))


def growing_rows(random, columns):
    """Three rows whose largest number changes from step to step: no factor of sums is 1."""
    return around.floats(random, 3, columns) * (1 + np.arange(columns, dtype=np.float32) // 2048 / 2)


class RowRewritten:
    """row_rewritten(x, columns): the softmax of a row a program; the last step is ragged."""
    LONGER = (9, 10)

    def make(self, n, random):
        self.columns, self.grid = 2048 * n - (100 if n else 0), (3,)
        self.x = growing_rows(random, self.columns)
        self.before = self.x.copy()

    def arguments(self):
        return [self.x, self.columns]

    def errors(self):
        if self.columns:
            x = np.exp(self.before.astype(np.float64) - self.before.max(axis=1, keepdims=True))
            # (In parts of the largest: most are small.)
            yield off(self.x * self.columns, x / x.sum(axis=1, keepdims=True) * self.columns)


class LossAndGradient:
    """loss_and_gradient(x, label, loss, columns): of a row a program; the last step is ragged."""
    LONGER = (9, 10)

    def make(self, n, random):
        # (Of no columns there is no loss.)
        self.columns, self.grid = 2048 * n - (100 if n else 0), (3 if n else 0,)
        self.x, self.loss = growing_rows(random, self.columns), np.full(3, np.nan, np.float32)
        self.before, self.label = self.x.astype(np.float64), random.integers(0, max(1, self.columns), 3).astype(np.int32)

    def arguments(self):
        return [self.x, self.label, self.loss, self.columns]

    def errors(self):
        if self.columns:
            log = np.log(np.exp(self.before).sum(axis=1))
            yield off(self.loss, log - self.before[range(3), self.label])
            want = np.exp(self.before - log[:, None])
            want[range(3), self.label] -= 1.0
            # (In parts of the largest: most are small.)
            yield float(np.abs(self.x - want).max() * self.columns) / 10


class ResidualNormed:
    """residual_normed(x, r, w, y, columns): R += X, then its RMS norm; the last step is ragged."""

    def make(self, n, random):
        self.columns, self.grid = 2048 * n - (100 if n else 0), (3 if n else 0,)
        self.x, self.r = around.floats(random, 3, self.columns), around.floats(random, 3, self.columns)
        self.before = self.r.astype(np.float64)
        self.w, self.y = around.floats(random, self.columns), np.full((3, self.columns), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.r, self.w, self.y, self.columns]

    def errors(self):
        if self.columns:
            r = self.before + self.x
            yield off(self.r, r)
            yield off(self.y, r / np.sqrt((r * r).mean(axis=1, keepdims=True) + 1e-5) * self.w)


class TakenAndCleared:
    """taken_and_cleared(x, y, columns): the sums of each step's columns, then X = 0."""

    def make(self, n, random):
        self.columns, self.grid = 2048 * n - (100 if n else 0), (3,)
        self.x, self.y = around.floats(random, 3, self.columns), np.full((3, 2048), np.nan, np.float32)
        self.before = np.zeros((3, 2048 * n))
        self.before[:, :self.columns] = self.x

    def arguments(self):
        return [self.x, self.y, self.columns]

    def errors(self):
        yield off(self.y, self.before.reshape(3, -1, 2048).sum(axis=1))
        yield off(self.x, np.zeros_like(self.x))


class LongTaps(Taps):
    """long_taps(x, w, first, y, steps)."""
    TAPS = 6


around.ORACLES.update({"parts-added": PartsAdded, "experts-added": ExpertsAdded, "sums-added": SumsAdded, "counted": Counted,
                       "bits-changed": BitsChanged, "running-most": RunningMost, "half-sums": HalfSums, "behind-in-two": BehindInTwo,
                       "stats-updated": StatsUpdated, "any-and-all": AnyAndAll, "last-block-first": LastBlockFirst,
                       "numbers-stored": NumbersStored, "numbers-where": NumbersWhere, "last-kept": LastKept, "every-third": EveryThird, "left-before": LeftBefore, "odd-loads": OddLoads, "sums-from-end": SumsFromEnd, "long-taps": LongTaps,
                       "numbers-kept": NumbersKept, "bytes-stored": BytesStored, "nibbles-mixed": NibblesMixed, "experts-counted": ExpertsCounted, "integers": Integers, "odd-tiles": OddTiles, "halves": Halves, "pairs-turned": PairsTurned, "groups-scaled": GroupsScaled,
                       "between-groups": BetweenGroups, "peaks-stored": PeaksStored, "rows-chosen": RowsChosen, "while-counted": WhileCounted,
                       "blocks-by-pointers": BlocksByPointers, "blocks-measured": BlocksMeasured, "rows-in-turn": RowsInTurn, "heads-added": HeadsAdded, "numbers-before": NumbersBefore, "both-chosen": BothChosen, "without-sign": WithoutSign, "words-carried": WordsCarried, "begun-with": BegunWith, "keys-grouped": KeysGrouped, "scores-biased": ScoresBiased, "blocks-counted": BlocksCounted, "scores-dropped": ScoresDropped, "places-hashed": PlacesHashed,
                       "experts-skipped": ExpertsSkipped, "parts-merged": PartsMerged, "gap-jumped": GapJumped,
                       "gates-multiplied": GatesMultiplied, "splits-combined": SplitsCombined, "blocks-left-out": BlocksLeftOut, "lengths-in-turn": LengthsInTurn, "blocks-attended": BlocksAttended, "row-rewritten": RowRewritten, "loss-and-gradient": LossAndGradient, "taken-and-cleared": TakenAndCleared, "residual-normed": ResidualNormed})


def end_needed(text, path):
    """Is it noticed if the slots of the last loop do not wait for the end of those of the loop before?"""
    head, _, rest = text.rpartition("    # All slots have ended.")
    before, _, after = head.rpartition("gl.warp_specialize(")
    return isinstance(pointers.executed(before + "gl.warp_specialize_unended(" + after + rest, path, (1, 2, 3, 7), 3), str)


def main():
    twill, cases, compiles, removes = around.asked(CASES)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            # (Triton takes sums of f16 apart between its products, so ptxas ends these one by one: C7514.)
            failed |= pointers.checked(twill, case, folder, removes, compiles and not case.startswith("half-sums"), IMPLIED.get(case, 0))
            if case in ENDS:
                path = pointers.path_of(case)
                needed = end_needed(pointers.emitted(twill, path, folder)[0], path)
                print(f"{case}: without the end of its first loop " + ("noticed" if needed else "NOT NOTICED"), flush=True)
                failed |= not needed
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
