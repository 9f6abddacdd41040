"""Kernels emitted from TTGIR modules with numbers in their loops, and with vectors and numbers before and behind them: executed on
the CPU beside formulas written here by hand, every wait and every fence removed once, and compiled.

usage: emit_around_test.py TWILL [--compile] [--removed] [MODULE...]
As emit_pointers_test.py, whose runs these are. The functions are those of bench/modules: nothing of the formulas was read
from a module.
"""
import inspect
import os
import re
import sys
import tempfile

import emit_pointers_test as pointers
import numpy as np
import stand_in

CASES = ["gemm-bias-gelu-hopper", "gemm-bias-gelu-blackwell", "softmax-backward-hopper", "delta-rule-states-blackwell",
         "decode-vector-hopper", "layer-norm-tiles-hopper", "adam-step-blackwell", "rms-norm-residual-hopper",
         "sum-of-parts-blackwell", "attention-delta-hopper", "recurrence-blackwell", "gemm-weights-int8-hopper",
         "gemm-weights-int8-blackwell", "gemm-int8-hopper", "gemm-int8-blackwell", "gemm-fp8-hopper"]
# Waits that others imply: the slot that stores arrives for one store when it has issued the next one, too. A tile that is copied
# after another by the same threads is there after it, and one fence before a product is enough for all that it reads.
IMPLIED = {"adam-step-blackwell": 2, "rms-norm-residual-hopper": 1, "gemm-weights-int8-hopper": 5}
LONG = ["softmax-backward-hopper"]  # (a hundred waits in runs of fewer iterations)
# In place, rows that overlap the ones before them: what is loaded ahead may be stored later.
REFUSED = {"rms-norm-residual-hopper:overlapping": "is loaded from and stored to"}
pointers.CHANGES["overlapping"] = ("arith.constant 4096 : i32", "arith.constant 2048 : i32")
SCALE = pointers.SCALE


def floats(random, *shape):
    return random.uniform(-2, 2, shape).astype(np.float32)


def brain(x):
    return stand_in.Type("bfloat16").rounded(x)


def off(got, want):
    """The largest difference, relative to the largest number, at least 1."""
    want = np.asarray(want, np.float64)
    return float(np.abs(np.asarray(got, np.float64) - want).max(initial=0.0)) / max(1.0, float(np.abs(want).max(initial=0.0)))


class GemmBiasGelu:
    """gemm_bias_gelu(a, b, c, M, N, K, bias): GELU(A B' + bias) by its tangent."""

    def make(self, n, random):
        self.m, self.n, self.k, self.grid = 256, 256, 32 * n, (2, 2)
        self.a, self.b = pointers.half(random, self.m, self.k), pointers.half(random, self.n, self.k)
        self.bias = pointers.half(random, self.n)
        self.c = np.full((self.m, self.n), np.nan, np.float16)

    def arguments(self):
        return [self.a, self.b, self.c, self.m, self.n, self.k, self.bias]

    def errors(self):
        x = self.a.astype(np.float64) @ self.b.astype(np.float64).T + self.bias.astype(np.float64)
        yield off(self.c, x / 2 * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x ** 3))))


class SoftmaxBackward:
    """softmax_backward(y, dy, dx, rows): rows of 1,024, every so-many-th of a program; dX = Y (dY - sum of Y dY)."""

    def make(self, n, random):
        self.grid, self.rows = (2,), 2 * n
        y = np.exp(floats(random, self.rows, 1024))
        self.y = (y / y.sum(axis=1, keepdims=True) * 64).astype(np.float16)
        self.dy = pointers.half(random, self.rows, 1024)
        self.dx = np.full((self.rows, 1024), np.nan, np.float16)

    def arguments(self):
        return [self.y, self.dy, self.dx, self.rows]

    def errors(self):
        y, dy = self.y.astype(np.float64), self.dy.astype(np.float64)
        yield off(self.dx, y * (dy - (y * dy).sum(axis=1, keepdims=True)))


class LayerNormTiles:
    """layer_norm_tiles(x, y, w, rows, eps): sixteen rows of 512 at a time."""

    def make(self, n, random):
        self.grid, self.rows = (2,), 32 * n
        self.x, self.w = pointers.half(random, self.rows, 512), pointers.half(random, 512)
        self.y = np.full((self.rows, 512), np.nan, np.float16)

    def arguments(self):
        return [self.x, self.y, self.w, self.rows, 0.03]

    def errors(self):
        x = self.x.astype(np.float64)
        away = x - x.mean(axis=1, keepdims=True)
        yield off(self.y, away / np.sqrt((away * away).mean(axis=1, keepdims=True) + 0.03) * self.w.astype(np.float64))


