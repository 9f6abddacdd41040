"""Kernels for TileLang: the schedule in the text is executed on numpy; where TileLang is installed, it is compiled.

usage: emit_tilelang_test.py TWILL [KERNEL:MACHINE...]
Exit code 77 without numpy. Executed: roles step by step in many orders, pipelines as rings with a full and an empty side, stages
as TileLang plans them (a stage runs so many iterations behind), against the formula of the kernel file in double precision.
Compiled (TileLang, and nvcc where it is found): TileLang checks spans, cycles and deadlocks itself; the rings of its CUDA are as
deep as the program's, its roles as wide. What TileLang cannot say is refused with the reason; errors in the text are noticed.
"""
import contextlib
import importlib.util
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import types

try:
    import numpy as np
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from oracle import Oracle  # noqa: E402

KERNELS = ["gemm:blackwell", "blackwell-gemm-tiles:blackwell"]
REFUSED = {  # one of each reason
    "gemm:hopper": "the product mma is in flight while its slot goes on",
    "blackwell-bwd:blackwell": "lies where another buffer does",
    "blackwell-fwd-plain:blackwell": "is read in a later iteration",
}
TOLERANCE = 4e-3


class Fault(Exception):
    pass


class Tensor:
    def __init__(self, data):
        self.data = data

    def __getitem__(self, place):
        return Place(self, place)


class Place:
    def __init__(self, tensor, begin):
        self.tensor, self.begin = tensor, begin

    def of(self, shape):
        (row, column), (rows, columns) = self.begin, shape
        whole = self.tensor.data.shape
        if row + rows > whole[0] or column + columns > whole[1]:
            raise Fault(f"a tile at {self.begin} of a tensor of {whole}")
        return self.tensor.data[row:row + rows, column:column + columns]


class Buffer:
    """Copies are made as deep as its pipeline; NaN until something is written."""

    def __init__(self, shape, kind):
        self.shape, self.kind, self.copies = shape, kind, {}

    def copy(self, number):
        return self.copies.setdefault(number, np.full(self.shape, np.nan, self.kind))


class Language(types.ModuleType):
    """Stands in for tilelang.language: records what each op does in each iteration, and the schedule."""

    WSID = "tl.ws_op_id"

    def __init__(self, block):
        super().__init__("tilelang.language")
        self.block, self.ops, self.schedule, self.i = block, {}, None, None
        self.WSSchedule, self.WSRole, self.WSPipeline = types.SimpleNamespace, self.named("name"), self.named("name", "buffers")
        self.WSScope = self.named("id", "bodies")
        self.WSScope.ROOT = "root"
        self.WSSync = types.SimpleNamespace(**{
            what: (lambda name, stage=0, what=what: (what, name, stage))
            for what in ("producer_acquire", "producer_commit", "consumer_wait", "consumer_release")})

    @staticmethod
    def named(*names):
        return type("Named", (types.SimpleNamespace,), {
            "__init__": lambda self, *values, **more: types.SimpleNamespace.__init__(self, **dict(zip(names, values)), **more)})

    prim_func = staticmethod(lambda function: function)
    Tensor = staticmethod(lambda shape, kind: (shape, kind))
    alloc_shared = alloc_fragment = alloc_tmem = staticmethod(Buffer)

    @contextlib.contextmanager
    def Kernel(self, *blocks, threads):  # noqa: N802
        assert all(0 <= b < count for b, count in zip(self.block, blocks))
        self.threads = threads
        yield self.block

    def annotate_ws_schedule(self, schedule):
        self.schedule = schedule

    def serial(self, n, annotations):
        self.loop, self.n = annotations[self.WSID], n
        for self.i in range(n):
            yield self.i
        self.i = None

    def op(self, annotations, act):
        key = annotations[self.WSID], self.i
        if key in self.ops:
            raise Fault(f"two statements {key}")
        self.ops[key] = act

    def copy(self, source, to, annotations):
        def act(view):
            if isinstance(to, Place):
                to.of(source.shape)[:] = view(source)
            else:
                view(to)[:] = source.of(to.shape) if isinstance(source, Place) else view(source)
        self.op(annotations, act)

    def gemm(self, a, b, c, annotations, transpose_A=False, transpose_B=False, clear_accum=False):  # noqa: N803
        def act(view):
            x, y = (view(o).astype(np.float64) for o in (a, b))
            product = (x.T if transpose_A else x) @ (y.T if transpose_B else y)
            view(c)[:] = product + (0 if clear_accum else view(c))
        self.op(annotations, act)


