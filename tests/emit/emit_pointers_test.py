"""Kernels emitted from TTGIR modules whose tiles are loaded and stored by pointers under masks: executed on the CPU beside
formulas written here by hand, every wait and every fence removed once, and compiled.

usage: emit_pointers_test.py TWILL [--compile] [--removed] [MODULE...]
MODULE: a name in tests/data/ttgir, or a file. Exit code 77 without numpy. --compile: with Triton, to PTX and through
ptxas as well (no spills, no serialised products, tiles copied by as many bytes at once as the text counts on).
--removed: each wait and each fence of the text is removed once, and the stand-in must notice.
"""
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import stand_in  # noqa: E402

DATA = os.path.join(HERE, "..", "data", "ttgir")
CASES = ["gemm-masked-hopper", "gemm-masked-blackwell", "attention-pointers-hopper", "attention-pointers-blackwell",
         "experts-weight-gradient-hopper", "experts-weight-gradient-blackwell", "gemm-split-hopper", "matrix-vector-hopper",
         "convolution-depthwise-hopper", "gemm-of-norm-hopper", "attention-ragged-hopper"]
# What cp.async cannot copy is refused: nothing is said of the arguments, so no neighbours are known to lie together; what
# is not loaded is no 0.
REFUSED = dict.fromkeys(["gemm-masked-hopper:undivided", "gemm-masked-blackwell:undivided", "gemm-masked-hopper:other"],
                        "cp.async cannot follow")
CHANGES = {"undivided": (r" \{tt\.divisibility = 16 : i32\}", ""),
           "other": (r"%cst_0 = arith.constant dense<0.0", "%cst_0 = arith.constant dense<1.5")}
# Its slot that stores the logarithms waits for the last maximum; the last scores, for which it has waited, came after that.
# V of six iterations before is free where K of later ones is, for which the same slot has waited: their scores came after that product.
IMPLIED = {"attention-pointers-hopper": 1, "attention-ragged-hopper": 1}
SCALE = 0.11  # of scores, in units of log 2
TOLERANCE = 4e-3  # f16 results of f32 sums; a wrong tile is off by 0.1 and more
TRIPS = (0, 1, 2, 3, 7)
TYPES = {"f16": "float16", "f32": "float32", "bf16": "bfloat16"}


def half(random, *shape):
    return random.uniform(-2, 2, shape).astype(np.float16)


