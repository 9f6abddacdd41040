"""Writes every built-in kernel of Hopper, and some with another mask, head dimension or number type, in Gluon and CUDA C++.

usage: emit_builtin.py TWILL FOLDER

FOLDER gets NAME.py and NAME.cu; what has no text is said with the reason (bench/results/emission.md lists it)."""
import os
import subprocess
import sys

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(ROOT, "tests", "emit"))
import variants  # noqa: E402

KERNELS = ["fmha-forward", "hopper-fwd-plain", "hopper-fwd-sub2-m128", "gemm", "hopper-gqa", "hopper-mla", "hopper-mlp",
           "hopper-retnet", "hopper-deltanet", "hopper-gla", "hopper-grouped-gemm", "hopper-layer-norm", "hopper-bwd",
           "hopper-bwd-q64", "hopper-fwd-sub2+causal", "hopper-fwd-sub2+d64", "hopper-fwd-sub2+bf16"]
# Schedules of the same I, and waits that keep their order: what a replay in time tells apart. Programs that do block after block.
OTHERWISE = [("fmha-forward", "turns", ["--turns"]), ("fmha-forward", "crossings", ["--goals", "crossings"]),
             ("hopper-gqa", "crossings", ["--goals", "crossings"])]
OTHERWISE += [(one, "persistent", ["--persistent"]) for one in ("fmha-forward", "gemm", "hopper-bwd")]  # (in Gluon alone)


def main():
    twill, folder = sys.argv[1:]
    written = 0
    for kernel, name, given in [(one, one, []) for one in KERNELS] + [(one, f"{one}+{what}", given) for one, what, given in OTHERWISE]:
        source, machine = variants.source(twill, f"{kernel}:hopper", folder)
        for language, ending in (("gluon", "py"), ("cuda", "cu"))[:1 if "--persistent" in given else 2]:
            out = os.path.join(folder, name.replace("+", "-") + "." + ending)
            done = subprocess.run([twill, "emit", source, "--machine", machine, "--to", language, "--quiet", "-o", out, *given],
                                  capture_output=True, text=True)
            if done.returncode == 0:
                written += 1
                print(out)
            else:
                print(f"{name}, {language}: {done.stderr.strip().splitlines()[-1]}")
    changed = os.path.join(folder, "changed.json")
    if os.path.exists(changed):
        os.remove(changed)
    return 0 if written else 1


if __name__ == "__main__":
    sys.exit(main())
