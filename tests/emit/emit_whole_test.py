"""Kernels emitted from TTGIR modules with least numbers and places of rows, in the loop and behind it, results of integers, integers
without a sign as numbers and back, clamps, numbers of several steps before, and slots that lack registers: executed on the CPU beside formulas written here by hand, every wait and every fence
removed once, and compiled.

usage: emit_whole_test.py TWILL [--compile] [--removed] [MODULE...]
As emit_pointers_test.py, whose runs these are. The functions are those of whole_kernels.py.
"""
import sys

import emit_around_test as around
import emit_pointers_test as pointers
import numpy as np
import stand_in

stand_in.NAN_DROPPED = True

CASES = [f"{name}-{machine}" for name in ("nearest", "best-expert", "clamped", "bounded", "allowed", "masked-attention", "weights-unsigned", "taps", "alibi-forward") for machine in ("hopper", "blackwell")]
# Vectors of 64 and 256 numbers, for 128 threads.
pointers.NARROW.update({f"{name}-{machine}": least for name, least in (("nearest", 4), ("clamped", 8), ("bounded", 8), ("allowed", 8), ("taps", 4)) for machine in ("hopper", "blackwell")})
# Three warpgroups of 128 registers a thread; a tile of P beside its mask.
# Of alibi-forward on Blackwell each slot has 8 registers beside its tiles, since no launch has more (KernelSearch::try_for_limits).
# Of masked attention on Hopper the schedule that is found may depend on the time (60 s, see emitted()): 100 bytes at the default limit and on a busy
# machine (492 before statements changed places, engine/statement_order.hpp), or 32.
pointers.SPILLS["masked-attention-hopper"] = 200
pointers.IN_LOOPS.update({"masked-attention-hopper": 32, "masked-attention-blackwell": 32})
# What the loading slot tells of z's store it tells behind y's store of the iteration before.
# In the loop masked attention's waits for new_54 two iterations ahead say that P and its factor are there; behind it none of those is left.
IMPLIED = {"clamped-hopper": 1, "allowed-hopper": 1, "allowed-blackwell": 2, "bounded-hopper": 1, "bounded-blackwell": 2, "masked-attention-hopper": 2}
off = around.off


def few(random, *shape):
    """Of so few numbers that sums are exact and many are equal."""
    return random.integers(-2, 3, shape).astype(np.float16)


def same(got, want):
    """Integers are right or wrong."""
    return 0.0 if np.array_equal(got, want) else np.inf


class Nearest:
    """nearest(x, centre, norm, index, best, centres): the first of the nearest centres."""

    def make(self, n, random):
        self.centres, self.grid = 64 * n, (2,)
        self.x, self.y = few(random, 256, 64), few(random, self.centres, 64)
        self.norm = np.square(self.y.astype(np.float32)).sum(axis=1)
        self.index, self.best = np.full(256, -7, np.int32), np.full(256, np.nan, np.float32)

    def arguments(self):
        return [self.x, self.y, self.norm, self.index, self.best, self.centres]

    def errors(self):
        if self.centres == 0:
            yield same(self.index, np.zeros(256))
            return
        distance = self.norm[None, :].astype(np.float64) - 2 * self.x.astype(np.float64) @ self.y.astype(np.float64).T
        yield same(self.index, distance.argmin(axis=1))
        yield off(self.best, distance.min(axis=1))


class BestExpert:
    """best_expert(x, w, choice, least, K)."""

    def make(self, n, random):
        self.k, self.grid = 64 * n, (2,)
        self.x, self.w = few(random, 256, self.k), few(random, self.k, 64)
        self.choice, self.least = np.full(256, -7, np.int32), np.full(256, np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.choice, self.least, self.k]

    def errors(self):
        y = self.x.astype(np.float64) @ self.w.astype(np.float64)
        yield same(self.choice, y.argmax(axis=1))
        yield off(self.least, y.min(axis=1))


class Clamped:
    """clamped(x, w, y, z, c, steps): what is no number stays."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x = around.floats(random, n, 256) * np.float32(2)
        self.x[:, 5:9] = np.nan
        self.w = random.integers(-2**31, 2**31, (n, 256)).astype(np.int32)
        self.w[:, 40:60] = random.integers(0, 100000, (n, 20))
        self.y, self.z = (np.full((n, 256), 7, np.float32) for _ in range(2))
        self.c = np.full(256, -7, np.int32)

    def arguments(self):
        return [self.x, self.w, self.y, self.z, self.c, self.steps]

    def errors(self):
        kept = np.isnan(self.x)
        yield same(np.isnan(self.y), kept)
        yield off(self.y[~kept], np.clip(self.x[~kept], -1, 0.75))
        # (Of numbers of 32 bits the nearest, each one.)
        yield same(self.z, np.clip(self.w.view(np.uint32).astype(np.float64).astype(np.float32), np.float32(70000), np.float32(4e9)))
        cut = np.trunc((self.w & 1023).astype(np.float32) * np.float32(0.37) - np.float32(150.0053)).astype(np.int64)
        yield same(self.c, cut.sum(axis=0))


class Bounded:
    """bounded(x, z, most, least, steps): what is no number stays, in either of the two."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x, self.z = (around.floats(random, n, 256) for _ in range(2))
        self.x[:, 5:9] = np.nan
        self.z[:, 8:12] = np.nan
        self.most, self.least = (np.full((n, 256), 7, np.float32) for _ in range(2))

    def arguments(self):
        return [self.x, self.z, self.most, self.least, self.steps]

    def errors(self):
        # (numpy's two hand on what is no number.)
        for made, right in ((self.most, np.maximum(self.x, self.z)), (self.least, np.minimum(self.x, self.z * 2))):
            yield same(np.isnan(made), np.isnan(right))
            yield off(made[~np.isnan(right)], right[~np.isnan(right)])


