"""Compiles kernels.py to the TTGIR files beside it, and takes TTGIR files on to PTX. No GPU is needed.

    python compile.py emit [NAME ...]     write NAME.ttgir (all without names): the module as it stands
                                          before Triton assigns latencies, stages and partitions
    python compile.py continue FILE ...   parse the module, run the rest of Triton's pipeline on it and
                                          say how far it got: parse, ttgir, llir, ptx
    ... continue --stages-only FILE ...   as continue, but keep only loop.stage and loop.cluster
    ... continue --keep-stages FILE ...   as continue, without the passes that set stages anew
    ... continue --save DIRECTORY FILE .. also write what Triton's TTGIR passes made of it
    python compile.py roundtrip TWILL [NAME ...]
                                          solve each file with the program TWILL, let it write the
                                          schedule into the module, and continue with each form

For kernels of one's own (twill_triton/, the importable half; `python compile.py emit --help`):

    python compile.py emit FILE.py KERNEL --signature "x_ptr=*fp16, n=i32" --constexpr BLOCK=128
                                          --target cuda:90 --num-warps 8 -o OUT.ttgir
    python compile.py schedule OUT.ttgir --twill build/release/engine/twill -o SCHEDULED.ttgir
    python compile.py finish SCHEDULED.ttgir -o OUT.ptx       (or ptx)

Exit code 77 (skipped) where the triton package is absent. The committed files were made by triton 3.9.0
with `python compile.py emit`.
"""

import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import twill_triton.__main__ as tool  # noqa: E402
from twill_triton import pipeline  # noqa: E402
from twill_triton.emitting import emit as emit_kernel, without_paths  # noqa: E402
from twill_triton.finishing import finish, strip_partitions  # noqa: E402
from twill_triton.scheduling import GOALS  # noqa: E402

F16, F32, I32 = "*fp16", "*fp32", "i32"


def tile(rows, columns, kind="fp16"):
    return f"tensordesc<{kind}[{rows}, {columns}]>"


def attention(block_m, sub=1, n=128, d=128, specialize=True):
    q, kv = tile(block_m // sub, d), tile(n, d)
    signature = dict(q_desc=q, k_desc=kv, v_desc=kv, o_desc=q, lse_ptr=F32, length=I32, scale="fp32")
    return signature, dict(BLOCK_M=block_m, BLOCK_N=n, HEAD=d, SPECIALIZE=specialize)


def backward(q=128, kv=128, d=128, specialize=True):
    tq, tkv = tile(q, d), tile(kv, d)
    signature = dict(q_desc=tq, k_desc=tkv, v_desc=tkv, do_desc=tq, dq_desc=tile(q, d, "fp32"), dk_desc=tkv,
                     dv_desc=tkv, lse_ptr=F32, delta_ptr=F32, length=I32, scale="fp32")
    return signature, dict(BLOCK_Q=q, BLOCK_KV=kv, HEAD=d, SPECIALIZE=specialize)


def persistent(m, n, k, programs, specialize=True):
    signature = dict(a_desc=tile(m, k), b_desc=tile(n, k), c_desc=tile(m, n), M=I32, N=I32, K=I32)
    return signature, dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, PROGRAMS=programs, SPECIALIZE=specialize)


def grouped(m, n, k, programs):
    signature = dict(a_ptrs="*i64", b_ptrs="*i64", c_ptrs="*i64", sizes_ptr="*i32", groups=I32)
    return signature, dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k, PROGRAMS=programs)


def pointers(m, n, k):
    signature = dict(a_ptr=F16, b_ptr=F16, c_ptr=F16, M=I32, N=I32, K=I32)
    return signature, dict(BLOCK_M=m, BLOCK_N=n, BLOCK_K=k)


def linear(chunk, d, specialize=True):
    t = tile(chunk, d)
    return (dict(q_desc=t, k_desc=t, v_desc=t, o_desc=t, length=I32),
            dict(CHUNK=chunk, HEAD=d, SPECIALIZE=specialize))


