"""Kernels of which tests/data/ttgir has modules: least numbers and places of rows, in the loop and behind it, integers without a sign
as numbers and back, clamps, what is no number, inequality, numbers of one, two and three steps before.

    VENV/bin/python tests/emit/whole_kernels.py FOLDER

writes them anew for cuda:90 and cuda:100, up to where Triton would set stages. emit_whole_test.py executes what is written of them."""
import os
import sys

import own_kernels
import triton
import triton.language as tl

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "strangers", "own"))
import kernels  # noqa: E402


@triton.jit
def nearest(x_ptr, centre_ptr, norm_ptr, index_ptr, best_ptr, centres, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """For each row of X the first of the nearest centres, and how near that is."""
    rows, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    x = tl.load(x_ptr + rows[:, None] * D + d[None, :])
    best = tl.full([M], 1.0e30, tl.float32)
    index = tl.zeros([M], tl.int32)
    for begin in range(0, centres, N):
        c = begin + tl.arange(0, N)
        y = tl.load(centre_ptr + c[None, :] * D + d[:, None])
        distance = tl.load(norm_ptr + c)[None, :] - 2.0 * tl.dot(x, y)
        least = tl.min(distance, 1)
        index = tl.where(least < best, tl.argmin(distance, 1) + begin, index)
        best = tl.minimum(best, least)
    tl.store(index_ptr + rows, index)
    tl.store(best_ptr + rows, best)


@triton.jit
def best_expert(x_ptr, w_ptr, choice_ptr, least_ptr, K, M: tl.constexpr, E: tl.constexpr, BLOCK_K: tl.constexpr):
    """Behind the loop: the place of the largest of each row of X W, and the least of each row."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    e, k = tl.arange(0, E), tl.arange(0, BLOCK_K)
    acc = tl.zeros([M, E], tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + rows[:, None] * K + (start + k)[None, :])
        w = tl.load(w_ptr + (start + k)[:, None] * E + e[None, :])
        acc = tl.dot(x, w, acc)
    tl.store(choice_ptr + rows, tl.argmax(acc, 1))
    tl.store(least_ptr + rows, tl.min(acc, 1))


@triton.jit
def clamped(x_ptr, w_ptr, y_ptr, z_ptr, c_ptr, steps, D: tl.constexpr):
    """Numbers held between two, with what is no number kept; words without a sign as numbers, held, too; numbers cut to integers and
    added up."""
    d = tl.arange(0, D)
    count = tl.zeros([D], tl.int32)
    for t in range(0, steps):
        x = tl.load(x_ptr + t * D + d)
        w = tl.load(w_ptr + t * D + d)
        count += ((w & 1023).to(tl.float32) * 0.37 - 150.0053).to(tl.int32)
        tl.store(y_ptr + t * D + d, tl.clamp(x, -1.0, 0.75, propagate_nan=tl.PropagateNan.ALL))
        tl.store(z_ptr + t * D + d, tl.clamp(w.to(tl.uint32, bitcast=True).to(tl.float32), 70000.0, 4.0e9))
    tl.store(c_ptr + d, count)


@triton.jit
def weights_unsigned(x_ptr, w_ptr, y_ptr, K, N, M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Y = X (W - 128) / 64, W of bytes without a sign."""
    rows, columns = tl.arange(0, M), tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros([M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + rows[:, None] * K + (start + k)[None, :])
        w = tl.load(w_ptr + (start + k)[:, None] * N + columns[None, :]).to(tl.uint8, bitcast=True)
        acc = tl.dot(x, (w.to(tl.float16) - 128.0) * 0.015625, acc)
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16))


@triton.jit
def bounded(x_ptr, z_ptr, most_ptr, least_ptr, steps, D: tl.constexpr):
    """The larger and the smaller of two numbers; what is no number stays."""
    d = tl.arange(0, D)
    for t in range(0, steps):
        x = tl.load(x_ptr + t * D + d)
        z = tl.load(z_ptr + t * D + d)
        tl.store(most_ptr + t * D + d, tl.maximum(x, z, propagate_nan=tl.PropagateNan.ALL))
        tl.store(least_ptr + t * D + d, tl.minimum(x, z * 2.0, propagate_nan=tl.PropagateNan.ALL))


