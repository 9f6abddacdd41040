"""A third set, of kinds that the first two have none of: written at one go, as users would, before any of them was tried."""
import triton
import triton.language as tl


@triton.jit
def conv2d_gemm(x_ptr, w_ptr, y_ptr, C, HW, W, OUT, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """3 x 3 convolution without padding as a product: K runs over channels within each of the nine places."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    steps = C // BK
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, 9 * steps):
        place = i // steps
        c = (i % steps) * BK + rk
        at = rm + (place // 3) * W + place % 3
        x = tl.load(x_ptr + at[:, None] * C + c[None, :], mask=at[:, None] < HW, other=0.0)
        w = tl.load(w_ptr + (place * C + c)[:, None] * OUT + rn[None, :])
        acc = tl.dot(x, w, acc)
    tl.store(y_ptr + rm[:, None] * OUT + rn[None, :], acc.to(tl.float16))


@triton.jit
def causal_conv(x_ptr, w_ptr, y_ptr, T, D: tl.constexpr):
    """Depthwise, four taps, a step at a time: the last three inputs are carried."""
    d = tl.arange(0, D)
    base = tl.program_id(0) * T * D
    w0 = tl.load(w_ptr + d).to(tl.float32)
    w1 = tl.load(w_ptr + D + d).to(tl.float32)
    w2 = tl.load(w_ptr + 2 * D + d).to(tl.float32)
    w3 = tl.load(w_ptr + 3 * D + d).to(tl.float32)
    a = tl.zeros([D], tl.float32)
    b = tl.zeros([D], tl.float32)
    c = tl.zeros([D], tl.float32)
    for t in range(0, T):
        x = tl.load(x_ptr + base + t * D + d).to(tl.float32)
        y = a * w0 + b * w1 + c * w2 + x * w3
        tl.store(y_ptr + base + t * D + d, (y * tl.sigmoid(y)).to(tl.float16))
        a = b
        b = c
        c = x


@triton.jit
def top_two(x_ptr, best_ptr, second_ptr, at_ptr, V, B: tl.constexpr):
    """The two largest logits of each row and where the largest stands."""
    row = tl.program_id(0)
    best = -float("inf")
    other = -float("inf")
    at = 0
    for i in range(0, V, B):
        c = i + tl.arange(0, B)
        x = tl.load(x_ptr + row * V + c, mask=c < V, other=-float("inf")).to(tl.float32)
        m = tl.max(x, 0)
        k = tl.argmax(x, 0)
        rest = tl.max(tl.where(tl.arange(0, B) == k, -float("inf"), x), 0)
        other = tl.maximum(tl.maximum(tl.minimum(best, m), other), rest)
        at = tl.where(m > best, i + k, at)
        best = tl.maximum(best, m)
    tl.store(best_ptr + row, best)
    tl.store(second_ptr + row, other)
    tl.store(at_ptr + row, at)


@triton.jit
def discounted(r_ptr, done_ptr, g_ptr, T, gamma, B: tl.constexpr):
    """Returns of reinforcement learning, from the last step to the first."""
    b = tl.program_id(0) * B + tl.arange(0, B)
    g = tl.zeros([B], tl.float32)
    for i in range(0, T):
        t = T - 1 - i
        r = tl.load(r_ptr + t * 512 + b).to(tl.float32)
        done = tl.load(done_ptr + t * 512 + b)
        g = r + gamma * tl.where(done != 0, 0.0, g)
        tl.store(g_ptr + t * 512 + b, g)


@triton.jit
def embedding_gradient(ids_ptr, dy_ptr, dw_ptr, N, D: tl.constexpr, R: tl.constexpr):
    """Rows of a gradient added to those of a table that the ids name."""
    d = tl.arange(0, D)
    for i in range(tl.program_id(0) * R, N, R * 2):
        r = i + tl.arange(0, R)
        id = tl.load(ids_ptr + r, mask=r < N, other=0)
        dy = tl.load(dy_ptr + r[:, None] * D + d[None, :], mask=r[:, None] < N, other=0.0).to(tl.float32)
        tl.atomic_add(dw_ptr + id[:, None] * D + d[None, :], dy, mask=r[:, None] < N)


@triton.jit
def nf4_gemm(a_ptr, code_ptr, table_ptr, scale_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Weights as bytes that name one of sixteen numbers, with a scale for each group of BK rows."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, K // BK):
        a = tl.load(a_ptr + rm[:, None] * K + (i * BK + rk)[None, :])
        code = tl.load(code_ptr + (i * BK + rk)[:, None] * N + rn[None, :])
        w = tl.load(table_ptr + (code & 15))
        s = tl.load(scale_ptr + i * N + rn)
        acc = tl.dot(a, (w * s[None, :]).to(tl.float16), acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def group_norm(x_ptr, w_ptr, y_ptr, C, HW, eps, B: tl.constexpr):
    """Two passes over the channels of a group: sums, then the numbers themselves."""
    base = tl.program_id(0) * C * HW
    p = tl.arange(0, B)
    total = tl.zeros([B], tl.float32)
    square = tl.zeros([B], tl.float32)
    for c in range(0, C):
        x = tl.load(x_ptr + base + c * HW + p, mask=p < HW, other=0.0).to(tl.float32)
        total += x
        square += x * x
    mean = tl.sum(total, 0) / (C * HW)
    rstd = 1 / tl.sqrt(tl.sum(square, 0) / (C * HW) - mean * mean + eps)
    for c in range(0, C):
        x = tl.load(x_ptr + base + c * HW + p, mask=p < HW, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + c).to(tl.float32)
        tl.store(y_ptr + base + c * HW + p, ((x - mean) * rstd * w).to(tl.float16), mask=p < HW)


@triton.jit
def merge_splits(part_ptr, lse_ptr, o_ptr, SPLITS, ROWS: tl.constexpr, D: tl.constexpr):
    """The second step of decoding in splits: partial outputs weighed by their sums."""
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    d = tl.arange(0, D)
    m = tl.full([ROWS], -float("inf"), tl.float32)
    l = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, D], tl.float32)
    for s in range(0, SPLITS):
        lse = tl.load(lse_ptr + s * 64 + r)
        o = tl.load(part_ptr + (s * 64 + r)[:, None] * D + d[None, :])
        new = tl.maximum(m, lse)
        old = tl.exp(m - new)
        w = tl.exp(lse - new)
        acc = acc * old[:, None] + w[:, None] * o
        l = l * old + w
        m = new
    tl.store(o_ptr + r[:, None] * D + d[None, :], (acc / l[:, None]).to(tl.float16))


@triton.jit
def syrk(x_ptr, c_ptr, K, M, B: tl.constexpr, BK: tl.constexpr):
    """X times its transpose: a tile and its mirror image are stored."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    j = tl.program_id(1) * B + tl.arange(0, B)
    rk = tl.arange(0, BK)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(x_ptr + i[:, None] * K + (k + rk)[None, :])
        b = tl.load(x_ptr + j[:, None] * K + (k + rk)[None, :])
        acc = tl.dot(a, tl.trans(b), acc)
    c = acc.to(tl.float16)
    tl.store(c_ptr + i[:, None] * M + j[None, :], c)
    tl.store(c_ptr + j[:, None] * M + i[None, :], tl.trans(c))


@triton.jit
def adam_rows(p_ptr, g_ptr, m_ptr, v_ptr, N, lr, eps, B: tl.constexpr):
    """In place: what is loaded is stored again."""
    for i in range(tl.program_id(0) * B, N, 2 * B):
        c = i + tl.arange(0, B)
        mask = c < N
        g = tl.load(g_ptr + c, mask=mask, other=0.0).to(tl.float32)
        m = tl.load(m_ptr + c, mask=mask, other=0.0)
        v = tl.load(v_ptr + c, mask=mask, other=0.0)
        p = tl.load(p_ptr + c, mask=mask, other=0.0).to(tl.float32)
        m = 0.9 * m + 0.1 * g
        v = 0.99 * v + 0.01 * g * g
        p = p - lr * m / (tl.sqrt(v) + eps)
        tl.store(p_ptr + c, p.to(tl.float16), mask=mask)
        tl.store(m_ptr + c, m, mask=mask)
        tl.store(v_ptr + c, v, mask=mask)


@triton.jit
def lora_gemm(x_ptr, w_ptr, a_ptr, b_ptr, y_ptr, K, N, scale, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, R: tl.constexpr):
    """Two products a step of one tile of x; a third behind the loop."""
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    rr = tl.arange(0, R)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    low = tl.zeros((BM, R), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(x_ptr + rm[:, None] * K + (k + rk)[None, :])
        w = tl.load(w_ptr + (k + rk)[:, None] * N + rn[None, :])
        a = tl.load(a_ptr + (k + rk)[:, None] * R + rr[None, :])
        acc = tl.dot(x, w, acc)
        low = tl.dot(x, a, low)
    b = tl.load(b_ptr + rr[:, None] * N + rn[None, :])
    acc += scale * tl.dot(low.to(tl.float16), b)
    tl.store(y_ptr + rm[:, None] * N + rn[None, :], acc.to(tl.float16))


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def running_max(x_ptr, y_ptr, T, B: tl.constexpr):
    """The largest number so far, a block of the row at a time."""
    row = tl.program_id(0)
    last = -float("inf")
    for i in range(0, T, B):
        c = i + tl.arange(0, B)
        x = tl.load(x_ptr + row * T + c).to(tl.float32)
        y = tl.maximum(tl.associative_scan(x, 0, larger), last)
        tl.store(y_ptr + row * T + c, y)
        last = tl.maximum(last, tl.max(x, 0))