def mlp(m, h, d, specialize=True):
    w = tile(h, d)
    return (dict(x_desc=tile(m, d), w1_desc=w, w2_desc=w, y_desc=tile(m, d), hidden=I32),
            dict(BLOCK_M=m, BLOCK_H=h, MODEL=d, SPECIALIZE=specialize))


def causal(m, n, d):
    q, kv = tile(m, d), tile(n, d)
    return (dict(q_desc=q, k_desc=kv, v_desc=kv, o_desc=q, length=I32, scale="fp32"),
            dict(BLOCK_M=m, BLOCK_N=n, HEAD=d))


NORM = (dict(x_ptr=F32, w_ptr=F32, b_ptr=F32, y_ptr=F32, columns=I32, epsilon="fp32"), dict(BLOCK=4096))

# File name -> kernel, (signature, constants), compute capability, warps, stages.
FILES = {
    "blackwell-attention-forward": ("attention_forward", attention(128), 100, 4, 3),
    "blackwell-attention-forward-m256": ("attention_forward", attention(256), 100, 8, 3),
    "blackwell-attention-forward-sub2": ("attention_forward_sub2", attention(256, 2), 100, 4, 3),
    "blackwell-attention-causal": ("attention_forward_causal", causal(128, 128, 128), 100, 4, 3),
    "blackwell-attention-backward": ("attention_backward", backward(64), 100, 8, 2),
    "blackwell-gemm-persistent": ("gemm_persistent", persistent(128, 256, 64, 148), 100, 4, 4),
    "blackwell-gemm-grouped": ("gemm_grouped", grouped(128, 128, 64, 148), 100, 4, 4),
    "blackwell-layer-norm": ("layer_norm", NORM, 100, 4, 3),
    "blackwell-linear-attention": ("linear_attention", linear(128, 64), 100, 4, 3),
    "blackwell-fused-mlp": ("fused_mlp", mlp(128, 128, 128), 100, 4, 3),
    "hopper-attention-forward": ("attention_forward", attention(128, specialize=False), 90, 8, 3),
    "hopper-attention-forward-sub2":
        ("attention_forward_sub2", attention(128, 2, specialize=False), 90, 4, 3),
    "hopper-attention-backward": ("attention_backward", backward(64, specialize=False), 90, 8, 2),
    "hopper-gemm-persistent": ("gemm_persistent", persistent(128, 256, 64, 132, False), 90, 8, 4),
    "hopper-gemm-grouped": ("gemm_grouped", grouped(128, 128, 64, 132), 90, 8, 4),
    "hopper-layer-norm": ("layer_norm", NORM, 90, 4, 3),
    "hopper-linear-attention": ("linear_attention", linear(64, 64, False), 90, 4, 3),
    "hopper-fused-mlp": ("fused_mlp", mlp(128, 128, 128, False), 90, 8, 3),
    "ampere-gemm-pointers": ("gemm_pointers", pointers(128, 128, 32), 80, 4, 4),
    # After Triton's own software pipeliner: cp.async, commit groups and waits.
    "ampere-gemm-pipelined": ("gemm_pointers", pointers(128, 128, 32), 80, 4, 4),
}


def emit(name):
    import kernels
    kernel, (signature, constants), capability, warps, stages = FILES[name]
    types = ", ".join(f"{key}={kind}" for key, kind in signature.items())
    options = dict(target=f"cuda:{capability}", num_warps=warps, num_stages=stages)
    if name == "ampere-gemm-pipelined":
        text = pipelined(getattr(kernels, kernel), types, constants, options)
    else:
        text = emit_kernel(getattr(kernels, kernel), types, constants, **options)
    with open(os.path.join(HERE, name + ".ttgir"), "w", encoding="utf-8") as file:
        file.write(text)
    print(f"{name}: {len(text.splitlines())} lines")


def pipelined(kernel, types, constants, options):
    """The module behind all of Triton's TTGIR passes."""
    done = finish(emit_kernel(kernel, types, constants, **options), False, options["num_stages"])
    return without_paths(done.ttgir)


