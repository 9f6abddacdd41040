"""Kernels emitted from TTGIR modules with products of matrices before and behind their loops, factors that are computed before them,
trip counts that the function chooses, products of 16 rows and of 32-bit floats, and left factors of 64 rows that a slot makes: executed on the CPU beside formulas written here by hand, every wait and every fence removed
once, and compiled.

usage: emit_products_test.py TWILL [--compile] [--removed] [MODULE...]
As emit_pointers_test.py, whose runs these are. The functions are those of own_kernels.py.
"""
import os
import sys
import tempfile

import emit_around_test as around
import emit_pointers_test as pointers
import numpy as np

NAMES = ("adapter", "chunk-of-state", "chunk-beside-itself", "steps-chosen", "weight-scaled", "few-rows", "scaled-rows", "wide-factors", "two-products", "part-where-any", "ends-alone",
         "sink-rows", "byte-groups", "scores-and-lengths", "byte-scores")
CASES = [f"{name}-{machine}" for name in NAMES for machine in ("hopper", "blackwell")]
# (product-in-branch is gemm-in-branch for Blackwell.)
CASES += ["gemm-int4-hopper", "gemm-int4-blackwell", "gemm-in-branch-hopper", "product-in-branch"]  # of bench/modules
# What is loaded behind the loop has been stored there.
REFUSED = {"steps-chosen-hopper:stored": "where something has been stored"}
pointers.CHANGES["stored"] = (r"(= tt\.splat) %v_ptr :", r"\1 %y_ptr :")
# The slot of the product tells of the next zeros and scales when it has waited for the product.
# The loader has waited for the next scores, before which their slot waited for that product.
IMPLIED = {"gemm-int4-hopper": 1, "byte-scores-hopper": 1}
pointers.IN_LOOPS["gemm-int4-blackwell"] = 4
half, floats, off = pointers.half, around.floats, around.off


class Adapter:
    """adapter(x, w, a, b, y, rows, K, N, scale): Y = X W + scale (X A) B, of rank 32; the last block of rows is ragged."""

    def make(self, n, random):
        self.rows, self.k, self.n, self.grid = 144, 64 * n, 128, (2, 2)
        self.x, self.w = half(random, self.rows, self.k), half(random, self.k, self.n)
        self.a, self.b = half(random, self.k, 32) / np.float16(8), half(random, 32, self.n)
        self.y = np.full((self.rows, self.n), np.nan, np.float16)

    def arguments(self):
        return [self.x, self.w, self.a, self.b, self.y, self.rows, self.k, self.n, 0.3]

    def errors(self):
        x, w, a, b = (one.astype(np.float64) for one in (self.x, self.w, self.a, self.b))
        yield off(self.y, x @ w + 0.3 * (x @ a) @ b)


class ChunkOfState:
    """chunk_of_state(q, state, decay, p, v, o, length, stride): O = 2^decay (Q S) + P V; the last step of the sum is ragged."""

    def make(self, n, random):
        self.length, self.stride, self.grid = max(64 * n - 16, 0), max(64 * n, 128), (2, 2)
        self.q, self.state = half(random, 256, 64), floats(random, 64, self.stride)
        self.decay = random.uniform(-2, 0, 256).astype(np.float32)
        self.p, self.v = half(random, 256, self.stride), half(random, self.length, self.stride)
        self.o = np.full((256, self.stride), np.nan, np.float16)

    def arguments(self):
        return [self.q, self.state, self.decay, self.p, self.v, self.o, self.length, self.stride]

    def errors(self):
        state = self.state.astype(np.float16).astype(np.float64)
        o = np.exp2(self.decay.astype(np.float64))[:, None] * (self.q.astype(np.float64) @ state)
        o += self.p[:, :self.length].astype(np.float64) @ self.v.astype(np.float64)
        yield off(self.o[:, :128], o[:, :128])
        yield 0.0 if np.isnan(self.o[:, 128:]).all() else np.inf


class ChunkBesideItself:
    """chunk_beside_itself(q, k, v, o, depth, scale): O = (S + S') V of chunks of 64 rows, S = scale tril(Q K')."""

    def make(self, n, random):
        self.depth, self.grid, self.scale = 64 * n, (3,), 0.05
        self.q, self.k = half(random, 192, self.depth), half(random, 192, self.depth)
        self.v, self.o = half(random, 3, 64, 64), np.full((192, 64), np.nan, np.float16)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.depth, self.scale]

    def errors(self):
        for chunk in range(3):
            rows = slice(64 * chunk, 64 * chunk + 64)
            s = np.tril(self.q[rows].astype(np.float64) @ self.k[rows].astype(np.float64).T) * self.scale
            yield off(self.o[rows], (s + s.T) @ self.v[chunk].astype(np.float64).T)


