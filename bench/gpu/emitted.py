"""Checks or times one kernel that `twill emit ... --to gluon` wrote.

usage: emitted.py KERNEL.py [--check | --time] [--runs N] [--length N...]

--check: the file's own check, small trip counts against double precision. --time: attention at batch 4, 32 heads beside
PyTorch's result; other kernels at 16 blocks an axis, 64 of them side by side, with 64 iterations.
Prints a result a line. Ends with 1 where a result is wrong, with 77 without PyTorch, Triton or a GPU that fits."""
import argparse
import importlib.util
import os
import statistics
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import common  # noqa: E402
from common import measured  # noqa: E402
import operations  # noqa: E402

# What softmax over all keys computes, and its number type.
ATTENTION = dict.fromkeys(("fmha-forward", "fmha-forward-turns", "fmha-forward-crossings", "fmha-forward-persistent", "hopper-fwd-plain", "hopper-fwd-sub2-m128",
                           "hopper-fwd-sub2-d64"), lambda torch: torch.float16)
ATTENTION["hopper-fwd-sub2-bf16"] = lambda torch: torch.bfloat16


def check(torch, kernel, name):
    wrong = False
    if hasattr(kernel, "PROGRAMS"):
        kernel.PROGRAMS = 3  # each does several blocks
    for n in (0, 1, 2, 3, 7):
        inputs = kernel.random_inputs((2,), 2, n)
        for output, got, want in zip(kernel.OUTPUTS, kernel.launch(inputs), kernel.reference(inputs)):
            got = got.cpu()
            same = (got.double() == want) | (got.isnan() & want.isnan())
            error = float(torch.where(same, 0.0, (got.double() - want).abs()).max()) if got.numel() else 0.0
            finite = want[want.isfinite()].abs()
            error /= max(1.0, float(finite.max()) if finite.numel() else 1.0)  # of the largest number, at least 1
            right = error <= 2e-2  # false for NaN
            wrong = wrong or not right
            measured(what="emitted", kernel=name, n=n, output=output, error=error if error == error else "NaN",
                     allowed=2e-2, right=right)
    return 1 if wrong else 0


def time(torch, kernel, name, runs, lengths):
    if name not in ATTENTION:
        batch, along, n = 64, 16, 64
        inputs = kernel.random_inputs((batch,), along, n)
        ms = statistics.median(common.milliseconds(torch, lambda: kernel.launch(inputs), runs))
        blocks = batch * along ** sum(kind == "block" for kind, _ in kernel.AXES.values())
        measured(what="emitted time", kernel=name, ms=ms, blocks=blocks, n=n, tflops=operations.tflops(name, blocks, n, ms))
        return 0
    dim = kernel.TENSORS["Q"][0][1]
    dim = kernel.AXES[dim][1]
    wrong = False
    for length in lengths or (1024, 4096, 16384):
        torch.manual_seed(1)
        q, k, v = (torch.randn(common.BATCH, common.HEADS, length, dim, device="cuda", dtype=ATTENTION[name](torch))
                   for _ in range(3))
        want = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        got = kernel.attention(q, k, v)[0]
        error = float((got.float() - want.float()).abs().max())
        allowed = 4e-3 if q.dtype == torch.float16 else 3e-2
        if not error < allowed:
            wrong = True
            measured(what="emitted", kernel=name, n=length // 128, output="O", error=error if error == error else "NaN",
                     allowed=allowed, right=False)
            continue
        ms = common.milliseconds(torch, lambda: kernel.attention(q, k, v), runs)
        count = 4.0 * length * length * dim * common.BATCH * common.HEADS
        common.Rows().add(f"emitted {name}", length, dim, False, count, ms)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kernel")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--length", type=int, action="append")
    options = parser.parse_args()
    try:
        import torch
        import triton
    except ImportError as missing:
        print(f"skipped: {missing}")
        return 77
    if not torch.cuda.is_available():
        print("no GPU: skipped")
        return 77
    import triton_bridge  # noqa: F401, what an older Triton lacks
    name = os.path.basename(options.kernel)[:-3]
    spec = importlib.util.spec_from_file_location("emitted_kernel", options.kernel)
    kernel = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(kernel)
    if torch.cuda.get_device_capability()[0] != kernel.CAPABILITY:
        print(f"{name} is for compute capability {kernel.CAPABILITY}.x: skipped")
        return 77
    print(f"{name}: Triton {triton.__version__}, PyTorch {torch.__version__}")
    if options.time:
        return time(torch, kernel, name, options.runs, options.length)
    return check(torch, kernel, name)


if __name__ == "__main__":
    sys.exit(main())
