"""A seventh set, of kinds that the first six have none of: written at one go, as users would, before any of them was tried. 2026-12-01."""
import triton
import triton.language as tl


@triton.jit
def group_norm_affine(x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr, channels, hidden, eps, B: tl.constexpr):
    """Liger's: a group of channels a program, sums and squares in one loop, channels with a weight each in two nested ones."""
    group = tl.program_id(1)
    base = (tl.program_id(0) * tl.num_programs(1) + group) * channels * hidden
    rb = tl.arange(0, B)
    s = 0.0
    square = 0.0
    for i in range(0, channels * hidden, B):
        x = tl.load(x_ptr + base + i + rb, mask=i + rb < channels * hidden, other=0.0).to(tl.float32)
        s += tl.sum(x)
        square += tl.sum(x * x)
    mean = s / (channels * hidden)
    rstd = tl.rsqrt(square / (channels * hidden) - mean * mean + eps)
    for c in range(0, channels):
        w = tl.load(w_ptr + group * channels + c).to(tl.float32)
        b = tl.load(b_ptr + group * channels + c).to(tl.float32)
        for i in range(0, hidden, B):
            at = base + c * hidden + i + rb
            x = tl.load(x_ptr + at, mask=i + rb < hidden, other=0.0).to(tl.float32)
            tl.store(y_ptr + at, ((x - mean) * rstd * w + b).to(tl.float16), mask=i + rb < hidden)
    tl.store(mean_ptr + tl.program_id(0) * tl.num_programs(1) + group, mean)
    tl.store(rstd_ptr + tl.program_id(0) * tl.num_programs(1) + group, rstd)


