"""The steps of device.py: what is run on a machine with a GPU, in the order of what is worth most.

The sum of the limits is what a call may take. It has to leave room in the ten minutes that the machine gives a
command; device_test.py holds it below 9 minutes. A limit is for the worst case, a good run takes far less."""
import os
import sys
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
STRETCH = 2.0  # a step may take so many times its limit of what others left over


@dataclass
class Step:
    name: str
    limit: float
    command: list
    environment: dict = field(default_factory=dict)


def slower(steps, times):
    """Limits so many times as long, of what a step limits itself, too."""
    for step in steps:
        step.limit *= times
        for at, word in enumerate(step.command[:-1]):
            if word in ("--limit", "--within"):
                step.command[at + 1] = str(float(step.command[at + 1]) * times)
    return steps


def python(script, *arguments):
    return [sys.executable, "-B", os.path.join(HERE, script), *map(str, arguments)]


def shell(text):
    return ["bash", "-c", text]


# A driver's tool that hangs may not end when told to, and is not asked again.
FACTS = """
ask() { timeout -k 1 4 nvidia-smi "$@"; }
name=$(ask --query-gpu=name --format=csv,noheader) && answers=yes || name=  # it complains on standard output
name=$(head -1 <<<"$name")
[ -n "$name" ] || name=$(timeout -k 1 8 python3 -c 'import torch; print(torch.cuda.get_device_name())' 2>/dev/null)
echo "GPU: ${name:-none}"
if [ "$answers" ]; then
  ask --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm,power.limit,temperature.gpu,memory.total --format=csv
  ask -q -d CLOCK,PERFORMANCE | head -60
fi
nproc; free -g | head -2; uname -r
nvcc --version | tail -2
cat .emitted/commit.txt 2>/dev/null || git rev-parse HEAD 2>/dev/null
for tool in ncu compute-sanitizer cuobjdump nvdisasm cmake ninja; do command -v $tool || echo "no $tool"; done
[ "${name:-none}" != none ] || exit 77
python3 -m pip list 2>/dev/null | grep -iE '^(torch|triton|nvidia-cudnn|flash)'
exit 0
"""


def facts():
    return Step("device", 20, shell(FACTS))


def ready(options):
    """Facts, and the programs, built unless they are."""
    steps = [facts()]
    built = options.built or os.path.join(options.work, "built")
    if not options.built:
        steps.append(Step("build", 75, python("build.py", built, "--emitted", options.emitted)))
    return steps, built


def program(built, name):
    """Where a program of the build is: build.py's folder, or the CMake build's gpu folder."""
    for folder in ("", "tests", "bench"):
        if os.path.exists(os.path.join(built, folder, name)):
            return os.path.join(built, folder, name)
    return os.path.join(built, name)


def pool(name, limit, kind, what, one, *more, **options):
    """Runs side by side; the pool stops by itself before its limit."""
    return Step(name, limit, python("pool.py", kind, what, "--limit", one, "--within", limit - 2, *more), **options)


def tool_found(tool, command):
    return shell(f"command -v {tool} >/dev/null || {{ echo 'no {tool}: skipped'; exit 77; }}; {command}")


def peers(name, limit, script, built, options, *more):
    out = os.path.join(options.work, name.replace(" ", "-"))
    return Step(name, limit, python(script, "--library", program(built, "libtwill_gpu.so"), "--output", out, *more))


def emitted_times(options):
    """The emitted kernels one behind the other, each a process of its own: Gluon, then CUDA C++ of the same loops."""
    kernels = " ".join(f"'{os.path.join(options.emitted, kernel)}.py'" for kernel in TIMED)
    return Step("emitted time", 90, shell(
        f"ran=; failed=; for kernel in {kernels}; do timeout -k 1 15 {sys.executable} -B '{os.path.join(HERE, 'emitted.py')}' $kernel --time; "
        "code=$?; [ $code = 77 ] || ran=1; [ $code = 0 ] || [ $code = 77 ] || failed=1; done; "
        "[ -n \"$ran\" ] || exit 77; [ -z \"$failed\" ]"))


TIMED = ("fmha-forward", "fmha-forward-turns", "fmha-forward-crossings", "fmha-forward-persistent", "hopper-fwd-plain",
         "hopper-fwd-sub2-m128", "hopper-bwd", "hopper-bwd-q64", "gemm", "gemm-persistent",
         "hopper-gqa", "hopper-mla", "hopper-mlp", "hopper-grouped-gemm", "hopper-fwd-sub2-d64")


