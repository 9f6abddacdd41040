"""Compiles emitted kernels with Triton to PTX and cubin, without a GPU, and reads them.

usage: emit_compile_test.py TWILL [--report] KERNEL:MACHINE...
Exit code 77 without Triton. Checked: products and barrier waits in the PTX are not more than in the text (code of two
ways may be one; emit_order_test.py compares what is executed); no load of a tile was taken for another one (Triton's
passes may join loads between which a product has written); no
wgmma is serialised; registers of partitions (setmaxnreg) are those that Twill foretold; no loop moves registers to local
memory but where IN_LOOPS says so. Spills outside of loops are reported.
"""
import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import local_memory  # noqa: E402
from variants import emit_options, source  # noqa: E402

os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")  # the default, said aloud, so that 3.9 does not warn

try:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon._runtime import GluonASTSource
except ImportError as missing:
    print(f"skipped: Triton with Gluon is not installed ({missing})")
    sys.exit(77)

KERNELS = ["hopper-fwd-plain:hopper", "hopper-fwd-sub2:hopper", "hopper-fwd-sub2-m128:hopper", "blackwell-fwd-plain:blackwell",
           "blackwell-fwd-sub2:blackwell", "blackwell-fwd-sub2-chunked:blackwell", "gemm:hopper", "gemm:blackwell",
           "hopper-gqa:hopper", "hopper-mlp:hopper", "hopper-bwd:hopper", "hopper-bwd-q64:hopper", "blackwell-bwd:blackwell",
           "hopper-retnet:hopper", "hopper-deltanet:hopper", "fmha-forward:hopper", "fmha-forward:blackwell",
           "hopper-gla:hopper", "hopper-mla:hopper", "hopper-grouped-gemm:hopper", "hopper-layer-norm:hopper",
           "blackwell-bwd-sub2:blackwell", "hopper-gemm-tiles:hopper", "blackwell-gemm-tiles:blackwell",
           "gemm+persistent:hopper", "gemm+persistent:blackwell", "hopper-fwd-sub2+persistent:hopper", "hopper-bwd+persistent:hopper",
           "blackwell-fwd-plain+persistent:blackwell", "blackwell-fwd-sub2-chunked+persistent:blackwell",
           "blackwell-bwd+persistent:blackwell"]
# Bytes a thread that the loops of a kernel move to and from local memory, as ptxas 13.4 of Triton 3.9.0 has it.
IN_LOOPS = {"hopper-fwd-sub2-m128:hopper": 252, "hopper-bwd:hopper": 104, "hopper-bwd+persistent:hopper": 120,
            "blackwell-fwd-sub2-chunked:blackwell": 4, "fmha-forward:blackwell": 4, "blackwell-fwd-plain+persistent:blackwell": 4}
PTX_NAMES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float8_e4m3fn": "fp8e4nv"}