class DeltaRuleStates:
    """delta_rule_states(k, v, w, states, gates, length): chunks of 64; the state S before each is kept, and becomes
    S 2^gate + K' (V - W S)."""

    def make(self, n, random):
        self.length, self.grid, self.tolerance, self.n = 64 * n, (2,), 3e-2, n
        small = lambda: brain(floats(random, 2 * self.length, 128) / 32)  # noqa: E731
        self.k, self.v, self.w = small(), brain(floats(random, 2 * self.length, 128)), small()
        self.gates = -random.uniform(0, 1, 2 * n).astype(np.float32)
        self.states = np.full((2 * n * 128, 128), np.nan, np.float32)

    def arguments(self):
        return [self.k, self.v, self.w, self.states, self.gates, self.length]

    def errors(self):
        for head in range(2):
            state = np.zeros((128, 128))
            for chunk in range(head * self.n, (head + 1) * self.n):
                yield off(self.states[chunk * 128:(chunk + 1) * 128], state)
                rows = slice(chunk * 64, (chunk + 1) * 64)
                k, v, w = (x[rows].astype(np.float64) for x in (self.k, self.v, self.w))
                state = state * np.exp2(float(self.gates[chunk])) + k.T @ (v - w @ state)


class DecodeVector:
    """decode_vector(q, k, v, o, length, scale): one query; 64 keys a step."""

    def make(self, n, random):
        self.length, self.grid = 64 * n, (3,)
        self.q = pointers.half(random, 3, 128)
        self.k, self.v = pointers.half(random, 3 * self.length, 128), pointers.half(random, 3 * self.length, 128)
        self.o = np.full((3, 128), 7, np.float32)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.length, SCALE]

    def errors(self):
        for head in range(3):
            if self.length == 0:  # 0 / 0
                yield 0.0 if np.isnan(self.o[head]).all() else np.inf
                continue
            rows = slice(head * self.length, (head + 1) * self.length)
            k, v = self.k[rows].astype(np.float64), self.v[rows].astype(np.float64)
            s = k @ self.q[head].astype(np.float64) * SCALE
            p = np.exp2(s - s.max())
            yield off(self.o[head], p @ v / p.sum())


class LayerNormBackward:
    """layer_norm_backward(x, w, dy, dx, dw, db, mean, rstd, rows, columns): a program takes every so-many-th row."""

    def make(self, n, random):
        self.grid, self.rows, self.columns = (2,), 2 * n, 1024 - 16
        self.x, self.dy = (pointers.half(random, self.rows, self.columns) for _ in range(2))
        self.w = pointers.half(random, self.columns)
        x = self.x.astype(np.float64)
        self.mean = x.mean(axis=1).astype(np.float32)
        self.rstd = (1 / np.sqrt(x.var(axis=1) + 0.01)).astype(np.float32)
        self.dx = np.full((self.rows, self.columns), np.nan, np.float16)
        self.dw, self.db = (np.full((2, self.columns), np.nan, np.float32) for _ in range(2))

    def arguments(self):
        return [self.x, self.w, self.dy, self.dx, self.dw, self.db, self.mean, self.rstd, self.rows, self.columns]

    def errors(self):
        x, dy, w = (one.astype(np.float64) for one in (self.x, self.dy, self.w))
        rstd = self.rstd.astype(np.float64)[:, None]
        hat = (x - self.mean.astype(np.float64)[:, None]) * rstd
        wdy = w * dy
        c1, c2 = ((one.sum(axis=1) / self.columns)[:, None] for one in (hat * wdy, wdy))
        yield off(self.dx, (wdy - (hat * c1 + c2)) * rstd)
        for program in range(2):
            yield off(self.dw[program], (dy * hat)[program::2].sum(axis=0))
            yield off(self.db[program], dy[program::2].sum(axis=0))


class RmsNormResidual:
    """rms_norm_residual(x, r, w, y, rows, eps): rows of 4,096; R becomes X + R, Y its norm times W."""

    def make(self, n, random):
        self.grid, self.rows, self.tolerance = (2,), 2 * n, 8e-3
        self.x, self.before = (brain(floats(random, self.rows, 4096)) for _ in range(2))
        self.r, self.w = self.before.copy(), brain(floats(random, 4096))
        self.y = np.full((self.rows, 4096), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.r, self.w, self.y, self.rows, 0.02]

    def errors(self):
        x = self.x.astype(np.float64) + self.before
        yield off(self.r, x)
        yield off(self.y, x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 0.02) * self.w)


