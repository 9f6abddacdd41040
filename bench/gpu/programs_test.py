"""The benchmarks' Python without a GPU and without PyTorch: options, the skip, which outputs are timed,
tables and charts. PyTorch is a stand-in here, of as much as the benchmarks ask of it."""
import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import tempfile
import types
import xml.etree.ElementTree as ElementTree

sys.dont_write_bytecode = True
here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, here)
import backward  # noqa: E402
import common  # noqa: E402
import forward  # noqa: E402


def quietly(call, *arguments):
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            result = call(*arguments)
        except SystemExit as end:
            result = end.code
    return result, said.getvalue()


# Figures 7 and 10 count two and five GEMMs of 2 S^2 D multiplications and additions a head.
assert forward.operations(1024, 128, False) == 2 * 2 * 1024**2 * 128 * 4 * 32
assert backward.operations(1024, 128, False) == 5 * 2 * 1024**2 * 128 * 4 * 32
assert backward.operations(2048, 64, True) == 5 * 2048**2 * 64 * 4 * 32

# The number in a tensor, and what is done with it.
clock = [0.0]


class Tensor:
    def __init__(self, value):
        self.value = value

    def float(self):
        return self

    def abs(self):
        return Tensor(abs(self.value))

    def max(self):
        return self

    def item(self):
        return self.value

    def __sub__(self, other):
        return Tensor(self.value - other.value)

    def __matmul__(self, other):
        clock[0] += 2.0
        return self


class Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = clock[0]

    def elapsed_time(self, end):
        return end.at - self.at


def stand_in(capability):
    torch = types.ModuleType("torch")
    torch.__version__ = "0"
    torch.float16 = "float16"
    torch.manual_seed = lambda seed: None
    torch.randn = lambda *shape, **options: Tensor(0.0)
    torch.version = types.SimpleNamespace(cuda="0")
    torch.backends = types.SimpleNamespace(cudnn=types.SimpleNamespace(version=lambda: 0))
    torch.cuda = types.SimpleNamespace(
        Event=Event, synchronize=lambda: None, is_available=lambda: capability is not None,
        get_device_capability=lambda: capability, get_device_name=lambda: "stand-in")
    return torch


# Options, and the skip: no PyTorch, no GPU, another GPU.
for program, output in ((forward, "forward"), (backward, "backward")):
    main = [program.__doc__.splitlines()[0], output, program.DIMS, program.run]
    assert quietly(common.main, *main, ["--runs", "3"])[0] == 2  # --library is missing
    assert quietly(common.main, *main, ["--library", "x", "--length", "many"])[0] == 2
    code, text = quietly(common.main, *main, ["--help"])
    assert code == 0 and "--head-dim" in text
    if importlib.util.find_spec("torch") is None:
        code, text = quietly(common.main, *main, ["--library", "x"])
        assert code == 77 and "no torch" in text, text
    for capability in (None, (8, 0), (10, 0)):
        sys.modules["torch"] = stand_in(capability)
        code, text = quietly(common.main, *main, ["--library", "x"])
        assert code == 77 and "skipped" in text, text
        del sys.modules["torch"]


# What is wrong or fails is not timed; the rest is, with the ceiling.
def program(value, milliseconds):
    def launch():
        clock[0] += milliseconds
        return [Tensor(value)]
    return launch


def fails():
    raise RuntimeError("out of shared memory\nmore")


rows, text = quietly(
    common.measure, stand_in((9, 0)), (1024, 2048), (128,), 5, backward.operations,
    lambda length, dim, causal: [],
    lambda given, causal: iter([("cuDNN", program(1.0, 1.0)), ("Twill", program(1.001, 0.5)),
                                ("Twill-80", program(2.0, 0.1)), ("CUDA-Default", fails)]), 1e-2)
assert {r["program"] for r in rows} == {"cuDNN", "Twill", "cuBLAS GEMM"}
assert "Twill-80: differs by 1.0" in text and "CUDA-Default: does not run here: out of shared" in text
fast = [r for r in rows if r["program"] == "Twill" and r["length"] == 2048 and not r["causal"]]
assert len(fast) == 1
assert abs(fast[0]["tflops"] - backward.operations(2048, 128, False) / 0.5e9) < 1e-6 * fast[0]["tflops"]

# One that is not asked for is not timed; the first is still what the others are compared with.
rows_of_one, text = quietly(
    common.measure, stand_in((9, 0)), (1024,), (128,), 5, backward.operations,
    lambda length, dim, causal: [],
    lambda given, causal: iter([("cuDNN", program(1.0, 1.0)), ("Twill", program(1.0, 0.5)),
                                ("Twill-80", program(2.0, 0.1))]), 1e-2, ("Twill", "Twill-80"))
assert [r["program"] for r in rows_of_one] == ["Twill", "Twill"], rows_of_one
assert text.count('"state": "wrong"') == 2 and "Twill-80 D 128 S 1024" in text, text


# A launch that can be recorded is replayed, so what the host does for it is not in its time; one that cannot is launched.
class Graph:
    def replay(self):
        clock[0] += self.took


class Recording:
    def __init__(self, graph):
        self.graph = graph

    def __enter__(self):
        self.begun = clock[0]

    def __exit__(self, kind, error, trace):
        self.graph.took = clock[0] - self.begun
        if fails_recorded:
            raise RuntimeError("operation not permitted when stream is capturing\nmore")


