"""Attention forward, all programs in one run on one device: Twill's schedules (CUDA-Default,
Twill-SWP, Twill), cuDNN and FlashAttention 2 through PyTorch's scaled_dot_product_attention, a Triton
program, and a cuBLAS GEMM of the same number of operations as the ceiling.

    python3 bench/gpu/forward.py --library BUILD/libtwill_gpu.so --output RESULT

writes RESULT.json, RESULT.md (tables) and RESULT-*.svg (a chart a head dimension and mask). Batch 4, 32
heads, FP16, random data; median of many warm launches, with quartiles. Every output is compared with
PyTorch's before it is timed; one that is wrong has no time. Ends with 77 where there is no PyTorch or
no Hopper GPU."""
import argparse
import json
import os
import statistics
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [here, os.path.join(here, "..", "..", "gpu")]
BATCH, HEADS = 4, 32
LENGTHS, DIMS = (1024, 2048, 4096, 8192, 16384), (128, 64, 256)
PROGRAMS = ("Triton", "CUDA-Default", "Twill-SWP", "Twill", "FlashAttention-2", "cuDNN", "cuBLAS GEMM")


def operations(length, dim, causal):
    """Multiplications and additions of the two GEMMs; half of them below the diagonal."""
    return 4.0 * length * length * dim * BATCH * HEADS * (0.5 if causal else 1.0)


def milliseconds(torch, launch, runs):
    for _ in range(5):
        launch()
    marks = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True))
             for _ in range(runs)]
    for begin, end in marks:
        begin.record()
        launch()
        end.record()
    torch.cuda.synchronize()
    return sorted(begin.elapsed_time(end) for begin, end in marks)


def programs(torch, library, q, k, v, causal):
    """(name, launch, output) of every program that can run here; tensors are [B, H, S, D]."""
    import twill_gpu
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.nn.functional import scaled_dot_product_attention

    def sdpa(backend):
        def launch():
            with sdpa_kernel(backend):
                return scaled_dot_product_attention(q, k, v, is_causal=causal)
        return launch

    mask = twill_gpu.MASK_CAUSAL_TOP_LEFT if causal else twill_gpu.MASK_NONE
    stream = torch.cuda.current_stream().cuda_stream

    def twill(schedule):
        o = torch.empty_like(q)
        arguments = library.forward_arguments(q, k, v, o, None, "BHSD", mask, None, schedule, True)

        def launch():
            library.launch_forward(arguments, stream)
            return o
        return launch

    yield "FlashAttention-2", sdpa(SDPBackend.FLASH_ATTENTION)
    yield "cuDNN", sdpa(SDPBackend.CUDNN_ATTENTION)
    for schedule in twill_gpu.SCHEDULES:
        yield schedule, twill(schedule)
    try:
        import triton_attention
    except ImportError:
        return
    yield "Triton", lambda: triton_attention.forward(q, k, v, causal)