class Recurrence:
    """recurrence(x, a, y, length, width): y[t] = sigmoid(a[t]) y[t - 1] + x[t]."""

    def make(self, n, random):
        self.length, self.width, self.grid, self.tolerance = n, 512, (2, 2), 8e-3
        self.x, self.a = (brain(floats(random, 2 * n, 512)) for _ in range(2))
        self.y = np.full((2 * n, 512), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.a, self.y, self.length, self.width]

    def errors(self):
        for batch in range(2):
            y = np.zeros(512)
            for t in range(batch * self.length, (batch + 1) * self.length):
                y = y / (1 + np.exp(-self.a[t].astype(np.float64))) + self.x[t]
                yield off(self.y[t], y)


class SumOfParts:
    """sum_of_parts(part, out, parts, columns): column sums; 32 rows a step, both ends ragged."""

    def make(self, n, random):
        self.parts, self.columns, self.grid = 32 * n - (5 if n else 0), 256 - 16, (2,)
        self.part = floats(random, self.parts, self.columns)
        self.out = np.full(self.columns, np.nan, np.float16)

    def arguments(self):
        return [self.part, self.out, self.parts, self.columns]

    def errors(self):
        yield off(self.out, self.part.astype(np.float64).sum(axis=0))


class AttentionFp8:
    """attention_fp8(q, k, v, o, scales, length, scale): 8 bits, a scale for each 128 keys; V is [head, length]."""

    def make(self, n, random):
        self.length, self.heads, self.tolerance, self.n = 128 * n, 2, 8e-2, n
        rows = self.heads * self.length if n else 128
        eight = stand_in.Type("float8e4nv")
        self.q, self.k = eight.rounded(floats(random, rows, 128)), eight.rounded(floats(random, self.heads * self.length, 128))
        self.v = eight.rounded(floats(random, self.heads * 128, self.length))
        self.o = np.full((rows, 128), np.nan, np.float32)
        self.scales = random.uniform(0.5, 1.5, max(1, 2 * n)).astype(np.float32)
        self.grid = (max(1, n), 2 if n else 1)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.scales, self.length, SCALE]

    def errors(self):
        if self.n == 0:
            yield 0.0 if np.isnan(self.o).all() else np.inf
            return
        for head in range(self.heads):
            rows = slice(head * self.length, (head + 1) * self.length)
            scales = np.repeat(self.scales[head * self.n:(head + 1) * self.n].astype(np.float64), 128)
            s = self.q[rows].astype(np.float64) @ self.k[rows].astype(np.float64).T * SCALE * scales
            p = np.exp2(s - s.max(axis=1, keepdims=True))
            yield off(self.o[rows], p @ self.v[head * 128:(head + 1) * 128].astype(np.float64).T / p.sum(axis=1, keepdims=True))


class AttentionDelta:
    """attention_delta(o, do, delta, length): row sums of O dO, 128 rows at a time, every so-many-th of a program."""

    def make(self, n, random):
        self.grid, self.length = (2,), 256 * n - (16 if n else 0)
        self.o, self.do = (pointers.half(random, self.length, 128) for _ in range(2))
        self.delta = np.full(self.length, np.nan, np.float32)

    def arguments(self):
        return [self.o, self.do, self.delta, self.length]

    def errors(self):
        yield off(self.delta, (self.o.astype(np.float64) * self.do.astype(np.float64)).sum(axis=1))


class AdamStep:
    """adam_step(p, g, m, v, size, rate, decay): 1,024 elements at a time, in place."""

    def make(self, n, random):
        self.grid, self.size = (2,), 2048 * n - (16 if n else 0)
        self.before = [floats(random, self.size) for _ in range(2)] + [random.uniform(0, 2, self.size).astype(np.float32)]
        self.p, self.m, self.v = (one.copy() for one in self.before)
        self.g = brain(floats(random, self.size))

    def arguments(self):
        return [self.p, self.g, self.m, self.v, self.size, 0.01, 0.1]

    def errors(self):
        p, m, v = (one.astype(np.float64) for one in self.before)
        m, v = 0.9 * m + 0.1 * self.g, 0.999 * v + 0.001 * self.g.astype(np.float64) ** 2
        for got, want in zip((self.p, self.m, self.v), (p - 0.01 * (m / (np.sqrt(v) + 1e-8) + 0.1 * p), m, v)):
            yield off(got, want)


