"""Kernels emitted from TTGIR modules whose tiles are gathered: where rows lie is loaded, before the loop or in it, or is computed by
divisions, and masks compare such numbers. Executed on the CPU beside formulas written here by hand, every wait and every fence removed
once, and compiled.

usage: emit_gathered_test.py TWILL [--compile] [--removed] [MODULE...]
As emit_around_test.py, whose runs these are. The functions are those of bench/modules: nothing of the formulas was read from a module.
"""
import os
import sys
import tempfile

import emit_around_test as around
import emit_pointers_test as pointers
import numpy as np

CASES = ["experts-gathered-hopper", "experts-gathered-blackwell", "experts-mixed-loads-hopper", "attention-block-sparse-hopper",
         "convolution-forward-hopper", "convolution-forward-hopper:corner", "convolution-weight-gradient-blackwell", "embedding-bag-hopper",
         "experts-mixed-loads-hopper:listed", "experts-mixed-loads-hopper:steps"]
# What is not loaded is no 0; rows are stored to; a mask asks for one of two, but not both.
REFUSED = {"experts-gathered-hopper:other": "cp.async cannot follow", "experts-gathered-hopper:stored": "in some iterations alone",
           "experts-gathered-hopper:either": "finds its tiles is not made of"}
# Its ring has 76 copies: in runs of fewer iterations nobody waits for a free one.
IMPLIED = {"embedding-bag-hopper": 1}
floats, brain, off = around.floats, around.brain, around.off


