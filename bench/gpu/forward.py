"""Attention forward, all programs in one run on one device: Twill's schedules (CUDA-Default,
Twill-SWP, Twill, Twill-Overlap), cuDNN and FlashAttention 2 through PyTorch's scaled_dot_product_attention, FlashAttention 3
where it is installed, a Triton program, and a cuBLAS GEMM of the same number of operations as the ceiling.

    python3 bench/gpu/forward.py --library BUILD/libtwill_gpu.so --output RESULT

writes RESULT.json, RESULT.md (tables) and RESULT-*.svg (a chart a head dimension and mask). Batch 4, 32
heads, FP16, random data; median of many warm launches, with quartiles. Every output is compared with
PyTorch's before it is timed; one that is wrong has no time. Ends with 77 where there is no PyTorch or
no Hopper GPU."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from common import BATCH, HEADS  # noqa: E402

DIMS = (128, 64, 256)
PROGRAMS = ("Triton", "CUDA-Default", "Twill-SWP", "Twill", "Twill-Overlap", "FlashAttention-2",
            "FlashAttention-3", "cuDNN", "cuBLAS GEMM")


def operations(length, dim, causal):
    """Multiplications and additions of the two GEMMs; half of them below the diagonal."""
    return 4.0 * length * length * dim * BATCH * HEADS * (0.5 if causal else 1.0)


def programs(torch, library, options, q, k, v, causal):
    """(name, launch) of every program that can run here; tensors are [B, H, S, D]."""
    import twill_gpu
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    def sdpa(backend):
        def launch():
            with sdpa_kernel(backend):
                return [scaled_dot_product_attention(q, k, v, is_causal=causal)]
        return launch

    mask = twill_gpu.MASK_CAUSAL_TOP_LEFT if causal else twill_gpu.MASK_NONE

    def twill(schedule):
        o = torch.empty_like(q)
        arguments = library.forward_arguments(q, k, v, o, None, "BHSD", mask, None, schedule, True)

        def launch():
            library.launch_forward(arguments, torch.cuda.current_stream().cuda_stream)
            return [o]
        return launch

    yield "FlashAttention-2", sdpa(SDPBackend.FLASH_ATTENTION)
    yield "cuDNN", sdpa(SDPBackend.CUDNN_ATTENTION)
    for schedule in twill_gpu.SCHEDULES:
        yield schedule, twill(schedule)
    third = common.installed("flash_attn_interface")
    if third:  # its layout is [B, S, H, D]
        turned = [t.transpose(1, 2).contiguous() for t in (q, k, v)]

        def flash_3():
            o = third.flash_attn_func(*turned, causal=causal)
            return [(o[0] if isinstance(o, tuple) else o).transpose(1, 2)]
        yield "FlashAttention-3", flash_3
    triton_attention = common.installed("triton_attention")
    if triton_attention is None or options.no_triton:
        return
    yield "Triton", lambda: [triton_attention.forward(q, k, v, causal)]


def run(torch, options, lengths, dims):
    import twill_gpu
    library = twill_gpu.Library(options.library)

    def inputs(length, dim, causal):
        return [torch.randn(BATCH, HEADS, length, dim, device="cuda", dtype=torch.float16)
                for _ in range(3)]

    rows = common.measure(torch, lengths, dims, options.runs, operations, inputs,
                          lambda qkv, causal: programs(torch, library, options, *qkv, causal), 5e-3, options.program)
    common.write(options.output, common.about(torch), rows, PROGRAMS, "Attention forward")


if __name__ == "__main__":
    sys.exit(common.main(__doc__.splitlines()[0], "forward", DIMS, run))
