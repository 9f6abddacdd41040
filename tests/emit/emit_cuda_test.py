"""Emitted CUDA C++: the text itself on gpu/emulator, beside double precision; and through nvcc.

usage: emit_cuda_test.py TWILL [--include DIR] [--nvcc NVCC] [--mutants] [--hostile] [KERNEL:MACHINE...]
--include: CUDA's headers. --nvcc: the text is compiled for sm_90a or sm_100a; no spill (but where SPILLS allows it), no serialised
wgmma. --mutants: every wait and fence is removed once; each must be noticed, but those that others imply (IMPLIED). --hostile:
names of files are replaced by hostile ones. Exit code 77 where there is no g++ or no CUDA.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    np = None

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
from variants import options, source  # noqa: E402

KERNELS = ["hopper-fwd-sub2:hopper", "hopper-fwd-sub2+bf16:hopper", "hopper-fwd-plain:hopper", "hopper-fwd-sub2-m128:hopper", "fmha-forward:hopper", "gemm:hopper", "hopper-gqa:hopper", "hopper-mlp:hopper",
           "blackwell-fwd-sub2:blackwell", "blackwell-fwd-sub2+bf16:blackwell", "blackwell-fwd-plain:blackwell", "blackwell-fwd-plain+causal:blackwell",
           "blackwell-fwd-sub2+d64:blackwell", "blackwell-fwd-plain+bf16+causal+d64:blackwell", "fmha-forward:blackwell", "gemm:blackwell", "blackwell-bwd:blackwell", "hopper-bwd:hopper", "hopper-bwd-q64:hopper",
           "blackwell-bwd-sub2:blackwell", "hopper-retnet:hopper", "hopper-deltanet:hopper", "hopper-gla:hopper", "hopper-layer-norm:hopper", "hopper-grouped-gemm:hopper"]
COUNTS = (0, 1, 2, 3, 7)
# Bytes of spill stores that are known, by kernel; more are an error. hopper-gqa: two tiles of 64 x 128 in f32, their product and its
# operand are 224 of 240 registers. Blackwell: a softmax slot holds a tile of 128 registers while ptxas moves ex2 of the next one up.
# Backward attention on Hopper: tiles are 224 of 240 registers, addresses that do not change in the loop are read back.
SPILLS = {"hopper-gqa:hopper": 176, "hopper-mla:hopper": 284, "hopper-bwd:hopper": 100, "hopper-bwd-q64:hopper": 44, "blackwell-fwd-sub2:blackwell": 8, "blackwell-fwd-sub2+bf16:blackwell": 8, "blackwell-fwd-sub2+d64:blackwell": 56,
          "blackwell-fwd-plain+bf16+causal+d64:blackwell": 4, "fmha-forward:blackwell": 380}
# What may be missing unnoticed: a pattern of what place() says, and why another thing implies it. An entry that nothing needs any
# more is an error.
LAST = "the last iterations tell it, and no iteration comes that waits"
ENDED = "each thread has waited for more than that"
IMPLIED_ANYWHERE = (
    (r"(epilogue|n = \d+): (arrive|release|barrier_arrive|tensor_commit)\(", LAST),
    (r"(epilogue|n = \d+): tensor_fence_before\(\); / arrive\(", LAST + ", so nothing needs the fence before it"),
    (r": tensor_relinquish\(", "a block takes more than half of shared memory: no other waits for tensor memory on its multiprocessor"),
    (r": __syncwarp\(", "the other lanes only end, or wait in __syncthreads; that lanes come together again is ptxas's work"))
SECOND_STORE = (r", (-|After the loop): bulk_wait_read\(", "the second bulk store of a thread waits for the first one, too")
FENCED = "it has passed the fence since it waited for the product; after that it waited for a vector in shared memory alone"
FWD_SUB2 = (
    (r"slot_aux, -: wait_for<1>\(shared \+ kResidentFull", "aux waits for s0_tld_s, which waits for s0_qk, for which mma had Q and K"),
    (r"After the loop: wait_for<1>\(shared \+ kSoftmax[01]Done", "it is for the maxima, which correction has waited for in the loop"),
    (r"slot_softmax[01], (i|epilogue): tensor_fence_after\(\); / #pragma", FENCED), SECOND_STORE)
HOPPER_BWD = (
    (r"slot_wg01, -: named_sync\(3, 256\);  // no warp", "V's products have ended before the warpgroups meet for dq"),
    (r"slot_load, i: wait_for<1>\(shared \+ kSub(S|Dp)Used, i \+ 1\)", "dk's release, which it has waited for, comes after them"), SECOND_STORE)
IMPLIED = {
    "blackwell-fwd-sub2:blackwell": FWD_SUB2, "blackwell-fwd-sub2+bf16:blackwell": FWD_SUB2, "hopper-bwd:hopper": HOPPER_BWD, "hopper-bwd-q64:hopper": HOPPER_BWD + (
        (r"slot_wg01, i: fence_async_shared\(\);  // ordinary reads.* / arrive\(shared \+ kSubSUsed", "sub_dp's fence and a meeting come before dk's release, for which the loader waits earlier"),),
    "hopper-gqa:hopper": ((r"slot_wg1, (prologue|i): wait_for<2>\(shared \+ kExpPReady, (0|i \+ 1)\)", "wg0 writes exp_p[i] before max_m[i + 1], waited for before"),),
    "hopper-deltanet:hopper": (
        (r"slot_wg0, (i|epilogue): if \([in] >= [12]\) wait_for<1>\(shared \+ kPvUsed", "wg1 tells that qs has been used after pv, and wg0 waits for that earlier"),
        (r"slot_wg0, (i|epilogue): fence_async_shared\(\);  // ordinary writes.* / wait_for<1>\(shared \+ kLdsUReady", "home_u's fence comes before wg0 tells anybody"),
        (r"slot_load, i: if \(i >= 1\) wait_for<1>\(shared \+ kQkUsed", "qs is told after home_u, which wg0 has made after qk")),
    "hopper-gla:hopper": (
        (r"slot_wg0, epilogue: fence_async_shared\(\);  // ordinary writes.* / arrive\(barrier_of<2>\(shared \+ kLdsQReady", "threads alone read lds_q, and no load comes that writes ld_q again"),
        (r"slot_wg1, (i|epilogue): end_products<0>\(qs, mul_q\)", "both products only read mul_q: the wait is more than they need")),
    "hopper-fwd-sub2-m128:hopper": (
        (r"kS0AddLUsed, i - 1\)", "wg1 tells that s0_pv has ended, for which wg0 waits earlier, after it has made s0_add_l"),
        (r"kWg1Done, 0\)", "the same")),
    "blackwell-fwd-plain:blackwell": (
        (r"slot_softmax0, n = 1: tensor_fence_after\(\); / #pragma", FENCED),
        (r"slot_correction, After the loop: wait_for<1>\(shared \+ kResidentFull", "mma has waited for Q, without iterations, too, before its last commit")),
    "blackwell-fwd-plain+causal:blackwell": (
        (r"slot_softmax1, n = 1: tensor_fence_after\(\); / #pragma", FENCED),
        (r"slot_correction, i: wait_for<1>\(shared \+ kSubMReady, i\)", "softmax1 tells sub_m[i] before row_max[i + 1], waited for before")),
    "blackwell-fwd-sub2+d64:blackwell": (
        (r"slot_correction, (prologue|i): tensor_fence_before\(\); / arrive\(shared \+ kS0MulAccUsed", "it tells that a vector in shared memory has been read"),
        (r"slot_correction, (prologue|i): tensor_fence_after\(\); / start_tensor_store\(tmem \+ kS0TstAcc", "it has waited for a vector alone since its last fence")),
    "blackwell-bwd:blackwell": (
        (r"slot_(compute|mma), -: wait_for<1>\(shared \+ kResidentFull", "aux has waited for K and V before qkT, for which the others wait"),
        (r"tensor_fence_before\(\); / arrive\(shared \+ kStDqReady", "nobody who waits for st_dq accesses tensor memory"), SECOND_STORE),
    "blackwell-bwd-sub2:blackwell": (
        (r"slot_(softmax0|aux), -: wait_for<1>\(shared \+ kResidentFull", "mma has waited for K and V before s0_qkT, for which the others wait"),
        (r"slot_softmax0, After the loop: wait_for<1>\(shared \+ kResidentFull", "mma has waited for K and V, without iterations, too, before its last commit"),
        (r"slot_softmax0, i: named_sync\(4, 128\)", "s1_dpT goes where softmax1 alone has read, for which the slot waits; it meets again before s1_qkT"),
        (r"slot_load, epilogue: bulk_wait_read<1>", "the wait for both additions follows, and no iteration comes that waits for this turn"),
        (r"slot_softmax1, i: fence_async_shared\(\);  // ordinary reads.* / arrive\(shared \+ kS1TstPReady", "the loader waits for s1_dk earlier, which comes after the slot's next fence"), SECOND_STORE),
}
# What is not carried is refused with its reason, and nothing is written.
REFUSED = {"hopper-bwd-sub2:hopper": "limits: slot wg01 holds 224 registers a thread behind s1_qkT and 16 of addresses", "hopper-bwd-q80:hopper": "op: st_dq has 80 rows on 2 warpgroups",
           "hopper-mlstm:hopper": "op: log_d has something else than 0"}
TOLERANCE = 8e-3
WAIT = re.compile(r"^( *(?:if \([^;]*?\) )?)(wait_for<|end_products<|named_sync\(|bulk_wait_read[<(]|fence_async_shared\(|tensor_fence_\w+\(|end_tensor_\w+\(|"
                  r"tensor_commit\(|arrive\(|release\(|barrier_arrive\(|barrier_init_fence\(|tensor_relinquish\(|__sync\w+\()", re.M)


class Failed(Exception):
    pass


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def emit(twill, name, path):
    kernel, machine = source(twill, name, os.path.dirname(path))
    done = run([twill, "emit", kernel, "--machine", machine, *options(name), "--to", "cuda", "-o", path, "--quiet"])
    if done.returncode != 0:
        raise Failed(f"refused: {done.stderr.strip()}")


def compile_emulated(text, include, folder, objects, name="kernel"):
    source, program = os.path.join(folder, name + ".cu"), os.path.join(folder, name)
    with open(source, "w") as file:
        file.write(text)
    done = run(["g++", "-std=c++20", "-O2", "-DTWILL_GPU_EMULATED", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-Wno-maybe-uninitialized", "-Werror",
                "-I", ROOT, "-I", include, "-x", "c++", source, "-x", "none", *objects, "-o", program])
    if done.returncode != 0:
        raise Failed(f"g++: {done.stderr[:2000]}")
    return program


def emulator(include, folder):
    objects = []
    for part in sorted(f[:-4] for f in os.listdir(f"{ROOT}/gpu/emulator") if f.endswith(".cpp")):
        objects.append(os.path.join(folder, part + ".o"))
        done = run(["g++", "-std=c++20", "-O2", "-DTWILL_GPU_EMULATED", "-I", ROOT, "-I", include, "-c", f"{ROOT}/gpu/emulator/{part}.cpp", "-o", objects[-1]])
        if done.returncode != 0:
            raise Failed(f"g++: {done.stderr[:2000]}")
    return objects


def check(program, arguments, environment=None):
    """"" or what is wrong."""
    done = run([program, *arguments], env={**os.environ, **(environment or {})}, timeout=300)
    return "" if done.returncode == 0 else (done.stdout + done.stderr).strip().split("\n")[-1] or f"exit code {done.returncode}"


# Asynchronous work late or at once, warps in several orders, one warpgroup kept back; and the loads of each buffer.
def orders(program):
    with open(program + ".cu") as file:
        text = file.read()
    groups = range(int(re.search(r"kThreads = (\d+);", text)[1]) // 128)
    places = sorted(int(x) for x in re.findall(r"^constexpr std::uint32_t k\w+ = (\d+), k\w+ = \d+;", text, re.M))
    # A wrong maximum of scores is right, too, unless they differ much.
    peaks = [["--peaks"]] + [["--peaks", "--held", str(g)] for g in groups] if "max_of_rows(" in text else []
    # Loads and products soon, stores late.
    peaks += [["--at-once", "--late-stores"]] if "tma_add_start(" in text else []
    return [["--seed", "1"], ["--at-once"], ["--seed", "2"]] + [["--held", str(g)] for g in groups] + peaks + \
        [["--at-once", "--held", str(g)] for g in groups] + [["--held-loads", str(a), str(b)] for a, b in zip(places, places[1:] + [1 << 20])]


def check_all(program):
    for arguments in orders(program):
        if wrong := check(program, arguments):
            raise Failed(f"{' '.join(arguments)}: {wrong}")


def check_oracle(twill, name, program, folder):
    """The same beside tests/emit/oracle.py, which interprets the program's meaning and shares nothing with the text."""
    import oracle
    import stand_in
    kernel, machine = source(twill, name, folder)
    path = os.path.join(folder, "p.json")
    if run([twill, "program", kernel, "--machine", machine, *options(name), "-o", path, "--quiet"]).returncode != 0:
        raise Failed("no program")
    with open(path) as file:
        meaning = json.load(file)["meaning"]
    names = [t["name"] for t in meaning["tensors"]]
    error = 0.0
    for n in COUNTS:
        # Of one block, tiles and parts follow each other along the rows (loop: along the loop's axis).
        streamed = {t["name"]: t for t in meaning["tensors"]}
        random = np.random.default_rng(n)
        outputs, tiles = {}, []
        tables = host_tensors(program)
        data = {}
        for host, (type_, output, rank, axes, parts, low, high) in tables.items():
            shape = [tile * (n if kind == "loop" else 1) for kind, tile in axes[:rank]]
            if not output:
                number = stand_in.Type({"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f8": "float8e4nv"}[type_])
                data[host] = number.rounded(random.uniform(low, high, shape))
                raw = data[host].astype(np.float32)
                raw = raw.astype(np.float16) if type_ == "f16" else (raw.view(np.uint32) >> 16).astype(np.uint16) if type_ == "bf16" else raw
                raw = number.stored(data[host]) if type_ == "f8" else raw
                raw.tofile(os.path.join(folder, host + ".in"))
            else:
                outputs[host] = shape

        def place(tensor, i):
            host = tensor if tensor in tables else re.sub(r"^s\d+_", "", tensor)
            part = 0 if tensor == host else int(re.match(r"s(\d+)_", tensor)[1])
            shape, where = streamed[tensor]["shape"], []
            shape = [1] * (tables[host][2] - len(shape)) + shape  # (A vector an iteration is a row.)
            for d, (kind, covered) in enumerate(tables[host][3][:tables[host][2]]):
                begin = (i * covered if kind == "loop" else 0) + (part * shape[0] if d == 0 else 0)
                where.append(slice(begin, begin + shape[d]))
            return host, tuple(where)

        for (tensor, i), tile in oracle.Oracle(meaning).run(n, lambda t, i: data[place(t, i)[0]][place(t, i)[1]].reshape(streamed[t]["shape"])).items():
            tiles.append((*place(tensor, i), tile))
        if wrong := check(program, ["--files", folder, "--n", str(n)]):
            raise Failed(f"n = {n}: {wrong}")
        for host, shape in outputs.items():
            type_ = tables[host][0]
            raw = np.fromfile(os.path.join(folder, host + ".out"), dtype={"f16": np.float16, "bf16": np.uint16, "f32": np.float32}[type_])
            got = ((raw.astype(np.uint32) << 16).view(np.float32) if type_ == "bf16" else raw).astype(np.float64).reshape(shape)
            want = np.full(shape, np.nan)
            for of, where, tile in tiles:
                if of == host:
                    want[where] = tile
            with np.errstate(all="ignore"):
                difference = np.where((got == want) | (np.isnan(got) & np.isnan(want)), 0.0, np.abs(got - want))
            finite = np.abs(want[np.isfinite(want)])
            one = float(difference.max(initial=0.0)) / max(1.0, float(finite.max()) if finite.size else 1.0)
            if not one <= TOLERANCE:
                raise Failed(f"n = {n}: {host} is off by {one:.2e} from the oracle")
            error = max(error, one)
    return error