class AttentionCappedWithSinks:
    """attention_capped_with_sinks(q, k, v, o, length, scale): scores bent to +-30, a slope, a sink; blocks of 128, tiles of 64."""

    def make(self, n, random):
        # (A block has as many tiles as its place says: two for the first.)
        self.blocks = max(1, n // 2)
        self.length, self.tolerance = 128 * self.blocks, 8e-3
        self.q, self.k, self.v = (brain(floats(random, 2 * self.length, 128)) for _ in range(3))
        self.o = np.full((2 * self.length, 128), np.nan, np.float32)
        self.grid = (self.blocks, 2)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.length, SCALE]

    def errors(self):
        place = np.arange(self.length)
        for head in range(2):
            rows = slice(head * self.length, (head + 1) * self.length)
            q, k, v = (x[rows].astype(np.float64) for x in (self.q, self.k, self.v))
            s = 30 * np.tanh(q @ k.T * SCALE / 30) - 2 ** (-0.5 * (head + 1)) * (place[:, None] - place[None, :])
            s = np.where(place[:, None] >= place[None, :], s, -np.inf)
            top = np.maximum(s.max(axis=1, keepdims=True), 0)
            p = np.exp2(s - top)
            yield off(self.o[rows], p @ v / (p.sum(axis=1, keepdims=True) + np.exp2(-top)))


class QuantiseRows:
    """quantise_rows(x, q, scales, columns): a scale for each 128 columns of a row."""

    def make(self, n, random):
        self.columns, self.grid, self.tolerance = 128 * n, (2,), 7e-2
        self.x = brain(floats(random, 64, self.columns))
        self.q = np.full((64, self.columns), np.nan, np.float32)
        self.scales = np.full((64, n), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.q, self.scales, self.columns]

    def errors(self):
        x = self.x.astype(np.float64).reshape(64, -1, 128)
        scales = np.abs(x).max(axis=2) / 448
        yield off(self.scales, scales) * self.tolerance / pointers.TOLERANCE
        yield off(self.q.reshape(64, -1, 128) * scales[:, :, None], x)