class ExpertsGathered:
    """experts_gathered(x, w, y, weights, tokens, experts, tokens, N, K): every token goes to two experts, whose places are sorted by
    expert in blocks of 64; a place behind an expert's last one says 2 tokens. X has a row a token, Y one a place."""

    tolerance = 8e-3  # (bf16)

    def make(self, n, random):
        self.count, self.n, self.k, self.grid = 48, 256, max(64 * n - 16, 0), (2, 2)
        places = random.permutation(2 * self.count)
        self.tokens = np.full(128, 2 * self.count, np.int32)
        self.tokens[:60], self.tokens[64:100] = places[:60], places[60:]
        self.experts = np.array([1, 0], np.int32)
        self.x, self.w = brain(floats(random, self.count, self.k)), brain(floats(random, 2, self.n, self.k))
        self.weights = random.uniform(0.5, 1.5, 2 * self.count).astype(np.float32)
        self.y = np.full((2 * self.count, self.n), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.y, self.weights, self.tokens, self.experts, self.count, self.n, self.k]

    def errors(self):
        want = np.empty((2 * self.count, self.n))
        for at, place in enumerate(self.tokens):
            if place < 2 * self.count:
                w = self.w[self.experts[at // 64]].astype(np.float64)
                want[place] = w @ self.x[place // 2].astype(np.float64) * self.weights[place]
        yield off(self.y, want)


class ExpertsMixedLoads:
    """experts_mixed_loads(x, w, y, tokens, experts, N, K): rows of X by pointers, an expert's weights by descriptor; blocks of 128
    rows, whole."""

    tolerance = 8e-3

    def make(self, n, random):
        self.n, self.k, self.grid = 256, 64 * n, (2, 2)
        self.tokens, self.experts = random.permutation(256).astype(np.int32), np.array([2, 0], np.int32)
        self.x, self.w = brain(floats(random, 256, self.k)), brain(floats(random, 3 * self.n, self.k))
        self.y = np.full((256, self.n), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.y, self.tokens, self.experts, self.n, self.k]

    def errors(self):
        want = np.empty((256, self.n))
        for at, token in enumerate(self.tokens):
            first = self.experts[at // 128] * self.n
            want[token] = self.w[first:first + self.n].astype(np.float64) @ self.x[token].astype(np.float64)
        yield off(self.y, want)


class ExpertsListed(ExpertsMixedLoads):
    """The same, where the first 100 rows of a block are listed and the others are row 3 of X."""

    def errors(self):
        want = np.empty((256, self.n))
        for at, token in enumerate(self.tokens):
            first = self.experts[at // 128] * self.n
            row = self.x[token if at % 128 < 100 else 3]
            want[token] = self.w[first:first + self.n].astype(np.float64) @ row.astype(np.float64)
        yield off(self.y, want)


class ExpertsOfSteps(ExpertsMixedLoads):
    """The same, where each step has an expert of its own, in the place of its first column: the descriptor's row is loaded in the loop."""

    def make(self, n, random):
        super().make(n, random)
        self.experts = random.integers(0, 3, max(self.k, 2)).astype(np.int32)

    def errors(self):
        want = np.zeros((256, self.n))
        for start in range(0, self.k, 64):
            w = self.w[self.experts[start] * self.n:][:self.n, start:start + 64].astype(np.float64)
            want[self.tokens] += self.x[self.tokens, start:start + 64].astype(np.float64) @ w.T
        yield off(self.y, want)


class EmbeddingBag:
    """embedding_bag(table, ids, starts, out, width): sums of rows of a table, 256 columns a program; the last columns are ragged."""

    def make(self, n, random):
        # Bags of 2 and of n rows.
        self.width, self.grid, self.trips = 512 - 16, (2, 2), n
        self.starts, self.only = np.array([0, 2, 2 + n], np.int32), {(1, 0, 0), (1, 1, 0)}
        self.table, self.ids = pointers.half(random, 40, self.width), random.integers(0, 40, 2 + n).astype(np.int64)
        self.out = np.full((2, self.width), np.nan, np.float16)

    def arguments(self):
        return [self.table, self.ids, self.starts, self.out, self.width]

    def errors(self):
        yield off(self.out[1], self.table[self.ids[2:]].astype(np.float64).sum(axis=0))


class AttentionBlockSparse:
    """attention_block_sparse(q, k, v, o, blocks, counts, length, scale): of each block of 64 rows the blocks of keys that are listed
    for it, 128 of them at most."""

    tolerance = 8e-3

    def make(self, n, random):
        self.length, self.grid, self.count = 256, (4, 2), n
        self.only = {(0, 0, 0), (3, 1, 0)}
        self.q, self.k, self.v = (brain(floats(random, 2 * self.length, 128)) for _ in range(3))
        self.o = np.full((2 * self.length, 128), np.nan, np.float32)
        # (What is not listed is no place in memory.)
        self.blocks, self.counts = np.full((8, 128), 1 << 20, np.int32), np.full(8, n, np.int32)
        for place in range(8):
            self.blocks[place, :n] = random.integers(0, 4, n)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.blocks, self.counts, self.length, around.SCALE]

    def errors(self):
        for block, head, _ in self.only:
            rows = slice(head * self.length + 64 * block, head * self.length + 64 * block + 64)
            if self.count == 0:
                yield 0.0 if np.isnan(self.o[rows]).all() else np.inf
                continue
            listed = self.blocks[head * 4 + block, :self.count]
            keys = head * self.length + (64 * listed[:, None] + np.arange(64)).reshape(-1)
            s = self.q[rows].astype(np.float64) @ self.k[keys].astype(np.float64).T * around.SCALE
            p = np.exp2(s - s.max(axis=1, keepdims=True))
            yield off(self.o[rows], p @ self.v[keys].astype(np.float64) / p.sum(axis=1, keepdims=True))


class ConvolutionForward:
    """convolution_forward(x, w, y, H, W, C, F): channels last, nine places of a filter, zeros around the image; 64 pixels and filters a
    program, 32 channels a step."""

    places, most = 9, 2  # (many steps each)

    def make(self, n, random):
        self.h = self.w = self.wide = 16
        steps = min(n, self.most)
        self.c, self.f, self.grid, self.trips = max(32 * steps - 16, 0), 64, (8, 1), self.places * steps
        self.only = {(0, 0, 0), (7, 0, 0)}  # the first and the last rows, of two images
        self.x = pointers.half(random, 2, self.h, self.wide, self.c)
        self.filter = (pointers.half(random, 9, self.c, self.f) / 4).astype(np.float16)
        self.y = np.full((2 * self.h * self.wide, self.f), np.nan, np.float16)

    def arguments(self):
        return [self.x, self.filter, self.y, self.h, self.wide, self.c, self.f]

    def errors(self):
        around_it = np.zeros((2, self.h + 2, self.wide + 2, self.c))
        around_it[:, 1:-1, 1:-1] = self.x
        want = np.zeros((2, self.h, self.wide, self.f))
        for place in range(self.places):
            y, x = divmod(place, 3)
            want += around_it[:, y:y + self.h, x:x + self.wide] @ self.filter[place].astype(np.float64)
        want = want.reshape(-1, self.f)
        for block, _, _ in self.only:
            rows = slice(64 * block, 64 * block + 64)
            yield off(self.y[rows], want[rows])


class ConvolutionCorner(ConvolutionForward):
    """The same of one place of the filter, the one above and left of a pixel, so that any number of steps has an image."""

    places, most = 1, 10


class ConvolutionWeightGradient:
    """convolution_weight_gradient(x, w, y, H, W, C, F): 64 pixels a step, of which the last ones may be none; a program a place of the
    filter."""

    def make(self, n, random):
        self.h, self.wide, self.c, self.f, self.grid = max(4 * n - 1, 0), 16, 64, 64, (1, 1, 9)
        self.only = {(0, 0, place) for place in (0, 4, 5, 8)}
        self.x, self.y = pointers.half(random, self.h, self.wide, self.c), pointers.half(random, self.h, self.wide, self.f)
        self.filter = np.full((9, self.c, self.f), np.nan, np.float16)

    def arguments(self):
        return [self.x, self.filter, self.y, self.h, self.wide, self.c, self.f]

    def errors(self):
        around_it = np.zeros((self.h + 2, self.wide + 2, self.c))
        around_it[1:-1, 1:-1] = self.x
        for _, _, place in self.only:
            y, x = divmod(place, 3)
            a = around_it[y:y + self.h, x:x + self.wide].reshape(-1, self.c)
            yield off(self.filter[place], a.T @ self.y.reshape(-1, self.f).astype(np.float64))


class DecodePaged:
    """decode_paged(q, k, v, o, pages, lengths, scale): 16 queries of a head for each sequence over keys that lie in pages, of which the
    sequence has a list; the last page is used in part."""

    tolerance, page, most = 8e-3, 16, 256

    def make(self, n, random):
        self.grid, self.lengths = (2, 2), np.full(2, max(self.page * n - 5, 0), np.int32)
        places = max(2 * n, 1)
        self.q = brain(floats(random, 2, 2, 16, 128))
        self.k, self.v = (brain(floats(random, places, 2, self.page, 128)) for _ in range(2))
        self.o = np.full(self.q.shape, np.nan, np.float32)
        self.pages = np.full((2, self.most), 1 << 20, np.int32)  # (what is not listed is no place in memory)
        self.pages[:, :n] = random.permutation(2 * n).reshape(2, n)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.pages, self.lengths, around.SCALE]

    def errors(self):
        for sequence in range(2):
            for head in range(2):
                length = self.lengths[sequence]
                if length == 0:
                    continue
                listed = self.pages[sequence, :-(-length // self.page)]
                k, v = (one[listed, head].reshape(-1, 128)[:length].astype(np.float64) for one in (self.k, self.v))
                p = np.exp2(self.q[sequence, head].astype(np.float64) @ k.T * around.SCALE)
                yield off(self.o[sequence, head], p @ v / p.sum(axis=1, keepdims=True))


class DecodePages64(DecodePaged):
    page, most = 64, 64


class DecodeSplit:
    """decode_split(q, k, v, o, lse, length, scale): 16 queries of a batch over one of two shares of its keys; the second one is ragged."""

    def make(self, n, random):
        self.grid, self.length = (2, 2), max(128 * n - 24, 0)
        self.q = pointers.half(random, 2, 16, 128)
        self.k, self.v = (pointers.half(random, 2, self.length, 128) for _ in range(2))
        self.o, self.lse = np.full((2, 2, 16, 128), np.nan, np.float32), np.full((2, 2, 16), np.nan, np.float32)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.lse, self.length, around.SCALE]

    def errors(self):
        for batch in range(2):
            for part in range(2 if self.length else 0):
                own = slice(0, self.length // 128 * 64 + 64) if part == 0 else slice(self.length // 128 * 64 + 64, None)
                k, v = self.k[batch, own].astype(np.float64), self.v[batch, own].astype(np.float64)
                p = np.exp2(self.q[batch].astype(np.float64) @ k.T * around.SCALE)
                yield off(self.o[batch, part], p @ v / p.sum(axis=1, keepdims=True))
                yield off(self.lse[batch, part], np.log2(p.sum(axis=1)))


around.ORACLES.update({"decode-paged-page64": DecodePages64, "decode-paged": DecodePaged, "decode-split": DecodeSplit})
around.ORACLES.update({"embedding-bag": EmbeddingBag, "experts-gathered": ExpertsGathered, "experts-mixed-loads": ExpertsMixedLoads,
                       "attention-block-sparse": AttentionBlockSparse, "convolution-forward": ConvolutionForward,
                       "convolution-weight-gradient": ConvolutionWeightGradient})
# The first rows of a block alone are loaded, as the mask of a list that ends there would have it.
ROWS = "tensor<128xi32, #ttg.slice<{dim = 1, parent = #blocked}>>"
LISTED = f"""%end_of_list = arith.constant dense<100> : {ROWS}
    %else = arith.constant dense<3> : {ROWS}
    %listed = arith.cmpi slt, %token_3, %end_of_list : {ROWS}
    %token_10 = tt.load %token_8, %listed, %else"""
STEPS = """%at = tt.addptr %experts_ptr, %start : !tt.ptr<i32>, i32
      %which = tt.load %at : !tt.ptr<i32>
      %of_which = arith.muli %which, %N : i32
      %its_row = arith.addi %of_which, %column_0 : i32
      %w_29 = tt.descriptor_load %w_desc[%its_row"""
pointers.CHANGES.update({"corner": (r"arith\.constant 9 : i32", "arith.constant 1 : i32"),
                         "steps": (r"%w_29 = tt\.descriptor_load %w_desc\[%w_18", STEPS),
                         "listed": (r"%token_10 = tt\.load %token_8", LISTED)})
pointers.CHANGES.update({"stored": (r"%6 = tt\.splat %y_ptr : !tt\.ptr<bf16>", "%6 = tt.splat %tokens_ptr : !tt.ptr<i32>"),
                         "either": (r"%x_79 = arith\.andi", "%x_79 = arith.xori")})
# A name with one of these changes has another formula.
CHANGED = {"corner": {"convolution-forward": ConvolutionCorner}, "listed": {"experts-mixed-loads": ExpertsListed},
           "steps": {"experts-mixed-loads": ExpertsOfSteps}}


def main():
    twill, cases, compiles, removes = around.asked(CASES)
    with tempfile.TemporaryDirectory() as folder:
        failed = pointers.written(twill, REFUSED if cases == CASES else {}, folder)
        for case in cases:
            known = dict(around.ORACLES)
            around.ORACLES.update(CHANGED.get(case.partition(":")[2], {}))
            failed |= pointers.checked(twill, case, folder, removes, compiles, IMPLIED.get(case, 0))
            around.ORACLES.update(known)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
