"""Kernels emitted from TTGIR modules of several loops, of which one is pipelined and those before it are repeated by the slots that
need what they make: executed on the CPU beside formulas written here by hand, every wait and every fence removed once, and compiled.

usage: emit_loops_test.py TWILL [--compile] [--removed] [MODULE...]
As emit_around_test.py, whose runs these are.
"""
import math
import os
import re
import sys
import tempfile

import emit_around_test as around
import emit_pointers_test as pointers
import numpy as np

TREE = os.path.join(pointers.HERE, "..", "..", "graph", "kernels", "triton")
CASES = [os.path.join(TREE, "hopper-layer-norm.ttgir"), os.path.join(TREE, "blackwell-layer-norm.ttgir"),
         "layer-norm-three-loops-hopper", "softmax-online-blackwell", "group-norm-hopper", "running-sum-hopper",
         "cross-entropy-forward-hopper", "cross-entropy-backward-blackwell", "two-loops", "gated-linear-attention-hopper",
         "gemm-persistent-swizzled-blackwell:few", "attention-causal-two-loops-hopper", "attention-causal-two-loops-blackwell",
         "attention-causal-two-loops-hopper:long", "attention-guarded-hopper", "attention-guarded-blackwell",
         "attention-backward-two-loops-hopper", "adapters-hopper", "adapters-blackwell"]
floats, brain, off = around.floats, around.brain, around.off


class LayerNorm:
    """layer_norm(x, w, b, y, columns, epsilon): a row a program, 4,096 columns at a time; the last step is ragged."""

    step = 4096

    def make(self, n, random):
        self.grid, self.columns = (3,), self.step * n - (16 if n else 0)
        self.x = floats(random, 3, self.columns) + np.float32(1)
        self.w, self.b = floats(random, self.columns), floats(random, self.columns)
        self.y = np.full((3, self.columns), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.b, self.y, self.columns, 0.03]

    def errors(self):
        x = self.x.astype(np.float64)
        if self.columns:
            scaled = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 0.03)
            yield off(self.y, scaled * self.w.astype(np.float64) + self.b)


class LayerNormInPlace(LayerNorm):
    """The same, stored where the row was."""

    def make(self, n, random):
        super().make(n, random)
        self.given, self.y = self.y, self.x.copy()

    def arguments(self):
        return [self.y, self.w, self.b, self.given, self.columns, 0.03]


class LayerNormThreeLoops:
    """layer_norm_three_loops(x, w, b, y, mean, rstd, columns, eps): the mean and the deviation of each row are stored, too."""

    def make(self, n, random):
        self.grid, self.columns = (3,), 2048 * n - (16 if n else 0)
        self.x = (floats(random, 3, self.columns) + 1).astype(np.float16)
        self.w, self.b = (floats(random, self.columns).astype(np.float16) for _ in range(2))
        self.y = np.full((3, self.columns), np.nan, np.float16)
        self.mean, self.rstd = np.full(3, 7, np.float32), np.full(3, 7, np.float32)

    def arguments(self):
        return [self.x, self.w, self.b, self.y, self.mean, self.rstd, self.columns, 0.03]

    def errors(self):
        if self.columns == 0:  # 0 / 0
            yield 0.0 if np.isnan(self.mean).all() and np.isnan(self.rstd).all() else np.inf
            return
        x = self.x.astype(np.float64)
        mean, rstd = x.mean(axis=1), 1 / np.sqrt(x.var(axis=1) + 0.03)
        yield off(self.mean, mean)
        yield off(self.rstd, rstd)
        yield off(self.y, (x - mean[:, None]) * rstd[:, None] * self.w.astype(np.float64) + self.b.astype(np.float64))


class SoftmaxOnline:
    """softmax_online(x, y, columns): 2,048 at a time. (A row shorter than that has no number: -inf less -inf.)"""

    def make(self, n, random):
        self.grid, self.columns = (3,), 2048 * n - (16 if n > 1 else 0)
        self.x = (floats(random, 3, self.columns) * 4).astype(np.float16)
        self.y = np.full((3, self.columns), np.nan, np.float16)

    def arguments(self):
        return [self.x, self.y, self.columns]

    def errors(self):
        x = self.x.astype(np.float64)
        if self.columns:
            p = np.exp(x - x.max(axis=1, keepdims=True))
            # In units in which the largest result is 1.
            yield float(np.abs(self.y - p / p.sum(axis=1, keepdims=True)).max() / (1 / p.sum(axis=1)).max())


