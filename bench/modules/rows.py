"""Loops along rows, with no product or with one at the end: norms, softmax, cross entropy, sums, steps of optimisers."""

import triton
import triton.language as tl

from cases import ALL, WITH_DESCRIPTORS, case


@case("x_ptr=*fp16, w_ptr=*fp16, b_ptr=*fp16, y_ptr=*fp16, mean_ptr=*fp32, rstd_ptr=*fp32, columns=i32, eps=fp32", ALL,
      warps=8, BLOCK=2048)
@triton.jit
def layer_norm_three_loops(x_ptr, w_ptr, b_ptr, y_ptr, mean_ptr, rstd_ptr, columns, eps, BLOCK: tl.constexpr):
    """Mean, variance, result: three passes over the row."""
    base = tl.program_id(0) * columns
    c = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        total += tl.load(x_ptr + base + start + c, mask=start + c < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, 0) / columns
    square = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + base + start + c, mask=start + c < columns, other=0.0).to(tl.float32)
        away = tl.where(start + c < columns, x - mean, 0.0)
        square += away * away
    rstd = 1.0 / tl.sqrt(tl.sum(square, 0) / columns + eps)
    tl.store(mean_ptr + tl.program_id(0), mean)
    tl.store(rstd_ptr + tl.program_id(0), rstd)
    for start in range(0, columns, BLOCK):
        inside = start + c < columns
        x = tl.load(x_ptr + base + start + c, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + start + c, mask=inside)
        b = tl.load(b_ptr + start + c, mask=inside)
        tl.store(y_ptr + base + start + c, ((x - mean) * rstd * w + b).to(tl.float16), mask=inside)


@case("x_ptr=*fp16, w_ptr=*fp16, dy_ptr=*fp16, dx_ptr=*fp16, dw_ptr=*fp32, db_ptr=*fp32, mean_ptr=*fp32, rstd_ptr=*fp32, rows=i32, "
      "columns=i32", ALL, warps=4, BLOCK=1024)
