"""One query at a time: split over keys and put together again, pages of a cache, latent attention."""

import triton
import triton.language as tl

from cases import ALL, WITH_DESCRIPTORS, case


@case("q_ptr=*fp16, k_ptr=*fp16, v_ptr=*fp16, o_ptr=*fp32, lse_ptr=*fp32, length=i32, scale=fp32", ALL, BLOCK_N=64,
      HEAD=128, HEADS=16)
@triton.jit
def decode_split(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, length, scale, BLOCK_N: tl.constexpr, HEAD: tl.constexpr,
                 HEADS: tl.constexpr):
    """A share of the keys for HEADS query heads (padded to a product's 16 rows)."""
    batch = tl.program_id(0)
    part = tl.program_id(1)
    parts = tl.num_programs(1)
    share = tl.cdiv(tl.cdiv(length, parts), BLOCK_N) * BLOCK_N
    low = part * share
    high = tl.minimum(low + share, length)
    h = tl.arange(0, HEADS)
    d = tl.arange(0, HEAD)
    n = tl.arange(0, BLOCK_N)
    q = tl.load(q_ptr + (batch * HEADS + h)[:, None] * HEAD + d[None, :])
    m = tl.full([HEADS], float("-inf"), tl.float32)
    l = tl.full([HEADS], 0.0, tl.float32)
    acc = tl.zeros([HEADS, HEAD], tl.float32)
    for start in range(low, high, BLOCK_N):
        at = start + n
        k = tl.load(k_ptr + (batch * length + at)[None, :] * HEAD + d[:, None], mask=at[None, :] < high, other=0.0)
        s = tl.where(at[None, :] < high, tl.dot(q, k) * scale, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - m_new[:, None])
        alpha = tl.math.exp2(m - m_new)
        v = tl.load(v_ptr + (batch * length + at)[:, None] * HEAD + d[None, :], mask=at[:, None] < high, other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        l = l * alpha + tl.sum(p, 1)
        m = m_new
    to = (batch * parts + part) * HEADS + h
    tl.store(o_ptr + to[:, None] * HEAD + d[None, :], acc / l[:, None])
    tl.store(lse_ptr + to, m + tl.math.log2(l))


@case("o_ptr=*fp32, lse_ptr=*fp32, out_ptr=*fp16, parts=i32", ALL, HEAD=128, HEADS=16)
@triton.jit
def decode_combine(o_ptr, lse_ptr, out_ptr, parts, HEAD: tl.constexpr, HEADS: tl.constexpr):
    """The shares of one query head, weighed by their sums."""
    batch = tl.program_id(0)
    head = tl.program_id(1)
    d = tl.arange(0, HEAD)
    m = float("-inf")
    l = 0.0
    acc = tl.zeros([HEAD], tl.float32)
    for part in range(parts):
        at = (batch * parts + part) * HEADS + head
        lse = tl.load(lse_ptr + at)
        m_new = tl.maximum(m, lse)
        old = tl.math.exp2(m - m_new)
        new = tl.math.exp2(lse - m_new)
        acc = acc * old + new * tl.load(o_ptr + at * HEAD + d)
        l = l * old + new
        m = m_new
    tl.store(out_ptr + (batch * HEADS + head) * HEAD + d, (acc / l).to(tl.float16))


@case("q_ptr=*bf16, k_ptr=*bf16, v_ptr=*bf16, o_ptr=*bf16, pages_ptr=*i32, lengths_ptr=*i32, scale=fp32", ALL,
      PAGE=16, HEAD=128, GROUP=16, MOST=256)
@case("q_ptr=*bf16, k_ptr=*bf16, v_ptr=*bf16, o_ptr=*bf16, pages_ptr=*i32, lengths_ptr=*i32, scale=fp32", ALL,
      suffix="page64", PAGE=64, HEAD=128, GROUP=16, MOST=64)
@triton.jit
def decode_paged(q_ptr, k_ptr, v_ptr, o_ptr, pages_ptr, lengths_ptr, scale, PAGE: tl.constexpr, HEAD: tl.constexpr,
                 GROUP: tl.constexpr, MOST: tl.constexpr):
    """Keys lie in pages; the table of pages is read in the loop."""
    sequence = tl.program_id(0)
    head = tl.program_id(1)
    length = tl.load(lengths_ptr + sequence)
    g = tl.arange(0, GROUP)
    d = tl.arange(0, HEAD)
    n = tl.arange(0, PAGE)
    q_at = ((sequence * tl.num_programs(1) + head) * GROUP + g)[:, None] * HEAD + d[None, :]
    q = tl.load(q_ptr + q_at)
    m = tl.full([GROUP], float("-inf"), tl.float32)
    l = tl.full([GROUP], 0.0, tl.float32)
    acc = tl.zeros([GROUP, HEAD], tl.float32)
    for page in range(tl.cdiv(length, PAGE)):
        place = tl.load(pages_ptr + sequence * MOST + page).to(tl.int64)
        base = (place * tl.num_programs(1) + head) * PAGE * HEAD
        inside = page * PAGE + n < length
        k = tl.load(k_ptr + base + n[None, :] * HEAD + d[:, None], mask=inside[None, :], other=0.0)
        v = tl.load(v_ptr + base + n[:, None] * HEAD + d[None, :], mask=inside[:, None], other=0.0)
        s = tl.where(inside[None, :], tl.dot(q, k) * scale, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - m_new[:, None])
        alpha = tl.math.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.bfloat16), v, acc * alpha[:, None])
        m = m_new
    tl.store(o_ptr + q_at, (acc / l[:, None]).to(tl.bfloat16))


