"""A second set of kernels, written at one go as their users write them, without a look at what Twill can. 2026-11-28."""
import triton
import triton.language as tl


@triton.jit
def paged_gqa(q_ptr, k_ptr, v_ptr, table_ptr, lengths_ptr, o_ptr, scale, HEADS: tl.constexpr, GROUP: tl.constexpr, PADDED: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr,
              MOST: tl.constexpr):
    """Decoding over a cache in pages; fewer queries share a head than a product has rows."""
    request = tl.program_id(0)
    head = tl.program_id(1)
    length = tl.load(lengths_ptr + request)
    g = tl.arange(0, PADDED)
    d = tl.arange(0, D)
    t = tl.arange(0, PAGE)
    place = (request * HEADS * GROUP + head * GROUP + g)[:, None] * D + d[None, :]
    q = tl.load(q_ptr + place, mask=g[:, None] < GROUP, other=0.0)
    m = tl.full([PADDED], float("-inf"), tl.float32)
    l = tl.zeros([PADDED], tl.float32)
    acc = tl.zeros([PADDED, D], tl.float32)
    for start in range(0, length, PAGE):
        page = tl.load(table_ptr + request * MOST + start // PAGE).to(tl.int64)
        base = page * PAGE * HEADS * D + head * D
        inside = start + t < length
        k = tl.load(k_ptr + base + t[:, None] * HEADS * D + d[None, :], mask=inside[:, None], other=0.0)
        v = tl.load(v_ptr + base + t[:, None] * HEADS * D + d[None, :], mask=inside[:, None], other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        s = tl.where(inside[None, :], s, float("-inf"))
        new = tl.maximum(m, tl.max(s, 1))
        a = tl.exp(m - new)
        p = tl.exp(s - new[:, None])
        l = l * a + tl.sum(p, 1)
        acc = acc * a[:, None] + tl.dot(p.to(v.dtype), v)
        m = new
    acc = acc / l[:, None]
    tl.store(o_ptr + place, acc.to(o_ptr.dtype.element_ty), mask=g[:, None] < GROUP)


@triton.jit
def fp8_gemm_scaled(a_ptr, b_ptr, c_ptr, a_scale_ptr, b_scale_ptr, bias_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    """A scale for each row of A and each column of B, applied behind the loop."""
    pid = tl.program_id(0)
    across = tl.cdiv(N, BN)
    down = tl.cdiv(M, BM)
    width = GROUP * across
    first = pid // width * GROUP
    size = tl.minimum(down - first, GROUP)
    pid_m = first + (pid % width) % size
    pid_n = (pid % width) // size
    rm = pid_m * BM + tl.arange(0, BM)
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a = a_ptr + (rm % M)[:, None] * K + rk[None, :]
    b = b_ptr + (rn % N)[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(b, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        a += BK
        b += BK
    sa = tl.load(a_scale_ptr + rm, mask=rm < M, other=0.0)
    sb = tl.load(b_scale_ptr + rn, mask=rn < N, other=0.0)
    bias = tl.load(bias_ptr + rn, mask=rn < N, other=0.0).to(tl.float32)
    acc = acc * sa[:, None] * sb[None, :] + bias[None, :]
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.bfloat16), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def fused_cross_entropy(logits_ptr, label_ptr, loss_ptr, V, scale, smoothing, B: tl.constexpr):
    """The loss of a row and, in place, the gradient of its logits."""
    row = tl.program_id(0).to(tl.int64)
    x_ptr = logits_ptr + row * V
    label = tl.load(label_ptr + row)
    picked = tl.load(x_ptr + label).to(tl.float32)
    m = float("-inf")
    d = 0.0
    total = 0.0
    eps = smoothing / V
    for i in range(0, V, B):
        c = i + tl.arange(0, B)
        x = tl.load(x_ptr + c, mask=c < V, other=float("-inf")).to(tl.float32)
        total += tl.sum(tl.where(c < V, -eps * x, 0.0))
        new = tl.maximum(m, tl.max(x))
        d = d * tl.exp(m - new) + tl.sum(tl.exp(x - new))
        m = new
    lse = m + tl.log(d)
    for i in range(0, V, B):
        c = i + tl.arange(0, B)
        x = tl.load(x_ptr + c, mask=c < V, other=float("-inf")).to(tl.float32)
        g = tl.exp(x - m) / d - eps
        g = tl.where(c == label, g - (1.0 - smoothing), g)
        tl.store(x_ptr + c, (g * scale).to(tl.float16), mask=c < V)
    loss = (lse - picked) * (1.0 - smoothing) + total + smoothing * lse
    tl.store(loss_ptr + row, loss * scale)


@triton.jit
def softmax_long(x_ptr, y_ptr, N, stride, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    m = tl.full([B], float("-inf"), tl.float32)
    l = tl.zeros([B], tl.float32)
    for start in range(0, N, B):
        x = tl.load(x_ptr + row * stride + start + c, mask=start + c < N, other=float("-inf")).to(tl.float32)
        new = tl.maximum(m, x)
        safe = tl.where(new == float("-inf"), 0.0, new)
        l = l * tl.exp(m - safe) + tl.exp(x - safe)
        m = new
    top = tl.max(m, 0)
    total = tl.sum(l * tl.exp(m - top), 0)
    for start in range(0, N, B):
        x = tl.load(x_ptr + row * stride + start + c, mask=start + c < N, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + row * stride + start + c, (tl.exp(x - top) / total).to(tl.float16), mask=start + c < N)


@triton.jit
def rms_gemm(x_ptr, g_ptr, w_ptr, y_ptr, K, N, eps, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    square = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, K, BK):
        x = tl.load(x_ptr + rm[:, None] * K + (k + rk)[None, :])
        g = tl.load(g_ptr + k + rk)
        w = tl.load(w_ptr + (k + rk)[:, None] * N + rn[None, :])
        f = x.to(tl.float32)
        square += tl.sum(f * f, 1)
        acc = tl.dot((f * g.to(tl.float32)[None, :]).to(tl.float16), w, acc)
    acc = acc * tl.rsqrt(square / K + eps)[:, None]
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def window_sinks(q_ptr, k_ptr, v_ptr, sink_ptr, o_ptr, n, scale, WINDOW: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    start = tl.program_id(0) * BM
    head = tl.program_id(1)
    rows = start + tl.arange(0, BM)
    d = tl.arange(0, D)
    base = head * n * D
    q = tl.load(q_ptr + base + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
    sink = tl.load(sink_ptr + head).to(tl.float32)
    m = tl.zeros([BM], tl.float32) + sink
    l = tl.full([BM], 1.0, tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    low = tl.maximum(0, start - WINDOW) // BN * BN
    high = tl.minimum(n, start + BM)
    for j in range(low, high, BN):
        c = j + tl.arange(0, BN)
        k = tl.load(k_ptr + base + c[None, :] * D + d[:, None], mask=c[None, :] < n, other=0.0)
        s = tl.dot(q, k) * scale
        keep = (c[None, :] <= rows[:, None]) & (rows[:, None] - c[None, :] < WINDOW)
        s = tl.where(keep, s, -1.0e6)
        new = tl.maximum(m, tl.max(s, 1))
        a = tl.math.exp2((m - new) * 1.44269504)
        p = tl.math.exp2((s - new[:, None]) * 1.44269504)
        v = tl.load(v_ptr + base + c[:, None] * D + d[None, :], mask=c[:, None] < n, other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * a[:, None])
        l = l * a + tl.sum(p, 1)
        m = new
    tl.store(o_ptr + base + rows[:, None] * D + d[None, :], (acc / l[:, None]).to(tl.float16), mask=rows[:, None] < n)


@triton.jit
def decay_attention(q_ptr, k_ptr, v_ptr, rate_ptr, o_ptr, n, H: tl.constexpr, C: tl.constexpr, D: tl.constexpr):
    """Linear attention whose state fades by a rate of the head, chunk by chunk."""
    head = tl.program_id(0)
    rate = tl.load(rate_ptr + head)
    t = tl.arange(0, C)
    d = tl.arange(0, D)
    age = t[:, None] - t[None, :]
    fade = tl.where(age >= 0, tl.exp(-rate * age), 0.0)
    into = tl.exp(-rate * (t + 1))
    out = tl.exp(-rate * (C - 1 - t))
    whole = tl.exp(-rate * C)
    state = tl.zeros([D, D], tl.float32)
    for start in range(0, n, C):
        at = ((start + t) * H + head)[:, None] * D + d[None, :]
        q = tl.load(q_ptr + at)
        k = tl.load(k_ptr + at)
        v = tl.load(v_ptr + at)
        s = tl.dot(q, tl.trans(k)) * fade
        o = tl.dot(s.to(tl.float16), v)
        o += tl.dot((q * into[:, None]).to(tl.float16), state.to(tl.float16))
        tl.store(o_ptr + at, o.to(tl.float16))
        state = state * whole + tl.dot(tl.trans((k * out[:, None]).to(tl.float16)), v)


@triton.jit
def moe_gemm(a_ptr, b_ptr, c_ptr, weight_ptr, ids_ptr, experts_ptr, padded_ptr, N, K, tokens, TOP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A tile of sorted tokens times the weights of its expert."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    if pid_m * BM >= tl.load(padded_ptr):
        return
    at = tl.load(ids_ptr + pid_m * BM + tl.arange(0, BM))
    valid = at < tokens
    expert = tl.load(experts_ptr + pid_m)
    rn = (pid_n * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    a = a_ptr + (at[:, None] // TOP * K + rk[None, :])
    b = b_ptr + expert * N * K + (rn[None, :] * K + rk[:, None])
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a, mask=valid[:, None] & (rk[None, :] < K - k * BK), other=0.0)
        y = tl.load(b, mask=rk[:, None] < K - k * BK, other=0.0)
        acc += tl.dot(x, y)
        a += BK
        b += BK
    weight = tl.load(weight_ptr + at, mask=valid, other=0.0)
    acc = acc * weight[:, None]
    cn = pid_n * BN + tl.arange(0, BN)
    tl.store(c_ptr + at[:, None] * N + cn[None, :], acc.to(tl.float16), mask=valid[:, None] & (cn[None, :] < N))


@triton.jit
def awq_gemm(a_ptr, b_ptr, scale_ptr, zero_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Four bits a weight, eight of them in a word along K; a scale and a zero for each group of BK rows."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    shift = (rk % 8) * 4
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, K // BK):
        a = tl.load(a_ptr + rm[:, None] * K + (i * BK + rk)[None, :])
        word = tl.load(b_ptr + ((i * BK + rk) // 8)[:, None] * N + rn[None, :])
        s = tl.load(scale_ptr + i * N + rn)
        z = tl.load(zero_ptr + i * N + rn)
        w = ((word >> shift[:, None]) & 0xF).to(tl.float16)
        w = (w - z[None, :]) * s[None, :]
        acc = tl.dot(a, w, acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def attention_bias_dropout(q_ptr, k_ptr, v_ptr, bias_ptr, o_ptr, n, scale, p_drop, seed, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    head = tl.program_id(1)
    d = tl.arange(0, D)
    q_ptr += head * n * D
    k_ptr += head * n * D
    v_ptr += head * n * D
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :], mask=rows[:, None] < n, other=0.0)
    m = tl.full([BM], -1.0e9, tl.float32)
    l = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for j in range(0, n, BN):
        c = j + tl.arange(0, BN)
        k = tl.load(k_ptr + c[:, None] * D + d[None, :], mask=c[:, None] < n, other=0.0)
        at = rows[:, None] * n + c[None, :]
        b = tl.load(bias_ptr + at, mask=(rows[:, None] < n) & (c[None, :] < n), other=0.0).to(tl.float32)
        s = tl.dot(q, tl.trans(k)) * scale + b
        s = tl.where(c[None, :] < n, s, -1.0e9)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        a = tl.exp(m - new)
        l = l * a + tl.sum(p, 1)
        keep = tl.rand(seed, head * n * n + at) > p_drop
        p = tl.where(keep, p / (1 - p_drop), 0.0)
        v = tl.load(v_ptr + c[:, None] * D + d[None, :], mask=c[:, None] < n, other=0.0)
        acc = acc * a[:, None] + tl.dot(p.to(tl.float16), v)
        m = new
    o_ptr += head * n * D
    tl.store(o_ptr + rows[:, None] * D + d[None, :], (acc / l[:, None]).to(tl.float16), mask=rows[:, None] < n)


@triton.jit
def quantise_groups(x_ptr, q_ptr, scale_ptr, N, ROWS: tl.constexpr, G: tl.constexpr):
    """SwiGLU of two halves and, a group of columns each step, its numbers in 8 bits with a scale."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    g = tl.arange(0, G)
    for i in range(0, N // G):
        at = rows[:, None] * (2 * N) + (i * G + g)[None, :]
        one = tl.load(x_ptr + at).to(tl.float32)
        two = tl.load(x_ptr + at + N).to(tl.float32)
        y = one * tl.sigmoid(one) * two
        s = tl.maximum(tl.max(tl.abs(y), 1), 1e-10) / 127.0
        q = (y / s[:, None]).to(tl.int8)
        tl.store(q_ptr + rows[:, None] * N + (i * G + g)[None, :], q)
        tl.store(scale_ptr + rows * (N // G) + i, s)


@triton.jit
def norm_backward(dy_ptr, x_ptr, w_ptr, mean_ptr, rstd_ptr, dw_ptr, db_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """Gradients of a norm's weights: sums of columns over all rows."""
    cols = tl.program_id(0) * BN + tl.arange(0, BN)
    dw = tl.zeros((BM, BN), dtype=tl.float32)
    db = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, M, BM):
        rows = i + tl.arange(0, BM)
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        at = rows[:, None] * N + cols[None, :]
        dy = tl.load(dy_ptr + at, mask=mask, other=0.0).to(tl.float32)
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + rows, mask=rows < M, other=0.0)
        rstd = tl.load(rstd_ptr + rows, mask=rows < M, other=0.0)
        dw += dy * (x - mean[:, None]) * rstd[:, None]
        db += dy
    tl.store(dw_ptr + cols, tl.sum(dw, axis=0), mask=cols < N)
    tl.store(db_ptr + cols, tl.sum(db, axis=0), mask=cols < N)