@triton.jit
def layer_norm_backward(x_ptr, w_ptr, dy_ptr, dx_ptr, dw_ptr, db_ptr, mean_ptr, rstd_ptr, rows, columns,
                        BLOCK: tl.constexpr):
    """A program takes every so-many-th row and keeps its share of dW and dB."""
    c = tl.arange(0, BLOCK)
    inside = c < columns
    w = tl.load(w_ptr + c, mask=inside, other=0.0).to(tl.float32)
    dw = tl.zeros([BLOCK], tl.float32)
    db = tl.zeros([BLOCK], tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * columns + c, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(dy_ptr + row * columns + c, mask=inside, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + row)
        rstd = tl.load(rstd_ptr + row)
        hat = tl.where(inside, (x - mean) * rstd, 0.0)
        wdy = w * dy
        c1 = tl.sum(hat * wdy, 0) / columns
        c2 = tl.sum(wdy, 0) / columns
        tl.store(dx_ptr + row * columns + c, ((wdy - (hat * c1 + c2)) * rstd).to(tl.float16), mask=inside)
        dw += dy * hat
        db += dy
    tl.store(dw_ptr + tl.program_id(0) * columns + c, dw, mask=inside)
    tl.store(db_ptr + tl.program_id(0) * columns + c, db, mask=inside)


@case("part_ptr=*fp32, out_ptr=*fp16, parts=i32, columns=i32", ALL, BLOCK_R=32, BLOCK_C=128)
@triton.jit
def sum_of_parts(part_ptr, out_ptr, parts, columns, BLOCK_R: tl.constexpr, BLOCK_C: tl.constexpr):
    """Column sums of what programs left behind."""
    c = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    r = tl.arange(0, BLOCK_R)
    acc = tl.zeros([BLOCK_R, BLOCK_C], tl.float32)
    for start in range(0, parts, BLOCK_R):
        rows = start + r
        acc += tl.load(part_ptr + rows[:, None] * columns + c[None, :],
                       mask=(rows[:, None] < parts) & (c[None, :] < columns), other=0.0)
    tl.store(out_ptr + c, tl.sum(acc, 0).to(tl.float16), mask=c < columns)


@case("x_ptr=*bf16, r_ptr=*bf16, w_ptr=*bf16, y_ptr=*bf16, rows=i32, eps=fp32", ALL, warps=4, COLUMNS=4096)
@triton.jit
def rms_norm_residual(x_ptr, r_ptr, w_ptr, y_ptr, rows, eps, COLUMNS: tl.constexpr):
    """A residual is added and kept; persistent over rows."""
    c = tl.arange(0, COLUMNS)
    w = tl.load(w_ptr + c).to(tl.float32)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        at = row * COLUMNS + c
        x = tl.load(x_ptr + at).to(tl.float32) + tl.load(r_ptr + at).to(tl.float32)
        tl.store(r_ptr + at, x.to(tl.bfloat16))
        tl.store(y_ptr + at, (x * tl.rsqrt(tl.sum(x * x, 0) / COLUMNS + eps) * w).to(tl.bfloat16))


@case("x_desc=tensordesc<fp16[16, 512]>, y_desc=tensordesc<fp16[16, 512]>, w_ptr=*fp16, rows=i32, eps=fp32", WITH_DESCRIPTORS,
      warps=4, ROWS=16, COLUMNS=512, SPECIALIZE=False)
@case("x_desc=tensordesc<fp16[16, 512]>, y_desc=tensordesc<fp16[16, 512]>, w_ptr=*fp16, rows=i32, eps=fp32", (100,),
      warps=4, suffix="ws", ROWS=16, COLUMNS=512, SPECIALIZE=True)
@triton.jit
def layer_norm_tiles(x_desc, y_desc, w_ptr, rows, eps, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
                     SPECIALIZE: tl.constexpr):
    """Sixteen rows at a time by descriptor."""
    w = tl.load(w_ptr + tl.arange(0, COLUMNS)).to(tl.float32)
    for row in tl.range(tl.program_id(0) * ROWS, rows, tl.num_programs(0) * ROWS, warp_specialize=SPECIALIZE):
        x = x_desc.load([row, 0]).to(tl.float32)
        mean = tl.sum(x, 1) / COLUMNS
        away = x - mean[:, None]
        rstd = tl.rsqrt(tl.sum(away * away, 1) / COLUMNS + eps)
        y_desc.store([row, 0], (away * rstd[:, None] * w[None, :]).to(tl.float16))


@case("x_ptr=*fp16, y_ptr=*fp16, channels=i32, size=i32, eps=fp32", ALL, BLOCK=1024)
@triton.jit
def group_norm(x_ptr, y_ptr, channels, size, eps, BLOCK: tl.constexpr):
    """Channels of a group: an outer loop over channels, inner ones over pixels."""
    p = tl.arange(0, BLOCK)
    base = tl.program_id(0) * channels * size
    total = tl.zeros([BLOCK], tl.float32)
    square = tl.zeros([BLOCK], tl.float32)
    for channel in range(channels):
        for start in range(0, size, BLOCK):
            x = tl.load(x_ptr + base + channel * size + start + p, mask=start + p < size, other=0.0).to(tl.float32)
            total += x
            square += x * x
    mean = tl.sum(total, 0) / (channels * size)
    rstd = tl.rsqrt(tl.sum(square, 0) / (channels * size) - mean * mean + eps)
    for start in range(0, channels * size, BLOCK):
        inside = start + p < channels * size
        x = tl.load(x_ptr + base + start + p, mask=inside, other=0.0).to(tl.float32)
        tl.store(y_ptr + base + start + p, ((x - mean) * rstd).to(tl.float16), mask=inside)


@case("x_ptr=*fp16, y_ptr=*fp16, columns=i32", ALL, BLOCK=2048)
@triton.jit
def softmax_online(x_ptr, y_ptr, columns, BLOCK: tl.constexpr):
    """Rows longer than a block: a running maximum and sum, then the result."""
    base = tl.program_id(0) * columns
    c = tl.arange(0, BLOCK)
    m = tl.full([BLOCK], float("-inf"), tl.float32)
    l = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        x = tl.load(x_ptr + base + start + c, mask=start + c < columns, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m, x)
        l = l * tl.exp(m - m_new) + tl.exp(x - m_new)
        m = m_new
    top = tl.max(m, 0)
    total = tl.sum(l * tl.exp(m - top), 0)
    for start in range(0, columns, BLOCK):
        inside = start + c < columns
        x = tl.load(x_ptr + base + start + c, mask=inside, other=float("-inf")).to(tl.float32)
        tl.store(y_ptr + base + start + c, (tl.exp(x - top) / total).to(tl.float16), mask=inside)


@case("y_ptr=*fp16, dy_ptr=*fp16, dx_ptr=*fp16, rows=i32", ALL, COLUMNS=1024)
@triton.jit
def softmax_backward(y_ptr, dy_ptr, dx_ptr, rows, COLUMNS: tl.constexpr):
    """dX = Y (dY - sum(Y dY)), persistent over rows."""
    c = tl.arange(0, COLUMNS)
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0), num_stages=4):
        y = tl.load(y_ptr + row * COLUMNS + c).to(tl.float32)
        dy = tl.load(dy_ptr + row * COLUMNS + c).to(tl.float32)
        tl.store(dx_ptr + row * COLUMNS + c, (y * (dy - tl.sum(y * dy, 0))).to(tl.float16))