@case("q_ptr=*fp16, k_ptr=*fp16, v_ptr=*fp16, o_ptr=*fp32, length=i32, scale=fp32", ALL, BLOCK_N=64, HEAD=128)
@triton.jit
def decode_vector(q_ptr, k_ptr, v_ptr, o_ptr, length, scale, BLOCK_N: tl.constexpr, HEAD: tl.constexpr):
    """One query, no products: sums of element-wise products."""
    base = tl.program_id(0) * length * HEAD
    d = tl.arange(0, HEAD)
    n = tl.arange(0, BLOCK_N)
    q = tl.load(q_ptr + tl.program_id(0) * HEAD + d).to(tl.float32)
    m = float("-inf")
    l = 0.0
    acc = tl.zeros([HEAD], tl.float32)
    for start in range(0, length, BLOCK_N):
        at = base + (start + n)[:, None] * HEAD + d[None, :]
        s = tl.sum(q[None, :] * tl.load(k_ptr + at).to(tl.float32), 1) * scale
        m_new = tl.maximum(m, tl.max(s, 0))
        p = tl.math.exp2(s - m_new)
        alpha = tl.math.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 0)
        acc = acc * alpha + tl.sum(p[:, None] * tl.load(v_ptr + at).to(tl.float32), 0)
        m = m_new
    tl.store(o_ptr + tl.program_id(0) * HEAD + d, acc / l)


@case("q_ptr=*bf16, rope_ptr=*bf16, cache_ptr=*bf16, o_ptr=*bf16, pages_ptr=*i32, lengths_ptr=*i32, scale=fp32", ALL,
      warps=8, stages=2, BLOCK_N=32, LATENT=512, ROPE=64, HEADS=64, MOST=1024)
@triton.jit
def latent_decode(q_ptr, rope_ptr, cache_ptr, o_ptr, pages_ptr, lengths_ptr, scale, BLOCK_N: tl.constexpr,
                  LATENT: tl.constexpr, ROPE: tl.constexpr, HEADS: tl.constexpr, MOST: tl.constexpr):
    """Latent attention (MLA): one cache of LATENT + ROPE columns is both keys and values, in pages of one token."""
    sequence = tl.program_id(0)
    length = tl.load(lengths_ptr + sequence)
    h = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    c = tl.arange(0, LATENT)
    r = tl.arange(0, ROPE)
    n = tl.arange(0, BLOCK_N)
    q = tl.load(q_ptr + (sequence * 128 + h)[:, None] * LATENT + c[None, :])
    q_rope = tl.load(rope_ptr + (sequence * 128 + h)[:, None] * ROPE + r[None, :])
    m = tl.full([HEADS], float("-inf"), tl.float32)
    l = tl.full([HEADS], 0.0, tl.float32)
    acc = tl.zeros([HEADS, LATENT], tl.float32)
    for start in range(0, length, BLOCK_N):
        inside = start + n < length
        at = tl.load(pages_ptr + sequence * MOST + start + n, mask=inside, other=0).to(tl.int64) * (LATENT + ROPE)
        kv = tl.load(cache_ptr + at[:, None] + c[None, :], mask=inside[:, None], other=0.0)
        k_rope = tl.load(cache_ptr + at[None, :] + LATENT + r[:, None], mask=inside[None, :], other=0.0)
        s = tl.dot(q_rope, k_rope, tl.dot(q, tl.trans(kv))) * scale
        s = tl.where(inside[None, :], s, float("-inf"))
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - m_new[:, None])
        alpha = tl.math.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.bfloat16), kv, acc * alpha[:, None])
        m = m_new
    tl.store(o_ptr + (sequence * 128 + h)[:, None] * LATENT + c[None, :], (acc / l[:, None]).to(tl.bfloat16))


@case("q_desc=tensordesc<bf16[128, 128]>, q_rope_desc=tensordesc<bf16[128, 64]>, k_desc=tensordesc<bf16[64, 128]>, "
      "k_rope_desc=tensordesc<bf16[64, 64]>, v_desc=tensordesc<bf16[64, 128]>, o_desc=tensordesc<bf16[128, 128]>, "
      "length=i32, scale=fp32", WITH_DESCRIPTORS, warps=8, BLOCK_M=128, BLOCK_N=64, HEAD=128)
@triton.jit
def latent_prefill(q_desc, q_rope_desc, k_desc, k_rope_desc, v_desc, o_desc, length, scale, BLOCK_M: tl.constexpr,
                   BLOCK_N: tl.constexpr, HEAD: tl.constexpr):
    """Latent attention of a prompt: scores are the sum of two products, and keys of positions are shared."""
    first = tl.program_id(0) * BLOCK_M
    base = tl.program_id(1) * length
    q = q_desc.load([base + first, 0])
    q_rope = q_rope_desc.load([base + first, 0])
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.full([BLOCK_M], 0.0, tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for start in tl.range(0, length, BLOCK_N):
        s = tl.dot(q, k_desc.load([base + start, 0]).T)
        s = tl.dot(q_rope, k_rope_desc.load([start, 0]).T, s) * scale
        m_new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - m_new[:, None])
        alpha = tl.math.exp2(m - m_new)
        l = l * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.bfloat16), v_desc.load([base + start, 0]), acc * alpha[:, None])
        m = m_new
    o_desc.store([base + first, 0], (acc / l[:, None]).to(tl.bfloat16))