@triton.jit
def norm_backward_lock(dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, lock_ptr, N, GROUPS: tl.constexpr, B: tl.constexpr):
    """Triton's tutorial: a row a program, partial sums of the weights under a lock."""
    row = tl.program_id(0)
    c = tl.arange(0, B)
    mask = c < N
    x = tl.load(x_ptr + row * N + c, mask=mask, other=0.0).to(tl.float32)
    dy = tl.load(dy_ptr + row * N + c, mask=mask, other=0.0).to(tl.float32)
    w = tl.load(w_ptr + c, mask=mask, other=0.0).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    xhat = tl.where(mask, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
    wdy = tl.where(mask, w * dy, 0.0)
    c1 = tl.sum(xhat * wdy, 0) / N
    c2 = tl.sum(wdy, 0) / N
    tl.store(dx_ptr + row * N + c, ((wdy - (xhat * c1 + c2)) * rstd).to(tl.float16), mask=mask)
    lock = row % GROUPS
    while tl.atomic_cas(lock_ptr + lock, 0, 1) == 1:
        pass
    count = tl.load(lock_ptr + GROUPS + lock)
    dw = dy * xhat
    db = dy
    if count == 0:
        tl.atomic_xchg(lock_ptr + GROUPS + lock, 1)
    else:
        dw += tl.load(dw_ptr + lock * N + c, mask=mask)
        db += tl.load(db_ptr + lock * N + c, mask=mask)
    tl.store(dw_ptr + lock * N + c, dw, mask=mask)
    tl.store(db_ptr + lock * N + c, db, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr + lock, 0)


@triton.jit
def norm_partial_sums(dw_ptr, db_ptr, fw_ptr, fb_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """The tutorial's second kernel: partial sums become the gradients."""
    c = tl.program_id(0) * BN + tl.arange(0, BN)
    dw = tl.zeros([BM, BN], tl.float32)
    db = tl.zeros([BM, BN], tl.float32)
    for i in range(0, M, BM):
        r = i + tl.arange(0, BM)
        mask = (r[:, None] < M) & (c[None, :] < N)
        dw += tl.load(dw_ptr + r[:, None] * N + c[None, :], mask=mask, other=0.0)
        db += tl.load(db_ptr + r[:, None] * N + c[None, :], mask=mask, other=0.0)
    tl.store(fw_ptr + c, tl.sum(dw, 0), mask=c < N)
    tl.store(fb_ptr + c, tl.sum(db, 0), mask=c < N)


@triton.jit
def varlen_packed(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, cu_q_ptr, cu_k_ptr, scale, H: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Sequences of their own lengths behind each other, causal from the end, as cu_seqlens say; programs behind a sequence return."""
    batch = tl.program_id(2)
    head = tl.program_id(1)
    begin_q = tl.load(cu_q_ptr + batch)
    n_q = tl.load(cu_q_ptr + batch + 1) - begin_q
    begin_k = tl.load(cu_k_ptr + batch)
    n_k = tl.load(cu_k_ptr + batch + 1) - begin_k
    start = tl.program_id(0) * M
    if start >= n_q:
        return
    rm = start + tl.arange(0, M)
    rn = tl.arange(0, N)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + ((begin_q + rm)[:, None] * H + head) * D + rd[None, :], mask=rm[:, None] < n_q, other=0.0)
    m = tl.full([M], -1.0e30, tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    end = tl.minimum(n_k, start + M + n_k - n_q)
    for i in range(0, end, N):
        c = i + rn
        k = tl.load(k_ptr + ((begin_k + c)[None, :] * H + head) * D + rd[:, None], mask=c[None, :] < n_k, other=0.0)
        s = tl.dot(q, k) * (scale * 1.44269504)
        s = tl.where((rm[:, None] + n_k - n_q >= c[None, :]) & (c[None, :] < n_k), s, -1.0e30)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + ((begin_k + c)[:, None] * H + head) * D + rd[None, :], mask=c[:, None] < n_k, other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m = new
    tl.store(o_ptr + ((begin_q + rm)[:, None] * H + head) * D + rd[None, :], (acc / l[:, None]).to(tl.float16), mask=rm[:, None] < n_q)
    tl.store(lse_ptr + (begin_q + rm) * H + head, m + tl.math.log2(l), mask=rm < n_q)


@triton.jit
def combine_splits(part_ptr, lse_ptr, o_ptr, length_ptr, MOST: tl.constexpr, SPLIT: tl.constexpr, D: tl.constexpr):
    """Flash decoding's second kernel: parts of a head, as many as its sequence has, are weighed and added up."""
    batch = tl.program_id(0)
    head = tl.program_id(1)
    rd = tl.arange(0, D)
    n = tl.cdiv(tl.load(length_ptr + batch), SPLIT)
    at = (batch * tl.num_programs(1) + head) * MOST
    m = float("-inf")
    l = 0.0
    acc = tl.zeros([D], tl.float32)
    for i in range(0, n):
        part = tl.load(part_ptr + (at + i) * D + rd)
        lse = tl.load(lse_ptr + at + i)
        new = tl.maximum(m, lse)
        old = tl.exp(m - new)
        own = tl.exp(lse - new)
        acc = acc * old + own * part
        l = l * old + own
        m = new
    tl.store(o_ptr + (batch * tl.num_programs(1) + head) * D + rd, (acc / l).to(tl.float16))


@triton.jit
def grouped_fp8_accumulate(a_ptr, b_ptr, as_ptr, bs_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """8 bits; a scale a group of GROUP columns of A, more than one block long: sums are scaled at the end of each group alone."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for g in range(0, tl.cdiv(K, GROUP)):
        part = tl.zeros([BM, BN], tl.float32)
        for j in tl.static_range(0, GROUP // BK):
            k = g * GROUP + j * BK + rk
            a = tl.load(a_ptr + rm[:, None] * K + k[None, :], mask=(rm[:, None] < M) & (k[None, :] < K), other=0.0)
            b = tl.load(b_ptr + rn[None, :] * K + k[:, None], mask=k[:, None] < K, other=0.0)
            part = tl.dot(a, b, part)
        sa = tl.load(as_ptr + g * M + rm, mask=rm < M, other=0.0)
        sb = tl.load(bs_ptr + g * N + rn)
        acc += part * sa[:, None] * sb[None, :]
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16), mask=rm[:, None] < M)


@triton.jit
def moe_down_scatter(x_ptr, w_ptr, ids_ptr, experts_ptr, gate_ptr, y_ptr, N, K, tokens, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """The second product of experts, weighed by the gate and added up in memory where each token is."""
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    ids = tl.load(ids_ptr + rows)
    expert = tl.load(experts_ptr + tl.program_id(0))
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    w = w_ptr + expert * N * K + rn[None, :] * K + rk[:, None]
    x = x_ptr + rows[:, None] * K + rk[None, :]
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(tl.load(x, mask=rk[None, :] < K - k, other=0.0), tl.load(w, mask=rk[:, None] < K - k, other=0.0), acc)
        x += BK
        w += BK
    gate = tl.load(gate_ptr + rows, mask=ids < tokens, other=0.0)
    tl.atomic_add(y_ptr + ids[:, None] * N + rn[None, :], acc * gate[:, None], mask=ids[:, None] < tokens)


@triton.jit
def chunk_scan(cb_ptr, x_ptr, c_ptr, states_ptr, da_ptr, dt_ptr, d_ptr, y_ptr, L, M: tl.constexpr, N: tl.constexpr, S: tl.constexpr, D: tl.constexpr):
    """Mamba 2 within a chunk: what the state before it gives, what earlier steps of it give, and the skip D."""
    chunk = tl.program_id(1)
    rm = tl.program_id(0) * M + tl.arange(0, M)
    rd = tl.arange(0, D)
    rs = tl.arange(0, S)
    da = tl.load(da_ptr + chunk * L + rm)
    c = tl.load(c_ptr + (chunk * L + rm)[:, None] * S + rs[None, :])
    state = tl.load(states_ptr + chunk * S * D + rs[:, None] * D + rd[None, :])
    acc = tl.dot(c, state) * tl.exp(da)[:, None]
    for i in range(0, (tl.program_id(0) + 1) * M, N):
        k = i + tl.arange(0, N)
        cb = tl.load(cb_ptr + (chunk * L + rm)[:, None] * L + k[None, :]).to(tl.float32)
        da_k = tl.load(da_ptr + chunk * L + k)
        dt_k = tl.load(dt_ptr + chunk * L + k)
        cb = cb * tl.exp(tl.minimum(da[:, None] - da_k[None, :], 0.0)) * dt_k[None, :]
        cb = tl.where(rm[:, None] >= k[None, :], cb, 0.0).to(tl.float16)
        x = tl.load(x_ptr + (chunk * L + k)[:, None] * D + rd[None, :])
        acc = tl.dot(cb, x, acc)
    own = tl.load(x_ptr + (chunk * L + rm)[:, None] * D + rd[None, :]).to(tl.float32)
    acc += own * tl.load(d_ptr + rd)[None, :]
    tl.store(y_ptr + (chunk * L + rm)[:, None] * D + rd[None, :], acc.to(tl.float16))


@triton.jit
def rwkv_steps(r_ptr, k_ptr, v_ptr, w_ptr, u_ptr, y_ptr, last_ptr, T, D: tl.constexpr):
    """RWKV 6, a step at a time: the state decays by a vector of data, the bonus u is of the step alone."""
    head = tl.program_id(0)
    rd = tl.arange(0, D)
    u = tl.load(u_ptr + head * D + rd)
    state = tl.zeros([D, D], tl.float32)
    for t in range(0, T):
        at = (head * T + t) * D + rd
        r = tl.load(r_ptr + at).to(tl.float32)
        k = tl.load(k_ptr + at).to(tl.float32)
        v = tl.load(v_ptr + at).to(tl.float32)
        w = tl.load(w_ptr + at)
        kv = k[:, None] * v[None, :]
        y = tl.sum((state + kv * u[:, None]) * r[:, None], 0)
        state = state * tl.exp(-tl.exp(w))[:, None] + kv
        tl.store(y_ptr + at, y.to(tl.float16))
    tl.store(last_ptr + head * D * D + rd[:, None] * D + rd[None, :], state)


@triton.jit
def alibi_window(q_ptr, k_ptr, v_ptr, slope_ptr, o_ptr, n, scale, WINDOW: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """ALiBi and a sliding window: keys are blocks from the window's begin to the diagonal."""
    head = tl.program_id(1)
    start = tl.program_id(0) * M
    rm = start + tl.arange(0, M)
    rn = tl.arange(0, N)
    rd = tl.arange(0, D)
    slope = tl.load(slope_ptr + head) * 1.44269504
    q = tl.load(q_ptr + (head * n + rm)[:, None] * D + rd[None, :], mask=rm[:, None] < n, other=0.0)
    m = tl.full([M], -1.0e30, tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    low = tl.maximum(0, (start - WINDOW + 1) // N * N)
    for i in range(low, tl.minimum(start + M, n), N):
        c = i + rn
        k = tl.load(k_ptr + (head * n + c)[None, :] * D + rd[:, None], mask=c[None, :] < n, other=0.0)
        back = rm[:, None] - c[None, :]
        s = tl.dot(q, k) * (scale * 1.44269504) - slope * back.to(tl.float32)
        s = tl.where((back >= 0) & (back < WINDOW), s, -1.0e30)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + (head * n + c)[:, None] * D + rd[None, :], mask=c[:, None] < n, other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m = new
    tl.store(o_ptr + (head * n + rm)[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16), mask=rm[:, None] < n)


@triton.jit
def dropout_residual_norm(x_ptr, r_ptr, w_ptr, y_ptr, kept_ptr, N, p, seed, eps, B: tl.constexpr):
    """Dropout, the residual and RMS norm; the mask is kept as bytes."""
    row = tl.program_id(0)
    rb = tl.arange(0, B)
    square = 0.0
    for i in range(0, N, B):
        at = row * N + i + rb
        mask = i + rb < N
        keep = tl.rand(seed, at) > p
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        x = tl.where(keep, x / (1.0 - p), 0.0) + tl.load(r_ptr + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(kept_ptr + at, keep.to(tl.int8), mask=mask)
        square += tl.sum(x * x)
    rstd = tl.rsqrt(square / N + eps)
    for i in range(0, N, B):
        at = row * N + i + rb
        mask = i + rb < N
        keep = tl.rand(seed, at) > p
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        x = tl.where(keep, x / (1.0 - p), 0.0) + tl.load(r_ptr + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(y_ptr + at, (x * rstd * tl.load(w_ptr + i + rb, mask=mask, other=0.0).to(tl.float32)).to(tl.float16), mask=mask)


@triton.jit
def int4_rows_gemm(a_ptr, w_ptr, scale_ptr, zero_ptr, c_ptr, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Two weights a byte (the low half first), joined along K; a scale and a zero a group of BK rows and a column."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    half = tl.arange(0, BK // 2)
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K // BK):
        a = tl.load(a_ptr + rm[:, None] * K + (k * BK + rk)[None, :])
        w = tl.load(w_ptr + rn[:, None] * (K // 2) + (k * BK // 2 + half)[None, :])
        low = (w & 15).to(tl.float16)
        high = ((w >> 4) & 15).to(tl.float16)
        b = tl.join(low, high).reshape(BN, BK)
        b = (b - tl.load(zero_ptr + k * N + rn)[:, None]) * tl.load(scale_ptr + k * N + rn)[:, None]
        acc = tl.dot(a, tl.trans(b), acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def softmax_columns(x_ptr, y_ptr, R, C, B: tl.constexpr, W: tl.constexpr):
    """Softmax down columns, W columns a program: rows are strided."""
    c = tl.program_id(0) * W + tl.arange(0, W)
    m = tl.full([W], -1.0e30, tl.float32)
    d = tl.zeros([W], tl.float32)
    for i in range(0, R, B):
        r = i + tl.arange(0, B)
        x = tl.load(x_ptr + r[:, None] * C + c[None, :], mask=(r[:, None] < R) & (c[None, :] < C), other=-1.0e30).to(tl.float32)
        new = tl.maximum(m, tl.max(x, 0))
        d = d * tl.exp(m - new) + tl.sum(tl.exp(x - new[None, :]), 0)
        m = new
    for i in range(0, R, B):
        r = i + tl.arange(0, B)
        mask = (r[:, None] < R) & (c[None, :] < C)
        x = tl.load(x_ptr + r[:, None] * C + c[None, :], mask=mask, other=-1.0e30).to(tl.float32)
        tl.store(y_ptr + r[:, None] * C + c[None, :], (tl.exp(x - m[None, :]) / d[None, :]).to(tl.float16), mask=mask)


@triton.jit
def thomas_forward(a_ptr, b_ptr, c_ptr, d_ptr, cp_ptr, dp_ptr, n, systems, B: tl.constexpr):
    """Tridiagonal systems, one a lane: Thomas's forward sweep, divisions on the way."""
    s = tl.program_id(0) * B + tl.arange(0, B)
    mask = s < systems
    cp = tl.zeros([B], tl.float32)
    dp = tl.zeros([B], tl.float32)
    for i in range(0, n):
        at = i * systems + s
        a = tl.load(a_ptr + at, mask=mask, other=0.0)
        b = tl.load(b_ptr + at, mask=mask, other=1.0) + 8.0
        c = tl.load(c_ptr + at, mask=mask, other=0.0)
        d = tl.load(d_ptr + at, mask=mask, other=0.0)
        w = 1.0 / (b - a * cp)
        cp = c * w
        dp = (d - a * dp) * w
        tl.store(cp_ptr + at, cp, mask=mask)
        tl.store(dp_ptr + at, dp, mask=mask)


@triton.jit
def block_mask_product(a_ptr, b_ptr, on_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A sparse product: which blocks of A are there is a table of numbers, the others are left out by a branch."""
    pid = tl.program_id(0)
    rm = pid * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    blocks = K // BK
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, blocks):
        if tl.load(on_ptr + pid * blocks + k) != 0:
            a = tl.load(a_ptr + rm[:, None] * K + (k * BK + rk)[None, :])
            b = tl.load(b_ptr + (k * BK + rk)[:, None] * N + rn[None, :])
            acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.float16))