class StepsChosen:
    """steps_chosen(x, w, y, lengths, K, N, v, s): Y = X W for sequences of 128 rows, of K columns or of one step less; S = Y V."""

    def make(self, n, random):
        self.lengths, self.k, self.grid = np.array([100, 63, 0, 65], np.int32), 64 * n, (2, 4)
        self.x, self.w = half(random, 512, self.k), half(random, self.k, 64)
        self.y, self.v, self.s = np.full((512, 64), np.nan, np.float16), half(random, 64), np.full(512, np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.y, self.lengths, self.k, 64, self.v, self.s]

    def errors(self):
        for block in range(8):
            rows, length = slice(64 * block, 64 * block + 64), self.lengths[block // 2]
            depth = (self.k if length % 2 == 0 else max(self.k - 64, 0)) if block % 2 * 64 < length else 0
            y = self.x[rows, :depth].astype(np.float64) @ self.w[:depth].astype(np.float64)
            yield off(self.y[rows], y)
            yield off(self.s[rows], y @ self.v.astype(np.float64))


class WeightScaled:
    """weight_scaled(x, w, scale, y, rows, N): Y = X (W scale), 64 rows a step; the scaled weight is rounded."""

    def make(self, n, random):
        self.rows, self.n, self.grid = 64 * n, 128, (2,)
        self.x, self.w = half(random, self.rows, 64), half(random, 64, self.n)
        self.scale = random.uniform(0.5, 1.5, self.n).astype(np.float32)
        self.y = np.full((self.rows, self.n), np.nan, np.float16)

    def arguments(self):
        return [self.x, self.w, self.scale, self.y, self.rows, self.n]

    def errors(self):
        yield off(self.y, self.x.astype(np.float64) @ (self.w.astype(np.float32) * self.scale).astype(np.float16).astype(np.float64))


class FewRows:
    """few_rows(q, k, v, o, length, scale): attention of 16 queries a program over keys that end within a step (at n = 1 with the first
    one's second half; without keys nothing is asked of O)."""

    def make(self, n, random):
        self.length, self.grid, self.scale = max(64 * n - 24, 0), (2,), 0.2
        self.q, self.k, self.v = half(random, 2, 16, 128), half(random, 2, self.length, 128), half(random, 2, self.length, 128)
        self.o = np.full((2, 16, 128), np.nan, np.float16)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.length, self.scale]

    def errors(self):
        if self.length == 0:
            return
        for q, k, v, o in zip(*(one.astype(np.float64) for one in (self.q, self.k, self.v, self.o))):
            p = np.exp2(q @ k.T * self.scale)
            yield off(o, p @ v / p.sum(axis=1, keepdims=True))


class SinkRows:
    """sink_rows(q, k, v, sink, o, length, scale): as few_rows, beside a sink of a score of its own."""

    def make(self, n, random):
        self.length, self.grid, self.scale = max(64 * n - 24, 0), (2,), 0.2
        self.q, self.k, self.v = half(random, 2, 16, 128), half(random, 2, self.length, 128), half(random, 2, self.length, 128)
        self.sink = np.array([-1.5, 2.25], np.float32)
        self.o = np.full((2, 16, 128), np.nan, np.float16)

    def arguments(self):
        return [self.q, self.k, self.v, self.sink, self.o, self.length, self.scale]

    def errors(self):
        for q, k, v, sink, o in zip(*(one.astype(np.float64) for one in (self.q, self.k, self.v, self.sink, self.o))):
            p = np.exp2(q @ k.T * self.scale)
            yield off(o, p @ v / (np.exp2(sink) + p.sum(axis=1, keepdims=True)))


class ByteGroups:
    """byte_groups(x, q, scale, N): the nearest whole number of scales, of 8 bits; where two are as near, either."""

    def make(self, n, random):
        self.n, self.grid = 128 * n, (2,)
        self.x = half(random, 32, self.n)
        self.q, self.scale = np.full((32, self.n), 99, np.int8), np.full((32, n), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.q, self.scale, self.n]

    def errors(self):
        x = self.x.astype(np.float64).reshape(32, -1, 128)
        scale = np.maximum(np.abs(x).max(axis=2), 1e-6) / 127
        yield off(self.scale, scale)
        away = np.abs(self.q.astype(np.float64).reshape(x.shape) - x / scale[..., None])
        yield 0.0 if away.size == 0 or away.max() <= 0.5 + 1e-4 else np.inf