class Allowed:
    """allowed(x, w, y, z, steps): x where w is not 0, and 3 x or 0.5."""

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x = around.floats(random, n, 256)
        self.x[:, 5:9] = np.nan
        self.w = random.integers(-2, 3, (n, 256)).astype(np.int32)
        self.y, self.z = (np.full((n, 256), 7, np.float32) for _ in range(2))

    def arguments(self):
        return [self.x, self.w, self.y, self.z, self.steps]

    def errors(self):
        kept = np.where(self.w != 0, self.x, np.float32(-1))
        yield same(np.isnan(self.y), np.isnan(kept))
        yield off(self.y[~np.isnan(kept)], kept[~np.isnan(kept)])
        yield off(self.z, np.where(np.isnan(self.x), np.float32(0.5), self.x * np.float32(3)))


class MaskedAttention:
    """masked_attention(q, k, v, mask, o, n, scale): softmax over the keys that the bytes allow."""

    def make(self, n, random):
        self.n, self.grid = 64 * n, (1,)
        self.q, self.k, self.v = (around.floats(random, rows, 64).astype(np.float16) for rows in (128, self.n, self.n))
        self.mask = random.integers(-1, 2, (128, self.n)).astype(np.int8)
        self.mask[3] = 0
        self.o = np.full((128, 64), 7, np.float16)

    def arguments(self):
        return [self.q, self.k, self.v, self.mask, self.o, self.n, 0.1]

    def errors(self):
        if self.n == 0:
            yield same(np.isnan(self.o), np.ones((128, 64), bool))
            return
        s = np.where(self.mask != 0, self.q.astype(np.float64) @ self.k.astype(np.float64).T * 0.1, -1e30)
        p = np.exp2(s - s.max(axis=1, keepdims=True))
        yield off(self.o, p / p.sum(axis=1, keepdims=True) @ self.v.astype(np.float64))


class WeightsUnsigned:
    """weights_unsigned(x, w, y, K, N): Y = X (W - 128) / 64."""

    def make(self, n, random):
        self.k, self.n, self.grid = 64 * n, 128, (2,)
        self.x, self.w = pointers.half(random, 64, self.k), random.integers(-128, 128, (self.k, self.n)).astype(np.int8)
        self.y = np.full((64, self.n), np.nan, np.float16)

    def arguments(self):
        return [self.x, self.w, self.y, self.k, self.n]

    def errors(self):
        yield off(self.y, self.x.astype(np.float64) @ ((self.w.view(np.uint8).astype(np.float64) - 128) / 64))


class Taps:
    """taps(x, w, first, y, steps): before step 0 all numbers are the first's."""
    TAPS = 4

    def make(self, n, random):
        self.steps, self.grid = n, (1,)
        self.x = around.floats(random, n, 256).astype(np.float16)
        self.w, self.first = around.floats(random, self.TAPS, 256), around.floats(random, 256)
        self.y = np.full((n, 256), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.first, self.y, self.steps]

    def errors(self):
        if self.steps == 0:
            return
        all_of = np.vstack([np.tile(self.first, (self.TAPS - 1, 1)), self.x.astype(np.float32) * 2]).astype(np.float64)
        y = sum(all_of[k : k + self.steps] * self.w[k] for k in range(self.TAPS))
        yield off(self.y, y / (1 + np.exp(-y)))


class AlibiForward:
    """alibi_forward(q, k, v, slopes, o, n, scale): causal, of two heads; the last block of keys is ragged."""

    def make(self, n, random):
        self.n, self.grid = max(0, 64 * n - 9), (max(1, -(-n // 2)), 2)
        self.q, self.k, self.v = (around.floats(random, 2, self.n, 64).astype(np.float16) for _ in range(3))
        self.slopes = np.array([0.02, 0.11], np.float32)
        self.o = np.full((2, self.n, 64), np.nan, np.float16)

    def arguments(self):
        return [self.q, self.k, self.v, self.slopes, self.o, self.n, 0.1]

    def errors(self):
        if self.n == 0:
            return
        far = np.arange(self.n)[:, None] - np.arange(self.n)[None, :]
        for head in range(2):
            s = self.q[head].astype(np.float64) @ self.k[head].astype(np.float64).T * 0.1 - float(self.slopes[head]) * far
            s = np.where(far >= 0, s, -np.inf)
            p = np.exp(s - s.max(axis=1, keepdims=True))
            yield off(self.o[head], p / p.sum(axis=1, keepdims=True) @ self.v[head].astype(np.float64))


around.ORACLES.update({"nearest": Nearest, "best-expert": BestExpert, "clamped": Clamped, "bounded": Bounded, "allowed": Allowed, "masked-attention": MaskedAttention, "weights-unsigned": WeightsUnsigned, "taps": Taps, "alibi-forward": AlibiForward})


def main():
    return around.checked(CASES, IMPLIED)


if __name__ == "__main__":
    sys.exit(main())
