"""Kernels of attention in other forms than the usual one, of which tests/data/ttgir has modules.

    VENV/bin/python tests/emit/attention_kernels.py FOLDER

writes them anew for cuda:90 and cuda:100, up to where Triton would set stages. emit_attention_test.py executes what is written of them."""
import sys

import own_kernels
import triton
import triton.language as tl


@triton.jit
def attention_differential(q_ptr, k_ptr, v_ptr, o_ptr, n, mix, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Two softmaxes, of two halves of each query and key, over the same V; the second one is taken from the first."""
    rows, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    q1 = tl.load(q_ptr + rows[:, None] * (2 * D) + d[None, :])
    q2 = tl.load(q_ptr + rows[:, None] * (2 * D) + D + d[None, :])
    m1, m2 = tl.full([M], -128.0, tl.float32), tl.full([M], -128.0, tl.float32)
    l1, l2 = tl.zeros([M], tl.float32), tl.zeros([M], tl.float32)
    o1, o2 = tl.zeros([M, D], tl.float32), tl.zeros([M, D], tl.float32)
    for i in range(0, n, N):
        c = i + tl.arange(0, N)
        k1 = tl.load(k_ptr + c[None, :] * (2 * D) + d[:, None])
        k2 = tl.load(k_ptr + c[None, :] * (2 * D) + D + d[:, None])
        v = tl.load(v_ptr + c[:, None] * D + d[None, :])
        s1, s2 = tl.dot(q1, k1) * scale, tl.dot(q2, k2) * scale
        new1, new2 = tl.maximum(m1, tl.max(s1, 1)), tl.maximum(m2, tl.max(s2, 1))
        p1, p2 = tl.exp2(s1 - new1[:, None]), tl.exp2(s2 - new2[:, None])
        a1, a2 = tl.exp2(m1 - new1), tl.exp2(m2 - new2)
        l1, l2 = l1 * a1 + tl.sum(p1, 1), l2 * a2 + tl.sum(p2, 1)
        o1 = tl.dot(p1.to(tl.float16), v, o1 * a1[:, None])
        o2 = tl.dot(p2.to(tl.float16), v, o2 * a2[:, None])
        m1, m2 = new1, new2
    o = o1 / tl.maximum(l1, 0.0078125)[:, None] - mix * (o2 / tl.maximum(l2, 0.0078125)[:, None])
    tl.store(o_ptr + rows[:, None] * D + d[None, :], o.to(tl.float16))


@triton.jit
def attention_cosine(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, n, tau, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Queries and keys get length 1, the keys in the loop. Scores are bounded, so no maximum is carried."""
    rows, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :]).to(tl.float32)
    q = (q * tl.rsqrt(tl.sum(q * q, 1) + 0.0078125)[:, None]).to(tl.float16)
    total = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for i in range(0, n, N):
        c = i + tl.arange(0, N)
        k = tl.load(k_ptr + c[:, None] * D + d[None, :])
        v = tl.load(v_ptr + c[:, None] * D + d[None, :])
        wide = k.to(tl.float32)
        length = tl.rsqrt(tl.sum(wide * wide, 1) + 0.0078125)
        p = tl.exp(tl.dot(q, tl.trans(k)) * (length * tau)[None, :] - tau)
        total += tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v, acc)
    total = tl.maximum(total, 0.0078125)
    tl.store(o_ptr + rows[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))
    tl.store(lse_ptr + rows, tau + tl.log(total))


@triton.jit
def attention_latent(q_ptr, rope_ptr, kv_ptr, pages_ptr, o_ptr, lse_ptr, length, scale, H: tl.constexpr, N: tl.constexpr, D: tl.constexpr, R: tl.constexpr,
                     PAGE: tl.constexpr):
    """Heads of one query over latent rows, each key and value at once, with R numbers for their places, in pages."""
    heads, d, r = tl.program_id(0) * H + tl.arange(0, H), tl.arange(0, D), tl.arange(0, R)
    q = tl.load(q_ptr + heads[:, None] * D + d[None, :])
    rope = tl.load(rope_ptr + heads[:, None] * R + r[None, :])
    most, total = tl.full([H], -128.0, tl.float32), tl.zeros([H], tl.float32)
    acc = tl.zeros([H, D], tl.float32)
    for i in range(0, length, N):
        c = i + tl.arange(0, N)
        page = tl.load(pages_ptr + c // PAGE, mask=c < length, other=0)
        at = page * PAGE + c % PAGE
        kv = tl.load(kv_ptr + at[:, None] * (D + R) + d[None, :], mask=c[:, None] < length, other=0.0)
        places = tl.load(kv_ptr + at[:, None] * (D + R) + D + r[None, :], mask=c[:, None] < length, other=0.0)
        s = tl.dot(rope, tl.trans(places), tl.dot(q, tl.trans(kv))) * scale
        s = tl.where(c[None, :] < length, s, -128.0)
        new = tl.maximum(most, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        alpha = tl.exp2(most - new)
        total = total * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), kv, acc * alpha[:, None])
        most = new
    total = tl.maximum(total, 0.0078125)
    tl.store(o_ptr + heads[:, None] * D + d[None, :], (acc / total[:, None]).to(tl.float16))
    tl.store(lse_ptr + heads, most + tl.log2(total))


CASES = [
    (attention_differential, "q_ptr=*fp16:16, k_ptr=*fp16:16, v_ptr=*fp16:16, o_ptr=*fp16:16, n=i32:16, mix=fp32, scale=fp32", dict(M=128, N=64, D=64)),
    (attention_cosine, "q_ptr=*fp16:16, k_ptr=*fp16:16, v_ptr=*fp16:16, o_ptr=*fp16:16, lse_ptr=*fp32:16, n=i32:16, tau=fp32", dict(M=128, N=64, D=64)),
    (attention_latent, "q_ptr=*fp16:16, rope_ptr=*fp16:16, kv_ptr=*fp16:16, pages_ptr=*i32:16, o_ptr=*fp16:16, lse_ptr=*fp32:16, length=i32, scale=fp32",
     dict(H=64, N=64, D=256, R=64, PAGE=64)),
]


if __name__ == "__main__":
    own_kernels.write_modules(CASES, sys.argv[1])