class GroupNorm:
    """group_norm(x, y, channels, size, eps): channels of a group are a row; the sums go over channels, then over pixels."""

    def make(self, n, random):
        self.grid, self.channels, self.size = (3,), 2 if n else 0, 512 * n - 16
        self.x = (floats(random, 3, self.channels * self.size) + 1).astype(np.float16)
        self.y = np.full(self.x.shape, np.nan, np.float16)

    def arguments(self):
        return [self.x, self.y, self.channels, self.size, 0.03]

    def errors(self):
        x = self.x.astype(np.float64)
        if self.channels:
            yield off(self.y, (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 0.03))


class RunningSum:
    """running_sum(x, y, length, width): sums along time, 64 columns a program; both ends ragged."""

    def make(self, n, random):
        self.length, self.width, self.grid = 64 * n - (5 if n else 0), 128 - 16, (2, 2)
        self.x = floats(random, 2, self.length, self.width)
        self.y = np.full((2, self.length, self.width), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.y, self.length, self.width]

    def errors(self):
        yield off(self.y, self.x.astype(np.float64).cumsum(axis=1))


class GatedLinearAttention:
    """gated_linear_attention(q, k, v, o, gates, length): S becomes 2^gate S + k' v, o is q S."""

    def make(self, n, random):
        self.length, self.grid, self.tolerance = 64 * n, (2,), 3e-2
        self.q, self.k, self.v = (brain(floats(random, 2 * self.length, 64)) for _ in range(3))
        self.o = np.full((2 * self.length, 64), np.nan, np.float32)
        self.gates = -random.uniform(0, 0.2, 2 * self.length).astype(np.float32)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.gates, self.length]

    def errors(self):
        for head in range(2):
            state, want = np.zeros((64, 64)), np.zeros((self.length, 64))
            for t in range(self.length):
                row = head * self.length + t
                state = state * np.exp2(float(self.gates[row])) + np.outer(self.k[row], self.v[row]).astype(np.float64)
                want[t] = self.q[row].astype(np.float64) @ state
            yield off(self.o[head * self.length:(head + 1) * self.length], want)


class CrossEntropyForward:
    """cross_entropy_forward(logits, labels, loss, lse, vocabulary, smoothing): a row a program, 4,096 logits at a time."""

    def make(self, n, random):
        self.grid, self.vocabulary, self.tolerance = (3,), 4096 * n - (16 if n else 0), 8e-3
        # (A row without logits has one behind it that is read.)
        self.logits = brain(floats(random, 3 * self.vocabulary + 1) * 3)
        self.labels = random.integers(0, max(1, self.vocabulary), 3).astype(np.int64)
        self.labels[-1] = max(0, self.vocabulary - 1)
        self.loss, self.lse = np.full(3, 7, np.float32), np.full(3, 7, np.float32)

    def arguments(self):
        return [self.logits, self.labels, self.loss, self.lse, self.vocabulary, 0.1]

    def errors(self):
        if self.vocabulary == 0:
            yield 0.0 if np.isnan(self.loss).all() and (self.lse == -np.inf).all() else np.inf
            return
        x = self.logits[:-1].astype(np.float64).reshape(3, -1)
        top = x.max(axis=1)
        lse = top + np.log(np.exp(x - top[:, None]).sum(axis=1))
        yield off(self.lse, lse)
        yield off(self.loss, lse - 0.9 * x[np.arange(3), self.labels] - 0.1 * x.mean(axis=1))


class CrossEntropyBackward:
    """cross_entropy_backward(logits, labels, lse, vocabulary, scale): the gradients take the place of the logits."""

    def make(self, n, random):
        self.grid, self.vocabulary, self.tolerance = (3,), 4096 * n - (16 if n else 0), 8e-3
        self.before = brain(floats(random, 3, self.vocabulary))
        self.logits = self.before.copy()
        self.labels = random.integers(0, max(1, self.vocabulary), 3).astype(np.int64)
        self.labels[-1] = max(0, self.vocabulary - 1)
        # (Not that of the row: so that the exponentials are of the size of 1.)
        self.lse = random.uniform(1, 2, 3).astype(np.float32)

    def arguments(self):
        return [self.logits, self.labels, self.lse, self.vocabulary, 0.75]

    def errors(self):
        p = np.exp(self.before.astype(np.float64) - self.lse[:, None])
        if self.vocabulary:
            p[np.arange(3), self.labels] -= 1
        yield off(self.logits, p * 0.75)


