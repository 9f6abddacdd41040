"""Kernels of many kinds, written at one go as their users write them, without a look at what Twill can: how many of them come
through at the first attempt says more than kernels for which Twill was made. 2026-11-28."""
import triton
import triton.language as tl


@triton.jit
def paged_decode(q_ptr, k_ptr, v_ptr, table_ptr, lengths_ptr, o_ptr, lse_ptr, scale, HEADS: tl.constexpr, GROUP: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr, MOST: tl.constexpr):
    row = tl.program_id(0)
    head = tl.program_id(1)
    length = tl.load(lengths_ptr + row)
    g = tl.arange(0, GROUP)
    d = tl.arange(0, D)
    t = tl.arange(0, PAGE)
    q = tl.load(q_ptr + ((row * HEADS + head) * GROUP + g)[:, None] * D + d[None, :])
    m = tl.full([GROUP], float("-inf"), tl.float32)
    l = tl.zeros([GROUP], tl.float32)
    acc = tl.zeros([GROUP, D], tl.float32)
    for page in range(0, tl.cdiv(length, PAGE)):
        at = tl.load(table_ptr + row * MOST + page)
        place = (at * PAGE + t) * HEADS * D + head * D
        inside = page * PAGE + t < length
        k = tl.load(k_ptr + place[None, :] + d[:, None], mask=inside[None, :], other=0.0)
        s = tl.dot(q, k) * scale
        s = tl.where(inside[None, :], s, float("-inf"))
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        a = tl.exp(m - new)
        l = l * a + tl.sum(p, 1)
        v = tl.load(v_ptr + place[:, None] + d[None, :], mask=inside[:, None], other=0.0)
        acc = tl.dot(p.to(v.dtype), v, acc * a[:, None])
        m = new
    out = (row * HEADS + head) * GROUP + g
    tl.store(o_ptr + out[:, None] * D + d[None, :], (acc / l[:, None]).to(tl.float16))
    tl.store(lse_ptr + out, m + tl.log(l))


