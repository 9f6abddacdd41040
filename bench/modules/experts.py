"""Mixtures of experts and what is grouped: gathered rows, groups of tiles, gradients of weights, adapters."""

import triton
import triton.language as tl

from cases import ALL, WITH_DESCRIPTORS, case


@case("x_ptr=*bf16, w_ptr=*bf16, y_ptr=*bf16, weights_ptr=*fp32, tokens_ptr=*i32, experts_ptr=*i32, tokens=i32, N=i32, K=i32",
      ALL, warps=4, stages=4, BLOCK_M=64, BLOCK_N=128, BLOCK_K=64, TOP=2)
@triton.jit
def experts_gathered(x_ptr, w_ptr, y_ptr, weights_ptr, tokens_ptr, experts_ptr, tokens, N, K, BLOCK_M: tl.constexpr,
                     BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, TOP: tl.constexpr):
    """Tokens are sorted by expert and padded to blocks; a block's rows are gathered."""
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    sorted_at = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    token = tl.load(tokens_ptr + sorted_at)
    inside = token < tokens * TOP
    expert = tl.load(experts_ptr + tl.program_id(0)).to(tl.int64)
    k = tl.arange(0, BLOCK_K)
    x_tile = x_ptr + (token // TOP)[:, None] * K + k[None, :]
    w_tile = w_ptr + expert * N * K + columns[None, :] * K + k[:, None]
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for step in range(tl.cdiv(K, BLOCK_K)):
        left = K - step * BLOCK_K
        x = tl.load(x_tile, mask=inside[:, None] & (k[None, :] < left), other=0.0)
        w = tl.load(w_tile, mask=k[:, None] < left, other=0.0)
        acc = tl.dot(x, w, acc)
        x_tile += BLOCK_K
        w_tile += BLOCK_K
    acc *= tl.load(weights_ptr + token, mask=inside, other=0.0)[:, None]
    tl.store(y_ptr + token[:, None] * N + columns[None, :], acc.to(tl.bfloat16), mask=inside[:, None])


@case("x_ptr=*bf16, w_desc=tensordesc<bf16[128, 64]>, y_ptr=*bf16, tokens_ptr=*i32, experts_ptr=*i32, N=i32, K=i32",
      WITH_DESCRIPTORS, warps=8, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)
@triton.jit
def experts_mixed_loads(x_ptr, w_desc, y_ptr, tokens_ptr, experts_ptr, N, K, BLOCK_M: tl.constexpr,
                        BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Rows are gathered through pointers, weights come by descriptor."""
    column = tl.program_id(1) * BLOCK_N
    token = tl.load(tokens_ptr + tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M))
    expert = tl.load(experts_ptr + tl.program_id(0))
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in tl.range(0, K, BLOCK_K):
        x = tl.load(x_ptr + token[:, None] * K + (start + k)[None, :])
        w = w_desc.load([expert * N + column, start])
        acc = tl.dot(x, w.T, acc)
    columns = column + tl.arange(0, BLOCK_N)
    tl.store(y_ptr + token[:, None] * N + columns[None, :], acc.to(tl.bfloat16))


@case("x_ptr=*bf16, w_ptr=*bf16, y_ptr=*bf16, sizes_ptr=*i32, groups=i32, N=i32, K=i32", ALL, warps=4, BLOCK_M=64,
      BLOCK_N=128, BLOCK_K=64, PROGRAMS=108)
@triton.jit
def grouped_persistent(x_ptr, w_ptr, y_ptr, sizes_ptr, groups, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                       BLOCK_K: tl.constexpr, PROGRAMS: tl.constexpr):
    """Groups of rows of one matrix, each with weights of its own; three loops in each other."""
    tile = tl.program_id(0)
    before = 0
    row0 = 0
    k = tl.arange(0, BLOCK_K)
    for group in range(groups):
        size = tl.load(sizes_ptr + group)
        tiles = tl.cdiv(size, BLOCK_M) * tl.cdiv(N, BLOCK_N)
        while tile < before + tiles:
            local = tile - before
            rows = local // tl.cdiv(N, BLOCK_N) * BLOCK_M + tl.arange(0, BLOCK_M)
            columns = local % tl.cdiv(N, BLOCK_N) * BLOCK_N + tl.arange(0, BLOCK_N)
            acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
            for start in range(0, K, BLOCK_K):
                x = tl.load(x_ptr + (row0 + rows)[:, None] * K + (start + k)[None, :], mask=rows[:, None] < size,
                            other=0.0)
                w = tl.load(w_ptr + group * N * K + columns[None, :] * K + (start + k)[:, None])
                acc = tl.dot(x, w, acc)
            tl.store(y_ptr + (row0 + rows)[:, None] * N + columns[None, :], acc.to(tl.bfloat16),
                     mask=rows[:, None] < size)
            tile += PROGRAMS
        before += tiles
        row0 += size


@case("x_ptr=*bf16, dy_ptr=*bf16, dw_ptr=*bf16, starts_ptr=*i32, N=i32, K=i32", ALL, warps=4, BLOCK_R=64, BLOCK_N=64,
      BLOCK_K=64)
@triton.jit
def experts_weight_gradient(x_ptr, dy_ptr, dw_ptr, starts_ptr, N, K, BLOCK_R: tl.constexpr, BLOCK_N: tl.constexpr,
                            BLOCK_K: tl.constexpr):
    """dW of an expert: the sum over its rows, whose number comes from memory."""
    expert = tl.program_id(2)
    low = tl.load(starts_ptr + expert)
    high = tl.load(starts_ptr + expert + 1)
    ks = tl.program_id(0) * BLOCK_K + tl.arange(0, BLOCK_K)
    ns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    r = tl.arange(0, BLOCK_R)
    acc = tl.zeros([BLOCK_K, BLOCK_N], tl.float32)
    for start in range(low, high, BLOCK_R):
        rows = start + r
        x = tl.load(x_ptr + rows[None, :] * K + ks[:, None], mask=rows[None, :] < high, other=0.0)
        dy = tl.load(dy_ptr + rows[:, None] * N + ns[None, :], mask=rows[:, None] < high, other=0.0)
        acc = tl.dot(x, dy, acc)
    tl.store(dw_ptr + expert * K * N + ks[:, None] * N + ns[None, :], acc.to(tl.bfloat16))


@case("x_ptr=*fp16, a_ptr=*fp16, b_ptr=*fp16, y_ptr=*fp16, ids_ptr=*i32, N=i32, K=i32", ALL, warps=4, BLOCK_M=32, BLOCK_N=64,
      BLOCK_K=64, RANK=16)
@triton.jit
def adapters(x_ptr, a_ptr, b_ptr, y_ptr, ids_ptr, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
             BLOCK_K: tl.constexpr, RANK: tl.constexpr):
    """Low-rank adapters, one for each block of rows: X A in one loop, its product with B in another."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    adapter = tl.load(ids_ptr + tl.program_id(0))
    k = tl.arange(0, BLOCK_K)
    r = tl.arange(0, RANK)
    low = tl.zeros([BLOCK_M, RANK], tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + rows[:, None] * K + (start + k)[None, :])
        a = tl.load(a_ptr + adapter * K * RANK + (start + k)[:, None] * RANK + r[None, :])
        low = tl.dot(x, a, low)
    small = low.to(tl.float16)
    for start in range(0, N, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        b = tl.load(b_ptr + adapter * RANK * N + r[:, None] * N + columns[None, :])
        at = rows[:, None] * N + columns[None, :]
        y = tl.load(y_ptr + at) + tl.dot(small, b).to(tl.float16)
        tl.store(y_ptr + at, y)


@case("logits_ptr=*fp32, ids_ptr=*i32, weights_ptr=*fp32, EXPERTS=i32", ALL, warps=4, BLOCK=256, TOP=8)
@triton.jit
def experts_chosen(logits_ptr, ids_ptr, weights_ptr, EXPERTS, BLOCK: tl.constexpr, TOP: tl.constexpr):
    """The largest TOP of a row, one after the other."""
    e = tl.arange(0, BLOCK)
    x = tl.load(logits_ptr + tl.program_id(0) * EXPERTS + e, mask=e < EXPERTS, other=float("-inf"))
    for i in range(TOP):
        best, where = tl.max(x, 0, return_indices=True)
        tl.store(ids_ptr + tl.program_id(0) * TOP + i, where)
        tl.store(weights_ptr + tl.program_id(0) * TOP + i, tl.sigmoid(best))
        x = tl.where(e == where, float("-inf"), x)
