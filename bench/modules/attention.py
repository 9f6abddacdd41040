"""Attention forward, in the ways in which it is written: pointers and descriptors, causal in one loop and in two,
windows, biases, grouped heads, ragged batches, FP8, persistent."""

import triton
import triton.language as tl

from cases import ALL, BLACKWELL, HOPPER, WITH_DESCRIPTORS, case

POINTERS = "q_ptr=*fp16, k_ptr=*fp16, v_ptr=*fp16, o_ptr=*fp16, lse_ptr=*fp32, length=i32, scale=fp32"
TILES = ("q_desc=tensordesc<fp16[{m}, {d}]>, k_desc=tensordesc<fp16[{n}, {d}]>, v_desc=tensordesc<fp16[{n}, {d}]>, "
         "o_desc=tensordesc<fp16[{m}, {d}]>, length=i32, scale=fp32")


@triton.jit
def online(s, m, l, acc):
    """One step of the softmax: probabilities, and the state that goes on."""
    m_new = tl.maximum(m, tl.max(s, 1))
    p = tl.math.exp2(s - m_new[:, None])
    alpha = tl.math.exp2(m - m_new)
    return p, m_new, l * alpha + tl.sum(p, 1), acc * alpha[:, None]


@case(POINTERS, ALL, warps=4, BLOCK_M=128, BLOCK_N=64, HEAD=64)
@case(POINTERS, ALL, warps=8, suffix="d128", BLOCK_M=128, BLOCK_N=64, HEAD=128)
@triton.jit
def attention_pointers(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, length, scale, BLOCK_M: tl.constexpr,
                       BLOCK_N: tl.constexpr, HEAD: tl.constexpr):
    """Any length: keys beyond the end are masked in loads and scores."""
    base = tl.program_id(1).to(tl.int64) * length * HEAD
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, HEAD)
    n = tl.arange(0, BLOCK_N)
    q = tl.load(q_ptr + base + rows[:, None] * HEAD + d[None, :], mask=rows[:, None] < length, other=0.0)
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.full([BLOCK_M], 0.0, tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for start in range(0, length, BLOCK_N):
        inside = start + n < length
        k = tl.load(k_ptr + base + (start + n)[None, :] * HEAD + d[:, None], mask=inside[None, :], other=0.0)
        s = tl.where(inside[None, :], tl.dot(q, k) * scale, float("-inf"))
        p, m, l, acc = online(s, m, l, acc)
        v = tl.load(v_ptr + base + (start + n)[:, None] * HEAD + d[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc)
    tl.store(lse_ptr + tl.program_id(1) * length + rows, m + tl.math.log2(l), mask=rows < length)
    tl.store(o_ptr + base + rows[:, None] * HEAD + d[None, :], (acc / l[:, None]).to(tl.float16),
             mask=rows[:, None] < length)


@triton.jit
def band(q, k_desc, v_desc, m, l, acc, base, low, high, rows, scale, BLOCK_N: tl.constexpr, MASKED: tl.constexpr,
         SPECIALIZE: tl.constexpr):
    for start in tl.range(low, high, BLOCK_N, warp_specialize=SPECIALIZE):
        k = k_desc.load([base + start, 0])
        s = tl.dot(q, k.T) * scale
        if MASKED:
            s = tl.where(rows[:, None] >= start + tl.arange(0, BLOCK_N)[None, :], s, float("-inf"))
        p, m, l, acc = online(s, m, l, acc)
        v = v_desc.load([base + start, 0])
        acc = tl.dot(p.to(tl.float16), v, acc)
    return m, l, acc


@case(TILES.format(m=128, n=64, d=128), WITH_DESCRIPTORS, warps=8, BLOCK_M=128, BLOCK_N=64, HEAD=128, SPECIALIZE=False)
@case(TILES.format(m=128, n=128, d=64), (BLACKWELL,), suffix="ws", BLOCK_M=128, BLOCK_N=128, HEAD=64,
      SPECIALIZE=True)
@triton.jit
def attention_causal_two_loops(q_desc, k_desc, v_desc, o_desc, length, scale, BLOCK_M: tl.constexpr,
                               BLOCK_N: tl.constexpr, HEAD: tl.constexpr, SPECIALIZE: tl.constexpr):
    """Whole blocks first, then those that the diagonal cuts."""
    first = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1) * length
    rows = first + tl.arange(0, BLOCK_M)
    q = q_desc.load([base + first, 0])
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.full([BLOCK_M], 0.0, tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    m, l, acc = band(q, k_desc, v_desc, m, l, acc, base, 0, first, rows, scale, BLOCK_N, False, SPECIALIZE)
    m, l, acc = band(q, k_desc, v_desc, m, l, acc, base, first, first + BLOCK_M, rows, scale, BLOCK_N, True, SPECIALIZE)
    o_desc.store([base + first, 0], (acc / l[:, None]).to(tl.float16))


@triton.jit
def guarded(q, k_ptr, v_ptr, m, l, acc, low, high, rows, d, own, length, scale, CUT: tl.constexpr, BLOCK_N: tl.constexpr):
    """Keys low to high; a row that has seen none keeps a finite pivot, so that -inf is not taken from -inf."""
    for start in range(low, high, BLOCK_N):
        columns = start + tl.arange(0, BLOCK_N)
        inside = columns < length
        k = tl.load(k_ptr + columns[None, :] * 128 + d[:, None], mask=inside[None, :], other=0.0)
        v = tl.load(v_ptr + columns[:, None] * 128 + own[None, :], mask=inside[:, None], other=0.0)
        s = tl.dot(q, k) * scale
        if CUT:
            s = tl.where((rows[:, None] >= columns[None, :]) & inside[None, :], s, float("-inf"))
        largest = tl.maximum(m, tl.max(s, 1))
        pivot = tl.where(largest == float("-inf"), 0.0, largest)
        p = tl.math.exp2(s - pivot[:, None])
        before = tl.math.exp2(m - pivot)
        l = l * before + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.bfloat16), v, acc * before[:, None])
        m = largest
    return m, l, acc