class GemmPersistentSwizzled:
    """gemm_persistent_swizzled(a, b, c, M, N, K): C = A B'; every fourth tile of nine (of the module: every 148th)."""

    def make(self, n, random):
        self.grid, self.m, self.n, self.k = (4,), 384, 384, 64 * n
        self.a, self.b = pointers.half(random, self.m, self.k), pointers.half(random, self.n, self.k)
        self.c = np.full((self.m, self.n), np.nan, np.float16)

    def arguments(self):
        return [self.a, self.b, self.c, self.m, self.n, self.k]

    def errors(self):
        yield off(self.c, self.a.astype(np.float64) @ self.b.astype(np.float64).T)


class AttentionPersistent:
    """attention_persistent(q, k, v, o, length, scale): sixteen heads; every fourth block of 128 rows, of which two programs run."""

    def make(self, n, random):
        self.length, self.grid, self.only, self.blocks = 128 * n, (4,), {(0, 0, 0), (3, 0, 0)}, n
        self.q, self.k, self.v = (pointers.half(random, 16 * self.length, 64) for _ in range(3))
        self.o = np.full((16 * self.length, 64), np.nan, np.float16)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.length, around.SCALE]

    def errors(self):
        for tile in range(16 * self.blocks):
            if tile % 4 in (1, 2):
                continue
            head = slice(tile // self.blocks * self.length, (tile // self.blocks + 1) * self.length)
            rows = slice(tile * 128, tile * 128 + 128)
            s = self.q[rows].astype(np.float64) @ self.k[head].astype(np.float64).T * around.SCALE
            p = np.exp2(s - s.max(axis=1, keepdims=True))
            yield off(self.o[rows], p @ self.v[head].astype(np.float64) / p.sum(axis=1, keepdims=True))


class CausalTwoLoops:
    """attention_causal_two_loops(q, k, v, o, length, scale): blocks of 128 rows; whole tiles of 64 keys first, then two on the diagonal
    (of the changed module as many as the length has, all but two of which the mask hides)."""

    def make(self, n, random):
        self.blocks, self.grid = n // 2 + 1, (n // 2 + 1, 2)
        self.length = 128 * self.blocks
        self.q, self.k, self.v = (pointers.half(random, 4 * self.length, 128) for _ in range(3))
        self.o = np.full((2 * self.length, 128), np.nan, np.float16)
        self.only = {(0, 1, 0), (self.blocks - 1, 0, 0)}

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.length, around.SCALE]

    def errors(self):
        for block, head, _ in self.only:
            keys = slice(head * self.length, head * self.length + 128 * (block + 1))
            rows = slice(keys.stop - 128, keys.stop)
            s = self.q[rows].astype(np.float64) @ self.k[keys].astype(np.float64).T * around.SCALE
            s[np.arange(128 * block + 128)[None, :] > 128 * block + np.arange(128)[:, None]] = -np.inf
            p = np.exp2(s - s.max(axis=1, keepdims=True))
            yield off(self.o[rows], p @ self.v[keys].astype(np.float64) / p.sum(axis=1, keepdims=True))