def load(text, block):
    """The file's module with its stand-in for TileLang."""
    language = Language(block)
    package, profiler = types.ModuleType("tilelang"), types.ModuleType("tilelang.profiler")
    package.language, profiler.do_bench = language, None
    kept = {name: sys.modules.get(name) for name in ("tilelang", "tilelang.language", "tilelang.profiler")}
    sys.modules.update({"tilelang": package, "tilelang.language": language, "tilelang.profiler": profiler})
    try:
        module = types.ModuleType("emitted")
        exec(compile(text, "emitted", "exec"), module.__dict__)
    finally:
        for name, was in kept.items():
            if was is None:
                del sys.modules[name]
            else:
                sys.modules[name] = was
    return module, language


class Run:
    """One block's roles, one step of one of them at a time."""

    def __init__(self, language, seed):
        self.language, self.random = language, random.Random(seed)
        schedule = language.schedule
        self.pipelines = {one.name: one for one in schedule.pipelines}
        self.depth = {id(buffer): one for one in schedule.pipelines for buffer in one.buffers}
        self.bodies = {scope.id: scope.bodies for scope in schedule.scopes}
        self.full = dict.fromkeys(self.pipelines, 0)
        self.empty = dict.fromkeys(self.pipelines, 0)
        self.done = set()

    def steps(self, role):
        """(entry, iteration) of all that a role does."""
        for entry in self.bodies["root"].get(role, []):
            if entry != self.language.loop:
                yield entry, None
                continue
            body = self.bodies[entry][role]
            stages = [e[2] for e in body if isinstance(e, tuple)]
            least, open_, plan = min(stages, default=0), {}, []
            for e in body:
                if isinstance(e, tuple):
                    plan.append(e[2] - least)
                    if e[0] in ("producer_acquire", "consumer_wait"):
                        open_[e[1]] = e[2]
                    elif open_.pop(e[1], None) != e[2]:
                        raise Fault(f"{e} ends what was not begun at its stage")
                else:  # (all spans that are open where our ops stand are theirs)
                    plan.append(max(open_.values(), default=least) - least)
            for step in range(self.language.n + max(plan)):
                for e, delta in zip(body, plan):
                    if 0 <= step - delta < self.language.n:
                        yield e, step - delta

    def run(self):
        roles = {role.name: self.steps(role.name) for role in self.language.schedule.roles}
        counts = {(role, name): 0 for role in roles for name in self.pipelines}
        spans = {role: {} for role in roles}
        waiting = {}
        for role, steps in list(roles.items()):
            waiting[role] = next(steps, None)
        while any(step is not None for step in waiting.values()):
            ready = [role for role, step in waiting.items() if step is not None and self.may(step[0], counts, role)]
            if not ready:
                raise Fault(f"deadlock: {waiting}")
            role = self.random.choice(ready)
            self.do(role, *waiting[role], counts, spans[role])
            waiting[role] = next(roles[role], None)
        if any(spans.values()):
            raise Fault(f"left open: {spans}")
        if set(self.language.ops) != self.done:
            raise Fault(f"not executed: {set(self.language.ops) - self.done}")

    def may(self, entry, counts, role):
        if not isinstance(entry, tuple):
            return True
        what, name, _ = entry
        cycle = counts[role, name]
        if what == "producer_acquire":
            return self.empty[name] > cycle - self.pipelines[name].depth
        return what != "consumer_wait" or self.full[name] > cycle

    def do(self, role, entry, i, counts, spans):
        if isinstance(entry, tuple):
            what, name, _ = entry
            if what in ("producer_acquire", "consumer_wait"):
                spans[name] = counts[role, name]
                return
            counts[role, name] += 1
            del spans[name]
            if what == "producer_commit":
                self.full[name] += 1
            else:
                self.empty[name] += 1
            return
        def view(buffer):
            pipeline = self.depth.get(id(buffer))
            if pipeline is None:
                return buffer.copy(0)
            if pipeline.name not in spans:
                raise Fault(f"{entry} uses {pipeline.name} outside its span")
            return buffer.copy(spans[pipeline.name] % pipeline.depth)
        if (entry, i) in self.done:
            raise Fault(f"{entry} of iteration {i} is executed twice")
        self.language.ops[entry, i](view)
        self.done.add((entry, i))


