"""Builds the kernels and their programs with nvcc alone, on all cores: for a machine without CMake or this project's
other needs. The same sources and options as gpu/CMakeLists.txt; without the check for spills, which the CMake build has.

usage: build.py FOLDER [--jobs N] [--spin-limit N] [--emitted FOLDER [--emitted-only]] [--define NAME]

FOLDER gets libtwill_gpu.so, gpu_forward, gpu_backward, gpu_bench_forward, gpu_bench_backward, gpu_bench_costs, and in
FOLDER/spin a libtwill_gpu.so whose waits trap after so many tries instead of hanging (LD_LIBRARY_PATH chooses it).
From --emitted, where `twill emit --to cuda` wrote, each NAME.cu becomes FOLDER/emitted/NAME, whose waits trap, too, and
FOLDER/timed/NAME, whose waits do not.
Ends with 1 if a file does not compile, with 77 without nvcc. What does compile is there."""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KERNELS = sorted(glob.glob(os.path.join(ROOT, "gpu/hopper/*/*.cu")))
LIBRARY = sorted(glob.glob(os.path.join(ROOT, "gpu/api/*.cpp"))) + [os.path.join(ROOT, "gpu/hopper/tensor_map.cpp")]
PROGRAMS = {
    "gpu_forward": ["gpu/tests/forward_test.cpp", "gpu/tests/forward_reference.cpp"],
    "gpu_backward": ["gpu/tests/backward_test.cpp", "gpu/tests/backward_reference.cpp"],
    "gpu_bench_forward": ["bench/gpu/forward.cpp"],
    "gpu_bench_backward": ["bench/gpu/backward.cpp"],
    "gpu_bench_costs": ["bench/gpu/costs.cu", "bench/gpu/costs_together.cu", "gpu/hopper/tensor_map.cpp", "gpu/api/error.cpp"],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--spin-limit", type=int, default=2_000_000)
    parser.add_argument("--emitted", default="")
    parser.add_argument("--emitted-only", action="store_true", help="the others are built already")
    parser.add_argument("--define", action="append", default=[], help="a macro, to compare two forms of the kernels")
    options = parser.parse_args()
    nvcc = shutil.which("nvcc") or next((p for p in ["/usr/local/cuda/bin/nvcc"] if os.path.exists(p)), None)
    if not nvcc:
        print("no nvcc: skipped")
        return 77
    folder = os.path.abspath(options.folder)
    for sub in ("", "objects", "spin", "emitted", "timed"):
        os.makedirs(os.path.join(folder, sub), exist_ok=True)
    cuda = os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))
    has_cublas = os.path.exists(os.path.join(cuda, "include/cublas_v2.h"))
    common = [nvcc, "-std=c++20", "-I", ROOT, "-O3", *(f"-D{name}" for name in options.define)]
    device = ["-gencode", "arch=compute_90a,code=sm_90a"]
    hidden = ["-Xcompiler", "-fPIC,-fvisibility=hidden"]
    jobs, objects = [], {}

    def compiled(source, tag, extra):
        path = os.path.join(folder, "objects", tag + "-" + os.path.relpath(source, ROOT).replace("/", "-").lstrip("-.") + ".o")
        if path not in objects:
            objects[path] = True
            kind = device if source.endswith(".cu") else []
            jobs.append((source, [*common, *kind, *extra, "-c", source, "-o", path]))
        return path

    # The longest first: they decide when the build ends.
    libraries = {} if options.emitted_only else {"": [], "spin": []}
    for tag in libraries:
        flags = [f"-DTWILL_GPU_SPIN_LIMIT={options.spin_limit}"] if tag == "spin" else []
        libraries[tag] = [compiled(k, "kernel" + tag, hidden + flags) for k in KERNELS]
    host = [compiled(s, "host", hidden) for s in LIBRARY] if libraries else []
    programs = {}
    for name, sources in PROGRAMS.items() if libraries else ():
        flags = ["-DTWILL_HAS_CUBLAS"] if has_cublas and name.startswith("gpu_bench") else []
        programs[name] = [compiled(os.path.join(ROOT, s), "program", flags) for s in sources]
    for source in sorted(glob.glob(os.path.join(options.emitted, "*.cu"))) if options.emitted else []:
        for tag, flags in (("emitted", [f"-DTWILL_GPU_SPIN_LIMIT={options.spin_limit}"]), ("timed", [])):
            programs[os.path.join(tag, os.path.basename(source)[:-3])] = [
                compiled(source, tag, flags),
                *(compiled(os.path.join(ROOT, s), "program", []) for s in ("gpu/hopper/tensor_map.cpp", "gpu/api/error.cpp"))]

    def execute(job):
        what, command = job
        begun = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        return what, done, time.monotonic() - begun

    failed = 0

    def all_of(some):
        nonlocal failed
        with ThreadPoolExecutor(options.jobs) as pool:
            for what, done, seconds in pool.map(execute, some):
                if done.returncode != 0:
                    failed += 1
                    print(f"{what} failed:\n{(done.stdout + done.stderr)[-2000:]}")

    begun = time.monotonic()
    all_of(jobs)
    compile_seconds = time.monotonic() - begun
    link = [nvcc, "-cudart", "static"]
    all_of([(f"library {tag}", [*link, "-shared", *libraries[tag], *host, "-o",
                                os.path.join(folder, tag, "libtwill_gpu.so")]) for tag in libraries])
    rpath = ["-Xlinker", f"-rpath,$ORIGIN,-rpath,{cuda}/lib64,--enable-new-dtags"]
    all_of([(name, [*link, *parts, "-L", folder, *([] if "tensor_map" in "".join(parts) else ["-ltwill_gpu"]),
                    *(["-lcublas"] if has_cublas and name in ("gpu_bench_forward", "gpu_bench_backward") else []), *rpath,
                    "-o", os.path.join(folder, name)]) for name, parts in programs.items()])
    print(json.dumps({"measured": {"what": "build", "files": len(jobs), "jobs": options.jobs, "failed": failed,
                                   "compile_seconds": round(compile_seconds, 1),
                                   "seconds": round(time.monotonic() - begun, 1), "cublas": has_cublas}}))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
