"""Kernels as others write them, for the test of graph/kernels/triton/twill_triton: autotuned, with
heuristics, defaults, a function passed as a constant, descriptors made in the kernel, and no main program."""
import triton
import triton.language as tl
from triton import jit

CONFIGS = [
    triton.Config({"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64, "GROUP": 8}, num_stages=4, num_warps=8),
    triton.Config({"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32, "GROUP": 8}, num_stages=3, num_warps=4),
]


@jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.autotune(configs=CONFIGS, key=["M", "N", "K"])
@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BLOCK_K"] == 0})
@jit
def matmul(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_bk, stride_cm, BLOCK_M: tl.constexpr,
           BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr, EVEN_K: tl.constexpr,
           ACTIVATION: tl.constexpr = None, OUT: tl.constexpr = tl.float16):
    pid = tl.program_id(0)
    across = tl.cdiv(N, BLOCK_N)
    group = pid // (GROUP * across)
    rows = min(tl.cdiv(M, BLOCK_M) - group * GROUP, GROUP)
    pid_m = group * GROUP + (pid % rows)
    pid_n = (pid % (GROUP * across)) // rows
    m = (pid_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    n = (pid_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    k = tl.arange(0, BLOCK_K)
    a = a_ptr + m[:, None] * stride_am + k[None, :]
    b = b_ptr + k[:, None] * stride_bk + n[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        if EVEN_K:
            x, y = tl.load(a), tl.load(b)
        else:
            x = tl.load(a, mask=k[None, :] < K - step * BLOCK_K, other=0.0)
            y = tl.load(b, mask=k[:, None] < K - step * BLOCK_K, other=0.0)
        acc = tl.dot(x, y, acc)
        a += BLOCK_K
        b += BLOCK_K * stride_bk
    if ACTIVATION is not None:
        acc = ACTIVATION(acc)
    m = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    n = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c = c_ptr + m[:, None] * stride_cm + n[None, :]
    tl.store(c, acc.to(OUT), mask=(m[:, None] < M) & (n[None, :] < N))


@jit
def matmul_descriptors(a_desc, b_desc, c_ptr, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                       BLOCK_K: tl.constexpr, SPECIALIZE: tl.constexpr = False):
    m, n = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    c_desc = tl.make_tensor_descriptor(c_ptr, [N, N], [N, 1], [BLOCK_M, BLOCK_N])
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in tl.range(0, K, BLOCK_K, warp_specialize=SPECIALIZE):
        acc = tl.dot(a_desc.load([m, k]), b_desc.load([n, k]).T, acc)
    c_desc.store([m, n], acc.to(tl.float16))


@jit
def row_softmax(x_ptr, y_ptr, rows, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        x = tl.load(x_ptr + row * columns + offsets, mask=offsets < columns, other=-float("inf"))
        e = tl.exp(x - tl.max(x, 0))
        tl.store(y_ptr + row * columns + offsets, e / tl.sum(e, 0), mask=offsets < columns)


def not_a_kernel():
    return 1
