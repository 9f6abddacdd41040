"""What the benchmarks share: times, the ceiling, tables and charts, options."""
import argparse
import importlib
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


def measured(**values):
    """A result as a line for programs: device.py collects these."""
    print(json.dumps({"measured": values}), flush=True)


def hopper(*needed):
    """PyTorch where it, the modules `needed` and a GPU of compute capability 9.0 are; else None, with a word why."""
    try:
        import torch
        for module in needed:
            importlib.import_module(module)
    except ImportError as missing:
        print(f"no {missing.name}: skipped")
        return None
    if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
        print("no GPU of compute capability 9.0: skipped")
        return None
    return torch


def recorded(torch, launch):
    """The launch as a CUDA graph's replay, so that what the host does for it (tensor maps, dispatch) is not in its
    time; the launch itself where it cannot be recorded."""
    graphs = getattr(torch.cuda, "CUDAGraph", None)
    if graphs is None or not getattr(launch, "may_be_recorded", True):
        return launch
    try:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                launch()
        torch.cuda.current_stream().wait_stream(side)
        graph = graphs()
        with torch.cuda.graph(graph):
            kept = launch()
        graph.replay()
        torch.cuda.synchronize()
    except RuntimeError as error:
        print(f"  not recorded as a graph, so the host's work is in the time: {str(error).splitlines()[0]}")
        torch.cuda.synchronize()
        return launch

    def replay(_kept=kept):
        graph.replay()
    return replay


def milliseconds(torch, launch, runs):
    """Of a launch, sorted, from `runs` samples of so many launches one behind the other that a sample takes about a
    millisecond. The host waits only at the end."""
    launch = recorded(torch, launch)
    for _ in range(3):
        launch()

    def sample(marks, each):
        marks[0].record()
        for mark in marks[1:]:
            for _ in range(each):
                launch()
            mark.record()
        torch.cuda.synchronize()
        return sorted(begin.elapsed_time(end) / each for begin, end in zip(marks, marks[1:]))

    def marks(count):
        return [torch.cuda.Event(enable_timing=True) for _ in range(count)]

    once, = sample(marks(2), 2)
    return sample(marks(runs + 1), max(1, min(100, int(1 / max(once, 1e-3)))))


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
        measured(**self[-1])


def measure(torch, lengths, dims, runs, operations, inputs, programs, allowed, only=()):
    """Every program on every shape. inputs(length, dim, causal): what programs(inputs, causal) takes,
    which gives (name, launch) one by one; a launch returns tensors. One whose tensors differ from the
    first program's by more than `allowed`, times their largest value if that is above 1, is not timed.
    only: the programs that are timed, if not all."""
    rows = Rows()
    for dim in dims:
        for causal in (False, True):
            for length in lengths:
                torch.manual_seed(1)
                given = inputs(length, dim, causal)
                right = None
                for name, launch in programs(given, causal):
                    timed = not only or name in only
                    if right is not None and not timed:
                        continue
                    try:
                        got = [t.float() for t in launch()]
                        torch.cuda.synchronize()
                        if right is None:
                            right = got
                            largest = max(b.abs().max().item() for b in right)
                        worst = max((a - b).abs().max().item() for a, b in zip(got, right))
                        del got
                        if not worst < allowed * max(1.0, largest):
                            said = f"{name}: differs by {worst} at S {length}, not timed"
                            print(said)
                            measured(what=f"{name} D {dim} S {length}", state="wrong", exit=None, said=[said])
                            continue
                        if not timed:
                            continue
                        rows.add(name, length, dim, causal, operations(length, dim, causal),
                                 milliseconds(torch, launch, runs))
                    except RuntimeError as error:
                        print(f"{name}: does not run here: {(str(error).splitlines() or ['?'])[0]}")
                del given, right
                if not causal and (not only or "cuBLAS GEMM" in only):
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


def installed(module):
    """A module that need not be there, or None."""
    try:
        return importlib.import_module(module)
    except Exception:  # a broken wheel of a peer must not end the benchmark
        return None


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
    parser.add_argument("--length", type=int, action="append", help="only this sequence length; may be repeated")
    parser.add_argument("--head-dim", type=int, action="append", help="only this head dimension; may be repeated")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--program", action="append", default=[], help="only the times of this program; may be repeated")
    parser.add_argument("--no-triton", action="store_true", help="without the Triton program, which is tuned at first")
    options = parser.parse_args(arguments)
    torch = hopper()
    if torch is None:
        return 77
    run(torch, options, options.length or LENGTHS, options.head_dim or dims)
    return 0