recording = stand_in((9, 0))
recording.cuda.CUDAGraph, recording.cuda.graph = Graph, Recording
recording.cuda.Stream = lambda: types.SimpleNamespace(wait_stream=lambda other: None)
recording.cuda.current_stream = recording.cuda.Stream
recording.cuda.stream = lambda side: contextlib.nullcontext()
host = [0]


def launched():
    host[0] += 1
    clock[0] += 0.25


for may, fails_recorded, few in ((True, False, True), (True, True, False), (False, False, False)):
    launched.may_be_recorded, host[0] = may, 0
    times, text = quietly(common.milliseconds, recording, launched, 7)
    assert len(times) == 7 and all(abs(t - 0.25) < 1e-9 for t in times), times
    assert (host[0] < 10) == few, (may, fails_recorded, host)  # recorded: only before and while it is
    assert ("not recorded as a graph" in text) == fails_recorded, text

# Table, chart and data say the same.
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "out")
    common.write(path, {"device": "stand-in"}, rows, backward.PROGRAMS, "Attention backward")
    with open(path + ".json") as data:
        assert json.load(data)["rows"] == list(rows)
    with open(path + ".md") as table:
        table = table.read()
    assert "- device: stand-in" in table and f"{fast[0]['tflops']:.1f}" in table
    assert "Attention backward, head dimension 128, causal" in table
    for name in ("out-d128.svg", "out-d128-causal.svg"):
        svg = ElementTree.parse(os.path.join(folder, name)).getroot()
        bars = [r for r in svg.iter("{http://www.w3.org/2000/svg}rect") if r.get("class") == "bar"]
        assert len(bars) == (6 if "causal" not in name else 4), (name, len(bars))
    assert sorted(os.listdir(folder)) == ["out-d128-causal.svg", "out-d128.svg", "out.json", "out.md"]

# An emitted kernel, with a stand-in for the kernel's file too: right, wrong, not a number.
class Values:
    """A tensor of one number, of as much as the check asks of it."""

    def __init__(self, value):
        self.value = value

    def numel(self):
        return 1

    def __sub__(self, other):
        return Values(self.value - other.value)

    def __eq__(self, other):
        return Values(self.value == other.value)

    def __and__(self, other):
        return Values(self.value and other.value)

    __or__ = lambda self, other: Values(self.value or other.value)

    def __float__(self):
        return float(self.value)

    def __getitem__(self, which):
        return self

    def isnan(self):
        return Values(self.value != self.value)

    def isfinite(self):
        return Values(self.value == self.value)

    cpu = double = abs = max = float = lambda self: self


import emitted  # noqa: E402

torch = types.SimpleNamespace(where=lambda same, a, b: Values(a) if same.value else b)
for got, code, says in ((1.01, 0, '"right": true'), (1.5, 1, '"right": false'), (float("nan"), 1, '"error": "NaN"')):
    kernel = types.SimpleNamespace(OUTPUTS=["O"], random_inputs=lambda lead, blocks, n: n,
                                   launch=lambda n, got=got: [Values(got)], reference=lambda n: [Values(1.0)])
    ended, text = quietly(emitted.check, torch, kernel, "made-up")
    assert ended == code and text.count(says) == 5, (ended, text)
    for line in text.splitlines():
        assert json.loads(line)["measured"]["kernel"] == "made-up"
kernel = types.SimpleNamespace(random_inputs=lambda lead, blocks, n: n, launch=lambda n: launched(),
                               AXES={"rows": ("block", 128), "depth": ("loop", 64)})
launched.may_be_recorded, fails_recorded = True, False
for name, rate in (("made-up", None), ("gemm", 2 * 128 * 128 * 64 * 1024 * 64 / 0.25e9)):
    ended, text = quietly(emitted.time, recording, kernel, name, 5, None)
    assert ended == 0 and json.loads(text)["measured"] == {"what": "emitted time", "kernel": name, "ms": 0.25, "blocks": 1024, "n": 64,
                                                           "tflops": rate}, text

# Clocks of a round, of an ncu that counts two launches of each program.
NCU = """#!/bin/bash
[[ "$*" == *fmha_forward* ]] && count=16 || count=12
echo 'H100, 100 SMs, f16'; echo '"ID","Kernel Name","sm__cycles_elapsed.max"'; echo '"","","cycle"'
for i in $(seq $count); do echo "\\"$i\\",\\"x\\",\\"1,00$i,000\\""; done
"""
with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "ncu"), "w") as file:
        file.write(NCU)
    os.chmod(file.name, 0o755)
    done = subprocess.run([sys.executable, "-B", os.path.join(here, "clocks.py"), folder, "--only", "backward"], capture_output=True,
                          text=True, env={**os.environ, "PATH": folder + ":" + os.environ["PATH"]})
    lines = [json.loads(line)["measured"] for line in done.stdout.splitlines()]
    # 12 launches of 3 programs without and with a mask, two each; 4,096 tiles on 100 multiprocessors, 64 or 80 rows a round.
    assert done.returncode == 0 and len(lines) == 12, done
    assert lines[0]["clocks"] == 1001500 and lines[0]["of_a_round"] == 1001500 / (41 * 64), lines[0]
    assert lines[2]["program"] == "Twill-80" and lines[2]["of_a_round"] == 1005500 / (41 * 52), lines[2]
    assert lines[3]["causal"] and lines[3]["of_a_round"] is None, lines[3]

# The programs that need PyTorch or Triton at least compile.
for name in sorted(os.listdir(here)):
    if name.endswith(".py"):
        with open(os.path.join(here, name)) as source:
            compile(source.read(), name, "exec")
print("the benchmarks' Python holds")
