"""Kernels emitted from TTGIR modules: executed on the CPU, beside what the Triton source computes, and compiled.

usage: emit_ttgir_test.py TWILL [--compile] [--table] [MODULE[:SUBTILE]...]
Exit code 77 without numpy. --compile: with Triton, to PTX and through ptxas as well. --table: every module of the
tree, as rows for bench/results/emission.md. The numbers that are wanted come from formulas written here by hand, of the
functions in graph/kernels/triton/kernels.py: nothing of them was read from a module.
"""
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import types

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(77)

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import stand_in  # noqa: E402

NESTED = os.path.join(HERE, "..", "data", "nested")
WINDOW = os.path.join(HERE, "..", "data", "ttgir")
FOLDER = os.path.join(HERE, "..", "..", "graph", "kernels", "triton")
CASES = ["hopper-attention-forward", "hopper-attention-forward:M=2", "hopper-attention-forward-sub2", "blackwell-fused-mlp",
         "blackwell-attention-forward", "blackwell-attention-forward-m256:M=2", "blackwell-attention-forward-sub2",
         "blackwell-attention-causal", "hopper-linear-attention", "blackwell-linear-attention",
         "blackwell-attention-backward", "hopper-gemm-persistent", "blackwell-gemm-persistent", "hopper-attention-persistent",
         "blackwell-attention-persistent", "window-hopper", "window-blackwell", "hopper-fused-mlp",
         "blackwell-fused-mlp:M=2", "blackwell-attention-forward+x2", "hopper-attention-forward+x2", "hopper-attention-backward"]
# Why not: its blocks of rows have other numbers of iterations.
REFUSED = {"blackwell-attention-causal+x2": "its number of iterations is not the same for all programs of the grid"}
SCALE = 0.11  # of scores, in units of log 2; no number that is in Twill
TOLERANCE = 4e-3  # f16 results of f32 sums; a wrong tile is off by 0.1 and more
TRIPS = (0, 1, 2, 3, 7)


# ---- what the functions compute, whole tensors at once, in double precision

def softmax(q, k, v, mask, first_sum):
    """Rows of O and LSE as kernels.py has them: a sum that begins with first_sum at a maximum of -inf."""
    s = q @ k.T * SCALE
    if mask is not None:
        s = np.where(mask, s, -np.inf)
    if k.shape[0] == 0:
        return np.zeros((q.shape[0], v.shape[1])), np.full(q.shape[0], -np.inf)
    top = s.max(axis=1, keepdims=True)
    p = np.exp2(s - top)
    return p @ v / p.sum(axis=1, keepdims=True), top[:, 0] + np.log2(p.sum(axis=1))


