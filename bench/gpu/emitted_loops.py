"""Main loops of emitted kernels in machine code: CUDA C++ by nvcc beside Gluon by Triton, on Blackwell. No GPU is needed.

usage: emitted_loops.py TWILL [--nvcc NVCC] [KERNEL...]
A main loop is an innermost loop with products (tcgen05.mma), exponentials, or accesses of tensor memory. Counts are instructions that a
warp executes each time round, by class, with the way out of line of a wait that fails. Needs Triton and its cuobjdump; both
texts are that of the schedule `twill emit` finds. Rows are for bench/RESULTS.md.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path += [os.path.join(ROOT, "gpu", "check"), os.path.join(ROOT, "tests", "emit")]

import machine_code  # noqa: E402

CLASSES = [("UTCHMMA", r"UTC\w*MMA"), ("tensor ld", r"LDTM"), ("tensor st", r"STTM"), ("EX2", r"MUFU\.EX2"), ("FP32", r"FFMA|FADD|FMUL|MUFU"),
           ("max", r"FMNMX|FSETP"), ("convert", r"F2FP|F2F|I2F|F2I"), ("shared memory", r"LDS|STS|STSM|LDSM"), ("shuffle", r"SHFL"),
           ("barrier", r"SYNCS|BAR|WARPSYNC|ELECT|UTCBAR|UTCATOM"), ("memory fence", r"MEMBAR|FENCE|CCTL|ERRBAR"),
           ("uniform", r"U[A-Z]|R2UR|S2UR"), ("branch", r"BRA|BSSY|BSYNC|NOP|EXIT|CALL|RET"),
           ("integer", r"I[A-Z]|LOP|SHF|LEA|VIADD|VIMNMX|PLOP|PRMT|P2R|R2P|VOTE|SEL|FSEL"), ("move", r"MOV|CS2R|S2R|LDC"),
           ("local memory", r"LDL|STL")]
MAIN = re.compile(r"UTC\w*MMA|MUFU\.EX2|LDTM|STTM")


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


def gluon(twill, kernel, folder):
    import emit_compile_test as compiler
    path = os.path.join(folder, "kernel.py")
    subprocess.run([twill, "emit", kernel, "--machine", "blackwell", "--to", "gluon", "-o", path, "--quiet"], check=True)
    _, made = compiler.compiled(path, -1)
    registers, spills, _ = compiler.ptxas_says(made, folder)
    return os.path.join(folder, "k.cubin"), f"{spills} bytes of spill stores and loads"


def cuda(twill, nvcc, kernel, folder):
    path, out = os.path.join(folder, "kernel.cu"), os.path.join(folder, "kernel.cubin")
    subprocess.run([twill, "emit", kernel, "--machine", "blackwell", "--to", "cuda", "-o", path, "--quiet"], check=True)
    done = subprocess.run([nvcc, "-std=c++20", "-O3", "-cubin", "-gencode", "arch=compute_100a,code=sm_100a", "-Xptxas=-v", "-I", ROOT, path, "-o", out],
                          capture_output=True, text=True, check=True)
    stores, loads = re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", done.stdout + done.stderr).groups()
    return out, f"{int(stores) + int(loads)} bytes of spill stores and loads"


def main():
    arguments = sys.argv[1:]
    twill = arguments.pop(0)
    nvcc = "nvcc"
    if "--nvcc" in arguments:
        k = arguments.index("--nvcc")
        nvcc = arguments[k + 1]
        del arguments[k:k + 2]
    tool = machine_code.cuobjdump(None)
    if not tool:
        print("no cuobjdump: skipped")
        return 77
    names = [name for name, _ in CLASSES] + ["other"]
    print("| kernel | spills | all | " + " | ".join(names) + " |")
    for kernel in arguments or ["blackwell-fwd-sub2", "blackwell-fwd-plain", "fmha-forward", "gemm"]:
        with tempfile.TemporaryDirectory() as folder:
            for how, (path, spills) in (("CUDA", cuda(twill, nvcc, kernel, folder)), ("Gluon", gluon(twill, kernel, folder))):
                for total, count in rows(sass(path, tool)):
                    print(f"| {kernel}, {how} | {spills.split()[0]} | {total} | " + " | ".join(str(count[name]) for name in names) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