class ScoresAndLengths:
    """scores_and_lengths(q, k, v, o, z, length): O = (Q K') V, S rounded, and the squares of K's columns summed."""

    def make(self, n, random):
        self.length, self.grid = 64 * n, (2,)
        self.q, self.k, self.v = half(random, 128, 64), half(random, self.length, 64), half(random, self.length, 64)
        self.o, self.z = np.full((128, 64), np.nan, np.float16), np.full((2, 64), np.nan, np.float32)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.z, self.length]

    def errors(self):
        q, k, v = (one.astype(np.float64) for one in (self.q, self.k, self.v))
        yield off(self.o, (q @ k.T).astype(np.float16).astype(np.float64) @ v)
        for z in self.z:
            yield off(z, (k * k).sum(axis=0))


class ByteScores:
    """byte_scores(q, k, v, scale, o, length): O = (scale Q K') V, the products of bytes exact."""

    def make(self, n, random):
        self.length, self.grid = 64 * n, (2,)
        self.q, self.k = (random.integers(-60, 61, shape).astype(np.int8) for shape in ((256, 64), (self.length, 64)))
        self.v, self.scale = half(random, self.length, 64), random.uniform(2e-4, 4e-4, n).astype(np.float32)
        self.o = np.full((256, 64), np.nan, np.float16)

    def arguments(self):
        return [self.q, self.k, self.v, self.scale, self.o, self.length]

    def errors(self):
        s = (self.q.astype(np.float64) @ self.k.astype(np.float64).T) * self.scale.repeat(64)
        yield off(self.o, s.astype(np.float16).astype(np.float64) @ self.v.astype(np.float64))


class ScaledRows:
    """scaled_rows(x, scale, w, y, K, N): Y = (X scale) W; the scaled X is rounded."""

    def make(self, n, random):
        self.k, self.grid = 64 * n, (2, 2)
        self.x, self.w = half(random, 128, self.k), half(random, self.k, 128)
        self.scale = random.uniform(0.5, 1.5, self.k).astype(np.float32)
        self.y = np.full((128, 128), np.nan, np.float16)

    def arguments(self):
        return [self.x, self.scale, self.w, self.y, self.k, 128]

    def errors(self):
        yield off(self.y, (self.x.astype(np.float32) * self.scale).astype(np.float16).astype(np.float64) @ self.w.astype(np.float64))


class TwoProducts:
    """two_products(x, w, u, v, y, K, N): Y = X W + U V."""

    def make(self, n, random):
        self.k, self.n, self.grid = 64 * n, 128, (2, 1)
        self.x, self.u = half(random, 128, self.k), half(random, 128, self.k)
        self.w, self.v = half(random, self.k, self.n), half(random, self.k, self.n)
        self.y = np.full((128, self.n), np.nan, np.float16)

    def arguments(self):
        return [self.x, self.w, self.u, self.v, self.y, self.k, self.n]

    def errors(self):
        yield off(self.y, self.x.astype(np.float64) @ self.w.astype(np.float64) + self.u.astype(np.float64) @ self.v.astype(np.float64))


class WideFactors:
    """wide_factors(x, w, y, M, K, N): Y = X' W' of 32-bit floats, of which a Tensor Core takes the first 11 bits."""

    def make(self, n, random):
        self.k, self.grid = 32 * n, (2, 2)
        self.x, self.w = floats(random, self.k, 128), floats(random, 128, self.k)
        self.y = np.full((128, 128), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.y, 128, self.k, 128]

    def errors(self):
        yield off(self.y, self.x.astype(np.float64).T @ self.w.astype(np.float64).T)


class PartWhereAny:
    """part_where_any(x, w, y, z, lengths, K, N): four blocks of 64 rows, two parts of 512 columns of X, the last step ragged; what no
    length reaches is left as it was."""

    def make(self, n, random):
        self.k, self.grid = 1024, (4, 2)
        self.lengths = np.array([max(64 * n - 8, 0), 0, 513, 64 * (15 - n) + 3], np.int32)
        self.x, self.w = half(random, 256, self.k), half(random, self.k, 64)
        self.y, self.z = np.full((4, 2, 64, 64), 5, np.float16), np.full((4, 2, 64), 5, np.float32)

    def arguments(self):
        return [self.x, self.w, self.y, self.z, self.lengths, self.k, 64]

    def errors(self):
        for block, length in enumerate(self.lengths):
            for part in range(2):
                there = slice(512 * part, max(512 * part, min(length, 512 * part + 512)))
                y = self.x[64 * block:64 * block + 64, there].astype(np.float64) @ self.w[there].astype(np.float64)
                yield off(self.y[block, part], y if length > 512 * part else np.full((64, 64), 5.0))
                yield off(self.z[block, part], y.max(axis=1) if length > 512 * part else np.full(64, 5.0))


