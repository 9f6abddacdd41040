"""Triton kernels of this project: the sources of the .ttgir files beside this file.

Every kernel is written for reading by Twill: plain Triton, tensor descriptors where a tile is loaded
whole, one loop that matters. None of them is tuned.
"""

import triton
import triton.language as tl


@triton.jit
def attention_forward(q_desc, k_desc, v_desc, o_desc, lse_ptr, length, scale,
                      BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr,
                      SPECIALIZE: tl.constexpr):
    """softmax(Q K^T * scale) V for BLOCK_M rows; `scale` includes log2(e). Tensors are [B*H*S, HEAD]."""
    block = tl.program_id(0)
    head = tl.program_id(1)
    base = head * length
    row = base + block * BLOCK_M
    q = q_desc.load([row, 0])
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.full([BLOCK_M], 1.0, tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for start in tl.range(0, length, BLOCK_N, warp_specialize=SPECIALIZE):
        k = k_desc.load([base + start, 0])
        s = tl.dot(q, k.T)
        m_new = tl.maximum(m, tl.max(s, 1) * scale)
        p = tl.math.exp2(s * scale - m_new[:, None])
        alpha = tl.math.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = v_desc.load([base + start, 0])
        acc = tl.dot(p.to(tl.float16), v, acc)
        m = m_new
    o_desc.store([row, 0], (acc / l[:, None]).to(tl.float16))
    tl.store(lse_ptr + row + tl.arange(0, BLOCK_M), m + tl.math.log2(l))


@triton.jit
def _softmax_step(s, m, l, acc, scale):
    m_new = tl.maximum(m, tl.max(s, 1) * scale)
    p = tl.math.exp2(s * scale - m_new[:, None])
    alpha = tl.math.exp2(m - m_new)
    return p.to(tl.float16), m_new, l * alpha + tl.sum(p, 1), acc * alpha[:, None]


@triton.jit
def attention_forward_sub2(q_desc, k_desc, v_desc, o_desc, lse_ptr, length, scale,
                           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD: tl.constexpr,
                           SPECIALIZE: tl.constexpr):
    """attention_forward with two sub-tiles of BLOCK_M / 2 rows, split by hand."""
    HALF: tl.constexpr = BLOCK_M // 2
    base = tl.program_id(1) * length
    row = base + tl.program_id(0) * BLOCK_M
    q0 = q_desc.load([row, 0])
    q1 = q_desc.load([row + HALF, 0])
    m0 = tl.full([HALF], float("-inf"), tl.float32)
    m1 = tl.full([HALF], float("-inf"), tl.float32)
    l0 = tl.full([HALF], 1.0, tl.float32)
    l1 = tl.full([HALF], 1.0, tl.float32)
    acc0 = tl.zeros([HALF, HEAD], tl.float32)
    acc1 = tl.zeros([HALF, HEAD], tl.float32)
    for start in tl.range(0, length, BLOCK_N, warp_specialize=SPECIALIZE):
        k = k_desc.load([base + start, 0])
        s0 = tl.dot(q0, k.T)
        s1 = tl.dot(q1, k.T)
        p0, m0, l0, acc0 = _softmax_step(s0, m0, l0, acc0, scale)
        p1, m1, l1, acc1 = _softmax_step(s1, m1, l1, acc1, scale)
        v = v_desc.load([base + start, 0])
        acc0 = tl.dot(p0, v, acc0)
        acc1 = tl.dot(p1, v, acc1)
    o_desc.store([row, 0], (acc0 / l0[:, None]).to(tl.float16))
    o_desc.store([row + HALF, 0], (acc1 / l1[:, None]).to(tl.float16))
    rows = tl.arange(0, HALF)
    tl.store(lse_ptr + row + rows, m0 + tl.math.log2(l0))
    tl.store(lse_ptr + row + HALF + rows, m1 + tl.math.log2(l1))


@triton.jit
def attention_backward(q_desc, k_desc, v_desc, do_desc, dq_desc, dk_desc, dv_desc, lse_ptr, delta_ptr,
                       length, scale, BLOCK_Q: tl.constexpr, BLOCK_KV: tl.constexpr,
                       HEAD: tl.constexpr, SPECIALIZE: tl.constexpr):
    """dK and dV of BLOCK_KV keys, dQ by atomic addition; scores are kept transposed, [keys, queries]."""
    base = tl.program_id(1) * length
    column = base + tl.program_id(0) * BLOCK_KV
    k = k_desc.load([column, 0])
    v = v_desc.load([column, 0])
    dk = tl.zeros([BLOCK_KV, HEAD], tl.float32)
    dv = tl.zeros([BLOCK_KV, HEAD], tl.float32)
    for start in tl.range(0, length, BLOCK_Q, warp_specialize=SPECIALIZE):
        q = q_desc.load([base + start, 0])
        queries = base + start + tl.arange(0, BLOCK_Q)
        lse = tl.load(lse_ptr + queries)
        st = tl.dot(k, q.T)
        pt = tl.math.exp2(st * scale - lse[None, :])
        do = do_desc.load([base + start, 0])
        dv = tl.dot(pt.to(tl.float16), do, dv)
        delta = tl.load(delta_ptr + queries)
        dpt = tl.dot(v, do.T)
        dst = (pt * (dpt - delta[None, :])).to(tl.float16)
        dk = tl.dot(dst, q, dk)
        dq = tl.dot(dst.T, k)
        dq_desc.atomic_add([base + start, 0], dq)
    dk_desc.store([column, 0], dk.to(tl.float16))
    dv_desc.store([column, 0], dv.to(tl.float16))


@triton.jit
def gemm_persistent(a_desc, b_desc, c_desc, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                    BLOCK_K: tl.constexpr, PROGRAMS: tl.constexpr, SPECIALIZE: tl.constexpr):
    """C = A B^T, a program for each SM that takes every PROGRAMS-th tile."""
    tiles_m = tl.cdiv(M, BLOCK_M)
    tiles = tiles_m * tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, warp_specialize=SPECIALIZE):
        row = (tile % tiles_m) * BLOCK_M
        column = (tile // tiles_m) * BLOCK_N
        acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        for k in tl.range(0, K, BLOCK_K):
            a = a_desc.load([row, k])
            b = b_desc.load([column, k])
            acc = tl.dot(a, b.T, acc)
        c_desc.store([row, column], acc.to(tl.float16))


@triton.jit
def gemm_pointers(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                  BLOCK_K: tl.constexpr):
    """C = A B with pointer loads: cp.async on Ampere. K is a multiple of BLOCK_K."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    ks = tl.arange(0, BLOCK_K)
    a_tile = a_ptr + rows[:, None] * K + ks[None, :]
    b_tile = b_ptr + ks[:, None] * N + columns[None, :]
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for _ in range(0, K, BLOCK_K):
        acc = tl.dot(tl.load(a_tile), tl.load(b_tile), acc)
        a_tile += BLOCK_K
        b_tile += BLOCK_K * N
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16))


@triton.jit
def gemm_grouped(a_ptrs, b_ptrs, c_ptrs, sizes_ptr, groups, BLOCK_M: tl.constexpr,
                 BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, PROGRAMS: tl.constexpr):
    """Products of several sizes: sizes_ptr holds M, N, K of each; a while loop walks the tiles."""
    tile = tl.program_id(0)
    before = 0
    for group in range(groups):
        M = tl.load(sizes_ptr + group * 3)
        N = tl.load(sizes_ptr + group * 3 + 1)
        K = tl.load(sizes_ptr + group * 3 + 2)
        a = tl.make_tensor_descriptor(tl.load(a_ptrs + group).to(tl.pointer_type(tl.float16)),
                                      [M, K], [K, 1], [BLOCK_M, BLOCK_K])
        b = tl.make_tensor_descriptor(tl.load(b_ptrs + group).to(tl.pointer_type(tl.float16)),
                                      [N, K], [K, 1], [BLOCK_N, BLOCK_K])
        c = tl.make_tensor_descriptor(tl.load(c_ptrs + group).to(tl.pointer_type(tl.float16)),
                                      [M, N], [N, 1], [BLOCK_M, BLOCK_N])
        tiles_m = tl.cdiv(M, BLOCK_M)
        tiles = tiles_m * tl.cdiv(N, BLOCK_N)
        while tile < before + tiles:
            row = ((tile - before) % tiles_m) * BLOCK_M
            column = ((tile - before) // tiles_m) * BLOCK_N
            acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
            for k in range(0, K, BLOCK_K):
                acc = tl.dot(a.load([row, k]), b.load([column, k]).T, acc)
            c.store([row, column], acc.to(tl.float16))
            tile += PROGRAMS
        before += tiles


@triton.jit
def layer_norm(x_ptr, w_ptr, b_ptr, y_ptr, columns, epsilon, BLOCK: tl.constexpr):
    """One row a program: a pass for mean and variance, a pass for the result."""
    row = tl.program_id(0) * columns
    offsets = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    square = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + offsets
        x = tl.load(x_ptr + row + at, mask=at < columns, other=0.0).to(tl.float32)
        total += x
        square += x * x
    mean = tl.sum(total) / columns
    inverse = 1.0 / tl.sqrt(tl.sum(square) / columns - mean * mean + epsilon)
    for start in range(0, columns, BLOCK):
        at = start + offsets
        inside = at < columns
        x = tl.load(x_ptr + row + at, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + at, mask=inside)
        b = tl.load(b_ptr + at, mask=inside)
        tl.store(y_ptr + row + at, (x - mean) * inverse * w + b, mask=inside)


@triton.jit
def linear_attention(q_desc, k_desc, v_desc, o_desc, length, CHUNK: tl.constexpr, HEAD: tl.constexpr,
                     SPECIALIZE: tl.constexpr):
    """Causal linear attention by chunks: O = (Q K^T, lower triangle) V + Q S, S += K^T V."""
    base = tl.program_id(0) * length
    state = tl.zeros([HEAD, HEAD], tl.float32)
    at = tl.arange(0, CHUNK)
    lower = at[:, None] >= at[None, :]
    for start in tl.range(0, length, CHUNK, warp_specialize=SPECIALIZE):
        q = q_desc.load([base + start, 0])
        k = k_desc.load([base + start, 0])
        v = v_desc.load([base + start, 0])
        s = tl.where(lower, tl.dot(q, k.T), 0.0)
        o = tl.dot(q, state.to(tl.float16))
        o = tl.dot(s.to(tl.float16), v, o)
        state = tl.dot(k.T, v, state)
        o_desc.store([base + start, 0], o.to(tl.float16))


@triton.jit
def fused_mlp(x_desc, w1_desc, w2_desc, y_desc, hidden, BLOCK_M: tl.constexpr, BLOCK_H: tl.constexpr,
              MODEL: tl.constexpr, SPECIALIZE: tl.constexpr):
    """Y = silu(X W1^T) W2 with the hidden layer in blocks; MODEL columns stay on chip."""
    row = tl.program_id(0) * BLOCK_M
    x = x_desc.load([row, 0])
    acc = tl.zeros([BLOCK_M, MODEL], tl.float32)
    for start in tl.range(0, hidden, BLOCK_H, warp_specialize=SPECIALIZE):
        w1 = w1_desc.load([start, 0])
        h = tl.dot(x, w1.T)
        h = h / (1.0 + tl.math.exp2(h * -1.4426950408889634))
        w2 = w2_desc.load([start, 0])
        acc = tl.dot(h.to(tl.float16), w2, acc)
    y_desc.store([row, 0], acc.to(tl.float16))


@triton.jit
def attention_forward_causal(q_desc, k_desc, v_desc, o_desc, length, scale, BLOCK_M: tl.constexpr,
                             BLOCK_N: tl.constexpr, HEAD: tl.constexpr):
    """Causal attention in one loop: the diagonal blocks are masked under a condition (scf.if)."""
    base = tl.program_id(1) * length
    first = tl.program_id(0) * BLOCK_M
    q = q_desc.load([base + first, 0])
    rows = first + tl.arange(0, BLOCK_M)
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.full([BLOCK_M], 1.0, tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for start in tl.range(0, first + BLOCK_M, BLOCK_N):
        k = k_desc.load([base + start, 0])
        s = tl.dot(q, k.T) * scale
        if start + BLOCK_N > first:
            s = tl.where(rows[:, None] >= start + tl.arange(0, BLOCK_N)[None, :], s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - m_new[:, None])
        alpha = tl.math.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = v_desc.load([base + start, 0])
        acc = tl.dot(p.to(tl.float16), v, acc)
        m = m_new
    o_desc.store([base + first, 0], (acc / l[:, None]).to(tl.float16))