class AttentionGuarded:
    """attention_guarded(q, k, v, o, lse, length, scale): one causal head with a ragged end; the first half of the columns stores lse."""

    def make(self, n, random):
        self.length, self.tolerance = 64 * n - (9 if n else 0), 8e-3
        self.grid = (2, max(1, -(-self.length // 128)))
        self.q, self.k, self.v = (brain(floats(random, self.length + 1, 128)) for _ in range(3))
        self.o, self.lse = np.full((self.length, 128), np.nan, np.float32), np.full(self.length, np.nan, np.float32)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.lse, self.length, 0.1]

    def errors(self):
        if self.length == 0:
            return
        s = self.q[:-1].astype(np.float64) @ self.k[:-1].astype(np.float64).T * 0.1
        s[np.triu_indices(self.length, 1)] = -np.inf
        m = s.max(axis=1, keepdims=True)
        p = np.exp2(s - m)
        yield off(self.o, p @ self.v[:-1].astype(np.float64) / p.sum(axis=1, keepdims=True))
        yield off(self.lse, (m + np.log2(p.sum(axis=1, keepdims=True)))[:, 0])


class AttentionBackwardTwoLoops:
    """attention_backward_two_loops(q, k, v, do, dq, dk, dv, lse, delta, length, scale): causal, blocks of 64 rows, two heads."""

    def make(self, n, random):
        self.length, self.grid, self.tolerance = 64 * n, (max(1, n), 2), 8e-3
        self.only = {(0, 0, 0), (n - 1, 1, 0)} if n else set()
        self.q, self.k, self.v, self.do = (pointers.half(random, 2, self.length, 64) for _ in range(4))
        self.dq, self.dk, self.dv = (np.full((2, self.length, 64), np.nan, np.float16) for _ in range(3))
        s = self.q.astype(np.float64) @ self.k.astype(np.float64).transpose(0, 2, 1) * 0.1
        for head in s:
            head[np.triu_indices(self.length, 1)] = -np.inf
        self.lse = np.log2(np.exp2(s).sum(axis=2)).astype(np.float32)
        self.p, self.delta = np.exp2(s - self.lse[:, :, None].astype(np.float64)), floats(random, 2, self.length)

    def arguments(self):
        return [self.q, self.k, self.v, self.do, self.dq, self.dk, self.dv, self.lse, self.delta, self.length, 0.1]

    def errors(self):
        for block, head, _ in self.only:
            own, do = slice(64 * block, 64 * block + 64), self.do[head].astype(np.float64)
            ds = self.p[head] * (do @ self.v[head].astype(np.float64).T - self.delta[head][:, None].astype(np.float64))
            yield off(self.dv[head, own], (self.p[head].T @ do)[own])
            yield off(self.dk[head, own], (ds.T @ self.q[head].astype(np.float64))[own])
            yield off(self.dq[head, own], (ds @ self.k[head].astype(np.float64))[own])


class Rotary:
    """rotary(x, cos, sin, length, heads): halves of a head turned, in place; a position a program."""

    def make(self, n, random):
        self.grid, self.heads, self.tolerance = (3,), n, 8e-3
        self.before = brain(floats(random, 3, n, 128))
        self.x = self.before.copy()
        angles = random.uniform(0, 6, (3, 64))
        self.cos, self.sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)

    def arguments(self):
        return [self.x, self.cos, self.sin, 3, self.heads]

    def errors(self):
        a, b = self.before[:, :, :64].astype(np.float64), self.before[:, :, 64:].astype(np.float64)
        cos, sin = self.cos[:, None, :].astype(np.float64), self.sin[:, None, :].astype(np.float64)
        yield off(self.x, np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=2))


class TwoLoops:
    """two(x, y, z, w, count, extra): sums of functions of X, column by column, and least ones; y is X less those, z the sums halved each step."""

    def make(self, n, random):
        self.grid, self.count, self.steps = (1,), 128 * n - (5 if n else 0), n
        self.x = floats(random, self.count)
        self.y, self.z, self.w = np.full(self.count, np.nan, np.float32), np.full(128, np.nan, np.float32), np.zeros(1, np.float32)

    def arguments(self):
        return [self.x, self.y, self.z, self.w, self.count, 0.5]

    def errors(self):
        # What is outside is 0.
        x = np.zeros((self.steps, 128))
        x.reshape(-1)[:self.count] = self.x
        more = np.abs(x) + 0.5
        made = np.sin(x) + np.cos(np.sqrt(more)) - np.vectorize(math.erf, otypes=[float])(1 / np.sqrt(more)) + np.log(more) + np.floor(x) + np.ceil(x)
        yield off(self.z, made.sum(axis=0) * 0.5 ** self.steps * self.count)
        yield off(self.y, (x - np.min(x, axis=0, initial=10)).reshape(-1)[:self.count])


class LinearAttentionBackward:
    """linear_attention_backward(q, k, v, do, dq, dk, dv, length): causal, chunks of 64 rows; dQ in a loop that goes forward, dK and dV
    in one that goes back."""

    def make(self, n, random):
        self.length, self.grid, self.tolerance = 64 * n, (2,), 8e-3
        self.q, self.k, self.v, self.do = (brain(floats(random, 2, self.length, 64)) for _ in range(4))
        self.dq, self.dk, self.dv = (np.full((2, self.length, 64), np.nan, np.float32) for _ in range(3))

    def arguments(self):
        return [self.q, self.k, self.v, self.do, self.dq, self.dk, self.dv, self.length]

    def errors(self):
        for q, k, v, do, *made in zip(*(one.astype(np.float64) for one in (self.q, self.k, self.v, self.do, self.dq, self.dk, self.dv))):
            scores, gradients = np.tril(q @ k.T), np.tril(do @ v.T)
            for got, want in zip(made, (gradients @ k, gradients.T @ q, scores.T @ do)):
                yield off(got, want)


