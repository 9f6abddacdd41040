"""What the benchmarks share: times, the ceiling, tables and charts, options."""
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
LENGTHS = (1024, 2048, 4096, 8192, 16384)


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


def gemm(torch, operations):
    """A GEMM of about as many operations: launch, exact number of operations."""
    side = 8192
    depth = max(64, int(operations / (2 * side * side)) // 64 * 64)
    a = torch.randn(side, depth, device="cuda", dtype=torch.float16)
    b = torch.randn(depth, side, device="cuda", dtype=torch.float16)
    return (lambda: a @ b), 2.0 * side * side * depth


class Rows(list):
    """The measurements: a program's TFLOPS, median and quartiles."""

    def add(self, name, length, dim, causal, count, ms):
        tflops = [count / (t * 1e9) for t in ms]
        q1, _, q3 = statistics.quantiles(tflops, n=4) if len(tflops) > 1 else tflops * 3
        self.append({"program": name, "length": length, "head_dim": dim, "causal": causal,
                     "tflops": statistics.median(tflops), "q25": q1, "q75": q3})
        print(f"{name:17} D {dim:3} {'causal' if causal else 'full':6} S {length:5} "
              f"{self[-1]['tflops']:8.1f} TFLOPS  [{q1:.1f}, {q3:.1f}]", flush=True)


def measure(torch, lengths, dims, runs, operations, inputs, programs, allowed):
    """Every program on every shape. inputs(length, dim, causal): what programs(inputs, causal) takes,
    which gives (name, launch) one by one; a launch returns tensors. One whose tensors differ from the
    first program's by more than `allowed` is not timed."""
    rows = Rows()
    for dim in dims:
        for causal in (False, True):
            for length in lengths:
                torch.manual_seed(1)
                given = inputs(length, dim, causal)
                right = None
                for name, launch in programs(given, causal):
                    try:
                        got = [t.float() for t in launch()]
                        torch.cuda.synchronize()
                        if right is None:
                            right = got
                        worst = max((a - b).abs().max().item() for a, b in zip(got, right))
                        del got
                        if not worst < allowed:
                            print(f"{name}: differs by {worst} at S {length}, not timed")
                            continue
                        rows.add(name, length, dim, causal, operations(length, dim, causal),
                                 milliseconds(torch, launch, runs))
                    except RuntimeError as error:
                        print(f"{name}: does not run here: {str(error).splitlines()[0]}")
                del given, right
                if not causal:
                    launch, count = gemm(torch, operations(length, dim, False))
                    rows.add("cuBLAS GEMM", length, dim, causal, count,
                             milliseconds(torch, launch, runs))
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


def write(path, facts, rows, programs, what):
    """PATH.json, PATH.md with the tables, and a chart a head dimension and mask."""
    import figure
    with open(path + ".json", "w") as out:
        json.dump({"about": facts, "rows": rows}, out, indent=2)
    text = [f"- {key}: {value}" for key, value in facts.items()] + [""]
    for dim in sorted({r["head_dim"] for r in rows}):
        for causal in (False, True):
            part = [r for r in rows if r["head_dim"] == dim and r["causal"] == causal]
            lengths = sorted({r["length"] for r in part})
            if not part:
                continue
            names = [p for p in programs if any(r["program"] == p for r in part)]
            values = {(r["program"], r["length"]): r["tflops"] for r in part}
            title = f"{what}, head dimension {dim}, {'causal' if causal else 'not causal'}, FP16, TFLOPS"
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


def main(description, output, dims, run, arguments=None):
    """Options, the skip where nothing can be measured, run(torch, options, lengths, dims)."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--library", required=True)
    parser.add_argument("--output", default=output)
    parser.add_argument("--length", type=int, help="only this sequence length")
    parser.add_argument("--head-dim", type=int, help="only this head dimension")
    parser.add_argument("--runs", type=int, default=50)
    options = parser.parse_args(arguments)
    try:
        import torch
    except ImportError:
        print("no PyTorch: skipped")
        return 77
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        print("no GPU of compute capability 9.0: skipped")
        return 77
    run(torch, options, (options.length,) if options.length else LENGTHS,
        (options.head_dim,) if options.head_dim else dims)
    return 0
