"""A sixth set, of kinds that the first five have none of: written at one go, as users would, before any of them was tried. 2026-11-30."""
import triton
import triton.language as tl


@triton.jit
def cross_entropy_grad(x_ptr, target_ptr, loss_ptr, V, stride, cap, B: tl.constexpr):
    """Cross entropy of capped logits; the gradient is written where the logits were, rows without a target get 0."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr += row * stride
    target = tl.load(target_ptr + row)
    rb = tl.arange(0, B)
    if target == -100:
        for i in range(0, V, B):
            tl.store(x_ptr + i + rb, tl.zeros([B], tl.float16), mask=i + rb < V)
        tl.store(loss_ptr + row, 0.0)
        return
    m = float("-inf")
    d = 0.0
    for i in range(0, V, B):
        x = tl.load(x_ptr + i + rb, mask=i + rb < V, other=float("-inf")).to(tl.float32)
        e = tl.exp(2.0 * x / cap)
        x = tl.where(i + rb < V, cap * (e - 1.0) / (e + 1.0), float("-inf"))
        new = tl.maximum(m, tl.max(x, 0))
        d = d * tl.exp(m - new) + tl.sum(tl.exp(x - new), 0)
        m = new
    lse = m + tl.log(d)
    own = tl.load(x_ptr + target).to(tl.float32)
    own_e = tl.exp(2.0 * own / cap)
    tl.store(loss_ptr + row, lse - cap * (own_e - 1.0) / (own_e + 1.0))
    for i in range(0, V, B):
        x = tl.load(x_ptr + i + rb, mask=i + rb < V, other=0.0).to(tl.float32)
        e = tl.exp(2.0 * x / cap)
        t = (e - 1.0) / (e + 1.0)
        g = tl.exp(cap * t - lse)
        g = tl.where(i + rb == target, g - 1.0, g) * (1.0 - t * t)
        tl.store(x_ptr + i + rb, g.to(tl.float16), mask=i + rb < V)


@triton.jit
def rope_inplace(q_ptr, k_ptr, cos_ptr, sin_ptr, HEADS, KV_HEADS, T, D: tl.constexpr):
    """Rotary embeddings of queries and keys in place, a token a program, a head a step; halves are rotated against each other."""
    token = tl.program_id(0)
    half = tl.arange(0, D // 2)
    position = token % T
    c = tl.load(cos_ptr + position * (D // 2) + half).to(tl.float32)
    s = tl.load(sin_ptr + position * (D // 2) + half).to(tl.float32)
    for h in range(0, HEADS):
        at = q_ptr + (token * HEADS + h) * D + half
        a = tl.load(at).to(tl.float32)
        b = tl.load(at + D // 2).to(tl.float32)
        tl.store(at, (a * c - b * s).to(tl.float16))
        tl.store(at + D // 2, (b * c + a * s).to(tl.float16))
    for h in range(0, KV_HEADS):
        at = k_ptr + (token * KV_HEADS + h) * D + half
        a = tl.load(at).to(tl.float32)
        b = tl.load(at + D // 2).to(tl.float32)
        tl.store(at, (a * c - b * s).to(tl.float16))
        tl.store(at + D // 2, (b * c + a * s).to(tl.float16))


@triton.jit
def rms_residual_fp8(x_ptr, r_ptr, w_ptr, y_ptr, s_ptr, N, eps, B: tl.constexpr):
    """The residual is added and kept, its RMS norm is put into 8 bits with a scale a token: three passes over a row."""
    row = tl.program_id(0)
    rb = tl.arange(0, B)
    square = tl.zeros([B], tl.float32)
    for i in range(0, N, B):
        c = i + rb
        r = tl.load(r_ptr + row * N + c, mask=c < N, other=0.0).to(tl.float32) + tl.load(x_ptr + row * N + c, mask=c < N, other=0.0).to(tl.float32)
        tl.store(r_ptr + row * N + c, r.to(tl.float16), mask=c < N)
        square += r * r
    rstd = 1.0 / tl.sqrt(tl.sum(square, 0) / N + eps)
    most = 0.0
    for i in range(0, N, B):
        c = i + rb
        y = tl.load(r_ptr + row * N + c, mask=c < N, other=0.0).to(tl.float32) * rstd * tl.load(w_ptr + c, mask=c < N, other=0.0).to(tl.float32)
        most = tl.maximum(most, tl.max(tl.abs(y), 0))
    scale = tl.maximum(most / 448.0, 1e-12)
    tl.store(s_ptr + row, scale)
    for i in range(0, N, B):
        c = i + rb
        y = tl.load(r_ptr + row * N + c, mask=c < N, other=0.0).to(tl.float32) * rstd * tl.load(w_ptr + c, mask=c < N, other=0.0).to(tl.float32)
        tl.store(y_ptr + row * N + c, (y / scale).to(tl.float8e4nv), mask=c < N)


@triton.jit
def moe_combine(x_ptr, place_ptr, weight_ptr, y_ptr, TOP, D: tl.constexpr):
    """Of a token the outputs of its experts, gathered from where they were sorted to, weighed and added up; -1 is none."""
    token = tl.program_id(0)
    rd = tl.arange(0, D)
    acc = tl.zeros([D], tl.float32)
    for k in range(0, TOP):
        place = tl.load(place_ptr + token * TOP + k)
        weight = tl.load(weight_ptr + token * TOP + k)
        x = tl.load(x_ptr + place * D + rd, mask=rd * 0 + place >= 0, other=0.0).to(tl.float32)  # (of a number the interpreter takes no mask)
        acc += weight * x
    tl.store(y_ptr + token * D + rd, acc.to(tl.float16))


@triton.jit
def state_passing(states_ptr, decay_ptr, first_ptr, out_ptr, last_ptr, chunks, DIM, B: tl.constexpr):
    """Mamba 2, between chunks: the state before each chunk is kept, the last one is handed on."""
    head = tl.program_id(1)
    at = tl.program_id(0) * B + tl.arange(0, B)
    mask = at < DIM
    state = tl.load(first_ptr + head * DIM + at, mask=mask, other=0.0).to(tl.float32)
    for c in range(0, chunks):
        tl.store(out_ptr + (head * chunks + c) * DIM + at, state.to(tl.float16), mask=mask)
        new = tl.load(states_ptr + (head * chunks + c) * DIM + at, mask=mask, other=0.0).to(tl.float32)
        scale = tl.exp(tl.load(decay_ptr + head * chunks + c))
        state = scale * state + new
    tl.store(last_ptr + head * DIM + at, state, mask=mask)


@triton.jit
def scan_backward(a_ptr, h_ptr, dy_ptr, dx_ptr, da_ptr, T, D, B: tl.constexpr):
    """h = a h' + x, backwards in time from the last step on: gradients of x and a."""
    d = tl.program_id(0) * B + tl.arange(0, B)
    row = tl.program_id(1)
    mask = d < D
    carried = tl.zeros([B], tl.float32)
    for i in range(0, T):
        t = T - 1 - i
        at = (row * T + t) * D + d
        g = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32) + carried
        before = tl.load(h_ptr + at - D, mask=mask & (t * D + d >= D), other=0.0).to(tl.float32)
        a = tl.load(a_ptr + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(dx_ptr + at, g.to(tl.float16), mask=mask)
        tl.store(da_ptr + at, (g * before).to(tl.float16), mask=mask)
        carried = g * a


@triton.jit
def gemm_gelu_residual(a_ptr, b_ptr, bias_ptr, r_ptr, c_ptr, pre_ptr, K, N, p, seed, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Bias, GELU by erf (what it was of is kept), dropout, residual: an epilogue of all of them."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a = a_ptr + rm[:, None] * K + rk[None, :]
    b = b_ptr + rk[:, None] * N + rn[None, :]
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        acc = tl.dot(tl.load(a, mask=rk[None, :] < K - k * BK, other=0.0), tl.load(b, mask=rk[:, None] < K - k * BK, other=0.0), acc)
        a += BK
        b += BK * N
    acc += tl.load(bias_ptr + rn).to(tl.float32)[None, :]
    at = rm[:, None] * N + rn[None, :]
    tl.store(pre_ptr + at, acc.to(tl.float16))
    acc = 0.5 * acc * (1.0 + tl.math.erf(acc * 0.70710678))
    keep = tl.rand(seed, at) > p
    acc = tl.where(keep, acc / (1.0 - p), 0.0)
    tl.store(c_ptr + at, (acc + tl.load(r_ptr + at).to(tl.float32)).to(tl.float16))


@triton.jit
def persistent_bias_relu(a_ptr, b_ptr, bias_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, SMS: tl.constexpr):
    """A persistent product: a program makes every SMS-th tile, tiles in groups of rows."""
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    rk = tl.arange(0, BK)
    for tile in range(tl.program_id(0), tiles_m * tiles_n, SMS):
        group = tile // (GROUP * tiles_n)
        first = group * GROUP
        size = tl.minimum(tiles_m - first, GROUP)
        pid_m = first + (tile % (GROUP * tiles_n)) % size
        pid_n = (tile % (GROUP * tiles_n)) // size
        rm = pid_m * BM + tl.arange(0, BM)
        rn = pid_n * BN + tl.arange(0, BN)
        acc = tl.zeros([BM, BN], tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            a = tl.load(a_ptr + rm[:, None] * K + (k * BK + rk)[None, :], mask=rm[:, None] < M, other=0.0)
            b = tl.load(b_ptr + (k * BK + rk)[:, None] * N + rn[None, :])
            acc = tl.dot(a, b, acc)
        acc = tl.maximum(acc + tl.load(bias_ptr + rn)[None, :], 0.0)
        tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.float16), mask=rm[:, None] < M)


@triton.jit
def fp8_grouped_rows(a_ptr, b_ptr, as_ptr, bs_ptr, experts_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """DeepSeek's grouped product: an expert a block of rows, scales of 1 x 128 of A and 128 x 128 of B."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    expert = tl.load(experts_ptr + pid_m * BM).to(tl.int64)
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    blocks = tl.cdiv(K, BK)
    a = a_ptr + rm[:, None] * K + rk[None, :]
    b = b_ptr + expert * N * K + rn[None, :] * K + rk[:, None]
    sa = as_ptr + rm * blocks
    sb = bs_ptr + (expert * (N // BN) + pid_n) * blocks
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, blocks):
        part = tl.dot(tl.load(a, mask=rm[:, None] < M, other=0.0), tl.load(b))
        acc += part * (tl.load(sa + k, mask=rm < M, other=0.0) * tl.load(sb + k))[:, None]
        a += BK
        b += BK
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16), mask=rm[:, None] < M)


@triton.jit
def w8a8_gemm(a_ptr, b_ptr, as_ptr, bs_ptr, bias_ptr, c_ptr, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Integers of 8 bits, sums in 32, a scale for each row and each column, a bias."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.int32)
    for k in range(0, K, BK):
        a = tl.load(a_ptr + rm[:, None] * K + (k + rk)[None, :])
        b = tl.load(b_ptr + rn[None, :] * K + (k + rk)[:, None])
        acc = tl.dot(a, b, acc)
    c = acc.to(tl.float32) * tl.load(as_ptr + rm)[:, None] * tl.load(bs_ptr + rn)[None, :] + tl.load(bias_ptr + rn).to(tl.float32)[None, :]
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], c.to(tl.float16))


@triton.jit
def padded_attention(q_ptr, k_ptr, v_ptr, mask_ptr, o_ptr, lse_ptr, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Cross attention; which keys are there is a byte each."""
    batch = tl.program_id(1)
    rm = tl.program_id(0) * M + tl.arange(0, M)
    rd = tl.arange(0, D)
    rn = tl.arange(0, N)
    q = (tl.load(q_ptr + batch * 256 * D + rm[:, None] * D + rd[None, :]) * (scale * 1.44269504)).to(tl.float16)
    m = tl.full([M], -1.0e30, tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for i in range(0, n, N):
        c = i + rn
        there = tl.load(mask_ptr + batch * n + c, mask=c < n, other=0)
        k = tl.load(k_ptr + (batch * n + c)[None, :] * D + rd[:, None], mask=c[None, :] < n, other=0.0)
        s = tl.where((there != 0)[None, :], tl.dot(q, k), -1.0e30)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.where((there != 0)[None, :], tl.math.exp2(s - new[:, None]), 0.0)
        alpha = tl.math.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + (batch * n + c)[:, None] * D + rd[None, :], mask=c[:, None] < n, other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m = new
    l = tl.maximum(l, 1.0e-30)
    tl.store(o_ptr + batch * 256 * D + rm[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16))
    tl.store(lse_ptr + batch * 256 + rm, m + tl.math.log2(l))


@triton.jit
def fused_backward(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dq_ptr, dk_ptr, dv_ptr, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Attention backwards in one loop: a block of keys a program, causal; the gradient of queries is added up in memory."""
    start = tl.program_id(0) * N
    rn = start + tl.arange(0, N)
    rd = tl.arange(0, D)
    k = tl.load(k_ptr + rn[:, None] * D + rd[None, :])
    v = tl.load(v_ptr + rn[:, None] * D + rd[None, :])
    dk = tl.zeros([N, D], tl.float32)
    dv = tl.zeros([N, D], tl.float32)
    for i in range(start // M * M, n, M):
        rm = i + tl.arange(0, M)
        q = tl.load(q_ptr + rm[:, None] * D + rd[None, :])
        do = tl.load(do_ptr + rm[:, None] * D + rd[None, :])
        lse = tl.load(lse_ptr + rm)
        delta = tl.load(delta_ptr + rm)
        p = tl.math.exp2(tl.dot(q, tl.trans(k)) * scale - lse[:, None])
        p = tl.where(rm[:, None] >= rn[None, :], p, 0.0)
        dv = tl.dot(tl.trans(p.to(tl.float16)), do, dv)
        dp = tl.dot(do, tl.trans(v))
        ds = (p * (dp - delta[:, None])).to(tl.float16)
        dk = tl.dot(tl.trans(ds), q, dk)
        tl.atomic_add(dq_ptr + rm[:, None] * D + rd[None, :], tl.dot(ds, k) * scale)
    tl.store(dk_ptr + rn[:, None] * D + rd[None, :], (dk * scale).to(tl.float16))
    tl.store(dv_ptr + rn[:, None] * D + rd[None, :], dv.to(tl.float16))


@triton.jit
def distill_kl(s_ptr, t_ptr, loss_ptr, V, warmth, B: tl.constexpr):
    """The divergence of a student from its teacher in one pass: two running maxima, two sums, a weighed sum."""
    row = tl.program_id(0)
    rb = tl.arange(0, B)
    ms = float("-inf")
    mt = float("-inf")
    ds = 0.0
    dt = 0.0
    cross = 0.0
    for i in range(0, V, B):
        mask = i + rb < V
        s = tl.load(s_ptr + row * V + i + rb, mask=mask, other=float("-inf")).to(tl.float32) / warmth
        t = tl.load(t_ptr + row * V + i + rb, mask=mask, other=float("-inf")).to(tl.float32) / warmth
        new_s = tl.maximum(ms, tl.max(s, 0))
        new_t = tl.maximum(mt, tl.max(t, 0))
        p = tl.exp(t - new_t)
        fade = tl.exp(mt - new_t)
        ds = ds * tl.exp(ms - new_s) + tl.sum(tl.exp(s - new_s), 0)
        dt = dt * fade + tl.sum(p, 0)
        cross = cross * fade + tl.sum(tl.where(mask, p * (t - s), 0.0), 0)
        ms = new_s
        mt = new_t
    tl.store(loss_ptr + row, (cross / dt + (ms + tl.log(ds)) - (mt + tl.log(dt))) * warmth * warmth)


@triton.jit
def embedding_bag(w_ptr, ids_ptr, offsets_ptr, weights_ptr, y_ptr, D: tl.constexpr, MEAN: tl.constexpr):
    """Bags of rows of a table, each row with a weight, their mean."""
    bag = tl.program_id(0)
    rd = tl.arange(0, D)
    begin = tl.load(offsets_ptr + bag)
    end = tl.load(offsets_ptr + bag + 1)
    acc = tl.zeros([D], tl.float32)
    for i in range(begin, end):
        row = tl.load(ids_ptr + i).to(tl.int64)
        acc += tl.load(w_ptr + row * D + rd).to(tl.float32) * tl.load(weights_ptr + i)
    if MEAN:
        acc = acc / tl.maximum(end - begin, 1).to(tl.float32)
    tl.store(y_ptr + bag * D + rd, acc.to(tl.float16))


@triton.jit
def gumbel_sample(logits_ptr, token_ptr, best_ptr, V, warmth, seed, B: tl.constexpr):
    """A token drawn by Gumbel's trick: the place of the largest of logits and noise."""
    row = tl.program_id(0)
    rb = tl.arange(0, B)
    best = float("-inf")
    token = 0
    for i in range(0, V, B):
        c = i + rb
        x = tl.load(logits_ptr + row * V + c, mask=c < V, other=float("-inf")).to(tl.float32)
        u = tl.rand(seed + row, c)
        x = x / warmth - tl.log(-tl.log(u + 1e-10) + 1e-10)
        x = tl.where(c < V, x, float("-inf"))
        top = tl.max(x, 0)
        at = tl.argmax(x, 0)
        token = tl.where(top > best, i + at, token)
        best = tl.maximum(best, top)
    tl.store(token_ptr + row, token)
    tl.store(best_ptr + row, best)
