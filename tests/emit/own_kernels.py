"""Kernels of which tests/data/ttgir has modules: with products of matrices before and behind their loops, factors that are computed
before them, and trip counts that the function chooses.

    VENV/bin/python tests/emit/own_kernels.py FOLDER

writes them anew for cuda:90 and cuda:100, up to where Triton would set stages. emit_products_test.py executes what is
written of them."""
import os
import sys

import triton
import triton.language as tl

HERE = os.path.dirname(os.path.abspath(__file__))


@triton.jit
def adapter(x_ptr, w_ptr, a_ptr, b_ptr, y_ptr, rows, K, N, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
            RANK: tl.constexpr):
    """Y = X W + scale (X A) B, A of few columns and B of few rows: two sums in the loop, behind it a product that
    adds to one."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    rank, k = tl.arange(0, RANK), tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    low = tl.zeros([BLOCK_M, RANK], tl.float32)
    inside = row[:, None] < rows
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + row[:, None] * K + (start + k)[None, :], mask=inside, other=0.0)
        w = tl.load(w_ptr + (start + k)[:, None] * N + column[None, :])
        a = tl.load(a_ptr + (start + k)[:, None] * RANK + rank[None, :])
        acc = tl.dot(x, w, acc)
        low = tl.dot(x, a, low)
    b = tl.load(b_ptr + rank[:, None] * N + column[None, :])
    acc = tl.dot((low * scale).to(tl.float16), b, acc)
    tl.store(y_ptr + row[:, None] * N + column[None, :], acc.to(tl.float16), mask=inside)


@triton.jit
def chunk_of_state(q_ptr, state_ptr, decay_ptr, p_ptr, v_ptr, o_ptr, length, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                   BLOCK_K: tl.constexpr, DEPTH: tl.constexpr):
    """O = decay (Q S) + P V: the sum over V's rows begins with a product of its own."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth, k = tl.arange(0, DEPTH), tl.arange(0, BLOCK_K)
    q = tl.load(q_ptr + row[:, None] * DEPTH + depth[None, :])
    state = tl.load(state_ptr + depth[:, None] * stride + column[None, :])
    acc = tl.dot(q, state.to(tl.float16)) * tl.exp2(tl.load(decay_ptr + row))[:, None]
    for start in range(0, length, BLOCK_K):
        p = tl.load(p_ptr + row[:, None] * stride + (start + k)[None, :])
        v = tl.load(v_ptr + (start + k)[:, None] * stride + column[None, :], mask=(start + k)[:, None] < length, other=0.0)
        acc = tl.dot(p, v, acc)
    tl.store(o_ptr + row[:, None] * stride + column[None, :], acc.to(tl.float16))