@case("q_ptr=*bf16:16, k_ptr=*bf16:16, v_ptr=*bf16:16, o_ptr=*bf16:16, lse_ptr=*fp32:16, length=i32, scale=fp32",
      WITH_DESCRIPTORS, warps=8, BLOCK_M=128, BLOCK_N=64)
@triton.jit
def attention_guarded(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, length, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """A ragged end, causal in two loops, columns of V in blocks, the first of which stores the logarithms of the sums."""
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, 128)
    own = tl.program_id(0) * 64 + tl.arange(0, 64)
    there = rows < length
    q = tl.load(q_ptr + rows[:, None] * 128 + d[None, :], mask=there[:, None], other=0.0)
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.full([BLOCK_M], 0.0, tl.float32)
    acc = tl.zeros([BLOCK_M, 64], tl.float32)
    first = tl.program_id(1) * BLOCK_M
    m, l, acc = guarded(q, k_ptr, v_ptr, m, l, acc, 0, first, rows, d, own, length, scale, False, BLOCK_N)
    last = tl.minimum(first + BLOCK_M, length)
    m, l, acc = guarded(q, k_ptr, v_ptr, m, l, acc, first, last, rows, d, own, length, scale, True, BLOCK_N)
    tl.store(o_ptr + rows[:, None] * 128 + own[None, :], (acc / l[:, None]).to(tl.bfloat16), mask=there[:, None])
    if tl.program_id(0) == 0:
        tl.store(lse_ptr + rows, m + tl.math.log2(l), mask=there)