@triton.jit
def allowed(x_ptr, w_ptr, y_ptr, z_ptr, steps, D: tl.constexpr):
    """What a mask of integers allows; what is no number replaced."""
    d = tl.arange(0, D)
    for t in range(0, steps):
        x = tl.load(x_ptr + t * D + d)
        w = tl.load(w_ptr + t * D + d)
        tl.store(y_ptr + t * D + d, tl.where(w != 0, x, -1.0))
        tl.store(z_ptr + t * D + d, tl.where(x != x, 0.5, x * 3.0))


@triton.jit
def masked_attention(q_ptr, k_ptr, v_ptr, mask_ptr, o_ptr, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Attention whose mask is a matrix of bytes."""
    rows, d = tl.arange(0, M), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    m = tl.full([M], -1.0e30, tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for begin in range(0, n, N):
        c = begin + tl.arange(0, N)
        k = tl.load(k_ptr + c[None, :] * D + d[:, None])
        kept = tl.load(mask_ptr + rows[:, None] * n + c[None, :])
        s = tl.where(kept != 0, tl.dot(q, k) * scale, -1.0e30)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        a = tl.exp2(m - new)
        l = l * a + tl.sum(p, 1)
        v = tl.load(v_ptr + c[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * a[:, None])
        m = new
    tl.store(o_ptr + rows[:, None] * D + d[None, :], (acc / l[:, None]).to(tl.float16))


@triton.jit
def taps(x_ptr, w_ptr, first_ptr, y_ptr, steps, D: tl.constexpr):
    """A filter of four taps, each the number of one step before: what is carried moves from name to name."""
    d = tl.arange(0, D)
    w0, w1 = tl.load(w_ptr + d), tl.load(w_ptr + D + d)
    w2, w3 = tl.load(w_ptr + 2 * D + d), tl.load(w_ptr + 3 * D + d)
    # (Of one name that three begin with Triton 3.9.0 makes a loop that carries the last alone.)
    a, b, c = tl.load(first_ptr + d), tl.load(first_ptr + d), tl.load(first_ptr + d)
    for t in range(0, steps):
        x = tl.load(x_ptr + t * D + d).to(tl.float32) * 2.0
        y = a * w0 + b * w1 + c * w2 + x * w3
        tl.store(y_ptr + t * D + d, y / (1.0 + tl.exp(-y)))
        a, b, c = b, c, x


CASES = [  # kernel, its signature, its constants
    (nearest, "x_ptr=*fp16:16, centre_ptr=*fp16:16, norm_ptr=*fp32:16, index_ptr=*i32:16, best_ptr=*fp32:16, centres=i32:16",
     dict(M=128, N=64, D=64)),
    (best_expert, "x_ptr=*fp16:16, w_ptr=*fp16:16, choice_ptr=*i32:16, least_ptr=*fp32:16, K=i32:16", dict(M=128, E=64, BLOCK_K=64)),
    (clamped, "x_ptr=*fp32:16, w_ptr=*i32:16, y_ptr=*fp32:16, z_ptr=*fp32:16, c_ptr=*i32:16, steps=i32", dict(D=256)),
    (bounded, "x_ptr=*fp32:16, z_ptr=*fp32:16, most_ptr=*fp32:16, least_ptr=*fp32:16, steps=i32", dict(D=256)),
    (allowed, "x_ptr=*fp32:16, w_ptr=*i32:16, y_ptr=*fp32:16, z_ptr=*fp32:16, steps=i32", dict(D=256)),
    (masked_attention, "q_ptr=*fp16:16, k_ptr=*fp16:16, v_ptr=*fp16:16, mask_ptr=*i8:16, o_ptr=*fp16:16, n=i32:16, scale=fp32",
     dict(M=128, N=64, D=64)),
    (weights_unsigned, "x_ptr=*fp16:16, w_ptr=*i8:16, y_ptr=*fp16:16, K=i32:16, N=i32:16", dict(M=64, BLOCK_N=64, BLOCK_K=64)),
    (taps, "x_ptr=*fp16:16, w_ptr=*fp32:16, first_ptr=*fp32:16, y_ptr=*fp32:16, steps=i32", dict(D=256)),
    (kernels.alibi_forward, "q_ptr=*fp16:16, k_ptr=*fp16:16, v_ptr=*fp16:16, slopes_ptr=*fp32:16, o_ptr=*fp16:16, n=i32, scale=fp32", dict(M=128, N=64, D=64)),
]


if __name__ == "__main__":
    own_kernels.write_modules(CASES, sys.argv[1])