def facts_of(text):
    """What Triton's TTGIR passes made of a module, counted."""
    copies = re.findall(r"(?:async_tma_copy_global_to_local|async_copy_global_to_local)", text)
    return (f"{text.count('ttg.warp_specialize(')} warp_specialize, "
            f"{len(re.findall(r'partition[0-9]+', text))} partitions, {len(copies)} copies, "
            f"{len(re.findall(r'wait_barrier|async_wait', text))} waits")


def proceed(path, stages_only, keep_stages, save):
    name = os.path.basename(path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    done = finish(strip_partitions(text) if stages_only else text, keep_stages)
    if save and done.ttgir:
        with open(os.path.join(save, name), "w", encoding="utf-8") as file:
            file.write(done.ttgir)
    reason = f" ({done.reason})" if done.reason else ""
    print(f"{name}: {done.reached}{reason}{'; ' + facts_of(done.ttgir) if done.ttgir else ''}", flush=True)
    return done.reached == "ptx"


def solved(twill, name, path, flags):
    """Lets TWILL write its schedule into the module; why it did not, or nothing."""
    run = subprocess.run([twill, "solve", os.path.join(HERE, name + ".ttgir"), "--machine", name.split("-")[0], "--quiet",
                          "--normalize", "none", "--time-limit", "60", "--emit", "ttgir", "-o", path, *flags],
                         capture_output=True, text=True, check=False)
    return "" if os.path.exists(path) else f"no schedule ({run.returncode}) {run.stderr.strip()[:160]}"


def continued(name, path, options):
    """One line on how far Triton gets with a module, in a process of its own: a pass may abort or hang."""
    command = [sys.executable, "-W", "ignore", os.path.abspath(__file__), "continue", *options, path]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return "hangs (120 s)"
    lines = [line for line in run.stdout.splitlines() if line.startswith(name + ".ttgir: ")]
    errors = [line for line in run.stderr.splitlines() if "error:" in line or "Assertion" in line]
    text = lines[-1].split(": ", 1)[1] if lines else f"ended with {run.returncode}"
    return text if text.startswith("ptx") or not errors else text + " | " + errors[0][:200]


def roundtrip(twill, names):
    """Five forms of each file: as it came; with the schedule; with the one of equally fast ones that GOALS
    single out; with a schedule whose register tiles stay on their slot; with stages and clusters alone.
    True when one form with the schedule gets to PTX for each."""
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name in names or sorted(FILES):
            print(f"{name}, as it came: {continued(name, os.path.join(HERE, name + '.ttgir'), [])}", flush=True)
            reached = False
            for label, flags, options in (("schedule", [], ["--keep-stages"]),
                                          ("schedule, goals", ["--goals", GOALS], ["--keep-stages"]),
                                          ("schedule, no hand-over", ["--no-handover"], ["--keep-stages"]),
                                          ("stages only", [], ["--stages-only", "--keep-stages"])):
                path = os.path.join(folder, name + ".ttgir")
                if os.path.exists(path):
                    os.unlink(path)
                text = solved(twill, name, path, flags) or continued(name, path, options)
                print(f"{name}, {label}: {text}", flush=True)
                reached = reached or text.startswith("ptx")
            good = good and reached
    return good


def main(arguments):
    command, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if command in ("schedule", "finish", "ptx") or command == "emit" and rest and (
            rest[0].startswith("-") or rest[0].endswith(".py")):
        return tool.main(arguments)
    if command in ("emit", "continue", "roundtrip"):
        try:
            import triton  # noqa: F401
        except ImportError:
            print("skipped: the triton package is not installed")
            return 77
    if command == "emit":
        for name in rest or FILES:
            emit(name)
        return 0
    if command == "continue" and rest:
        save, stages_only, keep_stages = None, False, False
        while rest and rest[0].startswith("--"):
            if rest[0] == "--save":
                save, rest = rest[1], rest[1:]
            elif rest[0] == "--stages-only":
                stages_only = True
            elif rest[0] == "--keep-stages":
                keep_stages = True
            rest = rest[1:]
        return 0 if all([proceed(path, stages_only, keep_stages, save) for path in rest]) else 1
    if command == "roundtrip" and rest:
        return 0 if roundtrip(os.path.abspath(rest[0]), rest[1:]) else 1
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