class AttentionBackwardGrouped:
    """attention_backward_grouped(q, k, v, do, dk, dv, lse, delta, length, scale): four heads of queries share a head of keys;
    64 queries a step, 128 keys a block. A loop over heads and tiles: 4 n iterations."""

    def make(self, n, random):
        self.length, self.trips, self.tolerance = 64 * n, 4 * n, 2e-2
        blocks = max(1, -(-self.length // 128))
        self.grid = (blocks, 1)
        self.k, self.v = (brain(floats(random, 128 * blocks, 64) / 2) for _ in range(2))
        self.q, self.do = (brain(floats(random, 4 * self.length, 64) / 4) for _ in range(2))
        self.dk, self.dv = (np.full((128 * blocks, 64), np.nan, np.float32) for _ in range(2))
        self.lse = random.uniform(2, 4, 4 * self.length).astype(np.float32)
        self.delta = random.uniform(-0.5, 0.5, 4 * self.length).astype(np.float32)

    def arguments(self):
        return [self.q, self.k, self.v, self.do, self.dk, self.dv, self.lse, self.delta, self.length, SCALE]

    def errors(self):
        q, do = (one.astype(np.float64) for one in (self.q, self.do))
        p = np.exp2(self.k.astype(np.float64) @ q.T * SCALE - self.lse[None, :])
        yield off(self.dv, p @ do)
        yield off(self.dk, p * (self.v.astype(np.float64) @ do.T - self.delta[None, :]) @ q)


class GemmWeightsInt8:
    """gemm_weights_int8(a, b, scales, c, N, K): C = A B scales, B of whole numbers of 8 bits with a scale for each column."""

    def make(self, n, random):
        self.m, self.n, self.k, self.grid = 256, 256, 64 * n, (2, 2)
        self.a = pointers.half(random, self.m, self.k)
        self.b = random.integers(-127, 128, (self.k, self.n)).astype(np.float32)
        self.scales = random.uniform(0.5, 1.5, self.n).astype(np.float32) / 64
        self.c = np.full((self.m, self.n), np.nan, np.float16)

    def arguments(self):
        return [self.a, self.b, self.scales, self.c, self.n, self.k]

    def errors(self):
        yield off(self.c, self.a.astype(np.float64) @ self.b.astype(np.float64) * self.scales.astype(np.float64))


class GemmInt8:
    """gemm_int8(a, b, rows, columns, c, N, K): C = A B' of whole numbers of 8 bits, a scale for each row and column."""

    def make(self, n, random):
        self.m, self.n, self.k, self.grid, self.tolerance = 256, 256, 64 * n, (2, 2), 8e-3
        self.a, self.b = (random.integers(-127, 128, (rows, self.k)).astype(np.float32) for rows in (self.m, self.n))
        self.rows, self.columns = (random.uniform(0.5, 1.5, size).astype(np.float32) / 256 for size in (self.m, self.n))
        self.c = np.full((self.m, self.n), np.nan, np.float32)

    def arguments(self):
        return [self.a, self.b, self.rows, self.columns, self.c, self.n, self.k]

    def errors(self):
        yield off(self.c, self.a.astype(np.float64) @ self.b.astype(np.float64).T * self.rows.astype(np.float64)[:, None] * self.columns.astype(np.float64))


class GemmFp8:
    """gemm_fp8(a, b, c, K): C = A B' of f8 with five bits of exponent."""

    def make(self, n, random):
        self.m, self.n, self.k, self.grid = 256, 256, 128 * n, (2, 2)
        eight = stand_in.Type("float8e5")
        self.a, self.b = (eight.rounded(floats(random, rows, self.k)) for rows in (self.m, self.n))
        self.c = np.full((self.m, self.n), np.nan, np.float16)

    def arguments(self):
        return [self.a, self.b, self.c, self.k]

    def errors(self):
        yield off(self.c, self.a.astype(np.float64) @ self.b.astype(np.float64).T)


class GemmBlockScaled:
    """gemm_block_scaled(a, b, a_scales, b_scales, c, M, N, K): 8 bits; scales of 1 x 128 of A and 128 x 128 of B."""

    def make(self, n, random):
        self.m, self.n, self.k, self.grid, self.tolerance, self.steps = 256, 256, 128 * n, (2, 2), 8e-3, n
        eight = stand_in.Type("float8e4nv")
        self.a, self.b = eight.rounded(floats(random, self.m, self.k)), eight.rounded(floats(random, self.n, self.k))
        self.a_scales = random.uniform(0.5, 1.5, (n, self.m)).astype(np.float32)
        self.b_scales = random.uniform(0.5, 1.5, (2, n)).astype(np.float32)
        self.c = np.full((self.m, self.n), np.nan, np.float32)

    def arguments(self):
        return [self.a, self.b, self.a_scales, self.b_scales, self.c, self.m, self.n, self.k]

    def errors(self):
        want = np.zeros((self.m, self.n))
        for step in range(self.steps):
            k = slice(step * 128, (step + 1) * 128)
            part = self.a[:, k].astype(np.float64) @ self.b[:, k].astype(np.float64).T
            want += part * self.a_scales[step][:, None] * np.repeat(self.b_scales[:, step], 128)[None, :]
        yield off(self.c, want)


ORACLES = {"gemm-bias-gelu": GemmBiasGelu, "softmax-backward": SoftmaxBackward, "layer-norm-tiles": LayerNormTiles,
           "delta-rule-states": DeltaRuleStates, "decode-vector": DecodeVector, "layer-norm-backward": LayerNormBackward,
           "recurrence": Recurrence, "rms-norm-residual": RmsNormResidual, "sum-of-parts": SumOfParts, "attention-fp8": AttentionFp8,
           "attention-delta": AttentionDelta, "adam-step": AdamStep, "attention-capped-with-sinks": AttentionCappedWithSinks,
           "gemm-block-scaled": GemmBlockScaled, "gemm-weights-int8": GemmWeightsInt8, "gemm-int8": GemmInt8, "gemm-fp8": GemmFp8, "quantise-rows": QuantiseRows, "attention-backward-grouped": AttentionBackwardGrouped}
NUMBERS = {"f16": "float16", "f32": "float32", "bf16": "bfloat16", "f8E4M3FN": "float8e4nv", "f8E5M2": "float8e5", "i8": "int8"}


def number_type(kind):
    if kind == "i64":
        return stand_in.Whole("int64")
    return stand_in.Type(NUMBERS[kind]) if kind in NUMBERS else pointers.number_type(kind)


def oracle_of(path):
    name = os.path.basename(path).replace("_", "-")
    return next(oracle for part, oracle in ORACLES.items() if name.startswith(part))()


def parameters(path):
    """Of the module's function: name -> (type, what divides it); of a descriptor the type of its elements, its block."""
    with open(path) as file:
        line = re.search(r"tt\.func public @[^\n]*", file.read()).group(0)
    found = {}
    for name, kind, divisor in re.findall(r"%([\w.]+): (!tt\.\w+<[^>]*>|\w+)(?: \{tt\.divisibility = (\d+))?", line):
        if ".shape." in name or ".stride." in name:
            continue
        pointer, tile = re.match(r"!tt\.ptr<(\w+)>", kind), re.match(r"!tt\.tensordesc<((?:\d+x)+)(\w+)", kind)
        if tile:
            found[name] = (tile.group(2), [int(x) for x in tile.group(1).split("x")[:-1]])
        else:
            found[name] = ("*" + pointer.group(1) if pointer else kind, int(divisor or 1))
    return found


def run(module, types, oracle, n, seed, late):
    """The largest error of one run, in units of 4e-3 of the oracle's own tolerance. Raises Fault and AssertionError."""
    oracle.make(n, np.random.default_rng(n))
    arguments = []
    names = inspect.signature(module.kernel).parameters  # (a parameter may have got another name)
    for name, (kind, block), value in zip(names, types.values(), oracle.arguments()):
        if isinstance(block, list):
            made = module.BLOCKS.get(name, (block, None))[0]
            arguments.append(stand_in.Descriptor(stand_in.Type(NUMBERS[kind]), value, made, name))
        elif isinstance(value, np.ndarray):
            arguments.append(stand_in.Pointer(number_type(kind[1:]), value.reshape(-1)))
        else:
            arguments.append(value)
    if hasattr(module, "DEPTH"):
        trips = getattr(oracle, "trips", n)
        arguments.append(trips if trips < module.DEPTH else -1)
    stand_in.run_grid(module.kernel, arguments, oracle.grid, seed, late, getattr(oracle, "only", None))
    error = float(np.max([0.0, *oracle.errors()]))
    return error * pointers.TOLERANCE / getattr(oracle, "tolerance", pointers.TOLERANCE)


def compiled_one(out, path, trips=-1):
    """As emit_pointers_test has it, with descriptors."""
    import importlib.util

    import emit_compile_test as compiler
    import triton
    spec = importlib.util.spec_from_file_location("emitted", out)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    types, signature, attributes = list(parameters(path).values()), {}, {}
    short = {"f16": "fp16", "f32": "fp32", "bf16": "bf16", "i32": "i32", "i64": "i64", "f8E4M3FN": "fp8e4nv", "f8E5M2": "fp8e5",
             "i8": "i8"}
    for k, name in enumerate(module.kernel.arg_names):
        if name == "TRIPS":
            signature[name] = "constexpr"
            continue
        kind, divisor = types[k]
        if isinstance(divisor, list):
            block, number = module.BLOCKS.get(name, (divisor, None))
            layout = compiler.gl.NVMMASharedLayout.get_default_for(block, number)
            signature[name] = f"tensordesc<{short[kind]}{block},{layout!r}>"
            continue
        signature[name] = "*" + short[kind[1:]] if kind.startswith("*") else short.get(kind, kind)
        if divisor > 1:
            attributes[(k,)] = [["tt.divisibility", divisor]]
    source = compiler.GluonASTSource(fn=module.kernel, signature=signature, attrs=attributes,
                                     constexprs={"TRIPS": trips} if "TRIPS" in signature else {})
    target = compiler.GPUTarget("cuda", {"9": 90, "10": 100}[str(module.CAPABILITY)], 32)
    return module, triton.compile(source, target=target, options={"num_warps": module.WARPS})


def asked(known):
    """As emit_pointers_test has it, whose runs are those of this file from here on."""
    pointers.oracle_of, pointers.parameters, pointers.run, pointers.compiled_one = oracle_of, parameters, run, compiled_one
    return pointers.asked(known)


def checked(known, implied):
    """All that the command line asks for, of those known: the exit code."""
    twill, cases, compiles, removes = asked(known)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            failed |= pointers.checked(twill, case, folder, removes, compiles, implied.get(case, 0))
    return 1 if failed else 0


def main():
    twill, cases, compiles, removes = asked(CASES)
    with tempfile.TemporaryDirectory() as folder:
        failed = pointers.written(twill, REFUSED if cases == CASES else {}, folder)
        for case in cases:
            failed |= pointers.checked(twill, case, folder, removes and case not in LONG, compiles, IMPLIED.get(case, 0))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
