"""Main loops of emitted kernels in machine code: CUDA C++ by nvcc, and Gluon by Triton beside it. No GPU is needed.

usage: emitted_loops.py TWILL [--nvcc NVCC] [--gluon] [KERNEL:MACHINE...]
A main loop is an innermost loop with products, exponentials, or accesses of tensor memory. Counts are instructions that a warp executes
each time round, by class, with the way out of line of a wait that fails. Kernels are named as in tests/emit/emit_cuda_test.py; both
texts are that of the schedule `twill emit` finds. Rows are for bench/results/emission.md; `.ci/long` makes them anew. Exit code 1 where a
kernel has no main loop, 77 where there is no cuobjdump.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path += [os.path.join(ROOT, "gpu", "check"), os.path.join(ROOT, "tests", "emit")]

import machine_code  # noqa: E402

CLASSES = [("MMA", r"UTC\w*MMA|HGMMA"), ("tensor ld", r"LDTM"), ("tensor st", r"STTM"), ("EX2", r"MUFU\.EX2"), ("FP32", r"FFMA|FADD|FMUL|MUFU"),
           ("max", r"FMNMX|FSETP"), ("convert", r"F2FP|F2F|I2F|F2I"), ("shared memory", r"LDS|STS|STSM|LDSM"), ("shuffle", r"SHFL"),
           ("barrier", r"SYNCS|BAR|WARPSYNC|ELECT|UTCBAR|UTCATOM"), ("wait, fence", r"WARPGROUP|DEPBAR|MEMBAR|FENCE|CCTL|ERRBAR"),
           ("uniform", r"U[A-Z]|R2UR|S2UR"), ("branch", r"BRA|BSSY|BSYNC|NOP|EXIT|CALL|RET"),
           ("integer", r"I[A-Z]|LOP|SHF|LEA|VIADD|VIMNMX|PLOP|PRMT|P2R|R2P|VOTE|SEL|FSEL"), ("move", r"MOV|CS2R|S2R|LDC"),
           ("local memory", r"LDL|STL")]
KERNELS = ["blackwell-fwd-sub2:blackwell", "blackwell-fwd-plain:blackwell", "blackwell-fwd-plain+causal:blackwell", "blackwell-fwd-sub2+d64:blackwell",
           "fmha-forward:blackwell", "blackwell-bwd:blackwell", "gemm:blackwell", "hopper-fwd-sub2+d64:hopper", "hopper-fwd-sub2+causal:hopper"]
MAIN = re.compile(r"UTC\w*MMA|HGMMA|MUFU\.EX2|LDTM|STTM")


class Function(machine_code.Function):
    """With jump tables: one leads to every place that nothing else does."""

    def successors(self):
        follows = super().successors()
        jumps = [i for i, (_, _, text) in enumerate(self.code) if text.split()[0].startswith("BRX")]
        for i in jumps:
            follows[i] = []
        reached = {a for f in follows for a in f} | {0}
        for i in jumps:
            follows[i] = [a for a in range(len(follows)) if a not in reached]
        return follows


machine_code.Function = Function


def sass(path, tool):
    done = subprocess.run([tool, "--dump-sass", path], capture_output=True, text=True, check=True)
    return machine_code.parse(done.stdout)


def rows(functions):
    machine_code.CLASSES = CLASSES
    for function in functions:
        found = [set(body) for body in function.loops().values() if any(MAIN.match(t) for t in function.texts(body))]
        for body in sorted(sorted(a) for a in found if not any(b < a for b in found)):
            yield len(body), machine_code.counts(function.texts(body))


def kernel_of(twill, name, folder):
    import emit_cuda_test
    path, machine = emit_cuda_test.source(twill, name, folder)
    return [path, "--machine", machine]


def gluon(twill, kernel, folder):
    import emit_compile_test as compiler
    path = os.path.join(folder, "kernel.py")
    subprocess.run([twill, "emit", *kernel_of(twill, kernel, folder), "--to", "gluon", "-o", path, "--quiet"], check=True)
    _, made = compiler.compiled(path, -1)
    registers, spills, _ = compiler.ptxas_says(made, folder)
    return os.path.join(folder, "k.cubin"), registers, spills


def cuda(twill, nvcc, kernel, folder):
    path, out = os.path.join(folder, "kernel.cu"), os.path.join(folder, "kernel.cubin")
    arch = "100a" if kernel.endswith(":blackwell") else "90a"
    subprocess.run([twill, "emit", *kernel_of(twill, kernel, folder), "--to", "cuda", "-o", path, "--quiet"], check=True)
    done = subprocess.run([nvcc, "-std=c++20", "-O3", "-cubin", "-gencode", f"arch=compute_{arch},code=sm_{arch}", "-Xptxas=-v", "-I", ROOT, path, "-o", out],
                          capture_output=True, text=True, check=True)
    said = done.stdout + done.stderr
    stores, loads = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", said).groups()
    return out, re.search(r"Used (\d+) registers", said)[1], int(stores) + int(loads)


def main():
    arguments = sys.argv[1:]
    twill = arguments.pop(0)
    nvcc = "nvcc"
    if "--nvcc" in arguments:
        k = arguments.index("--nvcc")
        nvcc = arguments[k + 1]
        del arguments[k:k + 2]
    with_gluon = "--gluon" in arguments
    kernels = [a for a in arguments if a != "--gluon"] or KERNELS
    tool = machine_code.cuobjdump(None)
    if not tool:
        print("no cuobjdump: skipped")
        return 77
    names = [name for name, _ in CLASSES] + ["other"]
    print("| kernel | registers | spills | all | " + " | ".join(names) + " |")
    failed = False
    for kernel in kernels:
        with tempfile.TemporaryDirectory() as folder:
            texts = [("CUDA", cuda(twill, nvcc, kernel, folder))] + ([("Gluon", gluon(twill, kernel, folder))] if with_gluon else [])
            for how, (path, registers, spills) in texts:
                found = list(rows(sass(path, tool)))
                failed |= not found
                for total, count in found:
                    print(f"| {kernel.split(':')[0]}, {how} | {registers} | {spills} | {total} | " + " | ".join(str(count[name]) for name in names) + " |")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
