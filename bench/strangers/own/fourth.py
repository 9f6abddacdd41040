"""A fourth set, of kinds that the first three have none of: written at one go, as users would, before any of them was tried."""
import triton
import triton.language as tl


@triton.jit
def differential_attention(q_ptr, k_ptr, v_ptr, o_ptr, n, mix, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Two softmaxes of two halves of a head over the same V, the second taken from the first."""
    rm = tl.program_id(0) * M + tl.arange(0, M)
    rd = tl.arange(0, D)
    rv = tl.arange(0, D)
    q1 = tl.load(q_ptr + rm[:, None] * 2 * D + rd[None, :])
    q2 = tl.load(q_ptr + rm[:, None] * 2 * D + D + rd[None, :])
    m1 = tl.full([M], -float("inf"), tl.float32)
    m2 = tl.full([M], -float("inf"), tl.float32)
    l1 = tl.zeros([M], tl.float32)
    l2 = tl.zeros([M], tl.float32)
    o1 = tl.zeros([M, D], tl.float32)
    o2 = tl.zeros([M, D], tl.float32)
    for i in range(0, n, N):
        c = i + tl.arange(0, N)
        k1 = tl.load(k_ptr + c[None, :] * 2 * D + rd[:, None])
        k2 = tl.load(k_ptr + c[None, :] * 2 * D + D + rd[:, None])
        v = tl.load(v_ptr + c[:, None] * D + rv[None, :])
        s1 = tl.dot(q1, k1) * scale
        s2 = tl.dot(q2, k2) * scale
        new1 = tl.maximum(m1, tl.max(s1, 1))
        new2 = tl.maximum(m2, tl.max(s2, 1))
        p1 = tl.math.exp2(s1 - new1[:, None])
        p2 = tl.math.exp2(s2 - new2[:, None])
        a1 = tl.math.exp2(m1 - new1)
        a2 = tl.math.exp2(m2 - new2)
        l1 = l1 * a1 + tl.sum(p1, 1)
        l2 = l2 * a2 + tl.sum(p2, 1)
        o1 = tl.dot(p1.to(tl.float16), v, o1 * a1[:, None])
        o2 = tl.dot(p2.to(tl.float16), v, o2 * a2[:, None])
        m1 = new1
        m2 = new2
    o = o1 / l1[:, None] - mix * (o2 / l2[:, None])
    tl.store(o_ptr + rm[:, None] * D + rv[None, :], o.to(tl.float16))


@triton.jit
def sigmoid_attention(q_ptr, k_ptr, v_ptr, o_ptr, n, scale, shift, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """No softmax: nothing is carried but the sum."""
    rm = tl.program_id(0) * M + tl.arange(0, M)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :])
    acc = tl.zeros([M, D], tl.float32)
    for i in range(0, n, N):
        c = i + tl.arange(0, N)
        k = tl.load(k_ptr + c[None, :] * D + rd[:, None])
        v = tl.load(v_ptr + c[:, None] * D + rd[None, :])
        s = tl.dot(q, k) * scale + shift
        p = 1 / (1 + tl.math.exp2(-s))
        acc = tl.dot(p.to(tl.float16), v, acc)
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], acc.to(tl.float16))


@triton.jit
def varlen_attention(q_ptr, k_ptr, v_ptr, starts_ptr, o_ptr, scale, H: tl.constexpr, G: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Sequences of several lengths behind one another, grouped heads, causal, (token, head, D) in memory."""
    block = tl.program_id(0)
    head = tl.program_id(1)
    seq = tl.program_id(2)
    begin = tl.load(starts_ptr + seq)
    end = tl.load(starts_ptr + seq + 1)
    length = end - begin
    if block * M >= length:
        return
    rm = block * M + tl.arange(0, M)
    rd = tl.arange(0, D)
    rn = tl.arange(0, N)
    q = tl.load(q_ptr + ((begin + rm) * H + head)[:, None] * D + rd[None, :], mask=rm[:, None] < length, other=0.0)
    k_base = k_ptr + (begin * (H // G) + head // G) * D
    v_base = v_ptr + (begin * (H // G) + head // G) * D
    m = tl.full([M], -float("inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    last = tl.minimum((block + 1) * M, length)
    for i in range(0, last, N):
        c = i + rn
        k = tl.load(k_base + (c * (H // G))[None, :] * D + rd[:, None], mask=c[None, :] < length, other=0.0)
        s = tl.dot(q, k) * scale
        s = tl.where((rm[:, None] >= c[None, :]) & (c[None, :] < length), s, -float("inf"))
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        v = tl.load(v_base + (c * (H // G))[:, None] * D + rd[None, :], mask=c[:, None] < length, other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m = new
    tl.store(o_ptr + ((begin + rm) * H + head)[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16), mask=rm[:, None] < length)


@triton.jit
def relative_attention(q_ptr, k_ptr, v_ptr, table_ptr, o_ptr, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, FAR: tl.constexpr):
    """A bias by how far two places are apart, out of a table; farther ones have that of FAR (T5)."""
    rm = tl.program_id(0) * M + tl.arange(0, M)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :])
    m = tl.full([M], -float("inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for i in range(0, n, N):
        c = i + tl.arange(0, N)
        k = tl.load(k_ptr + c[None, :] * D + rd[:, None])
        apart = tl.minimum(tl.maximum(rm[:, None] - c[None, :], -FAR), FAR) + FAR
        bias = tl.load(table_ptr + apart)
        s = tl.dot(q, k) * scale + bias
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + c[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m = new
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16))


@triton.jit
def cosine_attention(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, n, tau, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Keys are made of length 1 in the loop; scores are bounded, so that no maximum is carried."""
    rm = tl.program_id(0) * M + tl.arange(0, M)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :]).to(tl.float32)
    q = (q * tl.rsqrt(tl.sum(q * q, 1) + 1e-6)[:, None]).to(tl.float16)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for i in range(0, n, N):
        c = i + tl.arange(0, N)
        k = tl.load(k_ptr + c[:, None] * D + rd[None, :])
        v = tl.load(v_ptr + c[:, None] * D + rd[None, :])
        wide = k.to(tl.float32)
        length = tl.rsqrt(tl.sum(wide * wide, 1) + 1e-6)
        s = tl.dot(q, tl.trans(k)) * (length * tau)[None, :]
        p = tl.exp(s - tau)
        l += tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v, acc)
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16))
    tl.store(lse_ptr + rm, tau + tl.log(l))


@triton.jit
def latent_decode(q_ptr, rope_ptr, kv_ptr, pages_ptr, o_ptr, lse_ptr, length, scale, H: tl.constexpr, N: tl.constexpr, D: tl.constexpr, R: tl.constexpr, PAGE: tl.constexpr):
    """Heads share one latent row that is key and value at once, and R numbers with places; pages of 64."""
    rh = tl.arange(0, H)
    rd = tl.arange(0, D)
    rr = tl.arange(0, R)
    rn = tl.arange(0, N)
    row = tl.program_id(0)
    q = tl.load(q_ptr + (row * H + rh)[:, None] * D + rd[None, :])
    qr = tl.load(rope_ptr + (row * H + rh)[:, None] * R + rr[None, :])
    m = tl.full([H], -float("inf"), tl.float32)
    l = tl.zeros([H], tl.float32)
    acc = tl.zeros([H, D], tl.float32)
    for i in range(0, length, N):
        c = i + rn
        page = tl.load(pages_ptr + c // PAGE, mask=c < length, other=0)
        at = page * PAGE + c % PAGE
        kv = tl.load(kv_ptr + at[:, None] * (D + R) + rd[None, :], mask=c[:, None] < length, other=0.0)
        kr = tl.load(kv_ptr + at[:, None] * (D + R) + D + rr[None, :], mask=c[:, None] < length, other=0.0)
        s = tl.dot(q, tl.trans(kv))
        s = tl.dot(qr, tl.trans(kr), s) * scale
        s = tl.where(c[None, :] < length, s, -float("inf"))
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), kv, acc * alpha[:, None])
        m = new
    tl.store(o_ptr + (row * H + rh)[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16))
    tl.store(lse_ptr + row * H + rh, m + tl.math.log2(l))


@triton.jit
def indexer(q_ptr, k_ptr, w_ptr, s_ptr, n, H: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Scores that choose which keys attention looks at: heads' rectified products, weighted and added, stored block by block."""
    rm = tl.program_id(0) * M + tl.arange(0, M)
    rd = tl.arange(0, D)
    c = tl.program_id(1) * N + tl.arange(0, N)
    k = tl.load(k_ptr + c[None, :] * D + rd[:, None])
    acc = tl.zeros([M, N], tl.float32)
    for h in range(0, H):
        q = tl.load(q_ptr + (rm * H + h)[:, None] * D + rd[None, :])
        w = tl.load(w_ptr + rm * H + h)
        acc += tl.maximum(tl.dot(q, k), 0.0) * w[:, None]
    tl.store(s_ptr + rm[:, None] * n + c[None, :], acc)


@triton.jit
def gqa_dkv(q_ptr, k_ptr, v_ptr, do_ptr, lse_ptr, delta_ptr, dk_ptr, dv_ptr, n, scale, G: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """dK and dV of one block of keys, over the rows of all heads that share them."""
    c = tl.program_id(0) * N + tl.arange(0, N)
    rd = tl.arange(0, D)
    k = tl.load(k_ptr + c[:, None] * D + rd[None, :])
    v = tl.load(v_ptr + c[:, None] * D + rd[None, :])
    dk = tl.zeros([N, D], tl.float32)
    dv = tl.zeros([N, D], tl.float32)
    for g in range(0, G):
        base = g * n
        for i in range(0, n, M):
            r = base + i + tl.arange(0, M)
            q = tl.load(q_ptr + r[:, None] * D + rd[None, :])
            do = tl.load(do_ptr + r[:, None] * D + rd[None, :])
            lse = tl.load(lse_ptr + r)
            delta = tl.load(delta_ptr + r)
            pt = tl.math.exp2(tl.dot(k, tl.trans(q)) * scale - lse[None, :])
            dv = tl.dot(pt.to(tl.float16), do, dv)
            dpt = tl.dot(v, tl.trans(do))
            dst = pt * (dpt - delta[None, :])
            dk = tl.dot(dst.to(tl.float16), q, dk)
    tl.store(dk_ptr + c[:, None] * D + rd[None, :], (dk * scale).to(tl.float16))
    tl.store(dv_ptr + c[:, None] * D + rd[None, :], dv.to(tl.float16))


@triton.jit
def wkv_heads(r_ptr, k_ptr, v_ptr, w_ptr, u_ptr, y_ptr, T, D: tl.constexpr):
    """A state of D x D that decays by row, a step at a time (RWKV-6)."""
    rd = tl.arange(0, D)
    base = tl.program_id(0) * T * D
    u = tl.load(u_ptr + rd).to(tl.float32)
    state = tl.zeros([D, D], tl.float32)
    for t in range(0, T):
        r = tl.load(r_ptr + base + t * D + rd).to(tl.float32)
        k = tl.load(k_ptr + base + t * D + rd).to(tl.float32)
        v = tl.load(v_ptr + base + t * D + rd).to(tl.float32)
        w = tl.load(w_ptr + base + t * D + rd).to(tl.float32)
        kv = k[:, None] * v[None, :]
        y = tl.sum((state + u[:, None] * kv) * r[:, None], 0)
        state = state * w[:, None] + kv
        tl.store(y_ptr + base + t * D + rd, y.to(tl.float16))


@triton.jit
def gru_cells(x_ptr, u_ptr, h_ptr, T, B: tl.constexpr, D: tl.constexpr):
    """A recurrent net: the state of the step before times a matrix that stays."""
    rb = tl.program_id(0) * B + tl.arange(0, B)
    rd = tl.arange(0, D)
    u = tl.load(u_ptr + rd[:, None] * D + rd[None, :])
    h = tl.zeros([B, D], tl.float32)
    for t in range(0, T):
        x = tl.load(x_ptr + t * 256 * D + rb[:, None] * D + rd[None, :]).to(tl.float32)
        z = tl.dot(h.to(tl.float16), u) + x
        gate = tl.sigmoid(z)
        h = gate * h + (1 - gate) * (2 * tl.sigmoid(2 * z) - 1)
    tl.store(h_ptr + rb[:, None] * D + rd[None, :], h)


@triton.jit
def batched_gemm(a_ptr, b_ptr, c_ptr, K, lda, ldb, ldc, sa, sb, sc, alpha, beta, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """C = alpha A B + beta C, each of a batch with strides of its own."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    batch = tl.program_id(2)
    a = a_ptr + batch * sa + rm[:, None] * lda + rk[None, :]
    b = b_ptr + batch * sb + rk[:, None] * ldb + rn[None, :]
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, K, BK):
        left = K - i
        acc = tl.dot(tl.load(a, mask=rk[None, :] < left, other=0.0), tl.load(b, mask=rk[:, None] < left, other=0.0), acc)
        a += BK
        b += BK * ldb
    c = c_ptr + batch * sc + rm[:, None] * ldc + rn[None, :]
    old = tl.load(c).to(tl.float32)
    tl.store(c, (alpha * acc + beta * old).to(tl.float16))


@triton.jit
def divergence(p_ptr, q_ptr, loss_ptr, V, beta, B: tl.constexpr):
    """Of two rows of log-probabilities the generalised Jensen-Shannon divergence (distillation)."""
    row = tl.program_id(0)
    total = tl.zeros([B], tl.float32)
    for i in range(0, V, B):
        c = i + tl.arange(0, B)
        p = tl.load(p_ptr + row * V + c, mask=c < V, other=-float("inf")).to(tl.float32)
        q = tl.load(q_ptr + row * V + c, mask=c < V, other=-float("inf")).to(tl.float32)
        ep = tl.exp(p)
        eq = tl.exp(q)
        mixed = beta * ep + (1 - beta) * eq
        lm = tl.log(mixed)
        term = beta * ep * (p - lm) + (1 - beta) * eq * (q - lm)
        total += tl.where(c < V, term, 0.0)
    tl.store(loss_ptr + row, tl.sum(total, 0))


@triton.jit
def distances_l1(x_ptr, y_ptr, d_ptr, K, NY, M: tl.constexpr, N: tl.constexpr, C: tl.constexpr):
    """Sums of absolute differences: no product, a tile of three dimensions."""
    rm = tl.program_id(0) * M + tl.arange(0, M)
    rn = tl.program_id(1) * N + tl.arange(0, N)
    rc = tl.arange(0, C)
    acc = tl.zeros([M, N], tl.float32)
    for i in range(0, K, C):
        x = tl.load(x_ptr + rm[:, None] * K + (i + rc)[None, :]).to(tl.float32)
        y = tl.load(y_ptr + rn[:, None] * K + (i + rc)[None, :]).to(tl.float32)
        acc += tl.sum(tl.abs(x[:, None, :] - y[None, :, :]), 2)
    tl.store(d_ptr + rm[:, None] * NY + rn[None, :], acc)


@triton.jit
def fp8_rows_gemm(x_ptr, w_ptr, ws_ptr, y_ptr, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Activations made 8 bits wide block by block, each row with its own scale, times weights of 8 bits."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, K, BK):
        x = tl.load(x_ptr + rm[:, None] * K + (i + rk)[None, :]).to(tl.float32)
        w = tl.load(w_ptr + rn[None, :] * K + (i + rk)[:, None])
        top = tl.max(tl.abs(x), 1) + 1e-6
        q = (x * (448.0 / top)[:, None]).to(tl.float8e4nv)
        acc += tl.dot(q, w) * (top / 448.0)[:, None]
    s = tl.load(ws_ptr + rn)
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], (acc * s[None, :]).to(tl.float16))


@triton.jit
def extend_attention(q_ptr, k_ptr, v_ptr, cache_k_ptr, cache_v_ptr, at_ptr, o_ptr, prefix, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """New tokens look at a cached prefix by its places, then at themselves, causal."""
    block = tl.program_id(0)
    rm = block * M + tl.arange(0, M)
    rd = tl.arange(0, D)
    rn = tl.arange(0, N)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :], mask=rm[:, None] < n, other=0.0)
    m = tl.full([M], -float("inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for i in range(0, prefix, N):
        c = i + rn
        at = tl.load(at_ptr + c, mask=c < prefix, other=0)
        k = tl.load(cache_k_ptr + at[None, :] * D + rd[:, None], mask=c[None, :] < prefix, other=0.0)
        s = tl.dot(q, k) * scale
        s = tl.where(c[None, :] < prefix, s, -float("inf"))
        new = tl.maximum(m, tl.max(s, 1))
        alpha = tl.math.exp2(m - new)
        p = tl.math.exp2(s - new[:, None])
        v = tl.load(cache_v_ptr + at[:, None] * D + rd[None, :], mask=c[:, None] < prefix, other=0.0)
        l = l * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m = new
    for i in range(0, tl.minimum((block + 1) * M, n), N):
        c = i + rn
        k = tl.load(k_ptr + c[None, :] * D + rd[:, None], mask=c[None, :] < n, other=0.0)
        s = tl.dot(q, k) * scale
        s = tl.where((rm[:, None] >= c[None, :]) & (c[None, :] < n), s, -float("inf"))
        new = tl.maximum(m, tl.max(s, 1))
        alpha = tl.math.exp2(m - new)
        p = tl.math.exp2(s - new[:, None])
        v = tl.load(v_ptr + c[:, None] * D + rd[None, :], mask=c[:, None] < n, other=0.0)
        l = l * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m = new
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16), mask=rm[:, None] < n)