@case(TILES.format(m=128, n=128, d=128), WITH_DESCRIPTORS, warps=8, BLOCK_M=128, BLOCK_N=128, HEAD=128, WINDOW=1024)
@triton.jit
def attention_window(q_desc, k_desc, v_desc, o_desc, length, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                     HEAD: tl.constexpr, WINDOW: tl.constexpr):
    """The last WINDOW keys of each query, in one loop with both ends masked."""
    first = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1) * length
    rows = first + tl.arange(0, BLOCK_M)
    q = q_desc.load([base + first, 0])
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.full([BLOCK_M], 0.0, tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    low = tl.maximum(first - WINDOW, 0) // BLOCK_N * BLOCK_N
    for start in range(low, first + BLOCK_M, BLOCK_N):
        k = k_desc.load([base + start, 0])
        away = rows[:, None] - (start + tl.arange(0, BLOCK_N)[None, :])
        s = tl.where((away >= 0) & (away < WINDOW), tl.dot(q, k.T) * scale, float("-inf"))
        p, m, l, acc = online(s, m, l, acc)
        v = v_desc.load([base + start, 0])
        acc = tl.dot(p.to(tl.float16), v, acc)
    o_desc.store([base + first, 0], (acc / l[:, None]).to(tl.float16))


@case(POINTERS + ", bias_ptr=*fp16", ALL, warps=8, BLOCK_M=128, BLOCK_N=64, HEAD=64)
@triton.jit
def attention_bias(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, length, scale, bias_ptr, BLOCK_M: tl.constexpr,
                   BLOCK_N: tl.constexpr, HEAD: tl.constexpr):
    """A matrix is added to the scores (as evolution models do): three loads of tiles an iteration."""
    base = tl.program_id(1) * length * HEAD
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    d = tl.arange(0, HEAD)
    n = tl.arange(0, BLOCK_N)
    q = tl.load(q_ptr + base + rows[:, None] * HEAD + d[None, :])
    k_tile = k_ptr + base + n[None, :] * HEAD + d[:, None]
    v_tile = v_ptr + base + n[:, None] * HEAD + d[None, :]
    bias = bias_ptr + rows[:, None] * length + n[None, :]
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.full([BLOCK_M], 0.0, tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for _ in range(0, length, BLOCK_N):
        s = tl.dot(q, tl.load(k_tile)) * scale + tl.load(bias)
        p, m, l, acc = online(s, m, l, acc)
        acc = tl.dot(p.to(tl.float16), tl.load(v_tile), acc)
        k_tile += BLOCK_N * HEAD
        v_tile += BLOCK_N * HEAD
        bias += BLOCK_N
    tl.store(o_ptr + base + rows[:, None] * HEAD + d[None, :], (acc / l[:, None]).to(tl.float16))


@case(TILES.format(m=128, n=64, d=128).replace("fp16", "bf16"), WITH_DESCRIPTORS, warps=8, BLOCK_M=128, BLOCK_N=64,
      HEAD=128, CAP=30.0)
@triton.jit
def attention_capped_with_sinks(q_desc, k_desc, v_desc, o_desc, length, scale, BLOCK_M: tl.constexpr,
                                BLOCK_N: tl.constexpr, HEAD: tl.constexpr, CAP: tl.constexpr):
    """Scores are bent to +-CAP by a tangent; the sum begins with a sink; positions weigh by a slope (ALiBi)."""
    first = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1)
    base = head * length
    rows = first + tl.arange(0, BLOCK_M)
    slope = tl.math.exp2(-0.5 * (head + 1).to(tl.float32))
    q = q_desc.load([base + first, 0])
    m = tl.full([BLOCK_M], 0.0, tl.float32)
    l = tl.full([BLOCK_M], 1.0, tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for start in tl.range(0, first + BLOCK_M, BLOCK_N):
        k = k_desc.load([base + start, 0])
        columns = start + tl.arange(0, BLOCK_N)
        s = tl.dot(q, k.T) * scale
        bent = CAP * (2.0 / (1.0 + tl.math.exp(-2.0 * s / CAP)) - 1.0)
        s = bent - slope * (rows[:, None] - columns[None, :]).to(tl.float32)
        s = tl.where(rows[:, None] >= columns[None, :], s, float("-inf"))
        p, m, l, acc = online(s, m, l, acc)
        acc = tl.dot(p.to(tl.bfloat16), v_desc.load([base + start, 0]), acc)
    o_desc.store([base + first, 0], (acc / l[:, None]).to(tl.bfloat16))


@case("q_ptr=*fp16, k_ptr=*fp16, v_ptr=*fp16, o_ptr=*fp16, starts_ptr=*i32, scale=fp32", ALL, warps=4, BLOCK_M=64,
      BLOCK_N=64, HEAD=64, GROUP=4)
@triton.jit
def attention_ragged(q_ptr, k_ptr, v_ptr, o_ptr, starts_ptr, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                     HEAD: tl.constexpr, GROUP: tl.constexpr):
    """Sequences of any length behind each other; GROUP query heads share a head of keys."""
    sequence = tl.program_id(1)
    begin = tl.load(starts_ptr + sequence)
    length = tl.load(starts_ptr + sequence + 1) - begin
    head = tl.program_id(2)
    first = tl.program_id(0) * BLOCK_M
    if first >= length:
        return
    rows = first + tl.arange(0, BLOCK_M)
    d = tl.arange(0, HEAD)
    n = tl.arange(0, BLOCK_N)
    heads = tl.num_programs(2)
    q = tl.load(q_ptr + ((begin + rows)[:, None] * heads + head) * HEAD + d[None, :], mask=rows[:, None] < length,
                other=0.0)
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.full([BLOCK_M], 0.0, tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for start in range(0, tl.minimum(first + BLOCK_M, length), BLOCK_N):
        at = start + n
        place = ((begin + at) * (heads // GROUP) + head // GROUP) * HEAD
        k = tl.load(k_ptr + place[None, :] + d[:, None], mask=at[None, :] < length, other=0.0)
        v = tl.load(v_ptr + place[:, None] + d[None, :], mask=at[:, None] < length, other=0.0)
        s = tl.where(rows[:, None] >= at[None, :], tl.dot(q, k) * scale, float("-inf"))
        p, m, l, acc = online(s, m, l, acc)
        acc = tl.dot(p.to(tl.float16), v, acc)
    tl.store(o_ptr + ((begin + rows)[:, None] * heads + head) * HEAD + d[None, :],
             (acc / l[:, None]).to(tl.float16), mask=rows[:, None] < length)


@case("q_desc=tensordesc<fp8e4nv[128, 128]>, k_desc=tensordesc<fp8e4nv[128, 128]>, "
      "v_desc=tensordesc<fp8e4nv[128, 128]>, o_desc=tensordesc<bf16[128, 128]>, scales_ptr=*fp32, length=i32, scale=fp32",
      WITH_DESCRIPTORS, warps=8, BLOCK_M=128, BLOCK_N=128, HEAD=128)
@triton.jit
def attention_fp8(q_desc, k_desc, v_desc, o_desc, scales_ptr, length, scale, BLOCK_M: tl.constexpr,
                  BLOCK_N: tl.constexpr, HEAD: tl.constexpr):
    """8-bit operands, a scale for each block of keys; V is [HEAD, length], so that both products are K-major."""
    first = tl.program_id(0) * BLOCK_M
    head = tl.program_id(1)
    base = head * length
    q = q_desc.load([base + first, 0])
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.full([BLOCK_M], 0.0, tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for start in tl.range(0, length, BLOCK_N):
        k = k_desc.load([base + start, 0])
        s = tl.dot(q, k.T) * (scale * tl.load(scales_ptr + (base + start) // BLOCK_N))
        p, m, l, acc = online(s, m, l, acc)
        v = v_desc.load([head * HEAD, start])
        acc = tl.dot(p.to(tl.float8e4nv), v.T, acc)
    o_desc.store([base + first, 0], (acc / l[:, None]).to(tl.bfloat16))


@case(TILES.format(m=128, n=64, d=128), (HOPPER,), warps=8, BLOCK_M=128, BLOCK_N=64, HEAD=128, PROGRAMS=132,
      SPECIALIZE=False)
@case(TILES.format(m=128, n=128, d=128), (BLACKWELL,), warps=4, BLOCK_M=128, BLOCK_N=128, HEAD=128, PROGRAMS=148,
      SPECIALIZE=False)
@case(TILES.format(m=128, n=128, d=64), (BLACKWELL,), warps=4, suffix="ws", BLOCK_M=128, BLOCK_N=128, HEAD=64,
      PROGRAMS=148, SPECIALIZE=True)
@triton.jit
def attention_persistent(q_desc, k_desc, v_desc, o_desc, length, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                         HEAD: tl.constexpr, PROGRAMS: tl.constexpr, SPECIALIZE: tl.constexpr):
    """A program takes every PROGRAMS-th block of queries."""
    blocks = length // BLOCK_M
    for tile in tl.range(tl.program_id(0), blocks * 16, PROGRAMS, warp_specialize=SPECIALIZE):
        base = tile // blocks * length
        row = base + tile % blocks * BLOCK_M
        q = q_desc.load([row, 0])
        m = tl.full([BLOCK_M], float("-inf"), tl.float32)
        l = tl.full([BLOCK_M], 0.0, tl.float32)
        acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
        for start in tl.range(0, length, BLOCK_N):
            k = k_desc.load([base + start, 0])
            p, m, l, acc = online(tl.dot(q, k.T) * scale, m, l, acc)
            acc = tl.dot(p.to(tl.float16), v_desc.load([base + start, 0]), acc)
        o_desc.store([row, 0], (acc / l[:, None]).to(tl.float16))


@case(TILES.format(m=128, n=128, d=128), WITH_DESCRIPTORS, warps=8, BLOCK_M=128, BLOCK_N=128, HEAD=128,
      PROBABILITY=0.1)
@triton.jit
def attention_dropout(q_desc, k_desc, v_desc, o_desc, length, scale, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                      HEAD: tl.constexpr, PROBABILITY: tl.constexpr):
    """Probabilities are dropped by a counter-based generator: much integer arithmetic on whole tiles."""
    first = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1) * length
    rows = first + tl.arange(0, BLOCK_M)
    q = q_desc.load([base + first, 0])
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.full([BLOCK_M], 0.0, tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for start in tl.range(0, length, BLOCK_N):
        k = k_desc.load([base + start, 0])
        p, m, l, acc = online(tl.dot(q, k.T) * scale, m, l, acc)
        kept = tl.rand(7, rows[:, None] * length + start + tl.arange(0, BLOCK_N)[None, :]) > PROBABILITY
        p = tl.where(kept, p / (1.0 - PROBABILITY), 0.0)
        acc = tl.dot(p.to(tl.float16), v_desc.load([base + start, 0]), acc)
    o_desc.store([base + first, 0], (acc / l[:, None]).to(tl.float16))


@case("q_ptr=*bf16, k_ptr=*bf16, v_ptr=*bf16, o_ptr=*bf16, blocks_ptr=*i32, counts_ptr=*i32, length=i32, scale=fp32",
      ALL, warps=4, BLOCK=64, HEAD=128, MOST=128)
@triton.jit
def attention_block_sparse(q_ptr, k_ptr, v_ptr, o_ptr, blocks_ptr, counts_ptr, length, scale, BLOCK: tl.constexpr,
                           HEAD: tl.constexpr, MOST: tl.constexpr):
    """Only the listed blocks of keys: where a block lies is loaded in the loop."""
    place = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    base = tl.program_id(1) * length * HEAD
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, HEAD)
    q = tl.load(q_ptr + base + rows[:, None] * HEAD + d[None, :])
    m = tl.full([BLOCK], float("-inf"), tl.float32)
    l = tl.full([BLOCK], 0.0, tl.float32)
    acc = tl.zeros([BLOCK, HEAD], tl.float32)
    for i in range(tl.load(counts_ptr + place)):
        columns = tl.load(blocks_ptr + place * MOST + i) * BLOCK + tl.arange(0, BLOCK)
        k = tl.load(k_ptr + base + columns[None, :] * HEAD + d[:, None])
        v = tl.load(v_ptr + base + columns[:, None] * HEAD + d[None, :])
        p, m, l, acc = online(tl.dot(q, k) * scale, m, l, acc)
        acc = tl.dot(p.to(tl.bfloat16), v, acc)
    tl.store(o_ptr + base + rows[:, None] * HEAD + d[None, :], (acc / l[:, None]).to(tl.bfloat16))
