"""Attention forward as a plain Triton program, after the method of Triton's fused-attention tutorial
(FlashAttention 2 in Triton): one program a tile of query rows, an online softmax over key blocks, the
compiler's own software pipeline and warp specialisation. A peer of the benchmark."""
import torch
import triton
import triton.language as tl

# Few, so that tuning takes seconds.
_CONFIGS = [
    triton.Config({"ROWS": rows, "KEYS": keys}, num_stages=stages, num_warps=warps)
    for rows, keys, stages, warps in ((128, 128, 2, 8), (128, 64, 3, 8), (128, 64, 3, 4), (64, 64, 3, 4),
                                      (128, 32, 4, 8))
]


@triton.autotune(configs=_CONFIGS, key=["length", "DIM", "CAUSAL"])
@triton.jit
def _forward(q, k, v, o, lse, scale_log2, length, DIM: tl.constexpr, CAUSAL: tl.constexpr,
             ROWS: tl.constexpr, KEYS: tl.constexpr):
    head = tl.program_id(1).to(tl.int64)
    first = tl.program_id(0) * ROWS
    base = head * length * DIM
    rows = first + tl.arange(0, ROWS)
    keys = tl.arange(0, KEYS)
    columns = tl.arange(0, DIM)
    in_rows = rows[:, None] < length
    q_tile = tl.load(q + base + rows[:, None] * DIM + columns[None, :], mask=in_rows, other=0.0)
    largest = tl.full([ROWS], float("-inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    acc = tl.zeros([ROWS, DIM], tl.float32)
    end = tl.minimum(first + ROWS, length) if CAUSAL else length
    for at in tl.range(0, end, KEYS):
        at = tl.multiple_of(at, KEYS)
        in_keys = at + keys < length
        k_tile = tl.load(k + base + (at + keys)[None, :] * DIM + columns[:, None],
                         mask=in_keys[None, :], other=0.0)
        s = tl.dot(q_tile, k_tile) * scale_log2
        seen = in_keys[None, :]
        if CAUSAL:
            seen = seen & (rows[:, None] >= (at + keys)[None, :])
        s = tl.where(seen, s, float("-inf"))
        new = tl.maximum(largest, tl.max(s, 1))
        p = tl.math.exp2(s - new[:, None])
        alpha = tl.math.exp2(largest - new)
        total = total * alpha + tl.sum(p, 1)
        v_tile = tl.load(v + base + (at + keys)[:, None] * DIM + columns[None, :],
                         mask=in_keys[:, None], other=0.0)
        acc = tl.dot(p.to(v_tile.dtype), v_tile, acc * alpha[:, None])
        largest = new
    tl.store(o + base + rows[:, None] * DIM + columns[None, :],
             (acc / total[:, None]).to(o.dtype.element_ty), mask=in_rows)
    tl.store(lse + head * length + rows, largest * 0.6931471805599453 + tl.log(total),
             mask=rows < length)


def forward(q, k, v, causal):
    """q, k, v: contiguous [batch, heads, length, dim]. Returns O."""
    batch, heads, length, dim = q.shape
    o = torch.empty_like(q)
    lse = torch.empty(batch, heads, length, device=q.device, dtype=torch.float32)
    scale_log2 = dim ** -0.5 * 1.4426950408889634
    _forward[lambda c: (triton.cdiv(length, c["ROWS"]), batch * heads)](
        q, k, v, o, lse, scale_log2, length, DIM=dim, CAUSAL=causal)
    return o