def gemm(torch, length, dim):
    """A GEMM of about as many operations: launch, exact number of operations."""
    side = 8192
    depth = max(64, int(operations(length, dim, False) / (2 * side * side)) // 64 * 64)
    a = torch.randn(side, depth, device="cuda", dtype=torch.float16)
    b = torch.randn(depth, side, device="cuda", dtype=torch.float16)
    return (lambda: a @ b), 2.0 * side * side * depth


def measure(torch, library, lengths, dims, runs):
    rows = []

    def add(name, length, dim, causal, count, ms):
        tflops = [count / (t * 1e9) for t in ms]
        q1, _, q3 = statistics.quantiles(tflops, n=4) if len(tflops) > 1 else tflops * 3
        rows.append({"program": name, "length": length, "head_dim": dim, "causal": causal,
                     "tflops": statistics.median(tflops), "q25": q1, "q75": q3})
        print(f"{name:17} D {dim:3} {'causal' if causal else 'full':6} S {length:5} "
              f"{rows[-1]['tflops']:8.1f} TFLOPS  [{q1:.1f}, {q3:.1f}]", flush=True)

    for dim in dims:
        for causal in (False, True):
            for length in lengths:
                torch.manual_seed(1)
                q, k, v = (torch.randn(BATCH, HEADS, length, dim, device="cuda",
                                       dtype=torch.float16) for _ in range(3))
                right = None
                for name, launch in programs(torch, library, q, k, v, causal):
                    try:
                        got = launch().float()
                        torch.cuda.synchronize()
                        if right is None:
                            right = got
                        worst = (got - right).abs().max().item()
                        if not worst < 4e-3:
                            print(f"{name}: differs by {worst} at S {length}, not timed")
                            continue
                        add(name, length, dim, causal, operations(length, dim, causal),
                            milliseconds(torch, launch, runs))
                    except RuntimeError as error:
                        print(f"{name}: does not run here: {str(error).splitlines()[0]}")
                del q, k, v, right
                if not causal:
                    launch, count = gemm(torch, length, dim)
                    add("cuBLAS GEMM", length, dim, causal, count, milliseconds(torch, launch, runs))
    return rows


def about(torch):
    def run(*command):
        try:
            return subprocess.run(command, capture_output=True, text=True, check=True,
                                  cwd=here).stdout.strip()
        except (OSError, subprocess.CalledProcessError):
            return "unknown"
    try:
        import triton
        triton_version = triton.__version__
    except ImportError:
        triton_version = "not installed"
    return {
        "device": torch.cuda.get_device_name(),
        "driver": run("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"),
        "clocks (SM, memory)": run("nvidia-smi", "--query-gpu=clocks.sm,clocks.mem",
                                   "--format=csv,noheader"),
        "commit": run("git", "rev-parse", "HEAD"),
        "command": " ".join(sys.argv),
        "PyTorch": torch.__version__, "CUDA": torch.version.cuda,
        "cuDNN": torch.backends.cudnn.version(), "Triton": triton_version,
    }


def write(path, facts, rows):
    import figure
    with open(path + ".json", "w") as out:
        json.dump({"about": facts, "rows": rows}, out, indent=2)
    text = [f"- {key}: {value}" for key, value in facts.items()] + [""]
    for dim in sorted({r["head_dim"] for r in rows}):
        for causal in (False, True):
            part = [r for r in rows if r["head_dim"] == dim and r["causal"] == causal]
            lengths = sorted({r["length"] for r in part})
            names = [p for p in PROGRAMS if any(r["program"] == p for r in part)]
            values = {(r["program"], r["length"]): r["tflops"] for r in part}
            title = f"Head dimension {dim}, {'causal' if causal else 'not causal'}, FP16, TFLOPS"
            text += [f"### {title}", "", "| | " + " | ".join(map(str, lengths)) + " |",
                     "|---|" + "---|" * len(lengths)]
            for name in names:
                cells = [f"{values[name, n]:.1f}" if (name, n) in values else "not measured"
                         for n in lengths]
                text.append(f"| {name} | " + " | ".join(cells) + " |")
            text.append("")
            with open(f"{path}-d{dim}{'-causal' if causal else ''}.svg", "w") as out:
                out.write(figure.bars(title, lengths, names, values))
    with open(path + ".md", "w") as out:
        out.write("\n".join(text))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--output", default="forward")
    parser.add_argument("--length", type=int, help="only this sequence length")
    parser.add_argument("--head-dim", type=int, help="only this head dimension")
    parser.add_argument("--runs", type=int, default=50)
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("no PyTorch: skipped")
        return 77
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        print("no GPU of compute capability 9.0: skipped")
        return 77
    import twill_gpu
    rows = measure(torch, twill_gpu.Library(options.library),
                   (options.length,) if options.length else LENGTHS,
                   (options.head_dim,) if options.head_dim else DIMS, options.runs)
    write(options.output, about(torch), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
