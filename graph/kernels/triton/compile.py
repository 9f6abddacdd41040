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

Exit code 77 (skipped) where the triton package is absent. The committed files were made by triton 3.9.0
with `python compile.py emit`.
"""

import os
import re
import subprocess
import sys
import tempfile

try:
    import triton
    from triton._C.libtriton import ir, nvidia, passes
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.compiler import CUDABackend
    from triton.compiler.compiler import ASTSource
except ImportError:
    print("skipped: the triton package is not installed")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import kernels  # noqa: E402

GOALS = "registers,slots,handovers,issuers,crossings"
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


class Recorded:
    """Stands for one of Triton's tables of passes; calls what was recorded about each."""

    def __init__(self, real, before):
        self._real, self._before = real, before

    def __getattr__(self, name):
        value = getattr(self._real, name)
        if name.startswith("add_"):
            def add(*arguments):
                if self._before(name, value, arguments):
                    value(*arguments)
            return add
        return value if callable(value) or isinstance(value, (int, str)) else Recorded(value, self._before)


LEFT_OUT = set()
FIRST_SCHEDULING_PASS = ("add_assign_latencies", "add_hopper_warpspec")


def run_ttgir(backend, mod, options, capability, first):
    """Triton's make_ttgir with the passes before the scheduling ones (first) or from them on."""
    import triton.backends.nvidia.compiler as compiler
    state = {"scheduling": False}

    def before(name, _value, _arguments):
        if name in FIRST_SCHEDULING_PASS:
            state["scheduling"] = True
        return state["scheduling"] != first and name not in LEFT_OUT
    kept = compiler.passes, compiler.nvidia
    compiler.passes, compiler.nvidia = Recorded(passes, before), Recorded(nvidia, before)
    try:
        return backend.make_ttgir(mod, {}, options, capability)
    finally:
        compiler.passes, compiler.nvidia = kept


def backend_for(capability, warps, stages):
    backend = CUDABackend(GPUTarget("cuda", capability, 32))
    return backend, backend.parse_options({"num_warps": warps, "num_stages": stages, "arch": f"sm{capability}"})


def new_context(backend):
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    return context


def emit(name):
    kernel, (signature, constants), capability, warps, stages = FILES[name]
    backend, options = backend_for(capability, warps, stages)
    context = new_context(backend)
    function = getattr(kernels, kernel)
    full = dict(signature)
    full.update({key: "constexpr" for key in constants})
    attributes = {(i,): [["tt.divisibility", 16]] for i, kind in enumerate(signature.values())
                  if kind.startswith("*") or kind == I32}
    source = ASTSource(fn=function, signature=full, constexprs=constants, attrs=attributes)
    mod = source.make_ir(GPUTarget("cuda", capability, 32), options, backend.get_codegen_implementation(options),
                         backend.get_module_map(), context)
    metadata = {}
    mod = backend.make_ttir(mod, metadata, options, capability)
    if name == "ampere-gemm-pipelined":
        mod = backend.make_ttgir(mod, metadata, options, capability)
    elif capability // 10 == 8:
        # The branch for Ampere shares its scheduling passes with Hopper.
        mod = run_ttgir(backend, mod, options, capability, True)
    else:
        mod = run_ttgir(backend, mod, options, capability, True)
    text = re.sub(r'"/[^"]*/([^"/]+\.py)"', r'"\1"', str(mod))  # no paths of this machine
    with open(os.path.join(HERE, name + ".ttgir"), "w") as file:
        file.write(text)
    print(f"{name}: {len(text.splitlines())} lines")


def strip_partitions(text):
    value = r"(?:array<[^>]*>|\[[^\]]*\]|\d+ : i32)"
    name = r"(?:ttg\.partition(?:\.outputs|\.stages)?|ttg\.warp_specialize\.tag|tt\.warp_specialize)"
    text = re.sub(rf"{name}(?: = {value})?(?:, )?(?=[\w}}\"])", "", text)
    return text.replace(", }", "}").replace(" {}", "")


def proceed(path, stages_only, save):
    name = os.path.basename(path)
    with open(path) as file:
        text = file.read()
    capability = int(re.search(r'"?ttg\.target"? = "cuda:(\d+)"', text).group(1))
    warps = int(re.search(r'"ttg\.num-warps" = (\d+)', text).group(1))
    entry = re.search(r"tt\.num_stages = (\d+)", text)
    stages = int(entry.group(1)) if entry else 3
    backend, options = backend_for(capability, warps, stages)
    context = new_context(backend)
    reached, reason, facts = "nothing", "", ""
    try:
        if stages_only:
            text = strip_partitions(text)
        with tempfile.NamedTemporaryFile("w", suffix=".ttgir", delete=False) as file:
            file.write(text)
        mod = ir.parse_mlir_module(file.name, context)
        os.unlink(file.name)
        mod.context = context
        reached = "parse"
        mod = run_ttgir(backend, mod, options, capability, False)
        reached = "ttgir"
        after = str(mod)
        facts = (f"{after.count('ttg.warp_specialize(')} warp_specialize, "
                 f"{len(re.findall(r'partition[0-9]+', after))} partitions, "
                 f"{len(re.findall(r'(?:async_tma_copy_global_to_local|async_copy_global_to_local)', after))} copies, "
                 f"{len(re.findall(r'wait_barrier|async_wait', after))} waits")
        if save:
            with open(os.path.join(save, name), "w") as file:
                file.write(after)
        metadata = {"tensordesc_meta": mod.get_tensordesc_metadata()}
        mod = backend.make_llir(mod, metadata, options, capability)
        reached = "llir"
        backend.make_ptx(mod, metadata, options, capability)
        reached = "ptx"
    except BaseException as error:  # a pass that fails raises RuntimeError, a pybind one anything
        reason = " (" + str(error).strip().splitlines()[0][:160] + ")" if str(error).strip() else " (failed)"
    print(f"{name}: {reached}{reason}{'; ' + facts if facts else ''}", flush=True)
    return reached == "ptx"


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
    if arguments[:1] == ["emit"]:
        for name in arguments[1:] or FILES:
            emit(name)
        return 0
    if arguments[:1] == ["continue"] and len(arguments) > 1:
        rest, save, stages_only = arguments[1:], None, False
        while rest and rest[0].startswith("--"):
            if rest[0] == "--save":
                save, rest = rest[1], rest[1:]
            elif rest[0] == "--stages-only":
                stages_only = True
            elif rest[0] == "--keep-stages":
                LEFT_OUT.update(("add_assign_latencies", "add_schedule_loops"))
            rest = rest[1:]
        return 0 if all([proceed(path, stages_only, save) for path in rest]) else 1
    if arguments[:1] == ["roundtrip"] and len(arguments) > 1:
        return 0 if roundtrip(os.path.abspath(arguments[1]), arguments[2:]) else 1
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