@triton.jit
def chunk_beside_itself(q_ptr, k_ptr, v_ptr, o_ptr, depth, scale, ROWS: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """O = (S + S') V with S = scale tril(Q K') for each chunk of ROWS rows; V is given transposed. Two products behind the loop, the
    second one adds to the first one's result; factors are transposed."""
    chunk = tl.program_id(0) * ROWS
    row, other, k = chunk + tl.arange(0, ROWS), chunk + tl.arange(0, ROWS), tl.arange(0, BLOCK_K)
    column = tl.arange(0, BLOCK_N)
    scores = tl.zeros([ROWS, ROWS], tl.float32)
    for start in range(0, depth, BLOCK_K):
        q = tl.load(q_ptr + row[:, None] * depth + (start + k)[None, :])
        keys = tl.load(k_ptr + other[None, :] * depth + (start + k)[:, None])
        scores = tl.dot(q, keys, scores)
    scores = tl.where(row[:, None] >= other[None, :], scores * scale, 0.0).to(tl.float16)
    v = tl.trans(tl.load(v_ptr + (tl.program_id(0) * BLOCK_N + column)[:, None] * ROWS + tl.arange(0, ROWS)[None, :]))
    o = tl.dot(tl.trans(scores), v, tl.dot(scores, v))
    tl.store(o_ptr + row[:, None] * BLOCK_N + column[None, :], o.to(tl.float16))


@triton.jit
def steps_chosen(x_ptr, w_ptr, y_ptr, lengths_ptr, K, N, v_ptr, s_ptr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                 BLOCK_K: tl.constexpr, ROWS: tl.constexpr):
    """Y = X W for sequences of ROWS rows: all K columns count where the length is even, else all but the last step's; blocks of rows
    behind the end are 0. S = Y V, of a V that is loaded when Y has been stored."""
    length = tl.load(lengths_ptr + tl.program_id(1))
    first = tl.program_id(0) * BLOCK_M
    row = tl.program_id(1) * ROWS + first + tl.arange(0, BLOCK_M)
    column, k = tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    depth = tl.where(length % 2 == 0, K, K - BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, tl.where(first < length, 1, 0) * depth, BLOCK_K):
        x = tl.load(x_ptr + row[:, None] * K + (start + k)[None, :])
        w = tl.load(w_ptr + (start + k)[:, None] * N + column[None, :])
        acc = tl.dot(x, w, acc)
    tl.store(y_ptr + row[:, None] * N + column[None, :], acc.to(tl.float16))
    tl.store(s_ptr + row, tl.sum(acc * tl.load(v_ptr + column)[None, :], axis=1))


@triton.jit
def weight_scaled(x_ptr, w_ptr, scale_ptr, y_ptr, rows, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, DEPTH: tl.constexpr):
    """Y = X (W scale): the right factor of each step is computed before the loop."""
    column, depth, row = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N), tl.arange(0, DEPTH), tl.arange(0, BLOCK_M)
    w = tl.load(w_ptr + depth[:, None] * N + column[None, :]) * tl.load(scale_ptr + column)[None, :]
    w = w.to(tl.float16)
    for start in range(0, rows, BLOCK_M):
        x = tl.load(x_ptr + (start + row)[:, None] * DEPTH + depth[None, :])
        tl.store(y_ptr + (start + row)[:, None] * N + column[None, :], tl.dot(x, w).to(tl.float16))