@case("logits_ptr=*bf16, labels_ptr=*i64, loss_ptr=*fp32, lse_ptr=*fp32, vocabulary=i32, smoothing=fp32", ALL, warps=8,
      BLOCK=4096)
@triton.jit
def cross_entropy_forward(logits_ptr, labels_ptr, loss_ptr, lse_ptr, vocabulary, smoothing, BLOCK: tl.constexpr):
    """Online over the vocabulary, with label smoothing: scalars are carried."""
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels_ptr + row)
    m = float("-inf")
    l = 0.0
    total = 0.0
    for start in range(0, vocabulary, BLOCK):
        c = start + tl.arange(0, BLOCK)
        inside = c < vocabulary
        x = tl.load(logits_ptr + row * vocabulary + c, mask=inside, other=float("-inf")).to(tl.float32)
        m_new = tl.maximum(m, tl.max(x, 0))
        l = l * tl.exp(m - m_new) + tl.sum(tl.exp(x - m_new), 0)
        total += tl.sum(tl.where(inside, x, 0.0), 0)
        m = m_new
    lse = m + tl.log(l)
    target = tl.load(logits_ptr + row * vocabulary + label).to(tl.float32)
    tl.store(loss_ptr + row, lse - (1.0 - smoothing) * target - smoothing * total / vocabulary)
    tl.store(lse_ptr + row, lse)


@case("logits_ptr=*bf16, labels_ptr=*i64, lse_ptr=*fp32, vocabulary=i32, scale=fp32", ALL, warps=8, BLOCK=4096)
@triton.jit
def cross_entropy_backward(logits_ptr, labels_ptr, lse_ptr, vocabulary, scale, BLOCK: tl.constexpr):
    """Gradients take the place of the logits."""
    row = tl.program_id(0).to(tl.int64)
    label = tl.load(labels_ptr + row)
    lse = tl.load(lse_ptr + row)
    for start in range(0, vocabulary, BLOCK):
        c = start + tl.arange(0, BLOCK)
        at = logits_ptr + row * vocabulary + c
        x = tl.load(at, mask=c < vocabulary, other=float("-inf")).to(tl.float32)
        p = tl.exp(x - lse) - tl.where(c == label, 1.0, 0.0)
        tl.store(at, (p * scale).to(tl.bfloat16), mask=c < vocabulary)


@case("x_desc=tensordesc<bf16[128, 64]>, w_desc=tensordesc<bf16[128, 64]>, labels_ptr=*i32, lse_ptr=*fp32, target_ptr=*fp32, "
      "vocabulary=i32, K=i32", WITH_DESCRIPTORS, warps=8, BLOCK_M=128, BLOCK_V=128, BLOCK_K=64)
@triton.jit
def cross_entropy_of_product(x_desc, w_desc, labels_ptr, lse_ptr, target_ptr, vocabulary, K, BLOCK_M: tl.constexpr,
                             BLOCK_V: tl.constexpr, BLOCK_K: tl.constexpr):
    """Logits are a product that is never stored: a loop along K in one along the vocabulary."""
    row = tl.program_id(0) * BLOCK_M
    label = tl.load(labels_ptr + row + tl.arange(0, BLOCK_M))
    m = tl.full([BLOCK_M], float("-inf"), tl.float32)
    l = tl.full([BLOCK_M], 0.0, tl.float32)
    target = tl.full([BLOCK_M], 0.0, tl.float32)
    for start in tl.range(0, vocabulary, BLOCK_V):
        logits = tl.zeros([BLOCK_M, BLOCK_V], tl.float32)
        for k in tl.range(0, K, BLOCK_K):
            logits = tl.dot(x_desc.load([row, k]), w_desc.load([start, k]).T, logits)
        columns = start + tl.arange(0, BLOCK_V)
        m_new = tl.maximum(m, tl.max(logits, 1))
        l = l * tl.exp(m - m_new) + tl.sum(tl.exp(logits - m_new[:, None]), 1)
        target += tl.sum(tl.where(columns[None, :] == label[:, None], logits, 0.0), 1)
        m = m_new
    tl.store(lse_ptr + row + tl.arange(0, BLOCK_M), m + tl.log(l))
    tl.store(target_ptr + row + tl.arange(0, BLOCK_M), target)


