"""Linear attention and state spaces by chunks, forward and backward, and a recurrence token by token."""

import triton
import triton.language as tl

from cases import ALL, WITH_DESCRIPTORS, case

PAIR = "q_desc=tensordesc<bf16[64, {d}]>, k_desc=tensordesc<bf16[64, {d}]>, v_desc=tensordesc<bf16[64, {d}]>, "


@case(PAIR.format(d=64) + "o_desc=tensordesc<bf16[64, 64]>, gates_ptr=*fp32, length=i32", WITH_DESCRIPTORS, CHUNK=64,
      HEAD=64)
@triton.jit
def gated_linear_attention(q_desc, k_desc, v_desc, o_desc, gates_ptr, length, CHUNK: tl.constexpr, HEAD: tl.constexpr):
    """The state decays by a gate of each token: sums of logarithms within the chunk."""
    base = tl.program_id(0) * length
    at = tl.arange(0, CHUNK)
    lower = at[:, None] >= at[None, :]
    state = tl.zeros([HEAD, HEAD], tl.float32)
    for start in tl.range(0, length, CHUNK):
        q = q_desc.load([base + start, 0])
        k = k_desc.load([base + start, 0])
        v = v_desc.load([base + start, 0])
        gate = tl.cumsum(tl.load(gates_ptr + base + start + at), 0)
        last = tl.sum(tl.where(at == CHUNK - 1, gate, 0.0), 0)
        decay = tl.where(lower, tl.math.exp2(gate[:, None] - gate[None, :]), 0.0)
        s = tl.dot(q, k.T) * decay
        o = tl.dot(q, state.to(tl.bfloat16)) * tl.math.exp2(gate)[:, None]
        o = tl.dot(s.to(tl.bfloat16), v, o)
        weighed = (k * tl.math.exp2(last - gate)[:, None]).to(tl.bfloat16)
        state = tl.dot(weighed.T, v, state * tl.math.exp2(last))
        o_desc.store([base + start, 0], o.to(tl.bfloat16))


@case("q_ptr=*bf16, k_ptr=*bf16, v_ptr=*bf16, o_ptr=*bf16, length=i32, decay=fp32", ALL, CHUNK=64, HEAD=64)
@triton.jit
def retention(q_ptr, k_ptr, v_ptr, o_ptr, length, decay, CHUNK: tl.constexpr, HEAD: tl.constexpr):
    """A constant decay, with pointers."""
    at = tl.arange(0, CHUNK)
    d = tl.arange(0, HEAD)
    tile = tl.program_id(0) * length * HEAD + at[:, None] * HEAD + d[None, :]
    away = (at[:, None] - at[None, :]).to(tl.float32)
    inner = tl.where(away >= 0, tl.math.exp2(decay * away), 0.0)
    before = tl.math.exp2(decay * (at + 1).to(tl.float32))
    behind = tl.math.exp2(decay * (CHUNK - 1 - at).to(tl.float32))
    whole = tl.math.exp2(decay * CHUNK)
    state = tl.zeros([HEAD, HEAD], tl.float32)
    for _ in range(0, length, CHUNK):
        q = tl.load(q_ptr + tile)
        k = tl.load(k_ptr + tile)
        v = tl.load(v_ptr + tile)
        s = tl.dot(q, tl.trans(k)) * inner
        o = tl.dot(s.to(tl.bfloat16), v) + tl.dot(q, state.to(tl.bfloat16)) * before[:, None]
        state = state * whole + tl.dot(tl.trans((k * behind[:, None]).to(tl.bfloat16)), v)
        tl.store(o_ptr + tile, o.to(tl.bfloat16))
        tile += CHUNK * HEAD


@case("q_ptr=*bf16, k_ptr=*bf16, v_ptr=*bf16, do_ptr=*bf16, dq_ptr=*bf16, dk_ptr=*bf16, dv_ptr=*bf16, length=i32", ALL,
      warps=4, stages=2, CHUNK=64, HEAD=64)
@triton.jit
def linear_attention_backward(q_ptr, k_ptr, v_ptr, do_ptr, dq_ptr, dk_ptr, dv_ptr, length, CHUNK: tl.constexpr,
                              HEAD: tl.constexpr):
    """dQ with the state going forward, then dK and dV with its gradient going back."""
    base = tl.program_id(0) * length * HEAD
    at = tl.arange(0, CHUNK)
    d = tl.arange(0, HEAD)
    tile = at[:, None] * HEAD + d[None, :]
    lower = at[:, None] >= at[None, :]
    state = tl.zeros([HEAD, HEAD], tl.float32)
    for start in range(0, length, CHUNK):
        here = base + start * HEAD + tile
        k = tl.load(k_ptr + here)
        v = tl.load(v_ptr + here)
        do = tl.load(do_ptr + here)
        ds = tl.where(lower, tl.dot(do, tl.trans(v)), 0.0)
        dq = tl.dot(ds.to(tl.bfloat16), k) + tl.dot(do, tl.trans(state.to(tl.bfloat16)))
        state = tl.dot(tl.trans(k), v, state)
        tl.store(dq_ptr + here, dq.to(tl.bfloat16))
    dstate = tl.zeros([HEAD, HEAD], tl.float32)
    for start in range(length - CHUNK, -1, -CHUNK):
        here = base + start * HEAD + tile
        q = tl.load(q_ptr + here)
        k = tl.load(k_ptr + here)
        v = tl.load(v_ptr + here)
        do = tl.load(do_ptr + here)
        st = tl.where(lower, tl.dot(q, tl.trans(k)), 0.0)
        dst = tl.where(lower, tl.dot(do, tl.trans(v)), 0.0)
        kept = dstate.to(tl.bfloat16)
        dv = tl.dot(tl.trans(st.to(tl.bfloat16)), do) + tl.dot(k, kept)
        dk = tl.dot(tl.trans(dst.to(tl.bfloat16)), q) + tl.dot(v, tl.trans(kept))
        dstate = tl.dot(tl.trans(q), do, dstate)
        tl.store(dk_ptr + here, dk.to(tl.bfloat16))
        tl.store(dv_ptr + here, dv.to(tl.bfloat16))