class Attention:
    """attention_forward(q, k, v, o, lse, length, scale) and its form with two sub-tiles; rows of a block."""

    def __init__(self, rows, causal=False):
        self.rows, self.causal = rows, causal
        self.heads = 2

    def trips(self, n):
        return not (self.causal and n == 0)

    def make(self, n, random):
        # Keys are those of all rows; blocks of rows only where there are keys for them.
        self.length = 128 * n
        self.blocks = max(1, -(-self.length // self.rows))
        rows = self.heads * max(self.length, self.blocks * self.rows if n == 0 else self.length)
        tile = lambda count: half(random, (count, 128))  # noqa: E731
        self.row_count = rows
        self.q, self.k, self.v = tile(rows), tile(self.heads * self.length), tile(self.heads * self.length)
        self.o = np.full((rows + self.rows, 128), np.nan, np.float16)
        self.lse = np.full(rows + self.rows, np.nan, np.float32)
        # A ragged last block of rows reads on behind its head: give it something to read.
        self.q = np.concatenate([self.q, tile(self.rows)])
        self.grid = (self.blocks, self.heads if n > 0 else 1)
        if self.length % self.rows:
            self.grid = (self.length // self.rows, self.heads) if self.length >= self.rows else (1, 1)

    def arguments(self, descriptor, pointer):
        all_ = [descriptor(self.q, "q_desc"), descriptor(self.k, "k_desc"), descriptor(self.v, "v_desc"),
                descriptor(self.o, "o_desc")]
        if not self.causal:
            all_.append(pointer(self.lse))
        return all_ + [self.length, SCALE]

    def errors(self):
        for head in range(self.grid[1]):
            for block in range(self.grid[0]):
                begin = head * self.length + block * self.rows
                keys = slice(head * self.length, (head + 1) * self.length)
                mask = None
                if self.causal:
                    mask = block * self.rows + np.arange(self.rows)[:, None] >= np.arange(self.length)[None, :]
                o, lse = softmax(*(x.astype(np.float64) for x in (self.q[begin:begin + self.rows], self.k[keys], self.v[keys])),
                                 mask, 1.0)
                yield np.abs(self.o[begin:begin + self.rows] - o).max()
                if not self.causal:
                    got = self.lse[begin:begin + self.rows]
                    yield float(np.where(got == lse, 0.0, np.abs(got - lse)).max())


class AttentionWindow:
    """attention_window(q, k, v, o, length, scale): the last 1,024 keys of each query, both ends masked; of bench/modules."""

    window = 1024

    def trips(self, n):
        return n > 0

    def make(self, n, random):
        # More blocks than a window has: the first keys of the last blocks are masked, too.
        self.blocks = n if n < 7 else self.window // 128 + 3
        self.length = 128 * self.blocks
        self.q, self.k, self.v = (half(random, (2 * self.length, 128)) for _ in range(3))
        self.o = np.full((2 * self.length, 128), np.nan, np.float16)
        self.grid = (self.blocks, 2)
        self.only = [(block, head, 0) for block in {0, self.blocks // 2, self.blocks - 1} for head in range(2)]

    def arguments(self, descriptor, pointer):
        return [descriptor(self.q, "q_desc"), descriptor(self.k, "k_desc"), descriptor(self.v, "v_desc"), descriptor(self.o, "o_desc"),
                self.length, SCALE]

    def errors(self):
        place = np.arange(self.length)
        for block, head, _ in self.only:
            keys = slice(head * self.length, (head + 1) * self.length)
            begin = keys.start + block * 128
            away = block * 128 + np.arange(128)[:, None] - place[None, :]
            o, _ = softmax(*(x.astype(np.float64) for x in (self.q[begin:begin + 128], self.k[keys], self.v[keys])),
                           (away >= 0) & (away < self.window), 1.0)
            if block * 128 >= self.window:  # its own fault: all of the first tile is masked there, -inf - -inf
                o[127] = np.nan
            got = self.o[begin:begin + 128].astype(np.float64)
            same = np.isnan(got) & np.isnan(o)
            yield float(np.where(same, 0.0, np.abs(got - o)).max())


class FusedMlp:
    """fused_mlp(x, w1, w2, y, hidden)."""

    def trips(self, n):
        return True

    def make(self, n, random):
        self.hidden, self.grid = 128 * n, (2,)
        self.x, self.w1, self.w2 = half(random, (256, 128)), half(random, (self.hidden, 128)), half(random, (self.hidden, 128))
        self.x *= np.float16(0.125)
        self.y = np.full((256, 128), np.nan, np.float16)

    def arguments(self, descriptor, pointer):
        return [descriptor(self.x, "x_desc"), descriptor(self.w1, "w1_desc"), descriptor(self.w2, "w2_desc"),
                descriptor(self.y, "y_desc"), self.hidden]

    def errors(self):
        h = self.x.astype(np.float64) @ self.w1.astype(np.float64).T
        y = h / (1 + np.exp2(h * -1.4426950408889634)) @ self.w2.astype(np.float64)
        yield float(np.abs(self.y - y).max()) / max(1.0, float(np.abs(y).max()))


class LinearAttention:
    """linear_attention(q, k, v, o, length): causal, by chunks; tiles are of one chunk."""

    def __init__(self, chunk):
        self.chunk = chunk

    def trips(self, n):
        return True

    def make(self, n, random):
        self.length, self.grid = self.chunk * n, (2,)
        self.q, self.k, self.v = (half(random, (2 * self.length, 64)) * np.float16(0.125) for _ in range(3))
        self.o = np.full((2 * self.length, 64), np.nan, np.float16)

    def arguments(self, descriptor, pointer):
        return [descriptor(self.q, "q_desc"), descriptor(self.k, "k_desc"), descriptor(self.v, "v_desc"), descriptor(self.o, "o_desc"),
                self.length]

    def errors(self):
        for head in range(2):
            rows = slice(head * self.length, (head + 1) * self.length)
            q, k, v = (x[rows].astype(np.float64) for x in (self.q, self.k, self.v))
            yield float(np.abs(self.o[rows] - np.tril(q @ k.T) @ v).max(initial=0.0))


class AttentionBackward:
    """attention_backward(q, k, v, do, dq, dk, dv, lse, delta, length, scale): blocks of 128 keys, 64 queries a tile."""

    def trips(self, n):
        return True

    def make(self, n, random):
        self.length = 64 * n
        self.heads, self.blocks = (2, 1) if n != 7 else (1, 3)  # 7 tiles of queries, 448 of them, are 3 whole blocks of keys
        if self.length < 128:
            self.heads = 1
        rows = self.heads * self.length + 128  # blocks of keys may be whole where there are fewer queries
        self.k, self.v = (half(random, (rows, 128)) for _ in range(2))
        self.q, self.do = (half(random, (rows, 128)) * np.float16(0.25) for _ in range(2))
        self.lse = random.uniform(2, 6, rows).astype(np.float32)
        self.delta = random.uniform(-1, 1, rows).astype(np.float32)
        self.before = random.uniform(-1, 1, (rows, 128)).astype(np.float32)
        self.dq = self.before.copy()
        self.dk, self.dv = (np.full((rows, 128), np.nan, np.float16) for _ in range(2))
        self.grid = (self.blocks, self.heads)

    def arguments(self, descriptor, pointer):
        return [descriptor(x, name + "_desc") for name, x in (("q", self.q), ("k", self.k), ("v", self.v), ("do", self.do), ("dq", self.dq),
                                                              ("dk", self.dk), ("dv", self.dv))] + [
            pointer(self.lse), pointer(self.delta), self.length, SCALE]

    def errors(self):
        dq = self.before.astype(np.float64)
        wanted = {}
        for head in range(self.heads):
            rows = slice(head * self.length, (head + 1) * self.length)
            q, do = self.q[rows].astype(np.float64), self.do[rows].astype(np.float64)
            for block in range(self.blocks):
                keys = slice(head * self.length + block * 128, head * self.length + block * 128 + 128)
                k, v = self.k[keys].astype(np.float64), self.v[keys].astype(np.float64)
                p = np.exp2(q @ k.T * SCALE - self.lse[rows][:, None])
                ds = p * (do @ v.T - self.delta[rows][:, None])
                dq[rows] += ds @ k
                wanted[keys.start] = (ds.T @ q, p.T @ do)  # (of blocks that overlap the last one counts)
        yield relative(self.dq, dq)
        for start, (dk, dv) in wanted.items():
            if all(start + 128 <= other or start >= other + 128 for other in wanted if other != start):
                yield relative(self.dk[start:start + 128], dk)
                yield relative(self.dv[start:start + 128], dv)


class GemmPersistent:
    """gemm_persistent(a, b, c, M, N, K): C = A B^T; of its programs two are run, with three tiles and two."""

    only = ((0, 0, 0), (131, 0, 0))

    def __init__(self, tile, programs):
        self.tile, self.programs = tile, programs

    def trips(self, n):
        return True

    def make(self, n, random):
        self.rows, self.columns = 19, 16  # 304 tiles
        self.m, self.n, self.k = self.rows * self.tile[0], self.columns * self.tile[1], self.tile[2] * n
        self.a, self.b = half(random, (self.m, self.k)), half(random, (self.n, self.k))
        self.c = np.full((self.m, self.n), np.nan, np.float16)
        self.grid = (self.programs,)

    def arguments(self, descriptor, pointer):
        return [descriptor(self.a, "a_desc"), descriptor(self.b, "b_desc"), descriptor(self.c, "c_desc"), self.m, self.n, self.k]

    def errors(self):
        for program, _, _ in self.only:
            for tile in range(program, self.rows * self.columns, self.programs):
                row, column = tile % self.rows * self.tile[0], tile // self.rows * self.tile[1]
                want = self.a[row:row + self.tile[0]].astype(np.float64) @ self.b[column:column + self.tile[1]].astype(np.float64).T
                yield relative(self.c[row:row + self.tile[0], column:column + self.tile[1]], want)


class AttentionPersistent:
    """attention_persistent(q, k, v, o, length, heads, scale): a program takes every 132nd block of rows of all heads."""

    programs, only = 132, ((0, 0, 0), (1, 0, 0))

    def trips(self, n):
        return n > 0

    def make(self, n, random):
        self.length, self.blocks, self.heads = 128 * n, n, -(-266 // n)
        self.q, self.k, self.v = (half(random, (self.heads * self.length, 128)) for _ in range(3))
        self.o = np.full((self.heads * self.length, 128), np.nan, np.float16)
        self.grid = (132,)

    def arguments(self, descriptor, pointer):
        return [descriptor(self.q, "q_desc"), descriptor(self.k, "k_desc"), descriptor(self.v, "v_desc"), descriptor(self.o, "o_desc"),
                self.length, self.heads, SCALE]

    def errors(self):
        for program, _, _ in self.only:
            for tile in range(program, self.blocks * self.heads, self.programs):
                head, begin = tile // self.blocks, tile * 128
                keys = slice(head * self.length, (head + 1) * self.length)
                o, _ = softmax(*(x.astype(np.float64) for x in (self.q[begin:begin + 128], self.k[keys], self.v[keys])), None, 1.0)
                yield float(np.abs(self.o[begin:begin + 128] - o).max())


def relative(got, want):
    return float(np.abs(got - want).max(initial=0.0)) / max(1.0, float(np.abs(want).max(initial=0.0)))


def half(random, shape):
    return random.uniform(-2, 2, shape).astype(np.float16)


def oracle_of(name):
    if "window" in name:
        return AttentionWindow()
    if "causal" in name:
        return Attention(128, causal=True)
    if "attention-forward" in name:
        return Attention(256 if "m256" in name or name == "blackwell-attention-forward-sub2" else 128)
    if "gemm-persistent" in name:
        return GemmPersistent((128, 256, 64), 148 if "blackwell" in name else 132)
    if "attention-persistent" in name:
        return AttentionPersistent()
    if "linear-attention" in name:
        return LinearAttention(128 if "blackwell" in name else 64)
    if "attention-backward" in name:
        return AttentionBackward()
    return FusedMlp() if "fused-mlp" in name else None


# ---- one module

def copies_of(case):
    """Iterations of the function in one of the text: MODULE+x2 has two."""
    return int(case.partition("+x")[2] or 1)


def command_of(case):
    """A module on Twill's command line."""
    name, _, subtile = case.partition("+")[0].partition(":")
    folder = NESTED if name.endswith("attention-persistent") else WINDOW if name.startswith("window") else FOLDER
    source = os.path.join(folder, name + ".ttgir")
    return [source, "--time-limit", "600"] + (["--subtile", subtile] if subtile else []) + (
        ["--loop", "1"] if "persistent" in name else []) + (["--unroll", str(copies_of(case))] if "+x" in case else [])


def emitted(twill, case, folder):
    """(text, None) or (None, why)."""
    path = os.path.join(folder, "kernel.py")
    command = [twill, "emit", *command_of(case), "--to", "gluon", "-o", path, "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().split("\n")[-1].removeprefix("twill: ").split(".ttgir: ")[-1]
    with open(path) as file:
        return file.read(), None


def executed(text, case, counts=TRIPS):
    """The largest error of all runs, or the first fault as a text."""
    module = stand_in.load(text, case)
    oracle = oracle_of(case.partition("+")[0].partition(":")[0])
    copies = copies_of(case)
    worst = 0.0
    in_loop = re.search(r"^ {12,}tma\.async_(store|atomic_add)", text, re.M) is not None
    orders = [(held, 0) for held in stand_in.held_back(module)
              if (in_loop or not held.endswith(" stores")) and ("async_copy." in text or not held.endswith(" vectors"))]
    orders += [(late, seed) for late in ("late", "eager", "random") for seed in range(2)]
    if copies > 1:  # the launcher says of other numbers of iterations that they are none of the text's
        launcher = next(one for one in vars(module).values() if type(one).__name__ == "UserKernel")
        oracle.make(copies + 1, np.random.default_rng(1))
        try:
            launcher[oracle.grid](*oracle.arguments(lambda array, name: array, lambda array: array))
            return f"{copies + 1} iterations are launched"
        except ValueError as refused:
            if f"{copies + 1} iterations: must be a multiple of {copies}" not in str(refused):
                return f"{copies + 1} iterations: {refused}"
    for n in counts:
        if not oracle.trips(n):
            continue
        for late, seed in orders:
            oracle.make(n * copies, np.random.default_rng(n))

            def descriptor(array, name):
                block, kind = module.BLOCKS[name]
                return stand_in.Descriptor(kind, array, block, name)

            arguments = oracle.arguments(descriptor, lambda array: stand_in.Pointer(stand_in.Type("float32"), array))
            if hasattr(module, "DEPTH"):  # as the launcher does it
                arguments.append(n if n < module.DEPTH else -1)
            try:
                stand_in.run_grid(module.kernel, arguments, oracle.grid, seed, late, getattr(oracle, "only", None))
            except (stand_in.Fault, AssertionError) as fault:
                return f"n = {n}, seed {seed}, {late}: {fault}"
            for error in oracle.errors():
                if not error <= TOLERANCE:
                    return f"n = {n}, seed {seed}, {late}: wrong by {error:.2e}"
                worst = max(worst, error)
    return worst


# ---- compiled

def compiled(path, trips=-1):
    import emit_compile_test as compiler
    from triton.backends.compiler import GPUTarget
    import triton
    spec = importlib.util.spec_from_file_location("emitted", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    signature = {}
    for name in module.kernel.arg_names:
        if name == "TRIPS":
            signature[name] = "constexpr"
        elif name in module.BLOCKS:
            block, kind = module.BLOCKS[name]
            layout = compiler.gl.NVMMASharedLayout.get_default_for(block, kind)
            signature[name] = f"tensordesc<{compiler.PTX_NAMES[str(kind)] if str(kind) in compiler.PTX_NAMES else str(kind)}{block},{layout!r}>"
        else:
            signature[name] = "*fp32" if name.endswith("_ptr") else "fp32" if name == "scale" else "i32"
    source = compiler.GluonASTSource(fn=module.kernel, signature=signature,
                                       constexprs={"TRIPS": trips} if "TRIPS" in signature else {})
    target = GPUTarget("cuda", {9: 90, 10: 100}[module.CAPABILITY], 32)
    return module, triton.compile(source, target=target, options={"num_warps": module.WARPS})


def facts(text, folder):
    """(what the compiled code has, what is wrong with it)."""
    import emit_compile_test as compiler
    path = os.path.join(folder, "kernel.py")
    module, kernel = compiled(path)
    for trips in range(getattr(module, "DEPTH", 0)):
        compiled(path, trips)  # the runs of fewer iterations than stages
    ptx = kernel.asm["ptx"]
    registers, spills, serialised = compiler.ptxas_says(kernel, folder)
    count = lambda pattern: len(re.findall(pattern, ptx))  # noqa: E731
    products = count(r"wgmma\.mma_async|tcgen05\.mma\.")
    waits = compiler.text_counts(text)["waits"]
    wrong = []
    in_loops = compiler.spilled_in_loops(folder)
    if in_loops > 0:
        wrong.append(f"{in_loops} bytes of spills in loops")
    if products == 0:
        wrong.append("no product instruction")
    if count(r"mbarrier\.try_wait") != waits:
        wrong.append(f"{count(r'mbarrier.try_wait')} barrier waits, {waits} in the text")
    return {"products": products, "waits": waits, "registers": registers, "spill bytes": spills,
            "serialised": len(serialised), "shared": kernel.metadata.shared}, wrong


# ---- names in a module are data

def hostile(twill, folder):
    """Attention whose names are words of Python, of the text itself, and no identifiers: what is wrong, or ""."""
    with open(os.path.join(FOLDER, "hopper-attention-forward.ttgir")) as file:
        module = file.read()
    for old, new in (("%length", "%class"), ("%scale", "%n"), ("%q_desc", "%gl"), ("%lse_ptr", "%TRIPS"), ("%v_desc", "%a$b-c.d"),
                     ("@attention_forward", "@kernel")):
        module = re.sub(re.escape(old) + r"\b", lambda _, new=new: new, module)
    path, out = os.path.join(folder, "hostile.ttgir"), os.path.join(folder, "hostile.py")
    with open(path, "w") as file:
        file.write(module)
    done = subprocess.run([twill, "emit", path, "-o", out, "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr
    with open(out) as file:
        text = file.read()
    loaded = stand_in.load(text, "hostile")
    parameters = loaded.kernel.__code__.co_varnames[:loaded.kernel.__code__.co_argcount]
    if len(parameters) != 8 or set(parameters) & {"class", "n", "gl"} or "a$b" in text:
        return f"parameters {parameters}"
    names = iter([name for name in parameters if name in loaded.BLOCKS])

    def descriptor(array, _):
        name = next(names)
        block, kind = loaded.BLOCKS[name]
        return stand_in.Descriptor(kind, array, block, name)

    oracle = Attention(128)
    oracle.make(2, np.random.default_rng(2))
    arguments = oracle.arguments(descriptor, lambda array: stand_in.Pointer(stand_in.Type("float32"), array))
    stand_in.run_grid(loaded.kernel, arguments + [2 if 2 < loaded.DEPTH else -1], oracle.grid, 0, "random")
    worst = max(oracle.errors())
    return "" if worst <= TOLERANCE else f"wrong by {worst:.2e}"


# ---- every module of the tree

def tree():
    root = os.path.join(HERE, "..", "..")
    for folder in ("graph/kernels/triton", "tests/data/lowered", "tests/data/nested", "tests/data/ttgir"):
        for name in sorted(os.listdir(os.path.join(root, folder))):
            if name.endswith(".ttgir"):
                yield os.path.join(root, folder, name), folder + "/" + name


def short(text):
    """The reason in a line of stderr, for a table."""
    for mark in ("what the loop computes is not known: ", "it cannot be executed: ", "no kernel: ", "no program: ", ".ttgir: ", "twill: "):
        for line in text.strip().split("\n"):
            if mark in line:
                return line.split(mark, 1)[1].replace("|", "/")[:150]
    return text.strip()[-150:].replace("|", "/")


def ran(twill, path, options):
    """What `twill run` says at each trip count: right beside the module, or beside its own meaning, or not at all."""
    right, alone, why = [], [], ""
    for n in TRIPS:
        done = subprocess.run([twill, "run", path, "--iterations", str(n), "--orders", "2", "--time-limit", "600"] + options,
                              capture_output=True, text=True)
        if done.returncode not in (0, 1) or "double precision" not in done.stdout:
            return "no", short(done.stderr)
        if done.returncode == 1:
            return f"WRONG at n = {n}", ""
        (right if "beside the module" in done.stdout else alone).append(n)
        for line in done.stderr.split("\n"):
            if "is the reference: " in line:
                why = line.split("is the reference: ")[1]
    text = "n = " + ", ".join(map(str, right)) if right else ""
    if alone:
        text += ("; " if text else "") + "by its meaning alone n = " + ", ".join(map(str, alone))
    return text, why


def table(twill, folder, only):
    """Of every module, or of those with one of the texts `only` in their names."""
    print("| module | executed, right beside the module at | text executed, largest error | compiled | reason where not |")
    print("|---|---|---|---|---|")
    for path, name in tree():
        if only and not any(one in name for one in only):
            continue
        variants = [[]]
        if name.startswith("graph") and ("fused-mlp" in name or name.endswith("hopper-attention-forward.ttgir") or "m256" in name):
            variants.append(["--subtile", "M=2"])
        if "gemm-persistent" in name and name.startswith("graph"):
            variants.append(["--loop", "1"])
        for options in variants:
            out = os.path.join(folder, "kernel.py")
            done = subprocess.run([twill, "program", path, "--time-limit", "600"] + options, capture_output=True, text=True)
            label = name.removeprefix("graph/kernels/triton/").removesuffix(".ttgir") + (" " + " ".join(options) if options else "")
            if done.returncode != 0:
                print(f"| {label} | no program | | | {short(done.stderr)} |", flush=True)
                continue
            run, why = ran(twill, path, options)
            if run == "no":
                print(f"| {label} | orders and waits alone | | | {why} |", flush=True)
                continue
            done = subprocess.run([twill, "emit", path, "-o", out, "--quiet", "--time-limit", "600"] + options, capture_output=True, text=True)
            executed_text = compiled_text = ""
            if done.returncode != 0:
                why = short(done.stderr)
            else:
                with open(out) as file:
                    text = file.read()
                case = os.path.basename(path).removesuffix(".ttgir")
                error = executed(text, case) if oracle_of(case) else "no formula"
                executed_text = error if isinstance(error, str) else f"{error:.1e}"
                try:
                    what, wrong = facts(text, folder)
                    compiled_text = f"{what['products']} products, {what['waits']} waits, {what['spill bytes']} B of spills"
                    compiled_text += ", serialised" if what["serialised"] else ""
                    compiled_text += "".join("; WRONG: " + one for one in wrong if not one.startswith("ptxas"))
                except Exception as problem:
                    compiled_text = f"no: {type(problem).__name__}"
            print(f"| {label} | {run} | {executed_text} | {compiled_text} | {why} |", flush=True)


def main():
    twill, arguments = sys.argv[1], sys.argv[2:]
    compiles = "--compile" in arguments
    cases = [a for a in arguments if not a.startswith("--")] or CASES
    if compiles:
        try:
            import triton  # noqa: F401
        except ImportError:
            compiles = False
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        if "--table" in arguments:
            return table(twill, folder, [a for a in arguments if not a.startswith("--")])
        wrong = hostile(twill, folder)
        print("hostile names: " + (wrong or "they are data"))
        failed |= bool(wrong)
        for case, reason in REFUSED.items() if cases is CASES else []:
            text, why = emitted(twill, case, folder)
            refused = text is None and reason in why
            print(f"{case}: {why if refused else 'WRONG: must be refused'}")
            failed |= not refused
        for case in cases:
            text, why = emitted(twill, case, folder)
            if text is None:
                print(f"{case}: {why}")
                failed = True
                continue
            error = executed(text, case)
            failed |= isinstance(error, str)
            line = f"{case}: " + (error if isinstance(error, str) else f"largest error {error:.1e}")
            if compiles:
                try:
                    what, wrong = facts(text, folder)
                    line += "; " + ", ".join(f"{key} {value}" for key, value in what.items())
                    for one in wrong:
                        line += f"; WRONG: {one}"
                    failed |= bool(wrong)
                except Exception as problem:  # whatever the compiler says is what we want to see
                    line += f"; does not compile: {type(problem).__name__}: {str(problem)[:1500]}"
                    failed = True
            print(line, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