@case("x_ptr=*bf16, cos_ptr=*fp32, sin_ptr=*fp32, length=i32, heads=i32", ALL, HEAD=128)
@triton.jit
def rotary(x_ptr, cos_ptr, sin_ptr, length, heads, HEAD: tl.constexpr):
    """Positions turned into angles, in place, head by head."""
    half = tl.arange(0, HEAD // 2)
    t = tl.program_id(0)
    cos = tl.load(cos_ptr + t * (HEAD // 2) + half)
    sin = tl.load(sin_ptr + t * (HEAD // 2) + half)
    for head in range(heads):
        at = x_ptr + (t * heads + head) * HEAD + half
        a = tl.load(at).to(tl.float32)
        b = tl.load(at + HEAD // 2).to(tl.float32)
        tl.store(at, (a * cos - b * sin).to(tl.bfloat16))
        tl.store(at + HEAD // 2, (b * cos + a * sin).to(tl.bfloat16))


@case("table_ptr=*fp16, ids_ptr=*i64, starts_ptr=*i32, out_ptr=*fp16, width=i32", ALL, BLOCK=256)
@triton.jit
def embedding_bag(table_ptr, ids_ptr, starts_ptr, out_ptr, width, BLOCK: tl.constexpr):
    """Rows of a table are summed; which ones comes from memory."""
    d = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    low = tl.load(starts_ptr + tl.program_id(0))
    high = tl.load(starts_ptr + tl.program_id(0) + 1)
    acc = tl.zeros([BLOCK], tl.float32)
    for i in range(low, high):
        row = tl.load(ids_ptr + i)
        acc += tl.load(table_ptr + row * width + d, mask=d < width, other=0.0).to(tl.float32)
    tl.store(out_ptr + tl.program_id(0) * width + d, acc.to(tl.float16), mask=d < width)


@case("p_ptr=*fp32, g_ptr=*bf16, m_ptr=*fp32, v_ptr=*fp32, size=i32, rate=fp32, decay=fp32", ALL, BLOCK=1024)
@triton.jit
def adam_step(p_ptr, g_ptr, m_ptr, v_ptr, size, rate, decay, BLOCK: tl.constexpr):
    """Four streams in, three out."""
    for start in range(tl.program_id(0) * BLOCK, size, BLOCK * tl.num_programs(0)):
        at = start + tl.arange(0, BLOCK)
        inside = at < size
        p = tl.load(p_ptr + at, mask=inside)
        g = tl.load(g_ptr + at, mask=inside).to(tl.float32)
        m = 0.9 * tl.load(m_ptr + at, mask=inside) + 0.1 * g
        v = 0.999 * tl.load(v_ptr + at, mask=inside) + 0.001 * g * g
        tl.store(m_ptr + at, m, mask=inside)
        tl.store(v_ptr + at, v, mask=inside)
        tl.store(p_ptr + at, p - rate * (m / (tl.sqrt(v) + 1e-8) + decay * p), mask=inside)


@case("x_ptr=*i32, counts_ptr=*i32, size=i32", ALL, BLOCK=1024, BINS=256)
@triton.jit
def count_values(x_ptr, counts_ptr, size, BLOCK: tl.constexpr, BINS: tl.constexpr):
    """A histogram carried over blocks."""
    total = tl.zeros([BINS], tl.int32)
    for start in range(tl.program_id(0) * BLOCK, size, BLOCK * tl.num_programs(0)):
        total += tl.histogram(tl.load(x_ptr + start + tl.arange(0, BLOCK)), BINS)
    tl.atomic_add(counts_ptr + tl.arange(0, BINS), total)
