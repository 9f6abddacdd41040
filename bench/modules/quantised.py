"""Products whose operands come in few bits: they are made wide in the loop, or have scales."""

import triton
import triton.language as tl

from cases import ALL, BLACKWELL, WITH_DESCRIPTORS, case


@case("a_ptr=*fp16, b_ptr=*i32, scales_ptr=*fp16, zeros_ptr=*fp16, c_ptr=*fp16, N=i32, K=i32", ALL, warps=4, stages=4,
      BLOCK_M=64, BLOCK_N=128, BLOCK_K=64, GROUP=128)
@triton.jit
def gemm_int4(a_ptr, b_ptr, scales_ptr, zeros_ptr, c_ptr, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
              BLOCK_K: tl.constexpr, GROUP: tl.constexpr):
    """Eight weights a word, a scale and a zero for each GROUP of them."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    shift = (k % 8) * 4
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rows[:, None] * K + (start + k)[None, :])
        words = tl.load(b_ptr + ((start + k) // 8)[:, None] * N + columns[None, :])
        group = start // GROUP * N
        scale = tl.load(scales_ptr + group + columns)
        zero = tl.load(zeros_ptr + group + columns)
        b = ((words >> shift[:, None]) & 15).to(tl.float16)
        acc = tl.dot(a, (b - zero[None, :]) * scale[None, :], acc)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16))


@case("a_ptr=*fp16, b_ptr=*i8, scales_ptr=*fp32, c_ptr=*fp16, N=i32, K=i32", ALL, warps=8, BLOCK_M=128, BLOCK_N=128,
      BLOCK_K=64)
@triton.jit
def gemm_weights_int8(a_ptr, b_ptr, scales_ptr, c_ptr, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                      BLOCK_K: tl.constexpr):
    """16-bit activations, weights of 8 bits made wide before the product."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a_tile = a_ptr + rows[:, None] * K + k[None, :]
    b_tile = b_ptr + k[:, None] * N + columns[None, :]
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for _ in range(0, K, BLOCK_K):
        acc = tl.dot(tl.load(a_tile), tl.load(b_tile).to(tl.float16), acc)
        a_tile += BLOCK_K
        b_tile += BLOCK_K * N
    acc *= tl.load(scales_ptr + columns)[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16))


@case("a_ptr=*i8, b_ptr=*i8, rows_ptr=*fp32, columns_ptr=*fp32, c_ptr=*bf16, N=i32, K=i32", ALL, warps=4, stages=4,
      BLOCK_M=128, BLOCK_N=128, BLOCK_K=64)
@triton.jit
def gemm_int8(a_ptr, b_ptr, rows_ptr, columns_ptr, c_ptr, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
              BLOCK_K: tl.constexpr):
    """8-bit integers, a 32-bit accumulator, scales of rows and columns behind the loop."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.int32)
    for start in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rows[:, None] * K + (start + k)[None, :])
        b = tl.load(b_ptr + columns[None, :] * K + (start + k)[:, None])
        acc = tl.dot(a, b, acc)
    scale = tl.load(rows_ptr + rows)[:, None] * tl.load(columns_ptr + columns)[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], (acc.to(tl.float32) * scale).to(tl.bfloat16))


@case("a_desc=tensordesc<fp8e4nv[128, 128]>, b_desc=tensordesc<fp8e4nv[128, 128]>, a_scales_ptr=*fp32, b_scales_ptr=*fp32, "
      "c_desc=tensordesc<bf16[128, 128]>, M=i32, N=i32, K=i32", WITH_DESCRIPTORS, warps=8, BLOCK=128)
@triton.jit
def gemm_block_scaled(a_desc, b_desc, a_scales_ptr, b_scales_ptr, c_desc, M, N, K, BLOCK: tl.constexpr):
    """FP8 with scales of 1 x 128 and 128 x 128: every step's product is scaled on its own."""
    row = tl.program_id(0) * BLOCK
    column = tl.program_id(1) * BLOCK
    rows = row + tl.arange(0, BLOCK)
    acc = tl.zeros([BLOCK, BLOCK], tl.float32)
    for k in tl.range(0, K, BLOCK):
        part = tl.dot(a_desc.load([row, k]), b_desc.load([column, k]).T)
        a_scale = tl.load(a_scales_ptr + k // BLOCK * M + rows)
        b_scale = tl.load(b_scales_ptr + column // BLOCK * (K // BLOCK) + k // BLOCK)
        acc += part * (a_scale * b_scale)[:, None]
    c_desc.store([row, column], acc.to(tl.bfloat16))


@case("a_desc=tensordesc<fp8e5[128, 128]>, b_desc=tensordesc<fp8e5[128, 128]>, c_desc=tensordesc<fp16[128, 128]>, K=i32",
      WITH_DESCRIPTORS, warps=4, BLOCK_M=128, BLOCK_N=128, BLOCK_K=128)
@triton.jit
def gemm_fp8(a_desc, b_desc, c_desc, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """FP8 and nothing else; B is [N, K]."""
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for k in tl.range(0, K, BLOCK_K):
        acc = tl.dot(a_desc.load([row, k]), b_desc.load([column, k]).T, acc)
    c_desc.store([row, column], acc.to(tl.float16))


@case("a_desc=tensordesc<fp8e4nv[128, 128]>, b_desc=tensordesc<fp8e4nv[128, 128]>, a_scales_ptr=*u8, b_scales_ptr=*u8, "
      "c_desc=tensordesc<fp16[128, 128]>, K=i32", (BLACKWELL,), warps=4, BLOCK_M=128, BLOCK_N=128, BLOCK_K=128)
@triton.jit
def gemm_microscaled(a_desc, b_desc, a_scales_ptr, b_scales_ptr, c_desc, K, BLOCK_M: tl.constexpr,
                     BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    """Scales of 32 elements each, applied by the tensor core."""
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    s = tl.arange(0, BLOCK_K // 32)
    a_rows = (row + tl.arange(0, BLOCK_M))[:, None] * (K // 32)
    b_rows = (column + tl.arange(0, BLOCK_N))[:, None] * (K // 32)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for k in tl.range(0, K, BLOCK_K):
        a = a_desc.load([row, k])
        b = b_desc.load([column, k])
        a_scale = tl.load(a_scales_ptr + a_rows + (k // 32 + s)[None, :])
        b_scale = tl.load(b_scales_ptr + b_rows + (k // 32 + s)[None, :])
        acc = tl.dot_scaled(a, a_scale, "e4m3", b.T, b_scale, "e4m3", acc)
    c_desc.store([row, column], acc.to(tl.float16))


@case("x_ptr=*bf16, q_ptr=*fp8e4nv, scales_ptr=*fp32, columns=i32", (90, 100), warps=4, BLOCK_M=32, BLOCK_K=128)
@triton.jit
def quantise_rows(x_ptr, q_ptr, scales_ptr, columns, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr):
    """A scale for each 1 x 128 of a matrix."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    k = tl.arange(0, BLOCK_K)
    for start in range(0, columns, BLOCK_K):
        at = rows[:, None] * columns + (start + k)[None, :]
        x = tl.load(x_ptr + at).to(tl.float32)
        scale = tl.maximum(tl.max(tl.abs(x), 1), 1e-10) / 448.0
        tl.store(q_ptr + at, (x / scale[:, None]).to(tl.float8e4nv))
        tl.store(scales_ptr + rows * (columns // BLOCK_K) + start // BLOCK_K, scale)