def first(options):
    """Does it run and is it right; the times that most want to know."""
    steps, built = ready(options)
    # In front of what is there, by which the driver's library may be found.
    spin = {"LD_LIBRARY_PATH": ":".join(filter(None, [os.path.join(built, "spin"), os.environ.get("LD_LIBRARY_PATH")]))}
    steps.append(pool("smoke", 50, "smoke", built, 12, environment=spin))
    steps.append(pool("emitted CUDA", 40, "cuda", os.path.join(built, "emitted"), 25))
    steps.append(pool("emitted check", 60, "emitted", options.emitted, 40, "--workers", 14))
    steps.append(pool("emitted modules", 70, "modules", os.path.join(options.emitted, "modules"), 50, "--workers", 14))
    lengths = ("--length", 1024, "--length", 4096, "--length", 16384, "--head-dim", 128, "--runs", 20, "--no-triton")
    # Apart, so that a kernel of ours that hangs does not take the others' times with it.
    for which, ours, limits in (("forward", ("Twill", "Twill-Overlap", "Twill-SWP", "CUDA-Default"), (25, 20)),
                                ("backward", ("Twill-80", "Twill", "CUDA-Default"), (30, 30))):
        script, chosen = which + ".py", [word for name in ours for word in ("--program", name)]
        rest = [word for name in ("FlashAttention-2", "FlashAttention-3", "cuDNN", "cuBLAS GEMM") for word in ("--program", name)]
        steps.append(peers(f"{which} 128", limits[0], script, built, options, *lengths, *chosen))
        steps.append(peers(f"{which} 128 peers", limits[1], script, built, options, *lengths, *rest))
    steps.append(emitted_times(options))
    steps.append(pool("emitted CUDA time", 30, "cuda", os.path.join(built, "timed"), 15, "--workers", 1))
    return steps


def third(options):
    """What the first has no time for: all shapes, the sanitizer, costs of instructions, clocks that ncu counts."""
    steps, built = ready(options)
    for group in ("arithmetic", "gemm", "together", "copies", "barriers"):
        out = os.path.join(options.work, f"costs-{group}.json")
        costs = program(built, "gpu_bench_costs")
        steps.append(Step(f"costs {group}", 10, shell(f"'{costs}' --only {group} > '{out}'")))
    steps.append(Step("clocks", 90, python("clocks.py", built)))
    steps.append(pool("correct", 80, "correct", built, 50, "--workers", 14, "--skip", "S4096", "--skip", "S4095",
                      "--skip", "S16384", "--skip", "S16383"))
    steps.append(pool("memcheck", 35, "smoke", built, 32, "--workers", 6, "--match", "S257/383", "--match", "D128",
                      "--tool", "compute-sanitizer --tool memcheck --error-exitcode 9"))
    for which, schedules in (("forward", "Twill "), ("backward", "Twill-80")):
        steps.append(Step(f"ncu {which}", 15, tool_found("ncu", profile(built, which, schedules))))
    return steps


def second(options):
    steps, built = ready(options)
    shape = ("--length", 1024, "--length", 4096, "--length", 16384, "--runs", 15, "--no-triton")
    for dim in (64, 256):
        steps.append(peers(f"forward {dim}", 45, "forward.py", built, options, *shape, "--head-dim", dim))
    steps.append(peers("backward 64", 55, "backward.py", built, options, *shape, "--head-dim", 64))
    steps.append(Step("repeats", 100, shell(
        f"'{program(built, 'gpu_forward')}' --repeats 10000 & first=$!; "
        f"'{program(built, 'gpu_backward')}' --repeats 10000; second=$?; wait $first && exit $second")))
    steps.append(peers("Triton 128", 40, "forward.py", built, options, "--length", 4096, "--head-dim", 128, "--runs", 15))
    steps.append(Step("beside Triton", 60, python("beside_triton.py", os.path.join(options.emitted, "modules"))))
    for tool in ("racecheck", "synccheck"):  # reports: what they say of asynchronous copies is not a verdict
        steps.append(pool(tool, 30, "smoke", built, 27, "--workers", 6, "--match", "S257/383", "--match", "D128",
                          "--tool", f"compute-sanitizer --tool {tool} --error-exitcode 9"))
    for which in ("forward", "backward"):
        bench = program(built, f"gpu_bench_{which}")
        steps.append(Step(f"bf16 {which}", 15, [bench, "--type", "bf16", "--length", "4096", "--runs", "10"]))
    return steps


def profile(built, which, schedule):
    """ncu of one launch of a schedule, of the test case with most blocks; clocks stay as they are."""
    test = program(built, f"gpu_{which}")
    return (f"case=$('{test}' --list | grep -n '^{schedule}.*B4 H32.*D128' | grep -v deterministic | head -1 | cut -d: -f1); "
            f"ncu --clock-control none --kernel-name regex:fmha_{which}$ --launch-count 1 --set detailed "
            f"'{test}' --cases $((case - 1))")
