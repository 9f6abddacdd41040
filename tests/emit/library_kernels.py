"""Kernels with forms that kernels of other libraries have, of which tests/data/ttgir has modules.

    VENV/bin/python tests/emit/library_kernels.py FOLDER

writes them anew for cuda:90 and cuda:100, up to where Triton would set stages. emit_library_test.py executes what is written of them."""
import sys

import own_kernels
import triton
import triton.language as tl


@triton.jit
def parts_added(x_ptr, w_ptr, y_ptr, M, N, K, PARTS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Y += X W in f16, K cut into parts; the last rows and columns are ragged."""
    rows, columns = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M), tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.program_id(2) * BLOCK_K + tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, tl.cdiv(K, BLOCK_K * PARTS)):
        at = start * BLOCK_K * PARTS + k
        x = tl.load(x_ptr + rows[:, None] * K + at[None, :], mask=(rows[:, None] < M) & (at[None, :] < K), other=0.0)
        w = tl.load(w_ptr + at[:, None] * N + columns[None, :], mask=(at[:, None] < K) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(x, w, acc)
    tl.atomic_add(y_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def experts_added(x_ptr, w_ptr, y_ptr, token_ptr, expert_ptr, tokens, K, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                  BLOCK_K: tl.constexpr):
    """Y[token] += X[token] W[expert] for the tokens of a block, those that there are."""
    block, columns = tl.program_id(0), tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    token = tl.load(token_ptr + block * BLOCK_M + tl.arange(0, BLOCK_M))
    there = token < tokens
    expert = tl.load(expert_ptr + block)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + token[:, None] * K + (start + k)[None, :], mask=there[:, None], other=0.0)
        w = tl.load(w_ptr + expert * K * N + (start + k)[:, None] * N + columns[None, :])
        acc = tl.dot(x, w, acc)
    tl.atomic_add(y_ptr + token[:, None] * N + columns[None, :], acc, mask=there[:, None])


@triton.jit
def sums_added(x_ptr, y_ptr, rows, D: tl.constexpr, ROWS: tl.constexpr):
    """In each step the sum over some rows, in bf16, is added to Y."""
    d, r = tl.arange(0, D), tl.arange(0, ROWS)
    for start in range(0, rows, ROWS):
        x = tl.load(x_ptr + (start + r)[:, None] * D + d[None, :])
        tl.atomic_add(y_ptr + d, tl.sum(x.to(tl.float32), 0).to(tl.bfloat16))


@triton.jit
def counted(x_ptr, y_ptr, z_ptr, columns, M: tl.constexpr, N: tl.constexpr):
    """How many numbers of each row are above 0.25, and the sum of their first bits, over all columns."""
    rows, c = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N)
    count, bits = tl.zeros([M], tl.int32), tl.zeros([M], tl.int32)
    for start in range(0, columns, N):
        x = tl.load(x_ptr + rows[:, None] * columns + (start + c)[None, :])
        count += tl.sum((x > 0.25).to(tl.int32), 1)
        bits += tl.sum(x.to(tl.int32, bitcast=True) >> 20, 1)
    tl.store(y_ptr + rows, count)
    tl.store(z_ptr + rows, bits)


@triton.jit
def bits_changed(x_ptr, y_ptr, z_ptr, steps, D: tl.constexpr):
    """Numbers without their sign and with their last bits cut off, by their bits; their exponents."""
    d = tl.arange(0, D)
    for t in range(0, steps):
        x = tl.load(x_ptr + t * D + d)
        bits = x.to(tl.int32, bitcast=True)
        tl.store(y_ptr + t * D + d, ((bits & 0x7FFF0000) + 0x100).to(tl.float32, bitcast=True) * 0.5)
        tl.store(z_ptr + t * D + d, bits >> 23)


@triton.jit
def half_sums(q_ptr, k_ptr, v_ptr, o_ptr, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """O = relu(Q K') V; both products are summed in f16."""
    rows, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    acc = tl.zeros([M, D], tl.float32)
    for begin in range(0, n, N):
        c = begin + tl.arange(0, N)
        k = tl.load(k_ptr + c[None, :] * D + d[:, None])
        s = tl.maximum(tl.dot(q, k, out_dtype=tl.float16), 0.0)
        v = tl.load(v_ptr + c[:, None] * D + d[None, :])
        acc += tl.dot(s.to(tl.float16), v, out_dtype=tl.float16)
    tl.store(o_ptr + rows[:, None] * D + d[None, :], acc.to(tl.float16))


@triton.jit
def behind_in_two(x_ptr, y_ptr, w_ptr, columns, scaled, D: tl.constexpr):
    """The sum of the squares of a row's parts; behind the loop it is stored with weights, as it is, or as its opposite, as an argument
    says."""
    row, d = tl.program_id(0), tl.arange(0, D)
    total = tl.zeros([D], tl.float32)
    for start in range(0, columns, D):
        x = tl.load(x_ptr + row * columns + start + d)
        total += x * x
    if scaled > 0:
        tl.store(y_ptr + row * D + d, total * tl.load(w_ptr + d))
    else:
        if scaled < -3:
            tl.store(y_ptr + row * D + d, -total)
        else:
            tl.store(y_ptr + row * D + d, total)


@triton.jit
def stats_updated(x_ptr, mean_ptr, rows, scale, momentum, D: tl.constexpr):
    """A mean of rows goes into a mean that is kept: loaded behind the loop and stored back."""
    d = tl.program_id(0) * D + tl.arange(0, D)
    total = tl.zeros([D], tl.float32)
    for row in range(0, rows):
        total += tl.load(x_ptr + row * 2 * D + d).to(tl.float32)
    kept = tl.load(mean_ptr + d)
    tl.store(mean_ptr + d, kept * (1.0 - momentum) + total * scale * momentum)


@triton.jit
def last_block_first(x_ptr, y_ptr, columns, D: tl.constexpr):
    """Twice X: the ragged last block of a row is stored before the loop, the others in it, from the end on."""
    row, d = tl.program_id(0), tl.arange(0, D)
    last = tl.cdiv(columns, D) * D - D
    x = tl.load(x_ptr + row * columns + last + d, mask=last + d < columns, other=0.0)
    tl.store(y_ptr + row * columns + last + d, x * 2.0, mask=last + d < columns)
    for start in range(D, columns, D):
        at = last - start + d
        tl.store(y_ptr + row * columns + at, tl.load(x_ptr + row * columns + at) * 2.0)


@triton.jit
def either(a, b):
    return a | b


@triton.jit
def both(a, b):
    return a & b


@triton.jit
def any_and_all(x_ptr, i_ptr, y_ptr, z_ptr, h_ptr, steps, M: tl.constexpr, N: tl.constexpr):
    """Of each row of a tile whether any number is large, and whether all are; rows are loaded where there is a place; what is counted at
    the places."""
    r, c = tl.arange(0, M), tl.arange(0, N)
    for t in range(0, steps):
        i = tl.load(i_ptr + t * M + r)
        x = tl.load(x_ptr + i[:, None] * N + c[None, :], mask=i[:, None] >= 0)
        kept = tl.where(i[:, None] >= 0, x, -1.0)
        tl.store(y_ptr + t * M + r, tl.reduce(kept > 1.9, 1, either).to(tl.int32))
        tl.store(z_ptr + t * M + r, tl.reduce(kept > -1.9, 1, both).to(tl.int32))
        tl.atomic_add(h_ptr + i, 1, mask=i >= 0)


@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def smaller(a, b):
    return tl.minimum(a, b)


@triton.jit
def running_most(x_ptr, y_ptr, z_ptr, steps, M: tl.constexpr, N: tl.constexpr):
    """Of each row of each tile the largest number so far, of each column the least."""
    r, c = tl.arange(0, M), tl.arange(0, N)
    for t in range(0, steps):
        at = t * M * N + r[:, None] * N + c[None, :]
        x = tl.load(x_ptr + at)
        tl.store(y_ptr + at, tl.associative_scan(x, 1, larger))
        tl.store(z_ptr + at, tl.associative_scan(x, 0, smaller))


@triton.jit
def numbers_stored(x_ptr, s_ptr, mean_ptr, twice_ptr, count_ptr, most_ptr, one_ptr, steps, D: tl.constexpr):
    """Of each row its mean, scaled by a number that is loaded, that number twice, how many numbers are above 0; of all rows the largest
    mean so far; behind the loop 1.5 everywhere."""
    d = tl.arange(0, D)
    most = -100.0
    for t in range(0, steps):
        x = tl.load(x_ptr + t * D + d)
        s = tl.load(s_ptr + t)
        mean = tl.sum(x, 0) / D * s
        most = tl.maximum(most, tl.max(x, 0))
        tl.store(mean_ptr + t, mean.to(tl.float16))
        tl.store(twice_ptr + 3 * t, s * 2.0)
        tl.store(count_ptr + t, tl.sum((x > 0.0).to(tl.int32), 0))
        tl.store(most_ptr + t, most)
    tl.store(one_ptr + d, tl.full([D], 1.5, tl.float32))


@triton.jit
def numbers_where(x_ptr, first_ptr, sum_ptr, most_ptr, steps, limit, D: tl.constexpr):
    """The sum of a program's rows up to each of them, but for the first `limit` ones; the sum of all by the first program alone, and by each
    one whose place is below the limit."""
    row, d = tl.program_id(0), tl.arange(0, D)
    total = 0.0
    for t in range(0, steps):
        total += tl.sum(tl.load(x_ptr + (row * steps + t) * D + d), 0)
        tl.store(sum_ptr + row * steps + t, total, mask=t >= limit)
    if row == 0:
        tl.store(first_ptr, total)
    tl.store(most_ptr + row, total, mask=row < limit)


@triton.jit
def last_kept(x_ptr, i_ptr, y_ptr, z_ptr, w_ptr, steps, M: tl.constexpr, D: tl.constexpr):
    """The sum of tiles; of the last one its squares, and which of its rows are even."""
    r, d = tl.arange(0, M), tl.arange(0, D)
    total = tl.zeros([M, D], tl.float32)
    square = tl.full([M, D], 3.0, tl.float32)
    even = tl.full([M], 7, tl.int32)
    for t in range(0, steps):
        x = tl.load(x_ptr + (t * M + r)[:, None] * D + d[None, :])
        even = 1 - (tl.load(i_ptr + t * M + r) & 1)
        square = x * x
        total += x
    tl.store(y_ptr + r[:, None] * D + d[None, :], total)
    tl.store(z_ptr + r[:, None] * D + d[None, :], square)
    tl.store(w_ptr + r, even)


@triton.jit
def every_third(x_ptr, y_ptr, first, steps, D: tl.constexpr):
    """Of each three steps, counted from an argument on, one is added; with the others the sum is halved."""
    d = tl.arange(0, D)
    total = tl.zeros([D], tl.float32)
    for t in range(first, first + steps):
        x = tl.load(x_ptr + (t - first) * D + d)
        if t % 3 == 1:
            total += x
        else:
            total = total * 0.5 - x
    tl.store(y_ptr + d, total)


@triton.jit
def sums_from_end(x_ptr, w_ptr, y_ptr, z_ptr, v_ptr, all_ptr, steps, M: tl.constexpr, N: tl.constexpr):
    """Sums from the end of each row, maxima from the last row on, sums of whole numbers from the end of a vector. What lies in V and at ALL
    has the last ones added."""
    r, c = tl.arange(0, M), tl.arange(0, N)
    all = 0.0
    for t in range(0, steps):
        at = t * M * N + r[:, None] * N + c[None, :]
        x = tl.load(x_ptr + at)
        tl.store(y_ptr + at, tl.cumsum(x, 1, reverse=True))
        tl.store(z_ptr + at, tl.associative_scan(x, 0, larger, reverse=True))
        w = tl.load(w_ptr + t * N + c)
        tl.atomic_add(v_ptr + t * N + c, tl.cumsum(w, 0, reverse=True))
        all += tl.sum(w.to(tl.float32), 0)
        tl.atomic_add(all_ptr + 1 + t, tl.sum(w, 0).to(tl.float32))
    tl.atomic_add(all_ptr, all)


@triton.jit
def left_before(q_ptr, s_ptr, x_ptr, y_ptr, steps, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Y = Q X', over those of X's blocks whose number is more than 0.5: the left factor is made before the loop, in registers."""
    rows, c, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N), tl.arange(0, D)
    q = (tl.load(q_ptr + rows[:, None] * D + d[None, :]).to(tl.float32) * 2.0).to(tl.float16)
    acc = tl.zeros([M, N], tl.float32)
    for t in range(0, steps):
        x = tl.load(x_ptr + (t * N + c)[:, None] * D + d[None, :])
        kept = tl.where(tl.load(s_ptr + t) > 0.5, x.to(tl.float32), 0.0).to(tl.float16)
        acc = tl.dot(q, tl.trans(kept), acc)
    tl.store(y_ptr + rows[:, None] * N + c[None, :], acc)


@triton.jit
def odd_loads(x_ptr, w_ptr, y_ptr, steps, stride, D: tl.constexpr):
    """Rows of f16 whose places are an unknown number apart, times weights of which a part is 1."""
    d = tl.arange(0, D)
    for t in range(0, steps):
        x = tl.load(x_ptr + t * D * stride + d * stride)
        w = tl.load(w_ptr + t * D + d, mask=d < steps * 40, other=1.0)
        tl.store(y_ptr + t * D + d, x.to(tl.float32) * w.to(tl.float32))


@triton.jit
def odd_tiles(x_ptr, s_ptr, y_ptr, steps, stride, M: tl.constexpr, N: tl.constexpr):
    """Rows of numbers of 16 bits that begin anywhere, times a factor each; outside of a row's end one."""
    m, n = tl.arange(0, M), tl.arange(0, N)
    for t in range(0, steps):
        x = tl.load(x_ptr + (t * M + m)[:, None] * stride + n[None, :], mask=n[None, :] < stride, other=1.0)
        s = tl.load(s_ptr + t * M + m)
        tl.store(y_ptr + (t * M + m)[:, None] * N + n[None, :], x.to(tl.float32) * s[:, None])


@triton.jit
def halves(x_ptr, y_ptr, z_ptr, steps, D: tl.constexpr):
    """Neighbours apart: the even ones, and the odd ones."""
    d, e = tl.arange(0, 2 * D), tl.arange(0, D)
    for t in range(0, steps):
        x = tl.load(x_ptr + t * 2 * D + d)
        even, odd = tl.split(tl.reshape(x, [D, 2]))
        tl.store(y_ptr + t * D + e, even - odd)
        tl.store(z_ptr + t * D + e, even * odd)


@triton.jit
def pairs_turned(x_ptr, c_ptr, s_ptr, y_ptr, steps, M: tl.constexpr, N: tl.constexpr):
    """Neighbours of a row as a point that is turned by an angle of its own, as rotary embeddings do."""
    m, k, n = tl.arange(0, M), tl.arange(0, N // 2), tl.arange(0, N)
    for t in range(0, steps):
        x = tl.load(x_ptr + (t * M + m)[:, None] * N + n[None, :])
        c = tl.load(c_ptr + t * (N // 2) + k)
        s = tl.load(s_ptr + t * (N // 2) + k)
        even, odd = tl.split(tl.reshape(x, [M, N // 2, 2]))
        y = tl.join(even * c[None, :] - odd * s[None, :], even * s[None, :] + odd * c[None, :])
        tl.store(y_ptr + (t * M + m)[:, None] * N + n[None, :], tl.reshape(y, [M, N]))


@triton.jit
def groups_scaled(x_ptr, y_ptr, s_ptr, z_ptr, steps, M: tl.constexpr, N: tl.constexpr, G: tl.constexpr):
    """Of each row every group of G neighbours over its largest size, which is kept, too; behind the loop all rows of that, added, with the
    groups' elements before the groups."""
    m, n, g = tl.arange(0, M), tl.arange(0, N), tl.arange(0, N // G)
    total = tl.zeros([M, N], tl.float32)
    for t in range(0, steps):
        x = tl.load(x_ptr + (t * M + m)[:, None] * N + n[None, :])
        parts = tl.reshape(x, [M, N // G, G])
        most = tl.max(tl.abs(parts), 2) + 0.125
        y = tl.reshape(parts / most[:, :, None], [M, N])
        tl.store(y_ptr + (t * M + m)[:, None] * N + n[None, :], y)
        tl.store(s_ptr + (t * M + m)[:, None] * (N // G) + g[None, :], most)
        total += y
    tl.store(z_ptr + m[:, None] * N + n[None, :], tl.reshape(tl.permute(tl.reshape(total, [M, N // G, G]), [0, 2, 1]), [M, N]))


@triton.jit
def between_groups(x_ptr, y_ptr, z_ptr, steps, M: tl.constexpr, N: tl.constexpr, G: tl.constexpr):
    """Less what the same places of all groups of a row have on average; and what the first half of each row is more than the second."""
    m, n, h = tl.arange(0, M), tl.arange(0, N), tl.arange(0, N // 2)
    for t in range(0, steps):
        x = tl.load(x_ptr + (t * M + m)[:, None] * N + n[None, :])
        parts = tl.reshape(x, [M, N // G, G])
        mean = tl.sum(parts, 1) * (G / N)
        tl.store(y_ptr + (t * M + m)[:, None] * N + n[None, :], tl.reshape(parts - mean[:, None, :], [M, N]))
        first, second = tl.split(tl.permute(tl.reshape(x, [M, 2, N // 2]), [0, 2, 1]))
        tl.store(z_ptr + (t * M + m)[:, None] * (N // 2) + h[None, :], first - second)


@triton.jit
def long_taps(x_ptr, w_ptr, first_ptr, y_ptr, steps, D: tl.constexpr):
    """A filter of six taps, each the number of one step before."""
    d = tl.arange(0, D)
    w0, w1, w2 = tl.load(w_ptr + d), tl.load(w_ptr + D + d), tl.load(w_ptr + 2 * D + d)
    w3, w4, w5 = tl.load(w_ptr + 3 * D + d), tl.load(w_ptr + 4 * D + d), tl.load(w_ptr + 5 * D + d)
    a, b, c = tl.load(first_ptr + d), tl.load(first_ptr + d), tl.load(first_ptr + d)
    e, f = tl.load(first_ptr + d), tl.load(first_ptr + d)
    for t in range(0, steps):
        x = tl.load(x_ptr + t * D + d).to(tl.float32) * 2.0
        y = a * w0 + b * w1 + c * w2 + e * w3 + f * w4 + x * w5
        tl.store(y_ptr + t * D + d, y / (1.0 + tl.exp(-y)))
        a, b, c, e, f = b, c, e, f, x


@triton.jit
def numbers_kept(x_ptr, s_ptr, y_ptr, factor_ptr, last_ptr, most_ptr, steps, D: tl.constexpr):
    """A factor, from step to step: where the step's number is above a half it is times that, else three quarters and an eighth. Behind the loop
    the sum of the rows times the factor, the factor, twice the last number; and the largest sum of a row so far less a quarter of its own."""
    d = tl.arange(0, D)
    total = tl.zeros([D], tl.float32)
    factor, last, most = 1.0, -5.0, 0.0
    for t in range(0, steps):
        x = tl.load(x_ptr + t * D + d)
        s = tl.load(s_ptr + t)
        if s > 0.5:
            factor = factor * s
        else:
            factor = factor * 0.75 + 0.125
        last = s * 2.0
        row = tl.sum(x, 0)
        tl.store(y_ptr + D + t, row)
        most = tl.maximum(most * 0.75, row)
        total += x
    tl.store(y_ptr + d, total * factor)
    tl.store(factor_ptr, factor)
    tl.store(last_ptr, last)
    tl.store(most_ptr, most)


@triton.jit
def bytes_stored(x_ptr, y_ptr, z_ptr, steps, D: tl.constexpr):
    """The lowest bytes of numbers in each step, and of their sum."""
    d = tl.arange(0, D)
    total = tl.zeros([D], tl.int32)
    for t in range(0, steps):
        x = tl.load(x_ptr + t * D + d)
        total += x
        tl.store(y_ptr + t * D + d, (x * 3 + 1).to(tl.int8))
    tl.store(z_ptr + d, total.to(tl.int8))


@triton.jit
def nibbles_mixed(x_ptr, w_ptr, y_ptr, z_ptr, steps, D: tl.constexpr):
    """The lower four bits of bytes with their sign, the upper ones without; both changed by the upper half of a product, as random numbers are
    made. Behind the loop the sum of the lower ones."""
    d = tl.arange(0, D)
    total = tl.zeros([D], tl.int32)
    four = tl.full([D], 4, tl.int8)
    for t in range(0, steps):
        x = tl.load(x_ptr + t * D + d)
        low = (x << four) >> four
        high = (x.to(tl.uint8, bitcast=True) >> four.to(tl.uint8, bitcast=True)).to(tl.int8, bitcast=True)
        mixed = tl.umulhi(tl.load(w_ptr + t * D + d), -766435501)
        tl.store(y_ptr + t * D + d, mixed ^ (low.to(tl.int32) * 16 + high.to(tl.int32)))
        total += low.to(tl.int32)
    tl.store(z_ptr + d, total)


@triton.jit
def experts_counted(i_ptr, each_ptr, all_ptr, steps, D: tl.constexpr, EXPERTS: tl.constexpr):
    """How often each expert is chosen, in each step and in all (the routing of mixtures of experts)."""
    d, e = tl.arange(0, D), tl.arange(0, EXPERTS)
    total = tl.zeros([EXPERTS], tl.int32)
    for t in range(0, steps):
        count = tl.histogram(tl.load(i_ptr + t * D + d), EXPERTS)
        tl.store(each_ptr + t * EXPERTS + e, count)
        total += count
    tl.store(all_ptr + e, total)


@triton.jit
def peaks_stored(x_ptr, y_ptr, most_ptr, added_ptr, last_ptr, steps, length, M: tl.constexpr, N: tl.constexpr):
    """Of each tile the numbers that are large and in front of an end, the maxima of rows that have a large one, and the sums of columns whose first
    number is positive are added; behind the loop the largest of each row that has a larger one than 2. What is not stored stays as it was."""
    rows, c = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N)
    most = tl.full([M], -8.0, tl.float32)
    for t in range(0, steps):
        x = tl.load(x_ptr + rows[:, None] * (steps * N) + (t * N + c)[None, :])
        large = x > 0.75
        tl.store(y_ptr + rows[:, None] * (steps * N) + (t * N + c)[None, :], x * 2.0, mask=large & ((t * N + c)[None, :] < length))
        row = tl.max(x, 1)
        tl.store(most_ptr + t * (2 * M) + rows, row, mask=row > 1.5)
        tl.atomic_add(added_ptr + rows[:, None] * N + c[None, :], x, mask=(row > 1.5)[:, None])
        most = tl.maximum(most, row)
    tl.store(last_ptr + rows, most, mask=most > 2.0)


@triton.jit
def rows_chosen(table_ptr, i_ptr, steps_ptr, y_ptr, N: tl.constexpr, D: tl.constexpr):
    """The sum of rows of a table whose numbers are cut out of words; how many blocks of words there are is cut out of one, too."""
    program, c, d = tl.program_id(0), tl.arange(0, N), tl.arange(0, D)
    total = tl.zeros([N, D], tl.float32)
    for t in range(0, tl.load(steps_ptr + program) & 7):
        word = tl.load(i_ptr + t * N + c)
        row = (word & 63) + ((word >> 6) & 1)
        total += tl.load(table_ptr + row[:, None] * D + d[None, :]).to(tl.float32)
    tl.store(y_ptr + program * (N * D) + c[:, None] * D + d[None, :], total)


@triton.jit
def while_counted(x_ptr, y_ptr, z_ptr, first, steps, D: tl.constexpr):
    """Every second step from the first one on, as a loop of `while`: what is carried, and at last."""
    d = tl.arange(0, D)
    total = tl.zeros([D], tl.float32)
    t = first
    while t < steps:
        total = total * 0.5 + tl.load(x_ptr + t * D + d)
        tl.store(y_ptr + t * D + d, total)
        t += 2
    tl.store(z_ptr + d, total)


@triton.jit
def blocks_by_pointers(x_ptr, w_ptr, s_ptr, y_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Y = S X W, block after block of a program (persistent), by pointers; the last rows and columns are ragged, and each block has a factor."""
    across = tl.cdiv(N, BLOCK_N)
    for tile in range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * across, tl.num_programs(0)):
        rows, columns = tile // across * BLOCK_M + tl.arange(0, BLOCK_M), tile % across * BLOCK_N + tl.arange(0, BLOCK_N)
        factor = tl.load(s_ptr + tile)
        acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        for start in range(0, K, BLOCK_K):
            k = start + tl.arange(0, BLOCK_K)
            x = tl.load(x_ptr + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
            w = tl.load(w_ptr + k[:, None] * N + columns[None, :], mask=(k[:, None] < K) & (columns[None, :] < N), other=0.0)
            acc = tl.dot(x, w, acc)
        tl.store(y_ptr + rows[:, None] * N + columns[None, :], (acc * factor).to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def blocks_measured(x_ptr, w_ptr, v_ptr, y_ptr, most_ptr, blocks, K, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Y = X W, block after block of rows (persistent), and the largest numbers of V, block by block, which have nothing to do with it."""
    c = tl.arange(0, N)
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        rows = block * M + tl.arange(0, M)
        acc, most = tl.zeros([M, N], tl.float32), tl.full([D], -8.0, tl.float32)
        for start in range(0, K, 64):
            k = start + tl.arange(0, 64)
            x = tl.load(x_ptr + rows[:, None] * K + k[None, :])
            w = tl.load(w_ptr + k[:, None] * N + c[None, :])
            acc = tl.dot(x, w, acc)
            most = tl.maximum(most, tl.load(v_ptr + start * (D // 64) + tl.arange(0, D)))
        tl.store(y_ptr + rows[:, None] * N + c[None, :], acc.to(tl.float16))
        tl.store(most_ptr + block * D + tl.arange(0, D), most)


@triton.jit
def rows_in_turn(x_ptr, w_ptr, y_ptr, z_ptr, blocks, columns, M: tl.constexpr, N: tl.constexpr):
    """Block after block of rows (persistent): each number times its row's weight, and the logarithm of the sum of their powers of two."""
    c = tl.arange(0, N)
    for block in range(tl.program_id(0), blocks, tl.num_programs(0)):
        rows = block * M + tl.arange(0, M)
        weight = tl.load(w_ptr + rows)
        most, total = tl.full([M], -8.0, tl.float32), tl.zeros([M], tl.float32)
        for start in range(0, columns, N):
            x = tl.load(x_ptr + rows[:, None] * columns + (start + c)[None, :]) * weight[:, None]
            tl.store(y_ptr + rows[:, None] * columns + (start + c)[None, :], x)
            new = tl.maximum(most, tl.max(x, 1))
            total = total * tl.exp2(most - new) + tl.sum(tl.exp2(x - new[:, None]), 1)
            most = new
        tl.store(z_ptr + rows, most + tl.log2(tl.maximum(total, 0.0078125)))


@triton.jit
def numbers_before(x_ptr, w_ptr, y_ptr, z_ptr, v_ptr, last_ptr, steps, D: tl.constexpr):
    """A number that the loop carries, made of one from before the loop, stored as it was before the iteration."""
    d = tl.arange(0, D)
    first = tl.load(w_ptr)
    decayed = 0.0
    for t in range(0, steps):
        x = tl.load(x_ptr + t * D + d)
        tl.store(y_ptr + t, decayed)
        tl.store(z_ptr + t, decayed * 2.0)
        tl.store(v_ptr + t * D + d, x * 0.5)
        decayed = decayed * 0.5 + first
    tl.store(last_ptr, decayed)


@triton.jit
def both_chosen(x_ptr, y_ptr, z_ptr, w_ptr, last_ptr, steps, limit, M: tl.constexpr, N: tl.constexpr):
    """Branches that make a vector and a number, one in the other; what they make is carried, and chosen once more behind the loop."""
    rows, c = tl.arange(0, M), tl.arange(0, N)
    most, total = tl.full([M], -8.0, tl.float32), tl.zeros([M], tl.float32)
    scale = 1.0
    for t in range(0, steps):
        x = tl.load(x_ptr + t * M * N + rows[:, None] * N + c[None, :])
        top = tl.max(x, 1)
        if t % 3 == 1:
            most = tl.maximum(most * 0.5, top)
            scale = scale * 0.5
            if t > limit:
                most = most + 1.0
                total = total - top
        else:
            scale = scale + 0.25
            total = total + top * 0.125
        tl.store(w_ptr + t * M + rows, most * scale)
    if steps > limit:
        total = total + most
        most = most * 2.0
    tl.store(y_ptr + rows, total)
    tl.store(z_ptr + rows, most)
    tl.store(last_ptr, scale)


@triton.jit
def without_sign(x_ptr, y_ptr, z_ptr, v_ptr, most_ptr, least_ptr, place_ptr, steps, M: tl.constexpr, N: tl.constexpr):
    """Words without a sign: quotients and rests, larger ones, comparisons, the largest of each row; of the same words with a sign where the
    smallest of each row is."""
    rows, c = tl.arange(0, M), tl.arange(0, N)
    for t in range(0, steps):
        signed = tl.load(x_ptr + t * M * N + rows[:, None] * N + c[None, :])
        x = signed.to(tl.uint32, bitcast=True)
        mixed = x * 2654435761
        tl.store(y_ptr + t * M * N + rows[:, None] * N + c[None, :], (mixed // 10 + mixed % 6700417 + mixed // 64 * 3 + mixed % 32).to(tl.int32, bitcast=True))
        tl.store(z_ptr + t * M * N + rows[:, None] * N + c[None, :], tl.maximum(tl.minimum(x, mixed), 77).to(tl.int32, bitcast=True))
        tl.store(v_ptr + t * M * N + rows[:, None] * N + c[None, :], (x < mixed).to(tl.int32) + (x >= 3000000000).to(tl.int32) * 2)
        tl.store(most_ptr + t * M + rows, tl.max(x, 1).to(tl.int32, bitcast=True))
        tl.store(least_ptr + t * M + rows, tl.min(mixed, 1).to(tl.int32, bitcast=True))
        tl.store(place_ptr + t * M + rows, tl.argmin(signed, 1))


@triton.jit
def words_carried(x_ptr, i_ptr, y_ptr, state_ptr, count_ptr, steps, D: tl.constexpr):
    """Integers that the loop carries and that are stored behind it: a random number's state, one that a branch counts, one of a sum; and numbers made
    in a branch that its tile is multiplied with."""
    d = tl.arange(0, D)
    acc = tl.zeros([D], tl.float32)
    state, count, total = 12345, 0, 7
    for t in range(0, steps):
        x = tl.load(x_ptr + t * D + d)
        i = tl.load(i_ptr + t)
        state = (state * 1664525 + i) ^ 1013904223
        if i > 0:
            count = count + (i & 7)
        total = total + tl.sum((x > 0.25).to(tl.int32), 0)
        factor = i.to(tl.float32) * 0.125
        if t % 2 == 0:
            acc = acc * tl.exp2(-tl.abs(factor)) + x
        tl.store(y_ptr + t * D + d, acc)
    tl.store(state_ptr, state)
    tl.store(count_ptr, count)
    tl.store(count_ptr + 1, total)


@triton.jit
def begun_with(x_ptr, y_ptr, state_ptr, scale_ptr, steps, seed, first, D: tl.constexpr):
    """What the loop carries begins with arguments: a vector, a number, an integer."""
    d = tl.arange(0, D)
    acc = tl.full([D], first, tl.float32)
    state, scale = seed * 3 + 1, first
    for t in range(0, steps):
        acc = acc * 0.5 + tl.load(x_ptr + t * D + d)
        state = state * 1664525 + 1013904223
        scale = scale * 0.5 + 0.25
        tl.store(y_ptr + t * D + d, acc)
    tl.store(state_ptr, state)
    tl.store(scale_ptr, scale)


@triton.jit
def heads_added(x_ptr, w_ptr, y_ptr, steps, first, heads, M: tl.constexpr, N: tl.constexpr):
    """The sum of the tiles of every second head from the first one on, each head times its weight: two loops in each other."""
    rows, c = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, N)
    total = tl.zeros([M, N], tl.float32)
    for head in range(first, heads, 2):
        weight = tl.load(w_ptr + head)
        base = head * (steps * (2 * M * N))
        for t in range(1, steps + 1):
            total += tl.load(x_ptr + base + rows[:, None] * (steps * N) + ((t - 1) * N + c)[None, :]) * weight
    tl.store(y_ptr + rows[:, None] * N + c[None, :], total)


@triton.jit
def keys_grouped(q_ptr, k_ptr, table_ptr, s_ptr, steps, limit, G: tl.constexpr, PAGE: tl.constexpr, D: tl.constexpr, X: tl.constexpr):
    """Scores of few queries and keys of 8 bits that lie in pages, X numbers of each key beside each other; places up to a limit are added."""
    g, d, p = tl.arange(0, G), tl.arange(0, D), tl.arange(0, PAGE)
    q = tl.load(q_ptr + g[:, None] * D + d[None, :])
    for t in range(0, steps):
        block = tl.load(table_ptr + t)
        k = tl.load(k_ptr + block * D * PAGE + (d[:, None] // X) * PAGE * X + p[None, :] * X + d[:, None] % X)
        s = tl.dot(q, k.to(tl.float16))
        near = tl.minimum(t * PAGE + p, limit)
        s += near.to(tl.float32)[None, :]
        tl.store(s_ptr + t * G * PAGE + g[:, None] * PAGE + p[None, :], s)


@triton.jit
def scores_biased(q_ptr, k_ptr, row_ptr, column_ptr, l_ptr, s_ptr, n, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Sums of exponentials of scores to which a number a key is added, and the last scores with a number a query."""
    rows, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    of_row = tl.load(row_ptr + rows)
    l = tl.zeros([M], tl.float32)
    for start in range(0, n, N):
        c = start + tl.arange(0, N)
        k = tl.load(k_ptr + c[:, None] * D + d[None, :])
        s = tl.dot(q, tl.trans(k)) + tl.load(column_ptr + c)[None, :]
        l += tl.sum(tl.exp2(s), 1)
        tl.store(s_ptr + rows[:, None] * n + c[None, :], tl.dot(q, tl.trans(k)) + of_row[:, None])
    tl.store(l_ptr + rows, l)


@triton.jit
def blocks_counted(x_ptr, y_ptr, n, limit, D: tl.constexpr):
    """A loop that counts elements, from the third block on; which block it is at is computed by a division."""
    d = tl.arange(0, D)
    for start in range(2 * D, n, D):
        t = start // D
        c = t * D + d
        x = tl.load(x_ptr + c)
        tl.store(y_ptr + (t - 2) * D + d, tl.where(c < limit, x, x * 0.5))


@triton.jit
def scores_dropped(q_ptr, k_ptr, v_ptr, o_ptr, n, seed, p, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Attention of which a part of the weights is dropped at random (Philox, by their places and a seed of the launch)."""
    rows, d = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + d[None, :])
    l, acc = tl.zeros([M], tl.float32), tl.zeros([M, D], tl.float32)
    for start in range(0, n, N):
        c = start + tl.arange(0, N)
        w = tl.exp2(tl.dot(q, tl.trans(tl.load(k_ptr + c[:, None] * D + d[None, :]))))
        l += tl.sum(w, 1)
        kept = tl.rand(seed, rows[:, None] * n + c[None, :]) > p
        acc = tl.dot(tl.where(kept, w, 0.0).to(tl.float16), tl.load(v_ptr + c[:, None] * D + d[None, :]), acc)
    tl.store(o_ptr + rows[:, None] * D + d[None, :], acc / (l * (1 - p))[:, None])


@triton.jit
def places_hashed(x_ptr, y_ptr, h_ptr, steps, seed, M: tl.constexpr, N: tl.constexpr):
    """Numbers kept where a hash of their places is negative, and the hash: products of more than 32 bits, also of what the compiler knows."""
    rows, c = tl.arange(0, M), tl.arange(0, N)
    for t in range(0, steps):
        at = ((tl.program_id(0) * 4096 + t) * M + rows[:, None]) * N + c[None, :]
        h = at * -1640531527 ^ seed
        h = (h ^ (h.to(tl.uint32, bitcast=True) >> 15).to(tl.int32, bitcast=True)) * 739982445
        h = (h ^ (h.to(tl.uint32, bitcast=True) >> 12).to(tl.int32, bitcast=True)) * 695872825
        h = h ^ (h.to(tl.uint32, bitcast=True) >> 15).to(tl.int32, bitcast=True)
        place = ((tl.program_id(0) * steps + t) * M + rows[:, None]) * N + c[None, :]
        tl.store(y_ptr + place, tl.where(h < 0, tl.load(x_ptr + place), 0.0))
        tl.store(h_ptr + place, h)


@triton.jit
def experts_skipped(x_ptr, w_ptr, scale_ptr, y_ptr, most_ptr, none_ptr, token_ptr, expert_ptr, blocks_ptr, tokens, experts, K, N, BLOCK_M: tl.constexpr,
                    BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Y[token] = X[token] W[expert], scaled; blocks whose expert is not here store 0 and how many tokens they have, and return before the loop."""
    block, columns = tl.program_id(0), tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    if block >= tl.load(blocks_ptr):
        return
    r, k = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_K)
    token = tl.load(token_ptr + block * BLOCK_M + r)
    there = token < tokens
    expert = tl.load(expert_ptr + block)
    y = y_ptr + token[:, None] * N + columns[None, :]
    if (expert < 0) | (expert >= experts):
        tl.store(y, tl.zeros([BLOCK_M, BLOCK_N], tl.float16) - 1.0, mask=there[:, None] & (columns[None, :] < N))
        tl.store(none_ptr + block * BLOCK_M + r, tl.where(there, 1.0, 0.0))
        return
    wrapped = columns % N
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + token[:, None] * K + (start + k)[None, :], mask=there[:, None], other=0.0)
        w = tl.load(w_ptr + expert * K * N + (start + k)[:, None] * N + wrapped[None, :])
        acc = tl.dot(x, w, acc)
    acc = acc * tl.load(scale_ptr + expert * N + columns, mask=columns < N, other=0.0)[None, :]
    tl.store(y, acc.to(tl.float16), mask=there[:, None] & (columns[None, :] < N))
    tl.store(most_ptr + block * BLOCK_M + r, tl.max(acc, 1))


@triton.jit
def parts_merged(o_ptr, lse_ptr, new_ptr, new_lse_ptr, steps, H: tl.constexpr, D: tl.constexpr):
    """Two outputs of attention become one, in place; their sums are loaded in two layouts and stored back."""
    h, d = tl.arange(0, H), tl.arange(0, D)
    for t in range(0, steps):
        at = (tl.program_id(0) * steps + t) * H + h
        lse, new_lse = tl.load(lse_ptr + at), tl.load(new_lse_ptr + at)
        o, new = tl.load(o_ptr + at[:, None] * D + d[None, :]), tl.load(new_ptr + at[:, None] * D + d[None, :])
        top = tl.maximum(lse, new_lse)
        a, b = tl.exp2(lse - top), tl.exp2(new_lse - top)
        tl.store(o_ptr + at[:, None] * D + d[None, :], o * (a / (a + b))[:, None] + new * (b / (a + b))[:, None])
        tl.store(lse_ptr + at, top + tl.log2(a + b))


@triton.jit
def gap_jumped(x_ptr, y_ptr, sum_ptr, steps, first, skip, columns, M: tl.constexpr, N: tl.constexpr):
    """The first blocks of columns, and those behind a gap: which are seen, and where each column lies."""
    r, n = tl.arange(0, M), tl.arange(0, N)
    total = tl.zeros([M], tl.float32)
    for t in range(0, steps):
        c = tl.where(t < first, t, t + skip) * N + n
        x = tl.load(x_ptr + r[:, None] * columns + c[None, :], mask=c[None, :] < columns, other=0.0)
        seen = (r[:, None] * 50 >= c[None, :]) | (c[None, :] < 80)
        s = tl.where(seen, x, -1.0)
        total += tl.sum(s, 1)
        tl.store(y_ptr + t * M * N + r[:, None] * N + n[None, :], s + (c % 8).to(tl.float32)[None, :])
    tl.store(sum_ptr + r, total)


@triton.jit
def multiplied(a, b):
    return a * b


@triton.jit
def gates_multiplied(x_ptr, y_ptr, z_ptr, each_ptr, all_ptr, v_ptr, steps, M: tl.constexpr, N: tl.constexpr):
    """Products of each row so far, over all steps; from the last row on; of each row; of a vector."""
    r, n = tl.arange(0, M), tl.arange(0, N)
    so_far = tl.full([M], 1.0, tl.float32)
    for t in range(0, steps):
        at = t * M * N + r[:, None] * N + n[None, :]
        x = tl.load(x_ptr + at)
        tl.store(y_ptr + at, tl.cumprod(x, 1) * so_far[:, None])
        tl.store(z_ptr + at, tl.cumprod(x, 0, reverse=True))
        each = tl.reduce(x, 1, multiplied)
        tl.store(each_ptr + t * M + r, each)
        so_far *= each
        tl.store(v_ptr + t * M + r, tl.cumprod(each, 0))
    tl.store(all_ptr + r, so_far)


@triton.jit
def splits_combined(x_ptr, lse_ptr, steps_ptr, y_ptr, all_ptr, MOST: tl.constexpr, D: tl.constexpr):
    """The second kernel of split attention: parts of a row are weighed by numbers alone, which are carried."""
    row = tl.program_id(0)
    d = tl.arange(0, D)
    steps = tl.load(steps_ptr + row)
    m = -64.0
    l = 0.0
    acc = tl.zeros([D], tl.float32)
    for i in range(0, steps):
        x = tl.load(x_ptr + (row * MOST + i) * D + d)
        lse = tl.load(lse_ptr + row * MOST + i)
        new = tl.maximum(m, lse)
        old = tl.exp2(m - new)
        own = tl.exp2(lse - new)
        acc = acc * old + own * x
        l = l * old + own
        m = new
    tl.store(y_ptr + row * D + d, acc / tl.maximum(l, 0.0078125))
    tl.store(all_ptr + row, m + tl.log2(tl.maximum(l, 0.0078125)))


@triton.jit
def log_of_row(x_ptr, columns, D: tl.constexpr):
    """Of the sum of a row's exponentials, in one pass."""
    d = tl.arange(0, D)
    most = float("-inf")
    total = 0.0
    for i in range(0, columns, D):
        x = tl.load(x_ptr + i + d, mask=i + d < columns, other=float("-inf"))
        new = tl.maximum(most, tl.max(x, 0))
        total = total * tl.exp(most - new) + tl.sum(tl.exp(x - new), 0)
        most = new
    return most + tl.log(total)


@triton.jit
def row_rewritten(x_ptr, columns, D: tl.constexpr):
    """The softmax of a long row, where the row was."""
    x_ptr += tl.program_id(0) * columns
    d = tl.arange(0, D)
    log = log_of_row(x_ptr, columns, D)
    for i in range(0, columns, D):
        x = tl.load(x_ptr + i + d, mask=i + d < columns, other=0.0)
        tl.store(x_ptr + i + d, tl.exp(x - log), mask=i + d < columns)


@triton.jit
def loss_and_gradient(x_ptr, label_ptr, loss_ptr, columns, D: tl.constexpr):
    """The loss of a long row, stored last, and where the row was, its gradient."""
    row = tl.program_id(0)
    x_ptr += row * columns
    label = tl.load(label_ptr + row)
    own = tl.load(x_ptr + label)
    d = tl.arange(0, D)
    log = log_of_row(x_ptr, columns, D)
    for i in range(0, columns, D):
        x = tl.exp(tl.load(x_ptr + i + d, mask=i + d < columns, other=0.0) - log)
        tl.store(x_ptr + i + d, tl.where(i + d == label, x - 1.0, x), mask=i + d < columns)
    tl.store(loss_ptr + row, log - own)


@triton.jit
def residual_normed(x_ptr, r_ptr, w_ptr, y_ptr, columns, D: tl.constexpr):
    """What is added is kept, and loaded again to be normed: rows are too long for registers."""
    x_ptr += tl.program_id(0) * columns
    r_ptr += tl.program_id(0) * columns
    y_ptr += tl.program_id(0) * columns
    d = tl.arange(0, D)
    square = tl.zeros([D], tl.float32)
    for i in range(0, columns, D):
        r = tl.load(r_ptr + i + d, mask=i + d < columns, other=0.0) + tl.load(x_ptr + i + d, mask=i + d < columns, other=0.0)
        tl.store(r_ptr + i + d, r, mask=i + d < columns)
        square += r * r
    scale = 1 / tl.sqrt(tl.sum(square, 0) / columns + 1e-5)
    for i in range(0, columns, D):
        r = tl.load(r_ptr + i + d, mask=i + d < columns, other=0.0)
        w = tl.load(w_ptr + i + d, mask=i + d < columns, other=0.0)
        tl.store(y_ptr + i + d, r * scale * w, mask=i + d < columns)


@triton.jit
def taken_and_cleared(x_ptr, y_ptr, columns, D: tl.constexpr):
    """What has come together in a row is added up, and is nothing from then on."""
    x_ptr += tl.program_id(0) * columns
    d = tl.arange(0, D)
    total = tl.zeros([D], tl.float32)
    for i in range(0, columns, D):
        total += tl.load(x_ptr + i + d, mask=i + d < columns, other=0.0)
    tl.store(y_ptr + tl.program_id(0) * D + d, total)
    for i in range(0, columns, D):
        tl.store(x_ptr + i + d, tl.zeros([D], tl.float32), mask=i + d < columns)


@triton.jit
def blocks_left_out(a_ptr, b_ptr, on_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A product without the blocks that a table says are nothing: what they would be made of is not there."""
    row = tl.program_id(0)
    rm = row * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rk = tl.arange(0, BK)
    steps = K // BK
    acc = tl.zeros([BM, BN], tl.float32)
    for k in range(0, steps):
        if tl.load(on_ptr + row * steps + k) != 0:
            a = tl.load(a_ptr + rm[:, None] * K + (k * BK + rk)[None, :], mask=(rm < M)[:, None], other=0.0)
            b = tl.load(b_ptr + (k * BK + rk)[:, None] * N + rn[None, :])
            acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rm[:, None] * N + rn[None, :], acc, mask=(rm < M)[:, None])


@triton.jit
def lengths_in_turn(x_ptr, w_ptr, length_ptr, y_ptr, tiles, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Products of rows with as many columns as each tile's length says: a program has several tiles, one after the other."""
    rn = tl.arange(0, BN)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        length = tl.load(length_ptr + tile)
        rm = tile * BM + tl.arange(0, BM)
        acc = tl.zeros([BM, BN], tl.float32)
        for k in range(0, tl.cdiv(length, BK)):
            rk = k * BK + tl.arange(0, BK)
            x = tl.load(x_ptr + rm[:, None] * K + rk[None, :])
            w = tl.load(w_ptr + rk[:, None] * BN + rn[None, :], mask=rk[:, None] < length, other=0.0)
            acc = tl.dot(x, w, acc)
        tl.store(y_ptr + rm[:, None] * BN + rn[None, :], acc)


@triton.jit
def blocks_attended(q_ptr, k_ptr, v_ptr, on_ptr, o_ptr, n, scale, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    """Attention to the blocks of keys that a table names: the others are left out, loads and all."""
    row = tl.program_id(0)
    rm = row * M + tl.arange(0, M)
    rn = tl.arange(0, N)
    rd = tl.arange(0, D)
    steps = tl.cdiv(n, N)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :])
    m = tl.full([M], -128.0, tl.float32)
    l = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, D], tl.float32)
    for j in range(0, steps):
        if tl.load(on_ptr + row * steps + j) != 0:
            k = tl.load(k_ptr + (j * N + rn)[None, :] * D + rd[:, None], mask=(j * N + rn < n)[None, :], other=0.0)
            v = tl.load(v_ptr + (j * N + rn)[:, None] * D + rd[None, :], mask=(j * N + rn < n)[:, None], other=0.0)
            s = tl.where((j * N + rn < n)[None, :], tl.dot(q, k) * scale, -1024.0)
            new = tl.maximum(m, tl.max(s, 1))
            p = tl.exp2(s - new[:, None])
            alpha = tl.exp2(m - new)
            l = l * alpha + tl.sum(p, 1)
            acc = tl.dot(p.to(tl.float16), v, acc * alpha[:, None])
            m = new
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], acc / tl.maximum(l, 0.0078125)[:, None])


CASES = [  # kernel, its signature, its constants, how many warps if not four
    (parts_added, "x_ptr=*fp16:16, w_ptr=*fp16:16, y_ptr=*fp16:16, M=i32:16, N=i32:16, K=i32:16", dict(PARTS=2, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64)),
    (experts_added, "x_ptr=*fp16:16, w_ptr=*fp16:16, y_ptr=*fp32:16, token_ptr=*i32:16, expert_ptr=*i32:16, tokens=i32, K=i32:16, N=i32:16",
     dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=64)),
    (sums_added, "x_ptr=*fp16:16, y_ptr=*bf16:16, rows=i32", dict(D=128, ROWS=32)),
    (counted, "x_ptr=*fp32:16, y_ptr=*i32:16, z_ptr=*i32:16, columns=i32:16", dict(M=32, N=64)),
    (bits_changed, "x_ptr=*fp32:16, y_ptr=*fp32:16, z_ptr=*i32:16, steps=i32", dict(D=256)),
    (half_sums, "q_ptr=*fp16:16, k_ptr=*fp16:16, v_ptr=*fp16:16, o_ptr=*fp16:16, n=i32:16", dict(M=128, N=64, D=64)),
    (behind_in_two, "x_ptr=*fp32:16, y_ptr=*fp32:16, w_ptr=*fp32:16, columns=i32:16, scaled=i32", dict(D=256)),
    (stats_updated, "x_ptr=*fp16:16, mean_ptr=*fp32:16, rows=i32, scale=fp32, momentum=fp32", dict(D=256)),
    (any_and_all, "x_ptr=*fp32:16, i_ptr=*i32:16, y_ptr=*i32:16, z_ptr=*i32:16, h_ptr=*i32:16, steps=i32", dict(M=16, N=64)),
    (last_block_first, "x_ptr=*fp32:16, y_ptr=*fp32:16, columns=i32", dict(D=256)),
    (running_most, "x_ptr=*fp32:16, y_ptr=*fp32:16, z_ptr=*fp32:16, steps=i32", dict(M=16, N=64)),
    (numbers_stored, "x_ptr=*fp32:16, s_ptr=*fp32:16, mean_ptr=*fp16:16, twice_ptr=*fp32:16, count_ptr=*i32:16, most_ptr=*fp32:16, one_ptr=*fp32:16, steps=i32",
     dict(D=256)),
    (numbers_where, "x_ptr=*fp32:16, first_ptr=*fp32:16, sum_ptr=*fp32:16, most_ptr=*fp32:16, steps=i32, limit=i32", dict(D=256)),
    (last_kept, "x_ptr=*fp32:16, i_ptr=*i32:16, y_ptr=*fp32:16, z_ptr=*fp32:16, w_ptr=*i32:16, steps=i32", dict(M=16, D=64)),
    (every_third, "x_ptr=*fp32:16, y_ptr=*fp32:16, first=i32, steps=i32", dict(D=256)),
    (sums_from_end, "x_ptr=*fp32:16, w_ptr=*i32:16, y_ptr=*fp32:16, z_ptr=*fp32:16, v_ptr=*i32:16, all_ptr=*fp32:16, steps=i32", dict(M=16, N=64)),
    (left_before, "q_ptr=*fp16:16, s_ptr=*fp32:16, x_ptr=*fp16:16, y_ptr=*fp32:16, steps=i32", dict(M=64, N=128, D=128), 8),
    (odd_loads, "x_ptr=*fp16:16, w_ptr=*fp16:16, y_ptr=*fp32:16, steps=i32, stride=i32", dict(D=256)),
    (odd_tiles, "x_ptr=*fp16:16, s_ptr=*fp32:16, y_ptr=*fp32:16, steps=i32, stride=i32", dict(M=64, N=64)),
    (halves, "x_ptr=*fp32:16, y_ptr=*fp32:16, z_ptr=*fp32:16, steps=i32", dict(D=256)),
    (pairs_turned, "x_ptr=*fp32:16, c_ptr=*fp32:16, s_ptr=*fp32:16, y_ptr=*fp32:16, steps=i32", dict(M=16, N=64)),
    (groups_scaled, "x_ptr=*fp32:16, y_ptr=*fp32:16, s_ptr=*fp32:16, z_ptr=*fp32:16, steps=i32", dict(M=16, N=64, G=16)),
    (between_groups, "x_ptr=*fp32:16, y_ptr=*fp32:16, z_ptr=*fp32:16, steps=i32", dict(M=16, N=64, G=16)),
    (numbers_kept, "x_ptr=*fp32:16, s_ptr=*fp32:16, y_ptr=*fp32:16, factor_ptr=*fp32:16, last_ptr=*fp32:16, most_ptr=*fp32:16, steps=i32", dict(D=256)),
    (bytes_stored, "x_ptr=*i32:16, y_ptr=*i8:16, z_ptr=*i8:16, steps=i32", dict(D=512)),
    (experts_counted, "i_ptr=*i32:16, each_ptr=*i32:16, all_ptr=*i32:16, steps=i32", dict(D=512, EXPERTS=128)),
    (nibbles_mixed, "x_ptr=*i8:16, w_ptr=*i32:16, y_ptr=*i32:16, z_ptr=*i32:16, steps=i32", dict(D=512)),
    (peaks_stored, "x_ptr=*fp32:16, y_ptr=*fp32:16, most_ptr=*fp32:16, added_ptr=*fp32:16, last_ptr=*fp32:16, steps=i32, length=i32", dict(M=16, N=64)),
    (rows_chosen, "table_ptr=*fp16:16, i_ptr=*i32:16, steps_ptr=*i32:16, y_ptr=*fp32:16", dict(N=32, D=64)),
    (numbers_before, "x_ptr=*fp32:16, w_ptr=*fp32:16, y_ptr=*fp32:16, z_ptr=*fp32:16, v_ptr=*fp32:16, last_ptr=*fp32:16, steps=i32", dict(D=256)),
    (while_counted, "x_ptr=*fp32:16, y_ptr=*fp32:16, z_ptr=*fp32:16, first=i32, steps=i32", dict(D=256)),
    (blocks_by_pointers, "x_ptr=*fp16:16, w_ptr=*fp16:16, s_ptr=*fp32:16, y_ptr=*fp16:16, M=i32:16, N=i32:16, K=i32:16", dict(BLOCK_M=128, BLOCK_N=64, BLOCK_K=64)),
    (blocks_measured, "x_ptr=*fp16:16, w_ptr=*fp16:16, v_ptr=*fp32:16, y_ptr=*fp16:16, most_ptr=*fp32:16, blocks=i32, K=i32:16", dict(M=128, N=64, D=512)),
    (heads_added, "x_ptr=*fp32:16, w_ptr=*fp32:16, y_ptr=*fp32:16, steps=i32, first=i32, heads=i32", dict(M=16, N=64)),
    (rows_in_turn, "x_ptr=*fp32:16, w_ptr=*fp32:16, y_ptr=*fp32:16, z_ptr=*fp32:16, blocks=i32, columns=i32:16", dict(M=16, N=64)),
    (both_chosen, "x_ptr=*fp32:16, y_ptr=*fp32:16, z_ptr=*fp32:16, w_ptr=*fp32:16, last_ptr=*fp32:16, steps=i32, limit=i32", dict(M=64, N=64)),
    (words_carried, "x_ptr=*fp32:16, i_ptr=*i32:16, y_ptr=*fp32:16, state_ptr=*i32:16, count_ptr=*i32:16, steps=i32", dict(D=512)),
    (begun_with, "x_ptr=*fp32:16, y_ptr=*fp32:16, state_ptr=*i32:16, scale_ptr=*fp32:16, steps=i32, seed=i32, first=fp32", dict(D=512)),
    (keys_grouped, "q_ptr=*fp16:16, k_ptr=*i8:16, table_ptr=*i32:16, s_ptr=*fp32:16, steps=i32, limit=i32", dict(G=16, PAGE=64, D=64, X=16)),
    (scores_biased, "q_ptr=*fp16:16, k_ptr=*fp16:16, row_ptr=*fp32:16, column_ptr=*fp32:16, l_ptr=*fp32:16, s_ptr=*fp32:16, n=i32:16", dict(M=64, N=32, D=64)),
    (scores_dropped, "q_ptr=*fp16:16, k_ptr=*fp16:16, v_ptr=*fp16:16, o_ptr=*fp32:16, n=i32:16, seed=i32, p=fp32", dict(M=64, N=64, D=64)),
    (places_hashed, "x_ptr=*fp32:16, y_ptr=*fp32:16, h_ptr=*i32:16, steps=i32, seed=i32", dict(M=16, N=64)),
    (blocks_counted, "x_ptr=*fp32:16, y_ptr=*fp32:16, n=i32, limit=i32", dict(D=256)),
    (experts_skipped, "x_ptr=*fp16:16, w_ptr=*fp16:16, scale_ptr=*fp32:16, y_ptr=*fp16:16, most_ptr=*fp32:16, none_ptr=*fp32:16, token_ptr=*i32:16, "
     "expert_ptr=*i32:16, blocks_ptr=*i32:16, tokens=i32, experts=i32, K=i32:16, N=i32:16", dict(BLOCK_M=64, BLOCK_N=64, BLOCK_K=64)),
    (parts_merged, "o_ptr=*fp32:16, lse_ptr=*fp32:16, new_ptr=*fp32:16, new_lse_ptr=*fp32:16, steps=i32", dict(H=16, D=128)),
    (gap_jumped, "x_ptr=*fp32:16, y_ptr=*fp32:16, sum_ptr=*fp32:16, steps=i32, first=i32, skip=i32, columns=i32:16", dict(M=16, N=64)),
    (gates_multiplied, "x_ptr=*fp32:16, y_ptr=*fp32:16, z_ptr=*fp32:16, each_ptr=*fp32:16, all_ptr=*fp32:16, v_ptr=*fp32:16, steps=i32", dict(M=16, N=64)),
    (splits_combined, "x_ptr=*fp32:16, lse_ptr=*fp32:16, steps_ptr=*i32:16, y_ptr=*fp32:16, all_ptr=*fp32:16", dict(MOST=8, D=128)),
    (lengths_in_turn, "x_ptr=*fp16:16, w_ptr=*fp16:16, length_ptr=*i32:16, y_ptr=*fp32:16, tiles=i32, K=i32:16", dict(BM=128, BN=64, BK=64)),
    (blocks_left_out, "a_ptr=*fp16:16, b_ptr=*fp16:16, on_ptr=*i32:16, c_ptr=*fp32:16, M=i32, N=i32:16, K=i32:16", dict(BM=128, BN=64, BK=64)),
    (blocks_attended, "q_ptr=*fp16:16, k_ptr=*fp16:16, v_ptr=*fp16:16, on_ptr=*i32:16, o_ptr=*fp32:16, n=i32, scale=fp32", dict(M=64, N=64, D=64)),
    (without_sign, "x_ptr=*i32:16, y_ptr=*i32:16, z_ptr=*i32:16, v_ptr=*i32:16, most_ptr=*i32:16, least_ptr=*i32:16, place_ptr=*i32:16, steps=i32",
     dict(M=16, N=64)),
    (row_rewritten, "x_ptr=*fp32:16, columns=i32", dict(D=2048)),
    (loss_and_gradient, "x_ptr=*fp32:16, label_ptr=*i32:16, loss_ptr=*fp32:16, columns=i32", dict(D=2048)),
    (residual_normed, "x_ptr=*fp32:16, r_ptr=*fp32:16, w_ptr=*fp32:16, y_ptr=*fp32:16, columns=i32", dict(D=2048)),
    (taken_and_cleared, "x_ptr=*fp32:16, y_ptr=*fp32:16, columns=i32", dict(D=2048)),
    (long_taps, "x_ptr=*fp16:16, w_ptr=*fp32:16, first_ptr=*fp32:16, y_ptr=*fp32:16, steps=i32", dict(D=256)),
]


if __name__ == "__main__":
    own_kernels.write_modules(CASES, sys.argv[1])