def host_tensors(program):
    """Name -> (type, output, rank, [(kind, tile)], parts, least, largest), from the text beside the program."""
    with open(program + ".cu") as file:
        text = file.read()
    table = re.search(r"kTensors\[\] = \{(.*?)\n  \};", text, re.S)[1]
    tensors = {}
    for row in re.finditer(r'\{"(\w+)", Number::(\w+), (\w+), (\d), \{((?:\{[^}]*\}(?:, *)?\s*)+)\}, (\d+), ([-.\de]+), ([-.\de]+)', table, re.S):
        axes = [(kind, int(tile)) for kind, tile in re.findall(r"AxisInfo::(\w+), (\d+)", row[5])]
        tensors[row[1]] = (row[2], row[3] == "true", int(row[4]), axes, int(row[6]), float(row[7]), float(row[8]))
    return tensors


def place(text, at):
    """Line, function, the part of it that the trip count chooses, the line and the next one."""
    number, lines = text.count("\n", 0, at), text.splitlines()
    function = re.findall(r"void (\w+)\(", text[:at])[-1]
    parts = [("", "")] + re.findall(r"\n(  \}$|.*// (prologue|epilogue|n = \d+(?=, fewer)|After the loop)|.*for \(int (i) )", text[text.rindex("void ", 0, at):at], re.M)
    part = parts[-1][1] or parts[-1][-1] or "-"
    return f"line {number + 1}, {function}, {part}: {lines[number].strip()} / {lines[number + 1].strip()}"