@triton.jit
def few_rows(q_ptr, k_ptr, v_ptr, o_ptr, length, scale, ROWS: tl.constexpr, KEYS: tl.constexpr, HEAD: tl.constexpr):
    """Attention of ROWS queries of a sequence over its keys, which end anywhere: its products have fewer rows than wgmma."""
    row, key, column = tl.arange(0, ROWS), tl.arange(0, KEYS), tl.arange(0, HEAD)
    q_ptr += tl.program_id(0) * ROWS * HEAD
    k_ptr += tl.program_id(0) * length * HEAD
    v_ptr += tl.program_id(0) * length * HEAD
    q = tl.load(q_ptr + row[:, None] * HEAD + column[None, :])
    top = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, HEAD], tl.float32)
    for start in range(0, length, KEYS):
        inside = start + key < length
        k = tl.load(k_ptr + (start + key)[None, :] * HEAD + column[:, None], mask=inside[None, :], other=0.0)
        s = tl.where(inside[None, :], tl.dot(q, k) * scale, float("-inf"))
        newer = tl.maximum(top, tl.max(s, 1))
        p, ratio = tl.exp2(s - newer[:, None]), tl.exp2(top - newer)
        v = tl.load(v_ptr + (start + key)[:, None] * HEAD + column[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * ratio[:, None])
        total, top = total * ratio + tl.sum(p, 1), newer
    o = (acc / total[:, None]).to(tl.float16)
    tl.store(o_ptr + tl.program_id(0) * ROWS * HEAD + row[:, None] * HEAD + column[None, :], o)


@triton.jit
def scaled_rows(x_ptr, scale_ptr, w_ptr, y_ptr, K, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Y = (X s) W, a scale for each column of X: the left factor is computed in each step, of 64 rows."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column, k = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + row[:, None] * K + (start + k)[None, :]).to(tl.float32)
        x = (x * tl.load(scale_ptr + start + k)[None, :]).to(tl.float16)
        w = tl.load(w_ptr + (start + k)[:, None] * N + column[None, :])
        acc = tl.dot(x, w, acc)
    tl.store(y_ptr + row[:, None] * N + column[None, :], acc.to(tl.float16))


@triton.jit
def two_products(x_ptr, w_ptr, u_ptr, v_ptr, y_ptr, K, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Y = X W + U V, step by step: both products of a step add to the same sum, one behind the other."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + row[:, None] * K + (start + k)[None, :])
        w = tl.load(w_ptr + (start + k)[:, None] * N + column[None, :])
        acc = tl.dot(x, w, acc)
        u = tl.load(u_ptr + row[:, None] * K + (start + k)[None, :])
        v = tl.load(v_ptr + (start + k)[:, None] * N + column[None, :])
        acc = tl.dot(u, v, acc)
    tl.store(y_ptr + row[:, None] * N + column[None, :], acc.to(tl.float16))


@triton.jit
def wide_factors(x_ptr, w_ptr, y_ptr, M, K, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Y = X' W' of 32-bit floats, multiplied as tf32: what is summed lies along W and across X."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column, k = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + (start + k)[:, None] * M + row[None, :])
        w = tl.load(w_ptr + column[None, :] * K + (start + k)[:, None])
        acc = tl.dot(tl.trans(x), w, acc)
    tl.store(y_ptr + row[:, None] * N + column[None, :], acc)


@triton.jit
def part_where_any(x_ptr, w_ptr, y_ptr, z_ptr, lengths_ptr, K, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                   PART: tl.constexpr, PARTS: tl.constexpr):
    """Of Y = X W for each block of rows what PART of the columns of X give, and the largest of each row: stored where the block's
    length reaches that part, by a loop that runs once or not at all."""
    block, part = tl.program_id(0), tl.program_id(1)
    row, column, k = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    length, first = tl.load(lengths_ptr + block), part * PART
    left = tl.minimum(length, first + PART) - first
    steps = tl.where(left <= 0, 0, left + BLOCK_K - 1) // BLOCK_K
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for step in range(0, steps):
        at = first + step * BLOCK_K + k
        x = tl.load(x_ptr + (block * BLOCK_M + row)[:, None] * K + at[None, :])
        w = tl.load(w_ptr + at[:, None] * N + column[None, :], mask=at[:, None] < length, other=0.0)
        acc = tl.dot(x, w, acc)
    some = tl.where(steps == 0, 0, 1)
    place = (block * PARTS + part) * BLOCK_M + row
    for _ in range(0, some):
        tl.store(y_ptr + place[:, None] * BLOCK_N + column[None, :], acc.to(tl.float16))
        tl.store(z_ptr + place, tl.max(acc, 1))


@triton.jit
def ends_alone(x_ptr, w_ptr, y_ptr, lengths_ptr, K, N, sink, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Y = X W of those rows of W that come before the first `sink`, or behind a length that each block of rows has: a mask with "or"."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column, k = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    length = tl.load(lengths_ptr + tl.program_id(0))
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        at = start + k
        seen = (at < sink) | ((at >= length) & (at != length + 3))
        x = tl.load(x_ptr + row[:, None] * K + at[None, :])
        w = tl.load(w_ptr + at[:, None] * N + column[None, :], mask=seen[:, None], other=0.0)
        acc = tl.dot(x, w, acc)
    tl.store(y_ptr + row[:, None] * N + column[None, :], acc.to(tl.float16), mask=(row[:, None] != 5) | (column[None, :] < sink))


@triton.jit
def sink_rows(q_ptr, k_ptr, v_ptr, sink_ptr, o_ptr, length, scale, ROWS: tl.constexpr, KEYS: tl.constexpr, HEAD: tl.constexpr):
    """Attention of ROWS queries over keys, and one sink whose score is a number; keys are loaded row by row and transposed."""
    row, key, column = tl.arange(0, ROWS), tl.arange(0, KEYS), tl.arange(0, HEAD)
    q_ptr += tl.program_id(0) * ROWS * HEAD
    k_ptr += tl.program_id(0) * length * HEAD
    v_ptr += tl.program_id(0) * length * HEAD
    q = tl.load(q_ptr + row[:, None] * HEAD + column[None, :])
    top = tl.zeros([ROWS], tl.float32) + tl.load(sink_ptr + tl.program_id(0))
    total = tl.full([ROWS], 1.0, tl.float32)
    acc = tl.zeros([ROWS, HEAD], tl.float32)
    for start in range(0, length, KEYS):
        inside = start + key < length
        k = tl.load(k_ptr + (start + key)[:, None] * HEAD + column[None, :], mask=inside[:, None], other=0.0)
        s = tl.where(inside[None, :], tl.dot(q, tl.trans(k)) * scale, float("-inf"))
        newer = tl.maximum(top, tl.max(s, 1))
        p, ratio = tl.exp2(s - newer[:, None]), tl.exp2(top - newer)
        v = tl.load(v_ptr + (start + key)[:, None] * HEAD + column[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * ratio[:, None])
        total, top = total * ratio + tl.sum(p, 1), newer
    o = (acc / total[:, None]).to(tl.float16)
    tl.store(o_ptr + tl.program_id(0) * ROWS * HEAD + row[:, None] * HEAD + column[None, :], o)


@triton.jit
def byte_groups(x_ptr, q_ptr, scale_ptr, N, ROWS: tl.constexpr, GROUP: tl.constexpr):
    """Numbers in 8 bits and a scale for each group of columns."""
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, GROUP)
    for start in range(0, N, GROUP):
        x = tl.load(x_ptr + row[:, None] * N + (start + column)[None, :]).to(tl.float32)
        scale = tl.maximum(tl.max(tl.abs(x), 1), 1e-6) / 127.0
        tl.store(q_ptr + row[:, None] * N + (start + column)[None, :], tl.floor(x / scale[:, None] + 0.5).to(tl.int8))
        tl.store(scale_ptr + row * (N // GROUP) + start // GROUP, scale)


@triton.jit
def scores_and_lengths(q_ptr, k_ptr, v_ptr, o_ptr, z_ptr, length, KEYS: tl.constexpr, ROWS: tl.constexpr, HEAD: tl.constexpr):
    """O = (Q K') V, and of each column of K the sum of squares: a tile of K is a factor and is computed with."""
    row, key, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, KEYS), tl.arange(0, HEAD)
    q = tl.load(q_ptr + row[:, None] * HEAD + column[None, :])
    acc, square = tl.zeros([ROWS, HEAD], tl.float32), tl.zeros([HEAD], tl.float32)
    for start in range(0, length, KEYS):
        k = tl.load(k_ptr + (start + key)[:, None] * HEAD + column[None, :])
        v = tl.load(v_ptr + (start + key)[:, None] * HEAD + column[None, :])
        s = tl.dot(q, tl.trans(k)).to(tl.float16)
        acc = tl.dot(s, v, acc)
        wide = k.to(tl.float32)
        square += tl.sum(wide * wide, 0)
    tl.store(o_ptr + row[:, None] * HEAD + column[None, :], acc.to(tl.float16))
    tl.store(z_ptr + tl.program_id(0) * HEAD + column, square)


@triton.jit
def byte_scores(q_ptr, k_ptr, v_ptr, scale_ptr, o_ptr, length, ROWS: tl.constexpr, KEYS: tl.constexpr, HEAD: tl.constexpr):
    """O = (s Q K') V with Q and K in 8 bits, a scale for each block of keys, and V in 16."""
    row, key, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, KEYS), tl.arange(0, HEAD)
    q = tl.load(q_ptr + row[:, None] * HEAD + column[None, :])
    acc = tl.zeros([ROWS, HEAD], tl.float32)
    for start in range(0, length, KEYS):
        k = tl.load(k_ptr + (start + key)[None, :] * HEAD + column[:, None])
        s = tl.dot(q, k).to(tl.float32) * tl.load(scale_ptr + start // KEYS)
        v = tl.load(v_ptr + (start + key)[:, None] * HEAD + column[None, :])
        acc = tl.dot(s.to(tl.float16), v, acc)
    tl.store(o_ptr + row[:, None] * HEAD + column[None, :], acc.to(tl.float16))


CASES = [  # kernel, its signature, its constants
    (adapter, "x_ptr=*fp16:16, w_ptr=*fp16:16, a_ptr=*fp16:16, b_ptr=*fp16:16, y_ptr=*fp16:16, rows=i32, K=i32:16, N=i32:16, scale=fp32",
     dict(BLOCK_M=128, BLOCK_N=64, BLOCK_K=64, RANK=32)),
    (chunk_of_state, "q_ptr=*fp16:16, state_ptr=*fp32:16, decay_ptr=*fp32:16, p_ptr=*fp16:16, v_ptr=*fp16:16, o_ptr=*fp16:16, length=i32, "
     "stride=i32:16", dict(BLOCK_M=128, BLOCK_N=64, BLOCK_K=64, DEPTH=64)),
    (chunk_beside_itself, "q_ptr=*fp16:16, k_ptr=*fp16:16, v_ptr=*fp16:16, o_ptr=*fp16:16, depth=i32:16, scale=fp32",
     dict(ROWS=64, BLOCK_N=64, BLOCK_K=64)),
    (steps_chosen, "x_ptr=*fp16:16, w_ptr=*fp16:16, y_ptr=*fp16:16, lengths_ptr=*i32, K=i32:16, N=i32:16, v_ptr=*fp16:16, s_ptr=*fp32:16",
     dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, ROWS=128)),
    (weight_scaled, "x_ptr=*fp16:16, w_ptr=*fp16:16, scale_ptr=*fp32:16, y_ptr=*fp16:16, rows=i32, N=i32:16",
     dict(BLOCK_M=64, BLOCK_N=64, DEPTH=64)),
    (few_rows, "q_ptr=*fp16:16, k_ptr=*fp16:16, v_ptr=*fp16:16, o_ptr=*fp16:16, length=i32, scale=fp32", dict(ROWS=16, KEYS=64, HEAD=128)),
    (scaled_rows, "x_ptr=*fp16:16, scale_ptr=*fp32:16, w_ptr=*fp16:16, y_ptr=*fp16:16, K=i32:16, N=i32:16",
     dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=64)),
    (two_products, "x_ptr=*fp16:16, w_ptr=*fp16:16, u_ptr=*fp16:16, v_ptr=*fp16:16, y_ptr=*fp16:16, K=i32:16, N=i32:16",
     dict(BLOCK_M=64, BLOCK_N=128, BLOCK_K=64)),
    (wide_factors, "x_ptr=*fp32:16, w_ptr=*fp32:16, y_ptr=*fp32:16, M=i32:16, K=i32:16, N=i32:16",
     dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)),
    (part_where_any, "x_ptr=*fp16:16, w_ptr=*fp16:16, y_ptr=*fp16:16, z_ptr=*fp32:16, lengths_ptr=*i32, K=i32:16, N=i32:16",
     dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, PART=512, PARTS=2)),
    (sink_rows, "q_ptr=*fp16:16, k_ptr=*fp16:16, v_ptr=*fp16:16, sink_ptr=*fp32, o_ptr=*fp16:16, length=i32, scale=fp32",
     dict(ROWS=16, KEYS=64, HEAD=128)),
    (byte_groups, "x_ptr=*fp16:16, q_ptr=*i8:16, scale_ptr=*fp32:16, N=i32:16", dict(ROWS=16, GROUP=128)),
    (scores_and_lengths, "q_ptr=*fp16:16, k_ptr=*fp16:16, v_ptr=*fp16:16, o_ptr=*fp16:16, z_ptr=*fp32:16, length=i32:16",
     dict(KEYS=64, ROWS=64, HEAD=64)),
    (byte_scores, "q_ptr=*i8:16, k_ptr=*i8:16, v_ptr=*fp16:16, scale_ptr=*fp32:16, o_ptr=*fp16:16, length=i32:16",
     dict(ROWS=128, KEYS=64, HEAD=64)),
    (ends_alone, "x_ptr=*fp16:16, w_ptr=*fp16:16, y_ptr=*fp16:16, lengths_ptr=*i32, K=i32:16, N=i32:16, sink=i32",
     dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=64)),
]


def write_modules(cases, folder):
    """Each kernel as a module for each target."""
    sys.path.insert(0, os.path.join(HERE, "..", "..", "graph", "kernels", "triton"))
    import twill_triton
    for kernel, signature, constants, *warps in cases:
        for target, machine in ((90, "hopper"), (100, "blackwell")):
            name = kernel.fn.__name__.replace("_", "-") + f"-{machine}.ttgir"
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(twill_triton.emit(kernel, signature, constants, target, *(warps or [4]), 3))


if __name__ == "__main__":
    write_modules(CASES, sys.argv[1])
