"""Attention backward: dK and dV by blocks of keys, dQ by blocks of queries, both in one kernel, and delta."""

import triton
import triton.language as tl

from cases import ALL, BLACKWELL, HOPPER, WITH_DESCRIPTORS, case

POINTERS = ("q_ptr=*fp16, k_ptr=*fp16, v_ptr=*fp16, do_ptr=*fp16, dq_ptr=*fp16, dk_ptr=*fp16, dv_ptr=*fp16, lse_ptr=*fp32, "
            "delta_ptr=*fp32, length=i32, scale=fp32")


@case("o_ptr=*fp16, do_ptr=*fp16, delta_ptr=*fp32, length=i32", ALL, BLOCK=128, HEAD=128)
@triton.jit
def attention_delta(o_ptr, do_ptr, delta_ptr, length, BLOCK: tl.constexpr, HEAD: tl.constexpr):
    """Row sums of O dO, a program for a run of rows."""
    for start in range(tl.program_id(0) * BLOCK, length, BLOCK * tl.num_programs(0)):
        rows = start + tl.arange(0, BLOCK)
        at = rows[:, None] * HEAD + tl.arange(0, HEAD)[None, :]
        inside = rows[:, None] < length
        o = tl.load(o_ptr + at, mask=inside, other=0.0).to(tl.float32)
        do = tl.load(do_ptr + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(delta_ptr + rows, tl.sum(o * do, 1), mask=rows < length)


@case(POINTERS, ALL, warps=4, stages=2, BLOCK=64, HEAD=64)
@triton.jit
def attention_backward_two_loops(q_ptr, k_ptr, v_ptr, do_ptr, dq_ptr, dk_ptr, dv_ptr, lse_ptr, delta_ptr, length,
                                 scale, BLOCK: tl.constexpr, HEAD: tl.constexpr):
    """A program makes dK and dV of a block of keys, then dQ of the block of queries at the same place."""
    base = tl.program_id(1) * length * HEAD
    mine = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, HEAD)
    at = base + mine[:, None] * HEAD + d[None, :]
    k = tl.load(k_ptr + at)
    v = tl.load(v_ptr + at)
    dk = tl.zeros([BLOCK, HEAD], tl.float32)
    dv = tl.zeros([BLOCK, HEAD], tl.float32)
    for start in range(tl.program_id(0) * BLOCK, length, BLOCK):
        rows = start + tl.arange(0, BLOCK)
        q = tl.load(q_ptr + base + rows[:, None] * HEAD + d[None, :])
        do = tl.load(do_ptr + base + rows[:, None] * HEAD + d[None, :])
        lse = tl.load(lse_ptr + tl.program_id(1) * length + rows)
        delta = tl.load(delta_ptr + tl.program_id(1) * length + rows)
        pt = tl.math.exp2(tl.dot(k, tl.trans(q)) * scale - lse[None, :])
        pt = tl.where(rows[None, :] >= mine[:, None], pt, 0.0)
        dv = tl.dot(pt.to(tl.float16), do, dv)
        dst = pt * (tl.dot(v, tl.trans(do)) - delta[None, :])
        dk = tl.dot(dst.to(tl.float16), q, dk)
    tl.store(dk_ptr + at, dk.to(tl.float16))
    tl.store(dv_ptr + at, dv.to(tl.float16))
    q = tl.load(q_ptr + at)
    do = tl.load(do_ptr + at)
    lse = tl.load(lse_ptr + tl.program_id(1) * length + mine)
    delta = tl.load(delta_ptr + tl.program_id(1) * length + mine)
    dq = tl.zeros([BLOCK, HEAD], tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BLOCK, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        kt = tl.load(k_ptr + base + columns[None, :] * HEAD + d[:, None])
        vt = tl.load(v_ptr + base + columns[None, :] * HEAD + d[:, None])
        p = tl.math.exp2(tl.dot(q, kt) * scale - lse[:, None])
        p = tl.where(mine[:, None] >= columns[None, :], p, 0.0)
        ds = p * (tl.dot(do, vt) - delta[:, None])
        dq = tl.dot(ds.to(tl.float16), tl.trans(kt), dq)
    tl.store(dq_ptr + at, dq.to(tl.float16))


TILES = ("q_desc=tensordesc<bf16[{q}, {d}]>, k_desc=tensordesc<bf16[{k}, {d}]>, v_desc=tensordesc<bf16[{k}, {d}]>, "
         "do_desc=tensordesc<bf16[{q}, {d}]>, ")


@case(TILES.format(q=128, k=64, d=128) + "dq_desc=tensordesc<bf16[128, 128]>, lse_ptr=*fp32, delta_ptr=*fp32, length=i32, "
      "scale=fp32", WITH_DESCRIPTORS, warps=8, stages=2, BLOCK_Q=128, BLOCK_K=64, HEAD=128)
@triton.jit
def attention_backward_dq(q_desc, k_desc, v_desc, do_desc, dq_desc, lse_ptr, delta_ptr, length, scale,
                          BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, HEAD: tl.constexpr):
    """dQ of a block of queries, over the keys."""
    base = tl.program_id(1) * length
    row = base + tl.program_id(0) * BLOCK_Q
    q = q_desc.load([row, 0])
    do = do_desc.load([row, 0])
    lse = tl.load(lse_ptr + row + tl.arange(0, BLOCK_Q))
    delta = tl.load(delta_ptr + row + tl.arange(0, BLOCK_Q))
    dq = tl.zeros([BLOCK_Q, HEAD], tl.float32)
    for start in tl.range(0, length, BLOCK_K):
        k = k_desc.load([base + start, 0])
        v = v_desc.load([base + start, 0])
        p = tl.math.exp2(tl.dot(q, k.T) * scale - lse[:, None])
        ds = p * (tl.dot(do, v.T) - delta[:, None])
        dq = tl.dot(ds.to(tl.bfloat16), k, dq)
    dq_desc.store([row, 0], dq.to(tl.bfloat16))


DKDV = "dk_desc=tensordesc<bf16[{k}, {d}]>, dv_desc=tensordesc<bf16[{k}, {d}]>, lse_ptr=*fp32, delta_ptr=*fp32, " \
       "length=i32, scale=fp32"


@case(TILES.format(q=64, k=128, d=64) + DKDV.format(k=128, d=64), (HOPPER,), warps=8, stages=2, BLOCK_Q=64, BLOCK_K=128,
      HEAD=64, GROUP=4, SPECIALIZE=False)
@case(TILES.format(q=128, k=128, d=64) + DKDV.format(k=128, d=64), (BLACKWELL,), warps=8, stages=2, BLOCK_Q=128,
      BLOCK_K=128, HEAD=64, GROUP=4, SPECIALIZE=False)
@case(TILES.format(q=128, k=128, d=64) + DKDV.format(k=128, d=64), (BLACKWELL,), warps=4, stages=2, suffix="ws",
      BLOCK_Q=128, BLOCK_K=128, HEAD=64, GROUP=4, SPECIALIZE=True)
@triton.jit
def attention_backward_grouped(q_desc, k_desc, v_desc, do_desc, dk_desc, dv_desc, lse_ptr, delta_ptr, length, scale,
                               BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, HEAD: tl.constexpr, GROUP: tl.constexpr,
                               SPECIALIZE: tl.constexpr):
    """dK and dV of keys that GROUP heads of queries share: one loop over heads and blocks."""
    head = tl.program_id(1)
    column = head * length + tl.program_id(0) * BLOCK_K
    k = k_desc.load([column, 0])
    v = v_desc.load([column, 0])
    dk = tl.zeros([BLOCK_K, HEAD], tl.float32)
    dv = tl.zeros([BLOCK_K, HEAD], tl.float32)
    blocks = length // BLOCK_Q
    for step in tl.range(0, blocks * GROUP, warp_specialize=SPECIALIZE):
        row = (head * GROUP + step // blocks) * length + step % blocks * BLOCK_Q
        q = q_desc.load([row, 0])
        do = do_desc.load([row, 0])
        rows = row + tl.arange(0, BLOCK_Q)
        pt = tl.math.exp2(tl.dot(k, q.T) * scale - tl.load(lse_ptr + rows)[None, :])
        dv = tl.dot(pt.to(tl.bfloat16), do, dv)
        dst = pt * (tl.dot(v, do.T) - tl.load(delta_ptr + rows)[None, :])
        dk = tl.dot(dst.to(tl.bfloat16), q, dk)
    dk_desc.store([column, 0], dk.to(tl.bfloat16))
    dv_desc.store([column, 0], dv.to(tl.bfloat16))