class Gemm:
    """gemm_masked(a, b, c, M, N, K): C = A B, rows and columns of the last tiles that are not there wrap around."""

    def __init__(self, tile, step):
        self.tile, self.step = tile, step

    def make(self, n, random):
        # Both ends are ragged, by the 16 that the module is told to divide all; the last step of the sum, too.
        self.m, self.n = 144, 272
        self.k = self.step * n - (16 if n else 0)
        self.a, self.b = half(random, self.m, self.k), half(random, self.k, self.n)
        self.c = np.full((self.m, self.n), np.nan, np.float16)
        self.grid = (-(-self.m // self.tile[0]) * -(-self.n // self.tile[1]),)

    def arguments(self):
        return [self.a, self.b, self.c, self.m, self.n, self.k]

    def errors(self):
        want = self.a.astype(np.float64) @ self.b.astype(np.float64)
        yield float(np.abs(self.c - want).max()) / max(1.0, float(np.abs(want).max(initial=0.0)))


class Attention:
    """attention_pointers(q, k, v, o, lse, length, scale): blocks of 128 rows, tiles of 64 or 128 keys."""

    def __init__(self, keys, dimension):
        self.keys, self.dimension = keys, dimension

    def make(self, n, random):
        self.length, self.heads = self.keys * n - (16 if n else 0), 2
        tile = lambda: half(random, self.heads * self.length, self.dimension)  # noqa: E731
        self.q, self.k, self.v = tile(), tile(), tile()
        self.o = np.full((self.heads * self.length, self.dimension), np.nan, np.float16)
        self.lse = np.full(self.heads * self.length, np.nan, np.float32)
        self.grid = (max(1, -(-self.length // 128)), self.heads)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.lse, self.length, SCALE]

    def errors(self):
        for head in range(self.heads if self.length else 0):
            rows = slice(head * self.length, (head + 1) * self.length)
            q, k, v = (x[rows].astype(np.float64) for x in (self.q, self.k, self.v))
            s = q @ k.T * SCALE
            top = s.max(axis=1)
            p = np.exp2(s - top[:, None])
            yield float(np.abs(self.o[rows] - p @ v / p.sum(axis=1)[:, None]).max())
            yield float(np.abs(self.lse[rows] - (top + np.log2(p.sum(axis=1)))).max())


class AttentionBias(Attention):
    """attention_bias(q, k, v, o, lse, length, scale, bias): whole tiles; a matrix is added to the scores."""

    def make(self, n, random):
        # Of an odd number of tiles the last block of rows reads on behind its head, and writes what the next head's
        # program writes after it.
        self.length, self.heads, blocks = self.keys * n, 2, max(1, -(-self.keys * n // 128))
        tile = lambda: half(random, self.heads * self.length + 128, self.dimension)  # noqa: E731
        self.q, self.k, self.v = tile(), tile(), tile()
        self.o = np.full((self.heads * self.length + 128, self.dimension), np.nan, np.float16)
        self.bias = half(random, 128 * blocks, self.length)
        self.lse = np.zeros(1, np.float32)  # (is not written)
        self.grid = (blocks, self.heads if n else 1)

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.lse, self.length, SCALE, self.bias]

    def errors(self):
        for head in range(self.heads if self.length else 0):
            rows = slice(head * self.length, (head + 1) * self.length)
            q, k, v = (x[rows].astype(np.float64) for x in (self.q, self.k, self.v))
            p = np.exp2(q @ k.T * SCALE + self.bias[:self.length])
            yield float(np.abs(self.o[rows] - p @ v / p.sum(axis=1)[:, None]).max())


class AttentionRagged:
    """attention_ragged(q, k, v, o, starts, scale): causal; sequences behind each other, four heads share one of keys. Programs behind
    a sequence's end return at once."""

    def make(self, n, random):
        self.lengths, self.heads = [max(64 * n - 16, 0), 0, 5 if n else 0], 4
        self.starts = np.cumsum([0, *self.lengths]).astype(np.int32)
        rows = int(self.starts[-1])
        self.q, self.k, self.v = half(random, rows, self.heads, 64), half(random, rows, 64), half(random, rows, 64)
        self.o = np.full((rows, self.heads, 64), np.nan, np.float16)
        self.grid = (n + 1, len(self.lengths), self.heads)
        # The first and the last block of rows, one behind the end, one of no sequence, one of a short one.
        self.only = [(0, 0, 0), (max(n - 1, 0), 0, 3), (n, 0, 1), (0, 1, 2), (0, 2, 1)]

    def arguments(self):
        return [self.q, self.k, self.v, self.o, self.starts, SCALE]

    def errors(self):
        written = np.zeros(self.o.shape, bool)
        for block, sequence, head in self.only:
            length, first = self.lengths[sequence], 64 * block
            rows = slice(self.starts[sequence] + first, min(self.starts[sequence] + first + 64, self.starts[sequence + 1]))
            if first >= length:
                continue
            written[rows, head] = True
            keys = slice(self.starts[sequence], self.starts[sequence + 1])
            k, v = (x[keys].astype(np.float64) for x in (self.k, self.v))
            s = self.q[rows, head].astype(np.float64) @ k.T * SCALE
            s = np.where(np.arange(first, first + s.shape[0])[:, None] >= np.arange(length)[None, :], s, -np.inf)
            p = np.exp2(s - s.max(axis=1)[:, None])
            yield float(np.abs(self.o[rows, head] - p @ v / p.sum(axis=1)[:, None]).max())
        yield 0.0 if np.isnan(self.o[~written]).all() else np.inf


class GemmSplit:
    """gemm_split(a, b, c, M, N, K): whole tiles of 128 x 128 x 64; PARTS programs add to each tile of C."""

    def __init__(self, tile, step, parts):
        self.tile, self.step, self.parts = tile, step, parts

    def make(self, n, random):
        self.m, self.n, self.k = 2 * self.tile[0], self.tile[1], self.step * self.parts * n
        self.a, self.b = half(random, self.m, self.k), half(random, self.k, self.n)
        self.before = random.uniform(-1, 1, (self.m, self.n)).astype(np.float32)
        self.c = self.before.copy()
        self.grid = (2, 1, self.parts)

    def arguments(self):
        return [self.a, self.b, self.c, self.m, self.n, self.k]

    def errors(self):
        want = self.before + self.a.astype(np.float64) @ self.b.astype(np.float64)
        yield float(np.abs(self.c - want).max()) / max(1.0, float(np.abs(want).max()))


class MatrixVector:
    """matrix_vector(a, x, y, M, K): ragged rows, whole steps."""

    def __init__(self, rows, step):
        self.rows, self.step = rows, step

    def make(self, n, random):
        self.m, self.k = 2 * self.rows - 16, self.step * n
        self.a, self.x = half(random, self.m, self.k), half(random, self.k)
        self.y = np.full(self.m, np.nan, np.float32)
        self.grid = (2,)

    def arguments(self):
        return [self.a, self.x, self.y, self.m, self.k]

    def errors(self):
        want = self.a.astype(np.float64) @ self.x.astype(np.float64)
        yield float(np.abs(self.y - want).max()) / max(1.0, float(np.abs(want).max()))


class ConvolutionDepthwise:
    """convolution_depthwise(x, w, y, length, width): whole tiles, stored in every iteration; what is before the first row is 0."""

    def __init__(self, step, columns):
        self.step, self.columns = step, columns

    def make(self, n, random):
        self.length, self.width, self.grid = self.step * n, 2 * self.columns, (2, 2)
        brain = stand_in.Type("bfloat16")
        self.x = brain.rounded(random.uniform(-2, 2, (2 * self.length, self.width)))
        self.w = brain.rounded(random.uniform(-1, 1, (4, self.width)))
        self.y = np.full((2 * self.length, self.width), np.nan, np.float32)

    def arguments(self):
        return [self.x, self.w, self.y, self.length, self.width]

    def errors(self):
        for batch in range(2):
            rows = slice(batch * self.length, (batch + 1) * self.length)
            x = np.concatenate([np.zeros((3, self.width)), self.x[rows].astype(np.float64)])
            acc = sum(x[tap:tap + self.length] * self.w[tap].astype(np.float64) for tap in range(4))
            want = acc / (1 + np.exp(-acc))
            yield float(np.abs(self.y[rows] - want).max(initial=0.0)) / max(1.0, float(np.abs(want).max(initial=0.0))) / 2  # (bf16)


class ExpertsWeightGradient:
    """experts_weight_gradient(x, dy, dw, starts, N, K): an expert's rows are those from its start to the next one's."""

    def __init__(self, step, n_tile, k_tile):
        self.step, self.n_tile, self.k_tile = step, n_tile, k_tile

    def make(self, n, random):
        # Two experts, the second one with n steps, the last of them ragged where there is one.
        first, second = 5, self.step * n - (3 if n else 0)
        self.starts = np.array([0, first, first + second], np.int32)
        self.n, self.k = self.n_tile, self.k_tile
        brain = stand_in.Type("bfloat16")
        self.x = brain.rounded(random.uniform(-2, 2, (first + second, self.k)))
        self.dy = brain.rounded(random.uniform(-2, 2, (first + second, self.n)))
        self.dw = np.full((2, self.k, self.n), np.nan, np.float32)
        self.grid, self.tolerance = (1, 1, 2), 8e-3

    def arguments(self):
        return [self.x, self.dy, self.dw, self.starts, self.n, self.k]

    def errors(self):
        for expert in range(2):
            rows = slice(self.starts[expert], self.starts[expert + 1])
            want = self.x[rows].astype(np.float64).T @ self.dy[rows].astype(np.float64)
            yield float(np.abs(self.dw[expert] - want).max()) / max(1.0, float(np.abs(want).max(initial=0.0))) / 2  # (bf16)


class GemmOfNorm:
    """gemm_of_norm(x, w, g, y, N, K): Y = (X G) W over the root of the rows' mean square, which the function gets by a division
    by K: with no iterations there is no number."""

    def __init__(self, tile):
        self.tile, self.tolerance = tile, 2e-2

    def make(self, n, random):
        self.n, self.k, self.grid = 2 * self.tile, self.tile * n, (2, 2)
        brain = stand_in.Type("bfloat16")
        self.x = brain.rounded(random.uniform(-2, 2, (2 * self.tile, self.k)))
        self.w = brain.rounded(random.uniform(-1, 1, (self.n, self.k)))
        self.g = brain.rounded(random.uniform(0.5, 1.5, self.k))
        self.y = np.full((2 * self.tile, self.n), 7, np.float32)

    def arguments(self):
        return [self.x, self.w, self.g, self.y, self.n, self.k]

    def errors(self):
        if self.k == 0:
            yield 0.0 if np.isnan(self.y).all() else np.inf
            return
        x, w, g = (one.astype(np.float64) for one in (self.x, self.w, self.g))
        want = (x * g) @ w.T / np.sqrt((x * x).mean(axis=1) + 1e-6)[:, None]
        yield float(np.abs(self.y - want).max()) / max(1.0, float(np.abs(want).max()))


def oracle_of(path):
    with open(path) as file:
        text = file.read()
    name = os.path.basename(path).replace("_", "-")
    shapes = [tuple(map(int, x.split("x"))) for x in re.findall(r"memdesc<(\d+x\d+)x\w+16", text)]
    if "gemm-split" in name:
        return GemmSplit((shapes[0][0], shapes[1][1]), shapes[0][1], 4)
    if "attention-ragged" in name:
        return AttentionRagged()
    if "attention-bias" in name:
        return AttentionBias(64, 64)
    if "matrix-vector" in name:
        rows, step = map(int, re.search(r"tt\.load .*tensor<(\d+)x(\d+)x!tt", text).groups())
        return MatrixVector(rows, step)
    if "convolution-depthwise" in name:
        return ConvolutionDepthwise(*map(int, re.search(r"tt\.load .*tensor<(\d+)x(\d+)x!tt", text).groups()))
    if "weight-gradient" in name:
        return ExpertsWeightGradient(shapes[0][1], shapes[1][1], shapes[0][0])
    if "gemm-of-norm" in name:
        return GemmOfNorm(64)
    if "gemm" in name:
        return Gemm((shapes[0][0], shapes[1][1]), shapes[0][1])
    return Attention(64, 128 if "d128" in name else 64)


def path_of(case, folder=None):
    name, _, change = case.partition(":")
    path = name if os.path.exists(name) else os.path.join(DATA, name + ".ttgir")
    if not change:
        return path
    with open(path) as file:
        text = re.sub(*CHANGES[change], file.read())
    path = os.path.join(folder, os.path.basename(path))
    with open(path, "w") as file:
        file.write(text)
    return path


def parameters(path):
    """Of the module's function: name -> (type, what divides it)."""
    with open(path) as file:
        line = re.search(r"tt\.func public @[^\n]*", file.read()).group(0)
    found = re.findall(r"%([\w.]+): (?:!tt\.ptr<(\w+)>|(\w+))(?: \{tt\.divisibility = (\d+))?", line)
    return {name: (("*" + pointer) if pointer else kind, int(divisor or 1)) for name, pointer, kind, divisor in found}


def emitted(twill, path, folder):
    out = os.path.join(folder, "kernel.py")
    done = subprocess.run([twill, "emit", path, "--to", "gluon", "-o", out, "--quiet", "--time-limit", "600"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().split("\n")[-1]
    with open(out) as file:
        return file.read(), None


def number_type(kind):
    return stand_in.Whole("int32") if kind == "i32" else stand_in.Type(TYPES[kind])


def run(module, types, oracle, n, seed, late):
    """The largest error of one run. Raises Fault and AssertionError."""
    oracle.make(n, np.random.default_rng(n))
    arguments = []
    for (kind, _), value in zip(types.values(), oracle.arguments()):
        arguments.append(stand_in.Pointer(number_type(kind[1:]), value.reshape(-1)) if isinstance(value, np.ndarray) else value)
    if hasattr(module, "DEPTH"):
        arguments.append(n if n < module.DEPTH else -1)
    stand_in.run_grid(module.kernel, arguments, oracle.grid, seed, late, getattr(oracle, "only", None))
    return float(np.max([0.0, *oracle.errors()]))  # (of a NaN one; max() would leave it out)


def orders(module, seeds):
    held = [one for one in stand_in.held_back(module) if not one.endswith(" stores")]
    barriers = sorted(stand_in.WORLD.vector_barriers) if stand_in.WORLD is not None and seeds > 2 else []
    held += [f"vectors of barrier {number}" for number in barriers]  # (of the run before: there are as many in each)
    held += list(getattr(module, "BLOCKS", {})) if seeds > 2 else []
    return [(one, 0) for one in held] + [(late, seed) for late in ("late", "eager", "random") for seed in range(seeds)]


def executed(text, path, counts=TRIPS, seeds=2):
    """The largest error of all runs, or the first fault as a text."""
    module, types, oracle, worst = stand_in.load(text, path), parameters(path), oracle_of(path), 0.0
    # Of a slot with guards, as many iterations too that all of its ops are at work at once.
    guarded = [int(x) for x in re.findall(r"for i in range\(n \+ (\d+)\)", text)]
    for n in counts + ((max(guarded) + 4,) if guarded else ()):
        for late, seed in orders(module, seeds):
            try:
                error = run(module, types, oracle, n, seed, late)
            except (stand_in.Fault, AssertionError) as fault:
                return f"n = {n}, seed {seed}, {late}: {fault}"
            if not error <= TOLERANCE:
                return f"n = {n}, seed {seed}, {late}: wrong by {error:.2e}"
            worst = max(worst, error)
    return worst


def removed(text, path):
    """(how many of the waits and fences, each removed once, are noticed, of how many, those that are not)."""
    lines, kept = text.split("\n"), []
    begin = next(k for k, line in enumerate(lines) if line.startswith("def slot_"))
    depth = int((re.findall(r"^DEPTH = (\d+)", text, re.MULTILINE) or ["0"])[0])
    # (An oracle asks for LONGER runs, where a ring is as long as these.)
    counts = (1, 2, 3, 4, 7) + ((5, 6, depth + 3) if depth > 4 else ()) + getattr(oracle_of(path), "LONGER", ())
    places = [k for k in range(begin, len(lines)) if re.match(r"\s+(mbarrier\.wait|fence_async_shared)\(", lines[k])]
    for k in places:
        less = lines[:k] + [lines[k][:len(lines[k]) - len(lines[k].lstrip())] + "pass"] + lines[k + 1:]
        if not isinstance(executed("\n".join(less), path, counts, 3), str):
            kept.append(lines[k].strip())
    return len(places) - len(kept), len(places), kept


def compiled_one(out, path, trips=-1):
    """(the emitted file as a module, its kernel compiled), for a run of so many iterations."""
    import emit_compile_test as compiler
    import triton
    spec = importlib.util.spec_from_file_location("emitted", out)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    types, signature, attributes = parameters(path), {}, {}
    names = {"f16": "fp16", "f32": "fp32", "bf16": "bf16", "i32": "i32", "i8": "i8"}
    for k, name in enumerate(module.kernel.arg_names):
        if name == "TRIPS":
            signature[name] = "constexpr"
            continue
        kind, divisor = types[name] if name in types else list(types.values())[k]  # (the text may have renamed it)
        signature[name] = "*" + names[kind[1:]] if kind.startswith("*") else names.get(kind, kind)
        if divisor > 1:
            attributes[(k,)] = [["tt.divisibility", divisor]]
    source = compiler.GluonASTSource(fn=module.kernel, signature=signature, attrs=attributes,
                                     constexprs={"TRIPS": trips} if "TRIPS" in signature else {})
    target = compiler.GPUTarget("cuda", {"9": 90, "10": 100}[str(module.CAPABILITY)], 32)
    return module, triton.compile(source, target=target, options={"num_warps": module.WARPS})


# Bytes that loops move to and from local memory, and the whole of spilled bytes where it is more than MOST_SPILLS.
IN_LOOPS = {}
MOST_SPILLS = 128
SPILLS = {}
SERIALISED = set()  # of whose products ptxas says that it ends them one by one
# Vectors of 64 numbers, of which a thread has two; nothing is said of what divides arguments; tiles of f32 that are turned.
NARROW = {"gated-linear-attention-hopper": 8, "two-loops": 4, "wide-factors-hopper": 4, "wide-factors-blackwell": 4,
          "scaled-rows-hopper": 4, "scaled-rows-blackwell": 4}


def compiled(text, path, folder):
    """(what the compiled code has, what is wrong with it)."""
    import emit_compile_test as compiler
    out = os.path.join(folder, "kernel.py")
    with open(out, "w") as file:
        file.write(text)
    module, made = compiled_one(out, path)
    for trips in range(getattr(module, "DEPTH", 0)):
        compiled_one(out, path, trips)  # the runs of fewer iterations than stages
    ptx = made.asm["ptx"]
    registers, spills, serialised = compiler.ptxas_says(made, folder)
    at_once = sorted({int(x, 16) for x in re.findall(r"cp\.async\.c[ag]\.shared\.global \[[^]]*\], \[[^]]*\], (0x\w+)", ptx)})
    count = lambda pattern: len(re.findall(pattern, ptx))  # noqa: E731
    wrong = []
    name = os.path.basename(path).removesuffix(".ttgir")
    in_loops = compiler.spilled_in_loops(folder)
    if in_loops > IN_LOOPS.get(name, 0):
        wrong.append(f"{in_loops} bytes of spills in loops")
    if spills > SPILLS.get(name, MOST_SPILLS):
        wrong.append(f"{spills} bytes of spills")
    if serialised and name not in SERIALISED:
        wrong.append("serialised products")
    if ("async_copy.async_load" in text) != bool(at_once) or any(x < NARROW.get(name, 16) for x in at_once):
        wrong.append(f"copies of {at_once} bytes")
    return {"products": count(r"wgmma\.mma_async|tcgen05\.mma\.|mma\.sync"), "copies": count(r"cp\.async\.c[ag]\.shared"), "bytes at once": at_once,
            "fences": count(r"fence\.proxy\.async"), "registers": registers, "spill bytes": spills, "in loops": in_loops}, wrong


def checked(twill, case, folder, removes, compiles, implied=0):
    """One case, executed and, where that is asked for, with each wait removed once and compiled: is something wrong?
    implied: so many waits are not noticed."""
    path = path_of(case, folder)
    text, why = emitted(twill, path, folder)
    if text is None:
        print(f"{case}: {why}")
        return True
    error = executed(text, path)
    failed = isinstance(error, str)
    line = f"{case}: " + (error if isinstance(error, str) else f"largest error {error:.1e}")
    if removes:
        noticed, all_, kept = removed(text, path)
        line += f"; {noticed} of {all_} waits and fences noticed"
        failed |= len(kept) != implied
        line += "".join("\n  NOT NOTICED: " + one for one in kept)
    if compiles:
        what, wrong = compiled(text, path, folder)
        line += "; " + ", ".join(f"{key} {value}" for key, value in what.items())
        line += "".join("; WRONG: " + one for one in wrong)
        failed |= bool(wrong)
    print(line, flush=True)
    return failed


def asked(known):
    """(twill, cases, compiles, removes) of the command line; all of `known` where it names none."""
    twill, arguments = sys.argv[1], sys.argv[2:]
    compiles = "--compile" in arguments
    if compiles:
        try:
            import triton  # noqa: F401
        except ImportError:
            compiles = False
    return twill, [a for a in arguments if not a.startswith("--")] or known, compiles, "--removed" in arguments


def written(twill, reasons, folder):
    """Of what must be refused, each with a part of the reason: is one written, or refused for another?"""
    failed = False
    for case, why in reasons.items():
        text, said = emitted(twill, path_of(case, folder), folder)
        failed |= text is not None or why not in said
        print(f"{os.path.basename(case)}: " + ("WRITTEN" if text is not None else "refused: " + said.split(".ttgir: ")[-1][:140]))
    return failed


def main():
    twill, cases, compiles, removes = asked(CASES)
    with tempfile.TemporaryDirectory() as folder:
        failed = written(twill, REFUSED if cases == CASES else {}, folder)
        for case in cases:
            failed |= checked(twill, case, folder, removes, compiles, IMPLIED.get(case, 0))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