class EndsAlone:
    """ends_alone(x, w, y, lengths, K, N, sink): Y = X W of rows of W before 7, and from a length on but one; of row 5 seven numbers are
    stored."""

    def make(self, n, random):
        self.k, self.n, self.sink, self.grid = 64 * n, 128, 7, (2, 2)
        self.lengths = np.array([max(64 * n - 70, 0), 40], np.int32)
        self.x, self.w, self.y = half(random, 128, self.k), half(random, self.k, self.n), np.full((128, self.n), 5, np.float16)

    def arguments(self):
        return [self.x, self.w, self.y, self.lengths, self.k, self.n, self.sink]

    def errors(self):
        at = np.arange(self.k)
        for block, length in enumerate(self.lengths):
            seen = (at < self.sink) | ((at >= length) & (at != length + 3))
            rows = slice(64 * block, 64 * block + 64)
            want = self.x[rows].astype(np.float64) @ np.where(seen[:, None], self.w.astype(np.float64), 0)
            if block == 0:
                want[5, self.sink:] = 5
            yield off(self.y[rows], want)


class GemmInBranch:
    """gemm_in_branch(q, h, z, o, T, first): O = the sum over the steps from `first` on of (Q exp(Z)) H, blocks of 64 rows."""

    def make(self, n, random):
        self.steps, self.first, self.grid, self.tolerance = n, 1, (2,), 8e-3
        self.q, self.h = (around.brain(floats(random, *shape)) for shape in ((128, 64 * n), (64 * n, 64)))
        self.z, self.o = floats(random, 128, 64 * n), np.full((128, 64), np.nan, np.float32)

    def arguments(self):
        return [self.q, self.h, self.z, self.o, self.steps, self.first]

    def errors(self):
        begin = min(64 * self.first, 64 * self.steps)
        factor = around.brain(self.q * np.exp(self.z)).astype(np.float64)
        yield off(self.o, factor[:, begin:] @ self.h[begin:].astype(np.float64))


class GemmInt4:
    """gemm_int4(a, b, scales, zeros, c, N, K): C = A ((B - zeros) scales), B of four bits, eight of a column a word; a scale and a zero
    for each 128 rows of B."""

    def make(self, n, random):
        self.k, self.grid = 64 * n, (2, 2)
        self.a, self.b = half(random, 128, self.k), random.integers(0, 16, (self.k, 256))
        words = (self.b.reshape(-1, 8, 256) << (4 * np.arange(8))[None, :, None]).sum(axis=1)
        self.words = words.astype(np.uint32).view(np.int32)
        groups = -(-self.k // 128)
        self.scales = random.uniform(0.5, 1.5, (groups, 256)).astype(np.float16) / np.float16(8)
        self.zeros, self.c = random.integers(4, 12, (groups, 256)).astype(np.float16), np.full((128, 256), np.nan, np.float16)

    def arguments(self):
        return [self.a, self.words, self.scales, self.zeros, self.c, 256, self.k]

    def errors(self):
        scales, zeros = (one.repeat(128, axis=0)[:self.k] for one in (self.scales, self.zeros))
        weights = ((self.b.astype(np.float16) - zeros) * scales).astype(np.float64)
        yield off(self.c, self.a.astype(np.float64) @ weights)


ORACLES = {"gemm-in-branch": GemmInBranch, "product-in": GemmInBranch, "gemm-int4": GemmInt4, "adapter": Adapter, "chunk-of-state": ChunkOfState, "chunk-beside-itself": ChunkBesideItself, "steps-chosen": StepsChosen,
           "weight-scaled": WeightScaled, "few-rows": FewRows, "scaled-rows": ScaledRows,
           "wide-factors": WideFactors, "two-products": TwoProducts, "part-where-any": PartWhereAny, "ends-alone": EndsAlone,
           "sink-rows": SinkRows, "byte-groups": ByteGroups, "scores-and-lengths": ScoresAndLengths, "byte-scores": ByteScores}


def oracle_of(path):
    return ORACLES[os.path.basename(path).rsplit("-", 1)[0]]()



def main():
    twill, cases, compiles, removes = around.asked(CASES)
    pointers.oracle_of = oracle_of
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        failed |= pointers.written(twill, REFUSED if cases == CASES else {}, folder)
        for case in cases:
            failed |= pointers.checked(twill, case, folder, removes, compiles, IMPLIED.get(case, 0))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