@case("k_desc=tensordesc<bf16[64, 128]>, v_desc=tensordesc<bf16[64, 128]>, w_desc=tensordesc<bf16[64, 128]>, "
      "states_desc=tensordesc<bf16[128, 128]>, gates_ptr=*fp32, length=i32", WITH_DESCRIPTORS, warps=8, CHUNK=64, HEAD=128)
@triton.jit
def delta_rule_states(k_desc, v_desc, w_desc, states_desc, gates_ptr, length, CHUNK: tl.constexpr, HEAD: tl.constexpr):
    """States of a gated delta rule: what the state already says is taken off the values first."""
    base = tl.program_id(0) * length
    state = tl.zeros([HEAD, HEAD], tl.float32)
    for start in tl.range(0, length, CHUNK):
        kept = state.to(tl.bfloat16)
        states_desc.store([(base + start) // CHUNK * HEAD, 0], kept)
        v = v_desc.load([base + start, 0]) - tl.dot(w_desc.load([base + start, 0]), kept)
        state *= tl.math.exp2(tl.load(gates_ptr + (base + start) // CHUNK))
        state = tl.dot(k_desc.load([base + start, 0]).T, v.to(tl.bfloat16), state)


@case("x_ptr=*bf16, dt_ptr=*fp32, b_ptr=*bf16, c_ptr=*bf16, states_ptr=*fp32, y_ptr=*bf16, length=i32, chunks=i32", ALL,
      warps=4, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, STATE=128)
@triton.jit
def state_space_chunk(x_ptr, dt_ptr, b_ptr, c_ptr, states_ptr, y_ptr, length, chunks, BLOCK_M: tl.constexpr,
                      BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, STATE: tl.constexpr):
    """Output of a chunk of a selective state space: the state before it, and a triangle within it."""
    first = tl.program_id(0) * BLOCK_M
    chunk = tl.program_id(1) * length
    rows = first + tl.arange(0, BLOCK_M)
    columns = tl.arange(0, BLOCK_N)
    n = tl.arange(0, STATE)
    k = tl.arange(0, BLOCK_K)
    dt = tl.load(dt_ptr + chunk + rows)
    c = tl.load(c_ptr + (chunk + rows)[:, None] * STATE + n[None, :])
    state = tl.load(states_ptr + tl.program_id(1) * STATE * BLOCK_N + n[:, None] * BLOCK_N + columns[None, :])
    acc = tl.dot(c, state.to(tl.bfloat16)) * tl.math.exp2(dt)[:, None]
    for start in range(0, first + BLOCK_M, BLOCK_K):
        at = start + k
        b = tl.load(b_ptr + (chunk + at)[None, :] * STATE + n[:, None], mask=at[None, :] < length, other=0.0)
        there = tl.load(dt_ptr + chunk + at, mask=at < length, other=0.0)
        s = tl.dot(c, b) * tl.math.exp2(tl.minimum(dt[:, None] - there[None, :], 0.0))
        s = tl.where(rows[:, None] >= at[None, :], s, 0.0)
        x = tl.load(x_ptr + (chunk + at)[:, None] * BLOCK_N + columns[None, :], mask=at[:, None] < length, other=0.0)
        acc = tl.dot(s.to(tl.bfloat16), x, acc)
    tl.store(y_ptr + (chunk + rows)[:, None] * BLOCK_N + columns[None, :], acc.to(tl.bfloat16))


@case("x_ptr=*bf16, a_ptr=*bf16, y_ptr=*bf16, length=i32, width=i32", ALL, BLOCK=256)
@triton.jit
def recurrence(x_ptr, a_ptr, y_ptr, length, width, BLOCK: tl.constexpr):
    """y[t] = a[t] y[t - 1] + x[t], element by element: nothing but a recurrence."""
    at = tl.program_id(1) * length * width + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    y = tl.zeros([BLOCK], tl.float32)
    for _ in range(length):
        y = tl.sigmoid(tl.load(a_ptr + at).to(tl.float32)) * y + tl.load(x_ptr + at).to(tl.float32)
        tl.store(y_ptr + at, y.to(tl.bfloat16))
        at += width


@case("x_ptr=*fp32, y_ptr=*fp32, length=i32, width=i32", ALL, BLOCK_T=64, BLOCK_D=64)
@triton.jit
def running_sum(x_ptr, y_ptr, length, width, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr):
    """A scan along time in blocks, the total carried."""
    t = tl.arange(0, BLOCK_T)
    d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    total = tl.zeros([BLOCK_D], tl.float32)
    for start in range(0, length, BLOCK_T):
        at = (tl.program_id(1) * length + start + t)[:, None] * width + d[None, :]
        inside = (start + t < length)[:, None] & (d < width)[None, :]
        x = tl.load(x_ptr + at, mask=inside, other=0.0)
        tl.store(y_ptr + at, tl.cumsum(x, 0) + total[None, :], mask=inside)
        total += tl.sum(x, 0)