def mutants(text, include, folder, objects):
    """(noticed, all, survivors): a program in which the wait number REMOVED is left out."""
    count = 0

    def numbered(match):
        nonlocal count
        count += 1
        return f"{match[1]}if (removed != {count - 1}) {match[2]}"

    changed = WAIT.sub(numbered, text)
    changed = changed.replace("namespace emitted {\n", "namespace emitted {\n\n"
                              "inline const int removed = std::getenv(\"REMOVED\") == nullptr ? -1 : std::atoi(std::getenv(\"REMOVED\"));\n", 1)
    lines = [place(text, match.start(2)) for match in WAIT.finditer(text)]
    program = compile_emulated(changed, include, folder, objects, "mutants")
    check_all(program)
    survived = []
    for k in range(count):
        for arguments in orders(program):
            if check(program, arguments, {"REMOVED": str(k)}):
                break
        else:
            survived.append(lines[k])
    return count - len(survived), count, survived


def check_nvcc(nvcc, name, path, folder):
    arch = "100a" if name.endswith(":blackwell") else "90a"
    done = run([nvcc, "-std=c++20", "-O3", "-gencode", f"arch=compute_{arch},code=sm_{arch}", "-Xptxas=-v", "-I", ROOT, "-c", path, "-o", os.path.join(folder, "kernel.o")])
    said = done.stdout + done.stderr
    if done.returncode != 0:
        raise Failed(f"nvcc: {said[:2000]}")
    if re.search(r"C75\d\d|[Ss]erialized", said):
        raise Failed("wgmma is serialised")
    spilled = max(int(x) for x in re.findall(r"(\d+) bytes spill stores", said))
    if spilled > SPILLS.get(name, 0):
        raise Failed(f"{spilled} bytes of spill stores")
    return f"{spilled} bytes of spill stores, " + re.search(r"Used \d+ registers", said)[0]