def executed(text, program, n, seeds):
    """The largest error of blocks of a grid, or the fault."""
    error = 0.0
    blocks, batches = (2, 3), 2
    for seed in range(seeds):
        numbers = np.random.default_rng(seed)
        block = tuple(random.Random(seed).randrange(c) for c in (*blocks, batches))
        module, language = load(text, block)
        size = {axis: tile * {"whole": 1, "block": 1, "loop": n}[kind] for axis, (kind, tile) in module.AXES.items()}
        order = [axis for axis, (kind, _) in module.AXES.items() if kind == "block"]
        for k, axis in enumerate(order):
            size[axis] *= blocks[k]
        tensors = {name: Tensor(np.full((batches * size[axes[0]], size[axes[1]]), np.nan, kind) if is_output else
                                numbers.uniform(-1, 1, (batches * size[axes[0]], size[axes[1]])).astype(kind))
                   for name, (axes, kind, is_output) in module.TENSORS.items()}

        def tile(name, i):
            part, host = 0, name
            if name not in module.TENSORS:  # a part of the rows of one
                part, host = int(name[1:name.index("_")]), name[name.index("_") + 1:]
            axes = module.TENSORS[host][0]
            rows, columns = program["meaning"]["tensors"][[t["name"] for t in program["meaning"]["tensors"]].index(name)]["shape"]
            begin = []
            for axis, extent in zip(axes, (rows, columns)):
                kind = module.AXES[axis][0]
                begin.append({"whole": 0, "loop": i, "block": block[order.index(axis)] if axis in order else 0}[kind] * extent)
            begin[0] += part * rows
            return tensors[host].data[block[2] * size[axes[0]] + begin[0]:][:rows, begin[1]:begin[1] + columns]

        want = Oracle(program["meaning"]).run(n, lambda name, i: tile(name, i).astype(np.float64))
        try:
            module.build(batches, *blocks, n)(*tensors.values())
            Run(language, seed).run()
        except (Fault, KeyError, ValueError) as fault:
            return f"n = {n}, seed {seed}: {fault}"
        for (name, i), x in want.items():
            got = tile(name, i).astype(np.float64)
            one = float(np.max(np.abs(got - x)) / max(1.0, float(np.max(np.abs(x)))))
            if not one <= TOLERANCE:
                return f"n = {n}, seed {seed}: {name} is wrong by {one:.2e}"
            error = max(error, one)
    return error


def all_executed(text, program, seeds=6):
    error = 0.0
    for n in (1, 2, 3, 7):
        one = executed(text, program, n, seeds)
        if isinstance(one, str):
            return one
        error = max(error, one)
    return error


def mutants(text):
    """Errors in the schedule and in the tiles."""
    for match in re.finditer(r"T\.WSSync\.\w+\([^)]*\)(, )?", text):
        yield f"without {match.group(0)}", text[:match.start()] + text[match.end():]
    for old, new in ((", i * 64]", ", (i + 1) * 64]"), ("clear_accum=i == 0", "clear_accum=False"), ("transpose_B=True", "transpose_B=False"),
                     ("block_1 * 128", "block_0 * 128"), ("batch * (blocks_1", "batch * (blocks_0")):
        if old in text:
            yield f"{new} in the place of {old}", text.replace(old, new, 1)
            yield f"{new} in the place of the last {old}", new.join(text.rsplit(old, 1))


