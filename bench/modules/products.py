"""Matrix products: pointers, descriptors, persistent, split, batched, with what comes before and after them."""

import triton
import triton.language as tl

from cases import ALL, BLACKWELL, HOPPER, WITH_DESCRIPTORS, case

MATRICES = "a_ptr=*fp16, b_ptr=*fp16, c_ptr=*fp16, M=i32, N=i32, K=i32"
TILES = ("a_desc=tensordesc<fp16[{m}, {k}]>, b_desc=tensordesc<fp16[{n}, {k}]>, c_desc=tensordesc<fp16[{m}, {n}]>, "
         "M=i32, N=i32, K=i32")


@triton.jit
def swizzled(tile, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GROUP: tl.constexpr):
    """Row and column of a tile, GROUP rows of tiles at a time."""
    across = tl.cdiv(N, BLOCK_N)
    group = tile // (GROUP * across)
    height = tl.minimum(tl.cdiv(M, BLOCK_M) - group * GROUP, GROUP)
    return group * GROUP + tile % (GROUP * across) % height, tile % (GROUP * across) // height


@case(MATRICES, ALL, warps=8, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, GROUP=8)
@case(MATRICES, ALL, warps=4, stages=4, suffix="k32", BLOCK_M=64, BLOCK_N=128, BLOCK_K=32, GROUP=4)
@triton.jit
def gemm_masked(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                GROUP: tl.constexpr):
    """Pointers and a mask along K."""
    i, j = swizzled(tl.program_id(0), M, N, BLOCK_M, BLOCK_N, GROUP)
    rows = (i * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (j * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    k = tl.arange(0, BLOCK_K)
    a_tile = a_ptr + rows[:, None] * K + k[None, :]
    b_tile = b_ptr + k[:, None] * N + columns[None, :]
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_tile, mask=k[None, :] < K - step * BLOCK_K, other=0.0)
        b = tl.load(b_tile, mask=k[:, None] < K - step * BLOCK_K, other=0.0)
        acc = tl.dot(a, b, acc)
        a_tile += BLOCK_K
        b_tile += BLOCK_K * N
    to_m = i * BLOCK_M + tl.arange(0, BLOCK_M)
    to_n = j * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(c_ptr + to_m[:, None] * N + to_n[None, :], acc.to(tl.float16),
             mask=(to_m[:, None] < M) & (to_n[None, :] < N))


@case(MATRICES + ", bias_ptr=*fp16", ALL, warps=8, stages=4, BLOCK_M=128, BLOCK_N=128, BLOCK_K=32)
@triton.jit
def gemm_bias_gelu(a_ptr, b_ptr, c_ptr, M, N, K, bias_ptr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                   BLOCK_K: tl.constexpr):
    """An epilogue of a bias and GELU by its tangent."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rows[:, None] * K + (start + k)[None, :])
        b = tl.load(b_ptr + columns[None, :] * K + (start + k)[:, None])
        acc = tl.dot(a, b, acc)
    x = acc + tl.load(bias_ptr + columns)[None, :]
    inner = 0.7978845608 * (x + 0.044715 * x * x * x)
    x = x * tl.sigmoid(2.0 * inner)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], x.to(tl.float16))


@case(TILES.format(m=128, n=128, k=64), WITH_DESCRIPTORS, warps=8, stages=4, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64,
      SPECIALIZE=False)
@case(TILES.format(m=128, n=128, k=64), WITH_DESCRIPTORS, warps=4, stages=4, suffix="ws", BLOCK_M=128, BLOCK_N=128,
      BLOCK_K=64, SPECIALIZE=True)
@triton.jit
def gemm_tiles(a_desc, b_desc, c_desc, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
               SPECIALIZE: tl.constexpr):
    """Descriptors, one tile a program."""
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for k in tl.range(0, K, BLOCK_K, warp_specialize=SPECIALIZE):
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([column, k]).T, acc)
    c_desc.store([row, column], acc.to(tl.float16))


@case(TILES.format(m=128, n=256, k=64), (HOPPER,), warps=8, stages=3, BLOCK_M=128, BLOCK_N=256, BLOCK_K=64,
      PROGRAMS=132, FLATTEN=False, SPECIALIZE=False)
@case(TILES.format(m=128, n=128, k=64), (BLACKWELL,), warps=4, stages=3, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64,
      PROGRAMS=148, FLATTEN=True, SPECIALIZE=False)
@case(TILES.format(m=128, n=128, k=64), (BLACKWELL,), warps=4, stages=3, suffix="ws", BLOCK_M=128, BLOCK_N=128,
      BLOCK_K=64, PROGRAMS=148, FLATTEN=True, SPECIALIZE=True)
@case(TILES.format(m=128, n=128, k=64), (BLACKWELL,), warps=4, stages=3, suffix="ws-nested", BLOCK_M=128, BLOCK_N=128,
      BLOCK_K=64, PROGRAMS=148, FLATTEN=False, SPECIALIZE=True)
@triton.jit
def gemm_persistent_swizzled(a_desc, b_desc, c_desc, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                             BLOCK_K: tl.constexpr, PROGRAMS: tl.constexpr, FLATTEN: tl.constexpr,
                             SPECIALIZE: tl.constexpr):
    """A program for each SM, tiles in groups of rows; both loops flattened to one, or not."""
    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=FLATTEN, warp_specialize=SPECIALIZE):
        i, j = swizzled(tile, M, N, BLOCK_M, BLOCK_N, 8)
        acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        for k in range(tl.cdiv(K, BLOCK_K)):
            a = a_desc.load([i * BLOCK_M, k * BLOCK_K])
            b = b_desc.load([j * BLOCK_N, k * BLOCK_K])
            acc = tl.dot(a, b.T, acc)
        c_desc.store([i * BLOCK_M, j * BLOCK_N], acc.to(tl.float16))


@case(MATRICES.replace("c_ptr=*fp16", "c_ptr=*fp32"), ALL, warps=4, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, PARTS=4)
@triton.jit
def gemm_split(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
               PARTS: tl.constexpr):
    """K is split over programs, which add to the result."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.program_id(2) * BLOCK_K + tl.arange(0, BLOCK_K)
    a_tile = a_ptr + rows[:, None] * K + k[None, :]
    b_tile = b_ptr + k[:, None] * N + columns[None, :]
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for _ in range(tl.cdiv(K, BLOCK_K * PARTS)):
        acc = tl.dot(tl.load(a_tile), tl.load(b_tile), acc)
        a_tile += BLOCK_K * PARTS
        b_tile += BLOCK_K * PARTS * N
    tl.atomic_add(c_ptr + rows[:, None] * N + columns[None, :], acc)


@case("a_ptr=*fp32, b_ptr=*fp32, c_ptr=*fp32, M=i32, N=i32, K=i32", ALL, warps=4, BLOCK=64, BLOCK_K=32)
@triton.jit
def gemm_batched_tf32(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    """32-bit floats, a batch along the third axis of the grid, A transposed."""
    batch = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + batch * M * K + (start + k)[:, None] * M + rows[None, :])
        b = tl.load(b_ptr + batch * K * N + (start + k)[:, None] * N + columns[None, :])
        acc = tl.dot(tl.trans(a), b, acc)
    tl.store(c_ptr + batch * M * N + rows[:, None] * N + columns[None, :], acc)


@case("x_desc=tensordesc<bf16[128, 64]>, gate_desc=tensordesc<bf16[128, 64]>, up_desc=tensordesc<bf16[128, 64]>, "
      "y_desc=tensordesc<bf16[128, 128]>, K=i32", WITH_DESCRIPTORS, warps=8, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64,
      SPECIALIZE=False)
@case("x_desc=tensordesc<bf16[128, 64]>, gate_desc=tensordesc<bf16[128, 64]>, up_desc=tensordesc<bf16[128, 64]>, "
      "y_desc=tensordesc<bf16[128, 128]>, K=i32", (BLACKWELL,), warps=4, suffix="ws", BLOCK_M=128, BLOCK_N=128,
      BLOCK_K=64, SPECIALIZE=True)
@triton.jit
def gemm_swiglu(x_desc, gate_desc, up_desc, y_desc, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                BLOCK_K: tl.constexpr, SPECIALIZE: tl.constexpr):
    """Two products of one operand, then one times the sigmoid of the other."""
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    gate = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    up = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for k in tl.range(0, K, BLOCK_K, warp_specialize=SPECIALIZE):
        x = x_desc.load([row, k])
        gate = tl.dot(x, gate_desc.load([column, k]).T, gate)
        up = tl.dot(x, up_desc.load([column, k]).T, up)
    y_desc.store([row, column], (gate * tl.sigmoid(gate) * up).to(tl.bfloat16))


@case("x_ptr=*bf16, w_ptr=*bf16, g_ptr=*bf16, y_ptr=*bf16, N=i32, K=i32", ALL, warps=4, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64)
@triton.jit
def gemm_of_norm(x_ptr, w_ptr, g_ptr, y_ptr, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Rows are divided by their root mean square, which the same loop sums up."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    square = tl.zeros([BLOCK_M], tl.float32)
    for start in range(0, K, BLOCK_K):
        x = tl.load(x_ptr + rows[:, None] * K + (start + k)[None, :])
        g = tl.load(g_ptr + start + k)
        w = tl.load(w_ptr + columns[None, :] * K + (start + k)[:, None])
        square += tl.sum(x.to(tl.float32) * x.to(tl.float32), 1)
        acc = tl.dot(x * g[None, :], w, acc)
    y = acc * tl.rsqrt(square / K + 1e-6)[:, None]
    tl.store(y_ptr + rows[:, None] * N + columns[None, :], y.to(tl.bfloat16))


@case("a_desc=tensordesc<fp16[128, 64]>, b_desc=tensordesc<fp16[128, 64]>, c_ptr=*fp32, locks_ptr=*i32, M=i32, N=i32, K=i32",
      WITH_DESCRIPTORS, warps=8, BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)
@triton.jit
def gemm_stream_k(a_desc, b_desc, c_ptr, locks_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                  BLOCK_K: tl.constexpr):
    """Every program has the same number of steps along K, across tiles; a while loop walks them."""
    steps = tl.cdiv(K, BLOCK_K)
    tiles = tl.cdiv(M, BLOCK_M) * tl.cdiv(N, BLOCK_N)
    each = tl.cdiv(steps * tiles, tl.num_programs(0))
    at = tl.program_id(0) * each
    end = tl.minimum(at + each, steps * tiles)
    while at < end:
        tile = at // steps
        low = at % steps
        high = tl.minimum(low + end - at, steps)
        row = tile // tl.cdiv(N, BLOCK_N) * BLOCK_M
        column = tile % tl.cdiv(N, BLOCK_N) * BLOCK_N
        acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
        for k in range(low, high):
            acc = tl.dot(a_desc.load([row, k * BLOCK_K]), b_desc.load([column, k * BLOCK_K]).T, acc)
        to = (row + tl.arange(0, BLOCK_M))[:, None] * N + (column + tl.arange(0, BLOCK_N))[None, :]
        tl.atomic_add(c_ptr + to, acc)
        at += high - low


@case("a_ptr=*fp16, x_ptr=*fp16, y_ptr=*fp32, M=i32, K=i32", ALL, warps=4, BLOCK_M=64, BLOCK_K=128)
@triton.jit
def matrix_vector(a_ptr, x_ptr, y_ptr, M, K, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    """No product of tiles: a sum along rows."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_K], tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rows[:, None] * K + (start + k)[None, :], mask=rows[:, None] < M, other=0.0)
        acc += a.to(tl.float32) * tl.load(x_ptr + start + k).to(tl.float32)[None, :]
    tl.store(y_ptr + rows, tl.sum(acc, 1), mask=rows < M)


@case("x_desc=tensordesc<fp16[128, 64]>, dy_desc=tensordesc<fp16[128, 128]>, dw_desc=tensordesc<fp16[64, 128]>, rows=i32",
      WITH_DESCRIPTORS, warps=4, BLOCK_R=128, BLOCK_K=64, BLOCK_N=128)
@triton.jit
def gemm_weight_gradient(x_desc, dy_desc, dw_desc, rows, BLOCK_R: tl.constexpr, BLOCK_K: tl.constexpr,
                         BLOCK_N: tl.constexpr):
    """dW = X^T dY: the left operand is transposed in shared memory."""
    k = tl.program_id(0) * BLOCK_K
    n = tl.program_id(1) * BLOCK_N
    acc = tl.zeros([BLOCK_K, BLOCK_N], tl.float32)
    for row in tl.range(0, rows, BLOCK_R):
        acc = tl.dot(x_desc.load([row, k]).T, dy_desc.load([row, n]), acc)
    dw_desc.store([k, n], acc.to(tl.float16))


@case("q_ptr=*bf16, h_ptr=*bf16, z_ptr=*fp32, o_ptr=*bf16, T=i32, first=i32", ALL, warps=4, BLOCK_T=64, BLOCK_K=64,
      BLOCK_V=64)
@triton.jit
def gemm_in_branch(q_ptr, h_ptr, z_ptr, o_ptr, T, first, BLOCK_T: tl.constexpr, BLOCK_K: tl.constexpr,
                   BLOCK_V: tl.constexpr):
    """The product of an iteration only from `first` on, of a tile that is computed from two."""
    rows = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    k = tl.arange(0, BLOCK_K)
    v = tl.arange(0, BLOCK_V)
    acc = tl.zeros([BLOCK_T, BLOCK_V], tl.float32)
    for step in range(0, T):
        at = rows[:, None] * T * BLOCK_K + (step * BLOCK_K + k)[None, :]
        q = tl.load(q_ptr + at).to(tl.float32) * tl.exp(tl.load(z_ptr + at))
        h = tl.load(h_ptr + (step * BLOCK_K + k)[:, None] * BLOCK_V + v[None, :])
        if step >= first:
            acc += tl.dot(q.to(tl.bfloat16), h)
    tl.store(o_ptr + rows[:, None] * BLOCK_V + v[None, :], acc.to(tl.bfloat16))
