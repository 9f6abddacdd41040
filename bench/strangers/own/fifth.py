"""A fifth set, of kinds that the first four have none of: written at one go, as users would, before any of them was tried. 2026-11-30."""
import triton
import triton.language as tl


@triton.jit
def split_paged(q_ptr, k_ptr, v_ptr, table_ptr, lengths_ptr, o_ptr, lse_ptr, scale, width, H: tl.constexpr, G: tl.constexpr, PAGE: tl.constexpr,
                SPLIT: tl.constexpr, D: tl.constexpr, X: tl.constexpr):
    """Decoding over pages, a part of the sequence a program: keys lie in pages as (head, D/X, PAGE, X), values as (head, D, PAGE)."""
    seq = tl.program_id(0)
    head = tl.program_id(1)
    part = tl.program_id(2)
    length = tl.load(lengths_ptr + seq)
    begin = part * SPLIT
    if begin >= length:
        return
    end = tl.minimum(begin + SPLIT, length)
    rg = tl.arange(0, G)
    rd = tl.arange(0, D)
    rp = tl.arange(0, PAGE)
    q = tl.load(q_ptr + ((seq * H + head) * G + rg)[:, None] * D + rd[None, :])
    m = tl.full([G], -float("inf"), tl.float32)
    l = tl.zeros([G], tl.float32)
    acc = tl.zeros([G, D], tl.float32)
    for page in range(begin // PAGE, tl.cdiv(end, PAGE)):
        block = tl.load(table_ptr + seq * width + page)
        k_at = (block * H + head) * D * PAGE + (rd[:, None] // X) * PAGE * X + rp[None, :] * X + rd[:, None] % X
        v_at = (block * H + head) * D * PAGE + rd[None, :] * PAGE + rp[:, None]
        k = tl.load(k_ptr + k_at)
        v = tl.load(v_ptr + v_at)
        c = page * PAGE + rp
        s = tl.dot(q, k) * scale
        s = tl.where(c[None, :] < end, s, -float("inf"))
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        alpha = tl.exp(m - new)
        l = l * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m = new
    out = ((seq * H + head) * tl.num_programs(2) + part) * G + rg
    tl.store(o_ptr + out[:, None] * D + rd[None, :], acc / l[:, None])
    tl.store(lse_ptr + out, m + tl.log(l))


@triton.jit
def fp8_descaled(q_ptr, k_ptr, vt_ptr, qs_ptr, ks_ptr, vs_ptr, o_ptr, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Attention in 8 bits, a scale a head for each of Q, K and V; values lie with tokens along the row."""
    head = tl.program_id(1)
    rm = tl.program_id(0) * M + tl.arange(0, M)
    rd = tl.arange(0, D)
    rn = tl.arange(0, N)
    base = head * n * D
    q = tl.load(q_ptr + base + rm[:, None] * D + rd[None, :], mask=rm[:, None] < n, other=0.0)
    qk_scale = tl.load(qs_ptr + head) * tl.load(ks_ptr + head) * scale * 1.44269504
    m = tl.full([M], -float("inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for i in range(0, n, N):
        c = i + rn
        k = tl.load(k_ptr + base + c[None, :] * D + rd[:, None])
        v = tl.load(vt_ptr + base + rd[None, :] * n + c[:, None])
        s = tl.dot(q, k) * qk_scale
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None] + tl.dot((p * 448.0).to(tl.float8e4nv), v)
        m = new
    acc = acc / l[:, None] * (tl.load(vs_ptr + head) / 448.0)
    tl.store(o_ptr + base + rm[:, None] * D + rd[None, :], acc.to(tl.float16), mask=rm[:, None] < n)


@triton.jit
def moe_gate_up(x_ptr, w_ptr, y_ptr, ids_ptr, experts_ptr, padded_ptr, tokens, INNER, K, TOP: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                BK: tl.constexpr):
    """Sorted tokens times gate and up weights of their expert, SwiGLU of both; blocks without an expert are set to 0."""
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    if pid_m * BM >= tl.load(padded_ptr):
        return
    row = tl.load(ids_ptr + pid_m * BM + tl.arange(0, BM))
    mask = row < tokens
    rn = pid_n * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    expert = tl.load(experts_ptr + pid_m).to(tl.int64)
    y = y_ptr + row[:, None] * INNER + rn[None, :]
    if expert == -1:
        tl.store(y, tl.zeros([BM, BN], tl.float16), mask=mask[:, None])
        return
    x = x_ptr + (row[:, None] // TOP) * K + rk[None, :]
    gate = w_ptr + expert * 2 * INNER * K + rn[None, :] * K + rk[:, None]
    up = gate + INNER * K
    g = tl.zeros([BM, BN], tl.float32)
    u = tl.zeros([BM, BN], tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        a = tl.load(x, mask=mask[:, None] & (rk[None, :] < K - k * BK), other=0.0)
        g = tl.dot(a, tl.load(gate, mask=rk[:, None] < K - k * BK, other=0.0), g)
        u = tl.dot(a, tl.load(up, mask=rk[:, None] < K - k * BK, other=0.0), u)
        x += BK
        gate += BK
        up += BK
    tl.store(y, (g * tl.sigmoid(g) * u).to(tl.float16), mask=mask[:, None])


@triton.jit
def gptq_gemm(a_ptr, w_ptr, scales_ptr, zeros_ptr, group_ptr, c_ptr, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Four bits a weight, eight along K in a word; the group of each row of weights is loaded, its zeros lie eight in a word along N."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    shift = (rk % 8) * 4
    zero_shift = (rn % 8) * 4
    acc = tl.zeros([BM, BN], tl.float32)
    for i in range(0, K, BK):
        k = i + rk
        group = tl.load(group_ptr + k)
        a = tl.load(a_ptr + rm[:, None] * K + k[None, :])
        w = tl.load(w_ptr + (k // 8)[:, None] * N + rn[None, :])
        s = tl.load(scales_ptr + group[:, None] * N + rn[None, :])
        z = tl.load(zeros_ptr + group[:, None] * (N // 8) + (rn // 8)[None, :])
        z = ((z >> zero_shift[None, :]) & 15) + 1
        b = ((w >> shift[:, None]) & 15) - z
        acc = tl.dot(a, b.to(tl.float16) * s, acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def hstu_attention(q_ptr, k_ptr, v_ptr, offsets_ptr, targets_ptr, o_ptr, alpha, longest, H: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Jagged sequences of a recommender: silu of scores over the longest length, causal, targets see none of each other."""
    head = tl.program_id(1)
    seq = tl.program_id(2)
    begin = tl.load(offsets_ptr + seq)
    length = tl.load(offsets_ptr + seq + 1) - begin
    start = tl.program_id(0) * M
    if start >= length:
        return
    history = length - tl.load(targets_ptr + seq)
    rm = start + tl.arange(0, M)
    rd = tl.arange(0, D)
    rn = tl.arange(0, N)
    q = tl.load(q_ptr + (begin + rm)[:, None] * H * D + head * D + rd[None, :], mask=rm[:, None] < length, other=0.0)
    row = tl.where(rm < history, rm, history)
    acc = tl.zeros([M, D], tl.float32)
    for i in range(0, tl.minimum(start + M, length), N):
        c = i + rn
        k = tl.load(k_ptr + (begin + c)[None, :] * H * D + head * D + rd[:, None], mask=c[None, :] < length, other=0.0)
        s = tl.dot(q, k) * alpha
        col = tl.where(c < history, c, history)
        seen = (rm[:, None] == c[None, :]) | (row[:, None] > col[None, :])
        p = s / (1.0 + tl.exp(-s)) * (1.0 / longest)
        p = tl.where(seen, p, 0.0)
        v = tl.load(v_ptr + (begin + c)[:, None] * H * D + head * D + rd[None, :], mask=c[:, None] < length, other=0.0)
        acc += tl.dot(p.to(tl.float16), v)
    tl.store(o_ptr + (begin + rm)[:, None] * H * D + head * D + rd[None, :], acc.to(tl.float16), mask=rm[:, None] < length)


@triton.jit
def ring_merge(o_ptr, lse_ptr, new_ptr, new_lse_ptr, T, H: tl.constexpr, D: tl.constexpr):
    """After a step of ring attention: the output so far and the new part, weighed by their sums, in place, a token a step."""
    rh = tl.arange(0, H)
    rd = tl.arange(0, D)
    base = tl.program_id(0) * T
    for t in range(0, T):
        at = (base + t) * H + rh
        lse = tl.load(lse_ptr + at)
        new_lse = tl.load(new_lse_ptr + at)
        o = tl.load(o_ptr + at[:, None] * D + rd[None, :])
        part = tl.load(new_ptr + at[:, None] * D + rd[None, :]).to(tl.float32)
        top = tl.maximum(lse, new_lse)
        a = tl.exp(lse - top)
        b = tl.exp(new_lse - top)
        total = a + b
        tl.store(o_ptr + at[:, None] * D + rd[None, :], o * (a / total)[:, None] + part * (b / total)[:, None])
        tl.store(lse_ptr + at, top + tl.log(total))


@triton.jit
def gated_delta_states(k_ptr, w_ptr, u_ptr, g_ptr, new_ptr, h_ptr, T, C: tl.constexpr, D: tl.constexpr, V: tl.constexpr):
    """States of the gated delta rule, chunk by chunk: the state is stored, then new values are made of it, then it goes on."""
    row = tl.program_id(0)
    rc = tl.arange(0, C)
    rd = tl.arange(0, D)
    rv = tl.arange(0, V)
    h = tl.zeros([D, V], tl.float32)
    for c in range(0, tl.cdiv(T, C)):
        t = c * C + rc
        at = (row * T + t)[:, None] * D + rd[None, :]
        tl.store(h_ptr + (row * tl.cdiv(T, C) + c) * D * V + rd[:, None] * V + rv[None, :], h.to(tl.float16))
        w = tl.load(w_ptr + at, mask=t[:, None] < T, other=0.0)
        k = tl.load(k_ptr + at, mask=t[:, None] < T, other=0.0)
        u = tl.load(u_ptr + (row * T + t)[:, None] * V + rv[None, :], mask=t[:, None] < T, other=0.0)
        new = u.to(tl.float32) - tl.dot(w, h.to(tl.float16))
        tl.store(new_ptr + (row * T + t)[:, None] * V + rv[None, :], new.to(tl.float16), mask=t[:, None] < T)
        last = tl.minimum((c + 1) * C, T) - 1
        g_last = tl.load(g_ptr + row * T + last)
        g = tl.load(g_ptr + row * T + t, mask=t < T, other=0.0)
        new = tl.where((t < T)[:, None], new * tl.exp(g_last - g)[:, None], 0.0)
        h = h * tl.exp(g_last) + tl.dot(tl.trans(k), new.to(tl.float16))


@triton.jit
def streaming_attention(q_ptr, k_ptr, v_ptr, o_ptr, n, scale, SINK: tl.constexpr, WINDOW: tl.constexpr, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """A window behind each row, and the first tokens of all: the blocks of both in one loop, a gap between them."""
    start = tl.program_id(0) * M
    rm = start + tl.arange(0, M)
    rd = tl.arange(0, D)
    rn = tl.arange(0, N)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :], mask=rm[:, None] < n, other=0.0)
    m = tl.full([M], -float("inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    first = tl.maximum(start - WINDOW, 0) // N
    skipped = tl.maximum(first - SINK // N, 0)
    for b in range(0, tl.cdiv(tl.minimum(start + M, n), N) - skipped):
        c = tl.where(b < SINK // N, b, b + skipped) * N + rn
        k = tl.load(k_ptr + c[None, :] * D + rd[:, None], mask=c[None, :] < n, other=0.0)
        s = tl.dot(q, k) * scale
        near = (rm[:, None] - c[None, :] < WINDOW) | (c[None, :] < SINK)
        s = tl.where((rm[:, None] >= c[None, :]) & near, s, -1.0e30)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + c[:, None] * D + rd[None, :], mask=c[:, None] < n, other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m = new
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16), mask=rm[:, None] < n)


@triton.jit
def linear_loss_dx(x_ptr, w_ptr, target_ptr, lse_ptr, dx_ptr, V, D: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """The gradient of hidden states through the last product and the cross entropy: logits are made anew, a chunk of the vocabulary a step."""
    rm = tl.program_id(0) * M + tl.arange(0, M)
    rd = tl.arange(0, D)
    rn = tl.arange(0, N)
    x = tl.load(x_ptr + rm[:, None] * D + rd[None, :])
    target = tl.load(target_ptr + rm)
    lse = tl.load(lse_ptr + rm)
    acc = tl.zeros([M, D], tl.float32)
    for i in range(0, V, N):
        c = i + rn
        w = tl.load(w_ptr + c[:, None] * D + rd[None, :], mask=c[:, None] < V, other=0.0)
        logits = tl.dot(x, tl.trans(w))
        p = tl.exp(logits - lse[:, None])
        p = tl.where(c[None, :] == target[:, None], p - 1.0, p)
        p = tl.where(c[None, :] < V, p, 0.0)
        acc = tl.dot(p.to(tl.float16), w, acc)
    keep = tl.where(target == -100, 0.0, 1.0 / V)
    tl.store(dx_ptr + rm[:, None] * D + rd[None, :], (acc * keep[:, None]).to(tl.float16))


@triton.jit
def norm_backward_rows(x_ptr, dy_ptr, w_ptr, mean_ptr, rstd_ptr, dx_ptr, dw_ptr, db_ptr, rows, N, PER: tl.constexpr, B: tl.constexpr):
    """Of some rows dx, and partial sums of the gradients of weight and bias for a second kernel."""
    pid = tl.program_id(0)
    c = tl.arange(0, B)
    mask = c < N
    w = tl.load(w_ptr + c, mask=mask, other=0.0).to(tl.float32)
    dw = tl.zeros([B], tl.float32)
    db = tl.zeros([B], tl.float32)
    first = pid * PER
    for r in range(first, tl.minimum(first + PER, rows)):
        x = tl.load(x_ptr + r * N + c, mask=mask, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + r * N + c, mask=mask, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + r)
        rstd = tl.load(rstd_ptr + r)
        hat = (x - mean) * rstd
        wdy = w * dy
        c1 = tl.sum(hat * wdy, 0) / N
        c2 = tl.sum(wdy, 0) / N
        tl.store(dx_ptr + r * N + c, ((wdy - (hat * c1 + c2)) * rstd).to(tl.float16), mask=mask)
        dw += dy * hat
        db += dy
    tl.store(dw_ptr + pid * N + c, dw, mask=mask)
    tl.store(db_ptr + pid * N + c, db, mask=mask)


@triton.jit
def block_list_attention(q_ptr, k_ptr, v_ptr, rows_ptr, columns_ptr, o_ptr, lse_ptr, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Sparse by blocks: which blocks of keys a block of queries sees is a list in rows (CSR); the last block is causal."""
    block = tl.program_id(0)
    rm = block * M + tl.arange(0, M)
    rd = tl.arange(0, D)
    rn = tl.arange(0, N)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :])
    begin = tl.load(rows_ptr + block)
    end = tl.load(rows_ptr + block + 1)
    m = tl.full([M], -float("inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for i in range(begin, end):
        c = tl.load(columns_ptr + i) * N + rn
        k = tl.load(k_ptr + c[None, :] * D + rd[:, None])
        s = tl.dot(q, k) * scale
        s = tl.where(rm[:, None] >= c[None, :], s, -1.0e30)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + c[:, None] * D + rd[None, :])
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m = new
    l = tl.where(l == 0.0, 1.0, l)
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16))
    tl.store(lse_ptr + rm, m + tl.math.log2(l))


@triton.jit
def topk_gating(logits_ptr, weight_ptr, expert_ptr, tokens, TOP, M: tl.constexpr, E: tl.constexpr):
    """The TOP largest of a router's probabilities, one a step: what is taken is put out of the way."""
    rm = tl.program_id(0) * M + tl.arange(0, M)
    re = tl.arange(0, E)
    x = tl.load(logits_ptr + rm[:, None] * E + re[None, :], mask=rm[:, None] < tokens, other=-float("inf")).to(tl.float32)
    x = tl.exp(x - tl.max(x, 1)[:, None])
    x = x / tl.sum(x, 1)[:, None]
    total = tl.zeros([M], tl.float32)
    for j in range(0, TOP):
        best = tl.max(x, 1)
        at = tl.argmax(x, 1)
        tl.store(weight_ptr + rm * TOP + j, best, mask=rm < tokens)
        tl.store(expert_ptr + rm * TOP + j, at, mask=rm < tokens)
        total += best
        x = tl.where(re[None, :] == at[:, None], -1.0, x)
    tl.store(weight_ptr + tokens * TOP + rm, total, mask=rm < tokens)


@triton.jit
def cumprod_gates(g_ptr, y_ptr, T, R: tl.constexpr, B: tl.constexpr):
    """Products of gates so far, in each row, a block of the row a step."""
    rr = tl.program_id(0) * R + tl.arange(0, R)
    rb = tl.arange(0, B)
    so_far = tl.full([R], 1.0, tl.float32)
    for i in range(0, T, B):
        c = i + rb
        g = tl.load(g_ptr + rr[:, None] * T + c[None, :], mask=c[None, :] < T, other=1.0)
        tl.store(y_ptr + rr[:, None] * T + c[None, :], tl.cumprod(g, 1) * so_far[:, None], mask=c[None, :] < T)
        so_far *= tl.reduce(g, 1, times)


@triton.jit
def times(a, b):
    return a * b


@triton.jit
def int8_cache_decode(q_ptr, k_ptr, v_ptr, ks_ptr, vs_ptr, o_ptr, length, scale, G: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Decoding over a cache in 8 bits with a scale a token: queries of a group of heads, fewer than a product has rows, no product."""
    head = tl.program_id(0)
    rd = tl.arange(0, D)
    rn = tl.arange(0, N)
    rg = tl.arange(0, G)
    q = tl.load(q_ptr + (head * G + rg)[:, None] * D + rd[None, :])
    m = tl.full([G], -float("inf"), tl.float32)
    l = tl.zeros([G], tl.float32)
    acc = tl.zeros([G, D], tl.float32)
    for i in range(0, length, N):
        c = i + rn
        k = tl.load(k_ptr + (head * length + c)[None, :] * D + rd[:, None], mask=c[None, :] < length, other=0)
        ks = tl.load(ks_ptr + head * length + c, mask=c < length, other=0.0)
        s = tl.dot(q, k.to(tl.float16)) * ks[None, :] * scale
        s = tl.where(c[None, :] < length, s, -float("inf"))
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.exp(s - new[:, None])
        alpha = tl.exp(m - new)
        l = l * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + (head * length + c)[:, None] * D + rd[None, :], mask=c[:, None] < length, other=0)
        vs = tl.load(vs_ptr + head * length + c, mask=c < length, other=0.0)
        acc = tl.dot((p * vs[None, :]).to(tl.float16), v.to(tl.float16), acc * alpha[:, None])
        m = new
    tl.store(o_ptr + (head * G + rg)[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16))


@triton.jit
def tree_attention(q_ptr, k_ptr, v_ptr, bits_ptr, o_ptr, prefix, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr, WORDS: tl.constexpr):
    """Verification of drafted tokens: all see the prefix, and of each other what a bit says (32 in a word)."""
    rm = tl.arange(0, M)
    rd = tl.arange(0, D)
    rn = tl.arange(0, N)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :])
    m = tl.full([M], -float("inf"), tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for i in range(0, prefix + n, N):
        c = i + rn
        k = tl.load(k_ptr + c[None, :] * D + rd[:, None], mask=c[None, :] < prefix + n, other=0.0)
        s = tl.dot(q, k) * scale
        own = tl.maximum(c - prefix, 0)
        word = tl.load(bits_ptr + rm[:, None] * WORDS + (own // 32)[None, :], mask=c[None, :] < prefix + n, other=0)
        seen = (c[None, :] < prefix) | (((word >> (own % 32)[None, :]) & 1) == 1)
        s = tl.where(seen & (c[None, :] < prefix + n), s, -1.0e30)
        new = tl.maximum(m, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        v = tl.load(v_ptr + c[:, None] * D + rd[None, :], mask=c[:, None] < prefix + n, other=0.0)
        acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
        m = new
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], (acc / l[:, None]).to(tl.float16))