def compiled(path, text, program, folder):
    """Faults of the CUDA that TileLang makes."""
    import tilelang
    from tilelang import tvm
    spec = importlib.util.spec_from_file_location("emitted", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    faults, spills = [], None
    target = tvm.target.Target({"kind": "cuda", "arch": {9: "sm_90a", 10: "sm_100a"}[module.CAPABILITY]})
    for n in (7, 1, 2):
        with target:
            source = tilelang.lower(module.build(2, 3, 2, n), target=target).kernel_source
        for name, depth in re.findall(r'T\.WSPipeline\("(\w+)", .* depth=(\d+)\)', text):
            for side in ("full", "empty"):
                if f"{name}_{side}_mem[{depth}]" not in source:
                    faults.append(f"n = {n}: no ring {name}_{side} of {depth}")
        for depth in {s["depth"] for s in program["storages"] if s.get("kind", "memory") == "memory"}:
            if f"depth={depth})" not in text:
                faults.append(f"no pipeline of depth {depth}")
        ends = [int(warp) for warp in re.findall(r"T\.WSRole\(.*warps_hi=(\d+)\)", text)]
        faults += [f"n = {n}: no role ends with warp {warp}" for warp in ends if f"< {32 * warp})" not in source]
        if n == 7 and (nvcc := shutil.which("nvcc", path=os.environ["PATH"] + ":/usr/local/cuda/bin")):
            root = os.path.dirname(tilelang.__file__)
            cu = os.path.join(folder, "kernel.cu")
            with open(cu, "w") as file:
                file.write(source)
            done = subprocess.run([nvcc, "-cubin", "-O3", "-std=c++17", f"-arch=sm_{module.CAPABILITY}0a", f"-I{root}/src",
                                   f"-I{root}/3rdparty/cutlass/include", cu, "-o", cu + "bin", "--ptxas-options=-v"],
                                  capture_output=True, text=True)
            if done.returncode != 0:
                faults.append(done.stderr[-500:])
            spills = sum(int(x) for x in re.findall(r"(\d+) bytes spill", done.stderr))
    return faults, spills


def main():
    twill, names = sys.argv[1], sys.argv[2:] or KERNELS
    failed = False
    with_tilelang = importlib.util.find_spec("tilelang") is not None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernel.py")
        for name in names:
            kernel, machine = name.split(":")
            done = subprocess.run([twill, "emit", kernel, "--machine", machine, "--to", "tilelang", "-o", path, "--quiet"],
                                  capture_output=True, text=True)
            program = json.loads(subprocess.run([twill, "program", kernel, "--machine", machine, "--json"], capture_output=True,
                                                text=True, check=True).stdout)
            if done.returncode != 0:
                print(f"{name}: {done.stderr.strip()}")
                failed = True
                continue
            with open(path) as file:
                text = file.read()
            verdict = all_executed(text, program)
            print(f"{name}: {verdict if isinstance(verdict, str) else f'largest error {verdict:.1e}'}")
            failed |= isinstance(verdict, str)
            count = noticed = 0
            for what, changed in mutants(text):
                count += 1
                if not isinstance(all_executed(changed, program), str):
                    print(f"  not noticed: {what}")
                    failed = True
                else:
                    noticed += 1
            print(f"  {noticed} of {count} errors in the text are noticed")
            if with_tilelang:
                faults, spills = compiled(path, text, program, folder)
                print("  compiled by TileLang" + ("" if spills is None else f" and nvcc, {spills} bytes of spills"))
                for fault in faults:
                    print(f"  WRONG: {fault}")
                failed |= bool(faults)
        for name, reason in REFUSED.items() if names == KERNELS else ():
            kernel, machine = name.split(":")
            done = subprocess.run([twill, "emit", kernel, "--machine", machine, "--to", "tilelang", "--quiet"], capture_output=True,
                                  text=True)
            if done.returncode != 2 or reason not in done.stderr or done.stdout:
                print(f"{name}: to be refused with {reason!r}: exit code {done.returncode}, {done.stderr.strip()}")
                failed = True
    if not with_tilelang:
        print("TileLang is not installed: nothing was compiled")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
