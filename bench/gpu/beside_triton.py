"""Kernels of graph/kernels/triton as Triton itself compiles them, beside what Twill emits of the same modules.

usage: beside_triton.py FOLDER [--runs N]    FOLDER: where modules.py --emit wrote

Both get the same tensors on the same grid; a kernel whose results differ is not timed. Triton's is compiled by the installed
version, with the numbers of warps and stages of `tuned`, of which the fastest counts. Prints a result a kernel. Ends with
1 where results differ, with 77 without PyTorch, Triton or a Hopper GPU."""
import argparse
import os
import statistics
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [HERE, os.path.join(ROOT, "graph", "kernels", "triton")]
import common  # noqa: E402
import modules  # noqa: E402
from common import measured  # noqa: E402


def half(torch, *shape, scale=1.0):
    return (torch.randn(*shape, device="cuda") * scale).to(torch.float16)


class Case:
    """A kernel's arguments at a size that fills the GPU: tensors with the blocks of their descriptors, and numbers."""

    def __init__(self, name, kernel, emitted, arguments, output, grid, constants, tuned, operations, allowed=4e-3):
        self.name, self.kernel, self.emitted, self.arguments, self.output = name, kernel, emitted, arguments, output
        self.grid, self.constants, self.tuned, self.operations = grid, constants, tuned, operations
        self.allowed = allowed


def cases(torch):
    heads, length = 128, 4096
    rows = heads * length

    def attention(name, kernel, emitted, tile, warps):
        q, k, v, o = (half(torch, rows, 128) for _ in range(4))
        lse = torch.empty(rows, device="cuda")
        return Case(name, kernel, emitted, [(q, tile), (k, [128, 128]), (v, [128, 128]), (o, tile), lse, length, 0.1275], o,
                    (length // 128, heads), {"BLOCK_M": 128, "BLOCK_N": 128, "HEAD": 128, "SPECIALIZE": False}, [(warps, 3), (warps, 2), (12 - warps, 2)],
                    4.0 * length * length * 128 * heads)

    yield attention("attention forward, 128 x 4096 x 128", "attention_forward",
                    ["ttgir-hopper-attention-forward", "ttgir-hopper-attention-forward-M2", "ttgir-hopper-attention-forward-x2"],
                    [128, 128], 8)
    yield attention("attention forward, two sub-tiles by hand", "attention_forward_sub2", ["ttgir-hopper-attention-forward-sub2"],
                    [64, 128], 4)
    size = 8192
    a, b, c = half(torch, size, size), half(torch, size, size), half(torch, size, size)
    yield Case("persistent GEMM, 8192 x 8192 x 8192", "gemm_persistent", ["ttgir-hopper-gemm-persistent"],
               [(a, [128, 64]), (b, [256, 64]), (c, [128, 256]), size, size, size], c, (132,),
               {"BLOCK_M": 128, "BLOCK_N": 256, "BLOCK_K": 64, "PROGRAMS": 132, "SPECIALIZE": False}, [(8, 3), (8, 2)], 2.0 * size ** 3, 1.0)
    x, hidden = half(torch, 33792, 128, scale=0.1), 8192
    w1, w2, y = half(torch, hidden, 128), half(torch, hidden, 128), half(torch, 33792, 128)
    yield Case("fused MLP, 33792 x 128 x 8192", "fused_mlp", ["ttgir-hopper-fused-mlp"],
               [(x, [128, 128]), (w1, [128, 128]), (w2, [128, 128]), (y, [128, 128]), hidden], y, (33792 // 128,),
               {"BLOCK_M": 128, "BLOCK_H": 128, "MODEL": 128, "SPECIALIZE": False}, [(8, 3), (8, 2)], 4.0 * 33792 * 128 * hidden, 1.0)
    heads, length = 528, 4096
    q, k, v, o = (half(torch, heads * length, 64, scale=0.125) for _ in range(4))
    yield Case("linear attention, 528 x 4096 x 64", "linear_attention", ["ttgir-hopper-linear-attention"],
               [(t, [64, 64]) for t in (q, k, v, o)] + [length], o, (heads,), {"CHUNK": 64, "HEAD": 64, "SPECIALIZE": False}, [(4, 3), (4, 2)],
               8.0 * 64 * 64 * heads * length, 0.1)
    many, columns = 16384, 8192
    x, y = torch.randn(many, columns, device="cuda"), torch.empty(many, columns, device="cuda")
    w, b = torch.randn(columns, device="cuda"), torch.randn(columns, device="cuda")
    yield Case("layer norm, 16384 x 8192", "layer_norm", ["loops-hopper-layer-norm"], [x, w, b, y, columns, 1e-5], y, (many,),
               {"BLOCK": 4096}, [(4, 3), (8, 3)], None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--runs", type=int, default=20)
    options = parser.parse_args()
    torch = common.hopper("triton.tools.tensor_descriptor")
    if torch is None:
        return 77
    import kernels
    import triton
    import triton_bridge  # noqa: F401, what an older Triton lacks
    from triton.tools.tensor_descriptor import TensorDescriptor
    print(f"Triton {triton.__version__}")
    failed = False
    for case in cases(torch):
        given = [TensorDescriptor.from_tensor(*one) if isinstance(one, tuple) else one for one in case.arguments]

        programs = []
        for warps, stages in case.tuned:
            programs.append((f"Triton, {warps} warps, {stages} stages", lambda warps=warps, stages=stages, case=case, given=given:
                             getattr(kernels, case.kernel)[case.grid](*given, **case.constants, num_warps=warps, num_stages=stages)))
        for name in case.emitted:
            _, launcher = modules.loaded(options.folder, name)
            programs.append((f"emitted {name.split('-', 1)[1]}", lambda launcher=launcher, given=given, case=case: launcher[case.grid](*given)))
        right = None
        for name, launch in programs:
            try:
                case.output.fill_(float("nan"))
                launch()
                torch.cuda.synchronize()
                got = case.output.float().clone()
                error = 0.0 if right is None else float((got - right).abs().max())
                right = got if right is None else right
                if not error <= case.allowed:  # (NaN, too)
                    failed = True
                    measured(what=f"{case.name}, {name}", state="wrong", exit=None, said=[f"differs from Triton's by {error}"])
                    continue
                ms = statistics.median(common.milliseconds(torch, launch, options.runs))
                measured(what="beside Triton", case=case.name, program=name, ms=ms, error=error,
                         rate=case.operations / (ms * 1e9) if case.operations else None)
            except Exception as problem:  # of one: the others are of interest, too
                failed = failed or not name.startswith("Triton")
                print(f"{case.name}, {name}: {type(problem).__name__}: {str(problem)[:300]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
