"""Attention backward, all programs in one run on one device: Twill's schedules (CUDA-Default, Twill and
Twill-80), cuDNN and FlashAttention 2 through PyTorch's scaled_dot_product_attention, and a cuBLAS GEMM
of the same number of operations as the ceiling.

    python3 bench/gpu/backward.py --library BUILD/libtwill_gpu.so --output RESULT

writes RESULT.json, RESULT.md (tables) and RESULT-*.svg (a chart like Figure 10 a head dimension and
mask). Batch 4, 32 heads, FP16, random data; median of many warm launches, with quartiles. The
gradients are compared with PyTorch's before they are timed; what is wrong has no time. Ends with 77
where there is no PyTorch or no Hopper GPU."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from common import BATCH, HEADS  # noqa: E402

DIMS = (128, 64)
PROGRAMS = ("CUDA-Default", "Twill", "Twill-80", "FlashAttention-2", "FlashAttention-3", "cuDNN",
            "cuBLAS GEMM")


def operations(length, dim, causal):
    """Multiplications and additions of the five GEMMs; half of them below the diagonal."""
    return 10.0 * length * length * dim * BATCH * HEADS * (0.5 if causal else 1.0)


def programs(torch, library, q, k, v, d_o, causal):
    """(name, launch) of every program that can run here; tensors are [B, H, S, D]. A launch is the
    backward pass alone: the forward pass runs once, before."""
    import twill_gpu
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    def sdpa(backend):
        leaves = [t.detach().requires_grad_() for t in (q, k, v)]
        with sdpa_kernel(backend):
            o = scaled_dot_product_attention(*leaves, is_causal=causal)

        def launch():
            return torch.autograd.grad(o, leaves, d_o, retain_graph=True)
        launch.may_be_recorded = False  # autograd runs on the stream of the forward pass
        return launch

    mask = twill_gpu.MASK_CAUSAL_TOP_LEFT if causal else twill_gpu.MASK_NONE

    def stream():
        return torch.cuda.current_stream().cuda_stream

    def twill(schedule):
        o, lse = library.fmha_forward(q, k, v, layout="BHSD", causal=causal, stream=stream())
        gradients = [torch.empty_like(t) for t in (q, k, v)]
        arguments = library.backward_arguments(q, k, v, o, lse, d_o, *gradients, "BHSD", mask, None,
                                               schedule, False)
        size = library.backward_workspace(arguments)
        workspace = torch.empty(size, device=q.device, dtype=torch.uint8)

        def launch():
            library.launch_backward(arguments, workspace.data_ptr(), size, stream())
            return gradients
        launch.keeps = (o, lse)  # the arguments hold their addresses only
        return launch

    for name, backend in (("FlashAttention-2", SDPBackend.FLASH_ATTENTION),
                          ("cuDNN", SDPBackend.CUDNN_ATTENTION)):
        try:
            launch = sdpa(backend)
        except RuntimeError as error:
            print(f"{name}: does not run here: {str(error).splitlines()[0]}")
            continue
        yield name, launch
    for schedule in twill_gpu.BACKWARD_SCHEDULES:
        yield schedule, twill(schedule)
    third = common.installed("flash_attn_interface")
    if third:  # its layout is [B, S, H, D]
        turned = [t.transpose(1, 2).detach().contiguous().requires_grad_() for t in (q, k, v)]
        o = third.flash_attn_func(*turned, causal=causal)
        o = (o[0] if isinstance(o, tuple) else o).transpose(1, 2)

        def flash_3():
            return [t.transpose(1, 2) for t in torch.autograd.grad(o, turned, d_o, retain_graph=True)]
        flash_3.may_be_recorded = False
        yield "FlashAttention-3", flash_3


def run(torch, options, lengths, dims):
    import twill_gpu
    library = twill_gpu.Library(options.library)

    def inputs(length, dim, causal):
        return [torch.randn(BATCH, HEADS, length, dim, device="cuda", dtype=torch.float16)
                for _ in range(4)]

    rows = common.measure(torch, lengths, dims, options.runs, operations, inputs,
                          lambda tensors, causal: programs(torch, library, *tensors, causal), 2e-2, options.program)
    common.write(options.output, common.about(torch), rows, PROGRAMS, "Attention backward")


if __name__ == "__main__":
    sys.exit(common.main(__doc__.splitlines()[0], "backward", DIMS, run))