def hostile(twill, include, folder, objects):
    """Names in files are data: the text still compiles and is right, or is refused."""
    from hostile_names import HOSTILE, renamed
    path, text = os.path.join(folder, "p.json"), os.path.join(folder, "h.cu")
    run([twill, "program", "gemm", "--machine", "hopper", "-o", path, "--quiet"], check=True)
    with open(path) as file:
        program = json.load(file)
    meaning = program["meaning"]
    targets = [sorted({op["id"] for slot in program["slots"] for op in slot["ops"]}), [slot["name"] for slot in program["slots"]],
               [v["id"] for v in meaning["after"]] + [program["problem"]], [t["name"] for t in meaning["tensors"]]]
    accepted = 0
    for shift in range(len(HOSTILE) // 2):
        target = targets[shift % len(targets)]
        names = {}
        for k, victim in enumerate(target):
            wish = HOSTILE[(len(target) * shift + k) % len(HOSTILE)]
            if wish not in names.values():
                names[victim] = wish
        changed = os.path.join(folder, "h.json")
        with open(changed, "w") as file:
            json.dump(renamed(program, names), file)
        if os.path.exists(text):
            os.remove(text)
        done = run([twill, "emit", changed, "--to", "cuda", "-o", text])
        if done.returncode == 2 and not os.path.exists(text):
            continue  # the reader refuses some names, and says so
        if done.returncode != 0:
            raise Failed(f"exit code {done.returncode}: {done.stderr[:300]}")
        with open(text) as file:
            if wrong := check(compile_emulated(file.read(), include, folder, objects, "hostile"), []):
                raise Failed(f"{names}: {wrong}")
        accepted += 1
    if accepted == 0:
        raise Failed("no file with hostile names was accepted")
    return accepted


def main():
    arguments, options = sys.argv[1:], {}
    for flag in ("--include", "--nvcc"):
        if flag in arguments:
            at = arguments.index(flag)
            options[flag] = arguments[at + 1]
            del arguments[at:at + 2]
    twill, names = arguments[0], [a for a in arguments[1:] if not a.startswith("--")] or KERNELS
    include = options.get("--include", "/usr/local/cuda/include")
    if shutil.which("g++") is None or not os.path.exists(os.path.join(include, "cuda.h")):
        print("skipped: g++ or CUDA's headers are not there")
        return 77
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        objects = emulator(include, folder)
        for name in names:
            path, needed = os.path.join(folder, "emitted.cu"), set()
            try:
                emit(twill, name, path)
                with open(path) as file:
                    text = file.read()
                program = compile_emulated(text, include, folder, objects)
                check_all(program)
                said = f"right at n = {', '.join(map(str, COUNTS))}"
                if np is not None:
                    said += f"; from the oracle {check_oracle(twill, name, program, folder):.1e}"
                if "--nvcc" in options:
                    said += f"; {check_nvcc(options['--nvcc'], name, path, folder)}"
                print(f"{name}: {said}")
                if "--mutants" in arguments:
                    noticed, count, survived = mutants(text, include, folder, objects)
                    print(f"  {noticed} of {count} removed waits and fences are noticed")
                    for one in survived:
                        why = [(wait, why) for wait, why in IMPLIED.get(name, ()) + IMPLIED_ANYWHERE if re.search(wait, one)]
                        needed.update(wait for wait, _ in why)
                        print(f"  implied, {why[0][1]}: {one}" if why else f"  SURVIVES: {one}")
                        failed |= not why
                    for wait, _ in IMPLIED.get(name, ()):
                        if wait not in needed:
                            print(f"  is noticed, though IMPLIED has it: {wait}")
                            failed = True
            except Failed as wrong:
                print(f"{name}: {wrong}")
                failed = True
        for name, reason in REFUSED.items() if names == KERNELS else ():
            path = os.path.join(folder, "refused.cu")
            kernel, machine = name.split(":")
            done = run([twill, "emit", kernel, "--machine", machine, *options(name), "--to", "cuda", "-o", path, "--quiet"])
            if done.returncode != 2 or not re.search(reason, done.stderr) or os.path.exists(path):
                print(f"{name}: not refused as {reason}: {done.returncode} {done.stderr}")
                failed = True
        if "--hostile" in arguments:
            try:
                print(f"{hostile(twill, include, folder, objects)} files with hostile names are emitted and right")
            except Failed as wrong:
                print(f"hostile names: {wrong}")
                failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
