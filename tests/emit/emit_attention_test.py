"""Kernels emitted from TTGIR modules of attention in other forms than the usual one: executed on the CPU beside formulas written here by hand, every
wait and every fence removed once, and compiled.

usage: emit_attention_test.py TWILL [--compile] [--removed] [MODULE...]
As emit_pointers_test.py, whose runs these are. The functions are those of attention_kernels.py.
"""
import sys

import emit_around_test as around
import emit_pointers_test as pointers
import numpy as np

CASES = [f"attention-{name}-{machine}" for name in ("differential", "cosine", "latent") for machine in ("hopper", "blackwell")]
# Scores, weights and results of 128 rows are 192 registers of a warpgroup; with vectors and one tile that is moved ptxas ends each product alone.
pointers.SERIALISED.add("attention-differential-hopper")
# (Of attention-cosine-blackwell in prologues of few iterations.)
pointers.SPILLS.update({"attention-cosine-blackwell": 312, "attention-latent-blackwell": 192})
pointers.IN_LOOPS["attention-differential-blackwell"] = 16
# Places of rows are loaded one by one.
pointers.NARROW.update({"attention-latent-hopper": 4, "attention-latent-blackwell": 4})
# Where pages lie, and which columns there are, is loaded and computed again by who needs it: nobody reads these buffers (six waits on Blackwell); the
# second product waits for the first, which has waited for both tiles from before the loop. The fence there, and those of Hopper and of the other
# kernels, are counted, not traced.
IMPLIED = {"attention-latent-blackwell": 7, "attention-latent-hopper": 2, "attention-cosine-hopper": 2, "attention-differential-blackwell": 1}
LEAST = 0.0078125  # that a sum of exponentials is taken for


class Differential:
    """attention_differential(q, k, v, o, n, mix, scale). (On Hopper both sums of P V are not on one slot: one goes to the other's through shared
    memory, behind the loop.)"""

    def make(self, n, random):
        self.n, self.mix, self.scale, self.grid = 64 * n, 0.25, 0.25, (2,)
        self.q, self.k, self.v = pointers.half(random, 256, 128), pointers.half(random, self.n, 128), pointers.half(random, self.n, 64)
        self.o = np.full((256, 64), np.nan, np.float16)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.n, self.mix, self.scale]

    def errors(self):
        q, k, v = (x.astype(np.float64) for x in (self.q, self.k, self.v))

        def attention(at):
            s = q[:, at] @ k[:, at].T * self.scale
            p = np.exp2(s - s.max(axis=1, initial=-128.0)[:, None])
            return p @ v / np.maximum(p.sum(axis=1), LEAST)[:, None]
        yield around.off(self.o, attention(slice(0, 64)) - self.mix * attention(slice(64, 128)))


class Cosine:
    """attention_cosine(q, k, v, o, lse, n, tau). (A product in flight where the loop ends had a factor whose name only the loop defines: with one
    iteration the text read a name that was not there, until 2026-11-30.)"""

    def make(self, n, random):
        self.n, self.tau, self.grid = 64 * n, 2.0, (2,)
        self.q, self.k, self.v = pointers.half(random, 256, 64), pointers.half(random, self.n, 64), pointers.half(random, self.n, 64)
        self.o, self.lse = np.full((256, 64), np.nan, np.float16), np.full(256, np.nan, np.float32)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.lse, self.n, self.tau]

    def errors(self):
        q, k, v = (x.astype(np.float64) for x in (self.q, self.k, self.v))
        q = (q / np.sqrt((q * q).sum(axis=1) + LEAST)[:, None]).astype(np.float16).astype(np.float64)
        p = np.exp(q @ k.T / np.sqrt((k * k).sum(axis=1) + LEAST)[None, :] * self.tau - self.tau)
        total = np.maximum(p.sum(axis=1), LEAST)
        yield around.off(self.o, p @ v / total[:, None])
        yield around.off(self.lse, self.tau + np.log(total))


class Latent:
    """attention_latent(q, rope, kv, pages, o, lse, length, scale). (The best schedule on Hopper has the two products of S on two slots, of which no
    kernel is written.)"""
    PAGES = (5, 3, 9, 1, 0, 2, 7, 4)

    def make(self, n, random):
        self.length, self.scale, self.grid = max(0, 64 * n - 9), 0.125, (2,)
        self.pages = np.array(self.PAGES, np.int32)
        self.q, self.rope, self.kv = pointers.half(random, 128, 256), pointers.half(random, 128, 64), pointers.half(random, 640, 320)
        self.o, self.lse = np.full((128, 256), np.nan, np.float16), np.full(128, np.nan, np.float32)

    def arguments(self):
        return [self.q, self.rope, self.kv, self.pages, self.o, self.lse, self.length, self.scale]

    def errors(self):
        q, rope, kv = (x.astype(np.float64) for x in (self.q, self.rope, self.kv))
        places = np.arange(self.length)
        kv = kv[self.pages[places // 64] * 64 + places % 64]
        s = (q @ kv[:, :256].T + rope @ kv[:, 256:].T) * self.scale
        most = s.max(axis=1, initial=-128.0)
        p = np.exp2(s - most[:, None])
        total = np.maximum(p.sum(axis=1), LEAST)
        yield around.off(self.o, p @ kv[:, :256] / total[:, None])
        yield around.off(self.lse, most + np.log2(total))


around.ORACLES.update({"attention-differential": Differential, "attention-cosine": Cosine, "attention-latent": Latent})


def main():
    return around.checked(CASES, IMPLIED)


if __name__ == "__main__":
    sys.exit(main())