class Adapters:
    """adapters(x, a, b, y, ids, N, K): Y += (X A) B, A and B of an adapter for each 32 rows; Y is loaded and stored back, tile by tile.
    Its loops run 2 n and n times, the second one at least once."""

    def make(self, n, random):
        self.k, self.n, self.grid = 128 * n, 64 * max(n, 1), (3,)
        self.x, self.y = pointers.half(random, 96, self.k), pointers.half(random, 96, self.n)
        self.a = pointers.half(random, 4, self.k, 16) / np.float16(8)
        self.b, self.before, self.ids = pointers.half(random, 4, 16, self.n), self.y.astype(np.float64), np.array([2, 0, 3], np.int32)

    def arguments(self):
        return [self.x, self.a, self.b, self.y, self.ids, self.n, self.k]

    def errors(self):
        for block, one in enumerate(self.ids):
            rows = slice(32 * block, 32 * block + 32)
            low = (self.x[rows].astype(np.float64) @ self.a[one].astype(np.float64)).astype(np.float16)
            yield off(self.y[rows], self.before[rows] + low.astype(np.float64) @ self.b[one].astype(np.float64))


class FilledSum(around.SumOfParts):
    """sum_of_parts with 1.5 in the place of 0: for what is outside, too."""

    def errors(self):
        # (Of each of the 32 sums side by side, too, as it begins.)
        yield off(self.out, self.part.astype(np.float64).sum(axis=0) + 1.5 * (32 + -self.parts % 32))


around.ORACLES.update({"adapters": Adapters, "linear-attention-backward": LinearAttentionBackward, "attention-guarded": AttentionGuarded, "attention-backward-two-loops": AttentionBackwardTwoLoops,
                        "attention-causal-two-loops": CausalTwoLoops, "layer-norm-three-loops": LayerNormThreeLoops, "softmax-online": SoftmaxOnline,
                        "cross-entropy-forward": CrossEntropyForward, "cross-entropy-backward": CrossEntropyBackward,
                        "gemm-persistent-swizzled": GemmPersistentSwizzled,
                        "attention-persistent": AttentionPersistent, "rotary": Rotary, "two-loops": TwoLoops, "group-norm": GroupNorm, "running-sum": RunningSum, "gated-linear-attention": GatedLinearAttention,
                        "hopper-layer-norm": LayerNorm, "blackwell-layer-norm": LayerNorm})


# What is outside is another number than the 0 that cp.async leaves there.
FILLED = "sum-of-parts-blackwell:filled"
# Loops before the last one read what it stores, so that no slot may repeat them: each has a schedule of its own.
IN_PLACE = CASES[0] + ":in-place"
# Two stores before the loop to one argument, whose
# order counts; tiles that begin in the middle of those of the iteration before.
REFUSED = {"adapters-hopper:half-steps": "is loaded from and stored to", "layer-norm-three-loops-hopper:twice": "at places that may meet"}
# (Of several tiles a program; which are those of the module is a number.)
pointers.CHANGES["half-steps"] = (r"to %N step %c64_i32", "to %N step %rows")
pointers.CHANGES["few"] = (r"arith\.constant 148 : i32", "arith.constant 4 : i32")
pointers.CHANGES["long"] = (r"= arith\.addi %(first_\d), %c128_i32", r"= arith.addi %\1, %length")
pointers.CHANGES.update({"filled": (r"%cst = arith\.constant dense<0\.0", "%cst = arith.constant dense<1.5"),
                         "in-place": (r"tt\.addptr %y_ptr", "tt.addptr %x_ptr"), "twice": (r"tt\.addptr %mean_ptr", "tt.addptr %rstd_ptr")})


def host_asks(twill, folder):
    """Of adapters: are widths at which a row would end in the next one refused by the host, and no others?"""
    text, why = pointers.emitted(twill, pointers.path_of("adapters-hopper", folder), folder)
    asked = re.search(r"if not (.*):  # a tile would be loaded before it is stored\n +raise ValueError", text or "")
    refused = [n for n in (0, 32, 64, 96, 128) if asked and not eval(asked.group(1), {"N": n})]
    print(f"adapters-hopper: the host refuses widths of {refused}" + (f": {why}" if why else ""))
    return refused != [32, 96]


def main():
    twill, cases, compiles, removes = around.asked(CASES)
    with tempfile.TemporaryDirectory() as folder:
        failed = pointers.written(twill, REFUSED if cases == CASES else {}, folder)
        if cases == CASES:
            failed |= host_asks(twill, folder)
            around.ORACLES["sum-of-parts"] = FilledSum
            failed |= pointers.checked(twill, pointers.path_of(FILLED, folder), folder, False, compiles)
            around.ORACLES["hopper-layer-norm"] = LayerNormInPlace
            failed |= pointers.checked(twill, pointers.path_of(IN_PLACE, folder), folder, removes, compiles)
            around.ORACLES["hopper-layer-norm"] = LayerNorm
        for case in cases:
            failed |= pointers.checked(twill, case, folder, removes, compiles)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
