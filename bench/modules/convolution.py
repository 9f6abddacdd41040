"""Convolutions as products of gathered tiles, and a depthwise one."""

import triton
import triton.language as tl

from cases import ALL, WITH_DESCRIPTORS, case

IMAGE = "x_ptr=*fp16, w_ptr=*fp16, y_ptr=*fp16, H=i32, W=i32, C=i32, F=i32"


@case(IMAGE, ALL, warps=4, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32, R=3, S=3)
@triton.jit
def convolution_forward(x_ptr, w_ptr, y_ptr, H, W, C, F, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                        BLOCK_K: tl.constexpr, R: tl.constexpr, S: tl.constexpr):
    """Channels last; one loop over places of the filter and channels, padding by masks."""
    pixels = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    filters = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    image = pixels // (H * W)
    y0 = pixels // W % H
    x0 = pixels % W
    c = tl.arange(0, BLOCK_K)
    blocks = tl.cdiv(C, BLOCK_K)
    acc = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for step in range(R * S * blocks):
        place = step // blocks
        channel = step % blocks * BLOCK_K + c
        y = y0 + place // S - R // 2
        x = x0 + place % S - S // 2
        inside = (y >= 0) & (y < H) & (x >= 0) & (x < W)
        at = ((image * H + y) * W + x)[:, None] * C + channel[None, :]
        a = tl.load(x_ptr + at, mask=inside[:, None] & (channel[None, :] < C), other=0.0)
        b = tl.load(w_ptr + (place * C + channel)[:, None] * F + filters[None, :], mask=channel[:, None] < C, other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(y_ptr + pixels[:, None] * F + filters[None, :], acc.to(tl.float16))


@case(IMAGE, ALL, warps=4, BLOCK_P=64, BLOCK_C=64, BLOCK_N=64, R=3, S=3)
@triton.jit
def convolution_weight_gradient(x_ptr, w_ptr, y_ptr, H, W, C, F, BLOCK_P: tl.constexpr, BLOCK_C: tl.constexpr,
                                BLOCK_N: tl.constexpr, R: tl.constexpr, S: tl.constexpr):
    """dW at one place of the filter: pixels are the axis that is summed over."""
    place = tl.program_id(2)
    channels = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    filters = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    p = tl.arange(0, BLOCK_P)
    acc = tl.zeros([BLOCK_C, BLOCK_N], tl.float32)
    for start in range(0, H * W, BLOCK_P):
        pixel = start + p
        y = pixel // W + place // S - R // 2
        x = pixel % W + place % S - S // 2
        inside = (y >= 0) & (y < H) & (x >= 0) & (x < W)
        a = tl.load(x_ptr + (y * W + x)[None, :] * C + channels[:, None], mask=inside[None, :], other=0.0)
        dy = tl.load(y_ptr + pixel[:, None] * F + filters[None, :], mask=pixel[:, None] < H * W, other=0.0)
        acc = tl.dot(a, dy, acc)
    tl.store(w_ptr + (place * C + channels)[:, None] * F + filters[None, :], acc.to(tl.float16))


@case("x_desc=tensordesc<fp16[1, 8, 16, 64]>, w_desc=tensordesc<fp16[64, 64]>, y_desc=tensordesc<fp16[1, 8, 16, 64]>, C=i32",
      WITH_DESCRIPTORS, warps=4, BLOCK_K=64)
@triton.jit
def convolution_tiles(x_desc, w_desc, y_desc, C, BLOCK_K: tl.constexpr):
    """A box of 8 x 16 pixels by descriptor: nine places, then channels; zeros come from outside the image."""
    n = tl.program_id(2)
    y0 = tl.program_id(0) * 8
    x0 = tl.program_id(1) * 16
    acc = tl.zeros([128, 64], tl.float32)
    for step in tl.range(0, 9 * (C // BLOCK_K)):
        place = step % 9
        channel = step // 9 * BLOCK_K
        a = x_desc.load([n, y0 + place // 3 - 1, x0 + place % 3 - 1, channel]).reshape(128, BLOCK_K)
        b = w_desc.load([place * C + channel, 0])
        acc = tl.dot(a, b, acc)
    y_desc.store([n, y0, x0, 0], acc.to(tl.float16).reshape(1, 8, 16, 64))


@case("x_ptr=*bf16, w_ptr=*bf16, y_ptr=*bf16, length=i32, width=i32", ALL, warps=4, BLOCK_T=64, BLOCK_D=64, TAPS=4)
@triton.jit
def convolution_depthwise(x_ptr, w_ptr, y_ptr, length, width, BLOCK_T: tl.constexpr, BLOCK_D: tl.constexpr,
                          TAPS: tl.constexpr):
    """A causal filter of TAPS along time in front of a state space, each channel on its own."""
    d = tl.program_id(0) * BLOCK_D + tl.arange(0, BLOCK_D)
    t = tl.arange(0, BLOCK_T)
    base = tl.program_id(1) * length
    for start in range(0, length, BLOCK_T):
        acc = tl.zeros([BLOCK_T, BLOCK_D], tl.float32)
        for tap in tl.static_range(TAPS):
            at = start + t - (TAPS - 1 - tap)
            x = tl.load(x_ptr + (base + at)[:, None] * width + d[None, :], mask=(at >= 0)[:, None], other=0.0)
            w = tl.load(w_ptr + tap * width + d)
            acc += x.to(tl.float32) * w.to(tl.float32)[None, :]
        acc = acc * tl.sigmoid(acc)
        tl.store(y_ptr + (base + start + t)[:, None] * width + d[None, :], acc.to(tl.bfloat16))