def compiled(path, trips):
    spec = importlib.util.spec_from_file_location("emitted", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    signature = {}
    for name in module.kernel.arg_names:
        host, _, what = name.rpartition("_")
        if what == "desc":
            kind, block = module.TENSORS[host][1], module.BLOCKS[host]
            layout = gl.NVMMASharedLayout.get_default_for(block, getattr(gl, {"float8_e4m3fn": "float8e4nv"}.get(kind, kind)))
            signature[name] = f"tensordesc<{PTX_NAMES[kind]}{block},{layout!r}>"
        elif what == "ptr":
            signature[name] = "*" + PTX_NAMES[module.TENSORS[host][1]]
        else:
            signature[name] = "constexpr" if name == "TRIPS" else "i32"
    source = GluonASTSource(fn=module.kernel, signature=signature, constexprs={"TRIPS": trips})
    target = GPUTarget("cuda", {"9": 90, "10": 100}[str(module.CAPABILITY)], 32)
    return module, triton.compile(source, target=target, options={"num_warps": module.WARPS})


def ptxas_says(kernel, folder):
    """Registers, spills and warnings, by ptxas as Triton calls it: with other options (3.9 has --regAllocOptLevel=2) other
    registers spill. Its cubin is left in `folder`, as k.cubin."""
    target = kernel.metadata.target
    backend = make_backend(target)
    said = io.StringIO()
    shown, triton.knobs.nvidia.dump_ptxas_log = triton.knobs.nvidia.dump_ptxas_log, True
    try:
        with contextlib.redirect_stdout(said):
            cubin = backend.make_cubin(kernel.asm["ptx"], {}, backend.parse_options({}), target.arch)
    finally:
        triton.knobs.nvidia.dump_ptxas_log = shown
    with open(os.path.join(folder, "k.cubin"), "wb") as file:
        file.write(cubin)
    text = said.getvalue()
    spills = [int(x) for x in re.findall(r"(\d+) bytes spill (?:stores|loads)", text)]
    if not spills:
        raise RuntimeError("ptxas says nothing of spills: " + text[:200])
    registers = re.search(r"Used (\d+) registers", text)
    # (Since 13.4 C7517 says that a wait for products was put in.)
    serialised = re.findall(r".*wgmma.*serializ.*|.*wgmma\.wait_group is injected.*", text)
    return int(registers.group(1)) if registers else 0, sum(spills), serialised


def spilled_in_loops(folder):
    """Bytes of local_memory.spilled() of the k.cubin that ptxas_says() has left."""
    lines = local_memory.disassembled(os.path.join(folder, "k.cubin"))
    if lines is None:
        raise RuntimeError("there is no nvdisasm that reads the machine code")
    return local_memory.spilled(lines)[0]


def facts(path, folder, trips=-1):
    module, kernel = compiled(path, trips)
    ptx = kernel.asm["ptx"]
    registers, spills, serialised = ptxas_says(kernel, folder)
    in_loops = spilled_in_loops(folder)
    count = lambda pattern: len(re.findall(pattern, ptx))  # noqa: E731
    return {
        "warps": kernel.metadata.num_warps, "shared": kernel.metadata.shared, "tmem": getattr(kernel.metadata, "tmem_size", 0),
        "registers": registers, "spill bytes": spills, "in loops": in_loops, "serialised": serialised,
        "tile loads": len(re.findall(r"ttg\.local_load|ttng\.tmem_load", kernel.asm["ttgir"])),
        "wgmma": count(r"wgmma\.mma_async"), "wgmma waits": count(r"wgmma\.wait_group"), "tcgen05.mma": count(r"tcgen05\.mma\."),
        "tcgen05.ld": count(r"tcgen05\.ld"), "tcgen05.st": count(r"tcgen05\.st"), "fences of tcgen05": count(r"tcgen05\.fence"),
        "bulk copies": count(r"cp\.async\.bulk\.tensor"), "barrier waits": count(r"mbarrier\.try_wait"),
        "arrivals": count(r"mbarrier\.arrive"), "bar.sync": count(r"bar(?:rier)?\.sync"), "ex2": count(r"ex2\.approx"),
        "proxy fences": count(r"fence\.proxy\.async"),
        "setmaxnreg": sorted(set(int(x) for x in re.findall(r"setmaxnreg\.\w+\.sync\.aligned\.u32\s+(\d+)", ptx))),
    }


def text_counts(text):
    """What the PTX must have, from the text alone (of the run with TRIPS = -1)."""
    lines = text.split("\n")
    kept, skip = [], None
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if skip is not None and line.strip() and indent <= skip:
            skip = None
        if re.match(r"\s*(if|elif) TRIPS == ", line):
            skip = indent
        if skip is None:
            kept.append(line)
    # A wgmma is of 64 rows and 16 deep a warpgroup, a tcgen05.mma of 128 rows and 16 deep (operands of 8 bits: 32).
    products = instructions = 0
    warps = 4
    for line in kept:
        if match := re.match(r"    # (\d+) warps?, ", line):
            warps = int(match.group(1))
        if match := re.search(r"(warpgroup_mma|tcgen05_mma)\(.*  # (\d+) x (\d+) x (\d+)( \(8 bits\))?$", line):
            rows = 16 * warps if match.group(1) == "warpgroup_mma" else 128
            products += 1
            instructions += max(1, int(match.group(2)) // rows) * (int(match.group(4)) // (32 if match.group(5) else 16)) * -(-int(match.group(3)) // 256)
    body = "\n".join(kept)
    loads, seen = 0, set()
    parts, deeper = 1, 0  # of a loop that is written out, and how deep its lines are
    for line in kept:
        indent = len(line) - len(line.lstrip())
        if line.strip() and indent < deeper:
            parts, deeper = 1, 0
        if match := re.search(r"for column in gl\.static_range\(0, (\d+), (\d+)\):", line):
            parts, deeper = int(match.group(1)) // int(match.group(2)), indent + 4
        # (Only values loaded before the loop come from elsewhere than a tile's place. What is loaded twice and not written between may
        # be loaded once.)
        if re.search(r"mbarrier\.(wait|arrive)|\.store\(|_mma|^ *(for|if|elif|else|def)\b", line):
            seen.clear()
        for place in re.findall(r"(\w+(?:\.\w+\((?:[^()]|\([^()]*\))*\))*)\.load\((?:TILE_|gl\.SliceLayout)", line):
            loads += parts * (place not in seen)
            seen.add(place)
    return {"products": products, "instructions": instructions,
            "waits": len(re.findall(r"^\s*mbarrier\.wait\(", body, re.M)),
            "tile loads": loads,
            "registers": [int(x) for x in re.findall(r"slot_\w+ (\d+)", re.search(r"Registers a thread: (.*)", body).group(1))],
            "shared": int(re.search(r"Shared memory: (\d+) bytes", body).group(1))}


def main():
    twill, arguments = sys.argv[1], sys.argv[2:]
    names = [a for a in arguments if not a.startswith("--")] or KERNELS
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            kernel, machine = source(twill, name, folder)
            path = os.path.join(folder, "kernel.py")
            done = subprocess.run([twill, "emit", kernel, "--machine", machine, *emit_options(name), "-o", path, "--quiet"], capture_output=True, text=True)
            if done.returncode != 0:
                print(f"{name}: {done.stderr.strip()}")
                failed = True
                continue
            with open(path) as file:
                text = file.read()
            want = text_counts(text)
            try:
                got = facts(path, folder)
                for trips in range(compiled(path, -1)[0].DEPTH):
                    compiled(path, trips)  # the runs of fewer iterations than stages
            except Exception as error:  # whatever the compiler says is what we want to see
                print(f"{name}: does not compile: {type(error).__name__}: {str(error)[:1500]}")
                failed = True
                continue
            wrong = []
            products = got["wgmma"] + got["tcgen05.mma"]
            if (products == 0) != (want["products"] == 0) or products > want["instructions"]:
                wrong.append(f"{products} product instructions, {want['instructions']} by the text's {want['products']} products")
            if got["shared"] > want["shared"] + 2048 or got["shared"] > 232448:
                wrong.append(f"{got['shared']} bytes of shared memory, foretold {want['shared']}")
            if got["barrier waits"] > want["waits"]:
                wrong.append(f"{got['barrier waits']} barrier waits, {want['waits']} in the text")
            if got["tile loads"] != want["tile loads"]:
                wrong.append(f"{got['tile loads']} loads of tiles, {want['tile loads']} in the text")
            if got["in loops"] > IN_LOOPS.get(name, 0):
                wrong.append(f"{got['in loops']} bytes of spills in loops")
            if got["serialised"]:
                wrong.append(got["serialised"][0])
            if not set(got["setmaxnreg"]) >= set(want["registers"]):
                wrong.append(f"setmaxnreg {got['setmaxnreg']}, foretold {want['registers']}")
            print(f"{name}: " + ", ".join(f"{k} {v}" for k, v in got.items() if v))
            for one in wrong:
                print(f"  WRONG: {one}")
            failed |= bool(wrong)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