@triton.jit
def alibi_forward(q_ptr, k_ptr, v_ptr, slopes_ptr, o_ptr, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    start = tl.program_id(0) * M
    head = tl.program_id(1)
    base = head * n * D
    rows = start + tl.arange(0, M)
    d = tl.arange(0, D)
    slope = tl.load(slopes_ptr + head)
    q = tl.load(q_ptr + base + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
    m = tl.full([M], -1.0e30, tl.float32)
    l = tl.full([M], 0.0, tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for begin in range(0, tl.minimum(start + M, n), N):
        c = begin + tl.arange(0, N)
        k = tl.load(k_ptr + base + c[None, :] * D + d[:, None], mask=c[None, :] < n, other=0.0)
        s = tl.dot(q, k) * scale - slope * (rows[:, None] - c[None, :]).to(tl.float32)
        s = tl.where((rows[:, None] >= c[None, :]) & (c[None, :] < n), s, -1.0e30)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2((s - new[:, None]) * 1.44269504)
        a = tl.exp2((m - new) * 1.44269504)
        l = l * a + tl.sum(p, 1)
        v = tl.load(v_ptr + base + c[:, None] * D + d[None, :], mask=c[:, None] < n, other=0.0)
        acc = acc * a[:, None]
        acc += tl.dot(p.to(tl.float16), v)
        m = new
    tl.store(o_ptr + base + rows[:, None] * D + d[None, :], (acc / l[:, None]).to(tl.float16), mask=rows[:, None] < n)


@triton.jit
def softcap_forward(q_ptr, k_ptr, v_ptr, o_ptr, n, cap, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.full([M], 0.0, tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for begin in range(0, n, N):
        c = begin + tl.arange(0, N)
        k = tl.load(k_ptr + c[:, None] * D + d[None, :])
        s = tl.dot(q, tl.trans(k)) * scale
        x = s / cap
        s = cap * (2.0 * tl.sigmoid(2.0 * x) - 1.0)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        a = tl.exp(m - new)
        l = l * a + tl.sum(p, 1)
        v = tl.load(v_ptr + c[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * a[:, None])
        m = new
    tl.store(o_ptr + rows[:, None] * D + d[None, :], (acc / l[:, None]).to(tl.float16))


@triton.jit
def swiglu(x_ptr, gate_ptr, up_ptr, y_ptr, K, WIDE, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    k = tl.arange(0, BK)
    x = x_ptr + rows[:, None] * K + k[None, :]
    gate = gate_ptr + k[:, None] * WIDE + columns[None, :]
    up = up_ptr + k[:, None] * WIDE + columns[None, :]
    one = tl.zeros([M, N], tl.float32)
    two = tl.zeros([M, N], tl.float32)
    for _ in range(tl.cdiv(K, BK)):
        tile = tl.load(x)
        one = tl.dot(tile, tl.load(gate), one)
        two = tl.dot(tile, tl.load(up), two)
        x += BK
        gate += BK * WIDE
        up += BK * WIDE
    y = one * tl.sigmoid(one) * two
    tl.store(y_ptr + rows[:, None] * WIDE + columns[None, :], y.to(tl.float16))


@triton.jit
def welford(x_ptr, w_ptr, b_ptr, y_ptr, N, eps, ROWS: tl.constexpr, B: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, B)
    mean = tl.zeros([ROWS], tl.float32)
    square = tl.zeros([ROWS], tl.float32)
    count = 0.0
    for begin in range(0, N, B):
        x = tl.load(x_ptr + rows[:, None] * N + (begin + c)[None, :]).to(tl.float32)
        part = tl.sum(x, 1) / B
        away = x - part[:, None]
        inside = tl.sum(away * away, 1)
        delta = part - mean
        total = count + B
        mean += delta * (B / total)
        square += inside + delta * delta * (count * B / total)
        count = total
    rstd = 1.0 / tl.sqrt(square / N + eps)
    for begin in range(0, N, B):
        x = tl.load(x_ptr + rows[:, None] * N + (begin + c)[None, :]).to(tl.float32)
        w = tl.load(w_ptr + begin + c).to(tl.float32)
        b = tl.load(b_ptr + begin + c).to(tl.float32)
        tl.store(y_ptr + rows[:, None] * N + (begin + c)[None, :], ((x - mean[:, None]) * rstd[:, None] * w[None, :] + b[None, :]).to(tl.float16))


@triton.jit
def selective_scan(x_ptr, dt_ptr, a_ptr, b_ptr, c_ptr, y_ptr, T, D: tl.constexpr, S: tl.constexpr):
    d = tl.program_id(0) * D + tl.arange(0, D)
    s = tl.arange(0, S)
    WIDE = 256
    a = tl.load(a_ptr + d[:, None] * S + s[None, :])
    h = tl.zeros([D, S], tl.float32)
    for t in range(T):
        dt = tl.load(dt_ptr + t * WIDE + d).to(tl.float32)
        x = tl.load(x_ptr + t * WIDE + d).to(tl.float32)
        b = tl.load(b_ptr + t * S + s).to(tl.float32)
        c = tl.load(c_ptr + t * S + s).to(tl.float32)
        h = h * tl.exp(dt[:, None] * a) + (dt * x)[:, None] * b[None, :]
        tl.store(y_ptr + t * WIDE + d, tl.sum(h * c[None, :], 1).to(tl.float16))


@triton.jit
def fp8_blocks(a_ptr, b_ptr, as_ptr, bs_ptr, c_ptr, K, N, M: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros([M, BN], tl.float32)
    steps = tl.cdiv(K, BK)
    for i in range(0, steps):
        a = tl.load(a_ptr + rows[:, None] * K + (i * BK + k)[None, :])
        b = tl.load(b_ptr + columns[None, :] * K + (i * BK + k)[:, None])
        sa = tl.load(as_ptr + rows * steps + i)
        sb = tl.load(bs_ptr + (columns // 128) * steps + i)
        acc += tl.dot(a, b) * sa[:, None] * sb[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16))


@triton.jit
def kmeans(x_ptr, centre_ptr, norm_ptr, index_ptr, best_ptr, C, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    x = tl.load(x_ptr + rows[:, None] * D + d[None, :])
    best = tl.full([M], 1.0e30, tl.float32)
    index = tl.zeros([M], tl.int32)
    for begin in range(0, C, N):
        c = begin + tl.arange(0, N)
        y = tl.load(centre_ptr + c[None, :] * D + d[:, None])
        distance = tl.load(norm_ptr + c)[None, :] - 2.0 * tl.dot(x, y)
        least = tl.min(distance, 1)
        where = tl.argmin(distance, 1) + begin
        index = tl.where(least < best, where, index)
        best = tl.minimum(best, least)
    tl.store(index_ptr + rows, index)
    tl.store(best_ptr + rows, best)


@triton.jit
def rope_attention(q_ptr, k_ptr, v_ptr, cos_ptr, sin_ptr, o_ptr, n, scale, M: tl.constexpr, N: tl.constexpr, H: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    h = tl.arange(0, H)
    D = 2 * H
    d = tl.arange(0, 2 * H)
    q1 = tl.load(q_ptr + rows[:, None] * D + h[None, :])
    q2 = tl.load(q_ptr + rows[:, None] * D + H + h[None, :])
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.full([M], 0.0, tl.float32)
    acc = tl.zeros([M, 2 * H], tl.float32)
    for begin in range(0, n, N):
        c = begin + tl.arange(0, N)
        k1 = tl.load(k_ptr + c[:, None] * D + h[None, :]).to(tl.float32)
        k2 = tl.load(k_ptr + c[:, None] * D + H + h[None, :]).to(tl.float32)
        cos = tl.load(cos_ptr + c[:, None] * H + h[None, :]).to(tl.float32)
        sin = tl.load(sin_ptr + c[:, None] * H + h[None, :]).to(tl.float32)
        r1 = (k1 * cos - k2 * sin).to(tl.float16)
        r2 = (k1 * sin + k2 * cos).to(tl.float16)
        s = tl.dot(q1, tl.trans(r1))
        s = tl.dot(q2, tl.trans(r2), s) * scale
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        a = tl.exp2(m - new)
        l = l * a + tl.sum(p, 1)
        v = tl.load(v_ptr + c[:, None] * D + d[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * a[:, None])
        m = new
    tl.store(o_ptr + rows[:, None] * D + d[None, :], (acc / l[:, None]).to(tl.float16))


@triton.jit
def int8_attention(q_ptr, k_ptr, v_ptr, qs_ptr, ks_ptr, o_ptr, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    block = tl.program_id(0)
    rows = block * M + tl.arange(0, M)
    d = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    qs = tl.load(qs_ptr + block)
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.full([M], 1.0, tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for begin in range(0, n, N):
        begin = tl.multiple_of(begin, N)
        c = begin + tl.arange(0, N)
        k = tl.load(k_ptr + c[None, :] * D + d[:, None])
        ks = tl.load(ks_ptr + begin // N)
        s = tl.dot(q, k).to(tl.float32) * (qs * ks)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        a = tl.exp2(m - new)
        l = l * a + tl.sum(p, 1)
        v = tl.load(v_ptr + c[:, None] * D + d[None, :])
        acc = acc * a[:, None]
        acc += tl.dot(p.to(tl.float16), v, out_dtype=tl.float32)
        m = new
    tl.store(o_ptr + rows[:, None] * D + d[None, :], (acc / l[:, None]).to(tl.float16))


@triton.jit
def gated_cumsum(x_ptr, g_ptr, y_ptr, T, B: tl.constexpr, D: tl.constexpr):
    d = tl.program_id(0) * D + tl.arange(0, D)
    t = tl.arange(0, B)
    WIDE = 128
    carry = tl.zeros([D], tl.float32)
    for begin in range(0, T, B):
        at = (begin + t)[:, None] * WIDE + d[None, :]
        x = tl.load(x_ptr + at).to(tl.float32)
        g = tl.load(g_ptr + at).to(tl.float32)
        y = tl.cumsum(x, 0) + carry[None, :]
        tl.store(y_ptr + at, (y * tl.sigmoid(g)).to(tl.float16))
        carry += tl.sum(x, 0)


@triton.jit
def split_atomic(a_ptr, b_ptr, c_ptr, K, N, M: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    part = tl.program_id(2)
    k = part * BK + tl.arange(0, BK)
    a = a_ptr + rows[:, None] * K + k[None, :]
    b = b_ptr + k[:, None] * N + columns[None, :]
    acc = tl.zeros([M, BN], tl.float32)
    for i in range(0, tl.cdiv(K, BK * SPLIT)):
        left = K - i * BK * SPLIT
        x = tl.load(a, mask=k[None, :] < left, other=0.0)
        y = tl.load(b, mask=k[:, None] < left, other=0.0)
        acc += tl.dot(x, y)
        a += BK * SPLIT
        b += BK * SPLIT * N
    tl.atomic_add(c_ptr + rows[:, None] * N + columns[None, :], acc)


@triton.jit
def linear_loss(x_ptr, w_ptr, target_ptr, loss_ptr, V, K: tl.constexpr, M: tl.constexpr, N: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    target = tl.load(target_ptr + rows)
    m = tl.full([M], float("-inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    picked = tl.zeros([M], tl.float32)
    k = tl.arange(0, BK)
    for begin in range(0, V, N):
        c = begin + tl.arange(0, N)
        logits = tl.zeros([M, N], tl.float32)
        for start in range(0, K, BK):
            x = tl.load(x_ptr + rows[:, None] * K + (start + k)[None, :])
            w = tl.load(w_ptr + c[None, :] * K + (start + k)[:, None])
            logits = tl.dot(x, w, logits)
        picked += tl.sum(tl.where(c[None, :] == target[:, None], logits, 0.0), 1)
        new = tl.maximum(m, tl.max(logits, 1))
        l = l * tl.exp(m - new) + tl.sum(tl.exp(logits - new[:, None]), 1)
        m = new
    tl.store(loss_ptr + rows, m + tl.log(l) - picked)


@triton.jit
def dq_rows(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    d = tl.arange(0, D)
    at = rows[:, None] * D + d[None, :]
    q = tl.load(q_ptr + at)
    do = tl.load(do_ptr + at)
    lse = tl.load(lse_ptr + rows)
    delta = tl.load(delta_ptr + rows)
    dq = tl.zeros([M, D], tl.float32)
    for begin in range(0, n, N):
        c = begin + tl.arange(0, N)
        k = tl.load(k_ptr + c[:, None] * D + d[None, :])
        v = tl.load(v_ptr + c[:, None] * D + d[None, :])
        s = tl.dot(q, tl.trans(k)) * scale
        p = tl.exp(s - lse[:, None])
        dp = tl.dot(do, tl.trans(v))
        ds = p * (dp - delta[:, None])
        dq += tl.dot(ds.to(tl.float16), k)
    tl.store(dq_ptr + at, (dq * scale).to(tl.float16))


@triton.jit
def gemm_while(a_ptr, b_ptr, c_ptr, K, N, M: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros([M, BN], tl.float32)
    start = 0
    while start < K:
        x = tl.load(a_ptr + rows[:, None] * K + (start + k)[None, :])
        y = tl.load(b_ptr + (start + k)[:, None] * N + columns[None, :])
        acc = tl.dot(x, y, acc)
        start += BK
    acc = tl.where(acc > 0, acc, 0.01 * acc)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16))


@triton.jit
def dropout_rows(x_ptr, y_ptr, N, seed, p, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    for begin in range(0, N, B):
        at = row * N + begin + c
        x = tl.load(x_ptr + at, mask=begin + c < N, other=0.0).to(tl.float32)
        keep = tl.rand(seed, at) > p
        tl.store(y_ptr + at, tl.where(keep, x / (1.0 - p), 0.0).to(tl.float16), mask=begin + c < N)


@triton.jit
def top_expert(x_ptr, w_ptr, choice_ptr, weight_ptr, K, M: tl.constexpr, E: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    e = tl.arange(0, E)
    k = tl.arange(0, BK)
    acc = tl.zeros([M, E], tl.float32)
    for start in range(0, K, BK):
        x = tl.load(x_ptr + rows[:, None] * K + (start + k)[None, :])
        w = tl.load(w_ptr + (start + k)[:, None] * E + e[None, :])
        acc = tl.dot(x, w, acc)
    most = tl.max(acc, 1)
    total = tl.sum(tl.exp(acc - most[:, None]), 1)
    tl.store(choice_ptr + rows, tl.argmax(acc, 1))
    tl.store(weight_ptr + rows, 1.0 / total)
