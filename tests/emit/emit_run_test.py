"""Executes emitted kernels on the CPU: the text itself, on stand_in.py, beside double precision.

usage: emit_run_test.py TWILL [--mutants] KERNEL:MACHINE...
Exit code 77 without numpy. --mutants: every line with a wait is removed once; each must be noticed, but those that
other waits imply in this run are listed.
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: numpy is not installed")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import host_stand_in  # noqa: E402
import oracle  # noqa: E402
import stand_in  # noqa: E402
from variants import emit_options, options, source  # noqa: E402

KERNELS = ["hopper-fwd-plain:hopper", "hopper-fwd-sub2:hopper", "hopper-fwd-sub2-m128:hopper", "blackwell-fwd-plain:blackwell",
           "blackwell-fwd-sub2:blackwell", "blackwell-fwd-sub2-chunked:blackwell", "gemm:hopper", "gemm:blackwell",
           "hopper-gqa:hopper", "hopper-mlp:hopper", "hopper-bwd:hopper", "hopper-bwd-q64:hopper", "blackwell-bwd:blackwell",
           "hopper-retnet:hopper", "hopper-deltanet:hopper", "fmha-forward:hopper", "fmha-forward:blackwell",
           "hopper-gla:hopper", "hopper-mla:hopper", "hopper-grouped-gemm:hopper", "hopper-layer-norm:hopper",
           "blackwell-bwd-sub2:blackwell", "hopper-gemm-tiles:hopper", "blackwell-gemm-tiles:blackwell",
           "blackwell-fwd-plain+x2:blackwell", "blackwell-fwd-plain+x2+causal:blackwell",
           "gemm+persistent:hopper", "gemm+persistent:blackwell", "hopper-fwd-sub2+persistent:hopper", "hopper-bwd+persistent:hopper",
           "blackwell-fwd-plain+persistent:blackwell", "blackwell-fwd-sub2-chunked+persistent:blackwell",
           "blackwell-bwd+persistent:blackwell"]


def emit(twill, name, folder):
    """(text of the kernel, its program) or None with the reason printed."""
    kernel, machine = source(twill, name, folder)
    program, text = os.path.join(folder, "p.json"), os.path.join(folder, "k.py")
    done = subprocess.run([twill, "program", kernel, "--machine", machine, *options(name), "-o", program, "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{name}: no program: {done.stderr.strip()}")
    done = subprocess.run([twill, "emit", kernel, "--machine", machine, *emit_options(name), "-o", text, "--quiet"], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    with open(text) as file:
        return file.read(), json.load(open(program))


def parts(module, tensor, program):
    """Tensors of the program that the host's `tensor` is made of."""
    names = [t["name"] for t in program["meaning"]["tensors"]]
    if tensor in names:
        return [tensor]
    return [f"s{k}_{tensor}" for k in range(len(names)) if f"s{k}_{tensor}" in names]


def make_inputs(module, program, n, seed, blocks=(1, 1), batch=1):
    random = np.random.default_rng(seed)
    sizes, cut = {}, [a for a, (kind, _) in module.AXES.items() if kind == "block"]
    for axis, (kind, tile) in module.AXES.items():
        sizes[axis] = tile * (n if kind == "loop" else blocks[cut.index(axis)] if kind == "block" else 1)
    inputs = {}
    for name, (axes, kind, is_output) in module.TENSORS.items():
        if not is_output:
            shape = [batch * sizes[axes[0]]] + [sizes[a] for a in axes[1:]]
            number = stand_in.Type(kind)
            ranges = [t.get("range", [-2, 2]) for t in program["meaning"]["tensors"] if t["name"] in parts(module, name, program)]
            inputs[name] = number.rounded(random.uniform(*ranges[0], shape))
    return inputs


def expected(module, program, inputs, n, blocks=(1, 1), batch=1):
    """By the program's own meaning, block by block; tiles placed as the file says (AXES)."""
    shapes = {t["name"]: t["shape"] for t in program["meaning"]["tensors"]}
    cut = [a for a, (kind, _) in module.AXES.items() if kind == "block"]
    sizes = {axis: tile * (n if kind == "loop" else blocks[cut.index(axis)] if kind == "block" else 1)
             for axis, (kind, tile) in module.AXES.items()}

    def where(tensor, host, k, i, block, b):
        axes = module.TENSORS[host][0]
        places = []
        for d, axis in enumerate(axes):
            # (A vector an iteration has an axis of iterations before its own.)
            extent = ([1] * (len(axes) - len(shapes[tensor])) + shapes[tensor])[d]
            kind, tile = module.AXES[axis]
            begin = (i if kind == "loop" else block[cut.index(axis)] if kind == "block" else 0) * tile
            begin += k * extent + b * sizes[axis] if d == 0 else 0
            places.append(slice(begin, begin + extent))
        return tuple(places)

    place = {part: (host, k) for host in module.TENSORS for k, part in enumerate(parts(module, host, program))}
    wanted = {host: np.full([batch * sizes[axes[0]]] + [sizes[axis] for axis in axes[1:]], 0.0 if host in module.ADDED else np.nan)
              for host, (axes, _, is_output) in module.TENSORS.items() if is_output}
    for b in range(batch):
        for block in itertools.product(*(range(count) for count in blocks)):
            tiles = oracle.Oracle(program["meaning"]).run(
                n, lambda t, i: inputs[place[t][0]][where(t, *place[t], i, block, b)].reshape(shapes[t]))
            for (tensor, i), tile in tiles.items():
                host, k = place[tensor]
                at = where(tensor, host, k, i, block, b)
                tile = tile.reshape(wanted[host][at].shape)
                wanted[host][at] = wanted[host][at] + tile if host in module.ADDED else tile
    return wanted


def grid_of(module):
    """Blocks along both axes, and batches, in which each program that does block after block has several."""
    if not stand_in.is_persistent(module):
        return (1, 1), 1
    cut = [a for a, (kind, _) in module.AXES.items() if kind == "block"]
    return ((2, 2), 1) if len(cut) == 2 else ((2, 1), 2) if len(cut) == 1 else ((1, 1), 3)


def softmax(scores):
    """Of rows, and the logarithms of their sums; without keys 0 and -inf."""
    if scores.shape[-1] == 0:
        return scores, np.full(scores.shape[:-1], -np.inf)
    top = scores.max(-1, keepdims=True)
    p = np.exp(scores - top)
    return p / p.sum(-1, keepdims=True), (top + np.log(p.sum(-1, keepdims=True)))[..., 0]


def closed_form(program, inputs, batch):
    """Formulas that know nothing of tiles; None where there is none (a mask)."""
    if any(op["computes"][0] in ("causal", "within") for op in program["meaning"]["ops"]):
        return None
    if set(inputs) == {"A", "B", "S"}:  # a scale a row and 128 columns
        a, b = (inputs[x].astype(np.float64) for x in "AB")
        c = np.zeros([a.shape[0], b.shape[0]])
        for k, scales in enumerate(inputs["S"].astype(np.float64).reshape(-1, a.shape[0])):
            c += a[:, 128 * k:128 * k + 128] @ b[:, 128 * k:128 * k + 128].T * scales[:, None] * program["meaning"]["constants"]["scale_b"]
        return {"C": c}
    if set(inputs) == {"X"}:
        x = inputs["X"].astype(np.float64)
        return {"Sum": x.sum(-1), "Squares": (x * x).sum(-1)}
    if set(inputs) == {"Q_c", "Q_r", "C", "R"}:
        q, r, c, k = (inputs[x].astype(np.float64).reshape(batch, -1, inputs[x].shape[-1]) for x in ("Q_c", "Q_r", "C", "R"))
        scores = (np.einsum("bqd,bkd->bqk", q, c) + np.einsum("bqd,bkd->bqk", r, k)) / np.sqrt(192)
        p, lse = softmax(scores)
        o = np.einsum("bqk,bkd->bqd", p, c).reshape(-1, c.shape[-1])
        return {"O0": o[:, :256], "O1": o[:, 256:], "LSE": lse.reshape(-1)}
    if set(inputs) == {"A", "B"}:
        a, b = (x.astype(np.float64) for x in (inputs["A"], inputs["B"]))
        return {"C": a @ b.T}
    if set(inputs) == {"Q", "K", "V", "dO", "LSE", "Delta"}:
        constants = program["meaning"]["constants"]
        x = {name: x.astype(np.float64).reshape(batch, -1, *x.shape[1:]) for name, x in inputs.items()}
        p = np.exp2(constants["scale"] * np.einsum("bqd,bkd->bqk", x["Q"], x["K"]) - x["LSE"][:, :, None])
        ds = p * (np.einsum("bqd,bkd->bqk", x["dO"], x["V"]) - x["Delta"][:, :, None])
        out = {"dV": np.einsum("bqk,bqd->bkd", p, x["dO"]), "dK": np.einsum("bqk,bqd->bkd", ds, x["Q"]) * constants["softmax_scale"],
               "dQ": np.einsum("bqk,bkd->bqd", ds, x["K"])}
        return {name: tile.reshape(-1, tile.shape[-1]) for name, tile in out.items()}
    if set(inputs) == {"Q", "K", "V"}:
        q, k, v = (inputs[x].astype(np.float64).reshape(batch, -1, inputs[x].shape[-1]) for x in "QKV")
        p, lse = softmax(np.einsum("bqd,bkd->bqk", q, k) / np.sqrt(q.shape[-1]))
        return {"O": np.einsum("bqk,bkd->bqd", p, v).reshape(-1, v.shape[-1]), "LSE": lse.reshape(-1)}
    return None


def worst(outputs, wanted):
    """Largest error, relative to the largest number wanted (at least 1)."""
    error = 0.0
    for name, want in wanted.items():
        got = np.asarray(outputs[name], np.float64)
        assert got.shape == want.shape, (name, got.shape, want.shape)
        with np.errstate(all="ignore"):
            difference = np.where(got == want, 0.0, np.abs(got - want))
        finite = np.abs(want[np.isfinite(want)])
        one = float(difference.max(initial=0.0)) / max(1.0, float(finite.max()) if finite.size else 1.0)
        if np.isnan(one):
            return one
        error = max(error, one)
    return error


TOLERANCE = 4e-3  # f16 results of f32 sums; a wrong tile is off by 0.1 and more
TOLERANCE_BF16 = 1.2e-2  # it has 8 bits; chunks are rounded one after the other


def tolerance_of(module):
    return TOLERANCE_BF16 if any(kind == "bfloat16" for _, kind, _ in module.TENSORS.values()) else TOLERANCE


def in_flight(held, text):
    """Is there anything of the kind in the text?"""
    return ("tma.async_" in text.replace("tma.async_load", "") if held.endswith(" stores") else
            "async_copy." in text if held.endswith(" vectors") else True)


def run_all(text, name, program, counts, seeds):
    """The largest error of all runs, or the first fault as a text."""
    module = stand_in.load(text, name)
    error = 0.0
    tolerance = tolerance_of(module)
    orders = [(held, 0) for held in stand_in.held_back(module) if in_flight(held, text)]
    orders += [(held, 0) for held, (axes, _, is_output) in module.TENSORS.items() if len(axes) == 2 and not is_output]
    orders += [(late, seed) for late in ("late", "eager", "random") for seed in range(seeds)]
    blocks, batch = grid_of(module)
    for n in counts:
        inputs = make_inputs(module, program, n, n, blocks, batch)
        # (The formulas are of heads, of which several blocks may be one.)
        alone = None if stand_in.is_persistent(module) else closed_form(program, inputs, 1)
        wanted = [w for w in (expected(module, program, inputs, n, blocks, batch), alone) if w is not None]
        for late, seed in orders:
            try:
                outputs = stand_in.run(module, inputs, n, seed, late, blocks, batch)
            except (stand_in.Fault, AssertionError) as fault:
                return f"n = {n}, seed {seed}, {late}: {fault}"
            for want in wanted:
                one = worst(outputs, want)
                if not one <= tolerance:
                    return f"n = {n}, seed {seed}, {late}: wrong by {one:.2e}"
                error = max(error, one)
    return error


def run_grid(text, name, program):
    """Several blocks and batches, where a formula says what comes out."""
    module = stand_in.load(text, name)
    cut = [a for a, (kind, _) in module.AXES.items() if kind == "block"]
    blocks, batch = ([2, 3] + [1])[:2], 2
    if len(cut) < 2:
        blocks = [2, 1]
    if "A" in module.TENSORS or "X" in module.TENSORS:
        batch = 1
    if "Q" in module.TENSORS and len(cut) == 2:
        blocks = [2, 1]  # (one block has the whole head)
    inputs = make_inputs(module, program, 2, 5, blocks, batch)
    want = closed_form(program, inputs, batch)
    if want is None:
        return "no formula"
    outputs = stand_in.run(module, inputs, 2, 1, "random", tuple(blocks), batch, 3)
    return worst(outputs, want)


def launches(text, name, program):
    """The largest error of what the file's own launch() returns, without an iteration, too."""
    module, error = stand_in.load(text, name), 0.0
    blocks, batch = grid_of(module)
    for n in (0, 2):
        inputs = make_inputs(module, program, n, n, blocks, batch)
        error = max(error, worst(host_stand_in.launched(module, inputs, batch), expected(module, program, inputs, n, blocks, batch)))
    return error


def waits_of(text):
    return [k for k, line in enumerate(text.split("\n"))
            if line.lstrip().startswith("mbarrier.wait(") or "tma.store_wait(" in line
            or "= warpgroup_mma_wait(" in line and "waits for none" not in line]


def without(text, k):
    lines = text.split("\n")
    indent = lines[k][:len(lines[k]) - len(lines[k].lstrip())]
    lines[k] = indent + "pass"
    return "\n".join(lines)


def mutants(text, name, program, seeds):
    """(number noticed, number of waits, what survived): each wait removed once."""
    survived = []
    all_ = waits_of(text)
    for k in all_:
        verdict = run_all(without(text, k), name, program, (3, 1, 2, 7), seeds)
        if not isinstance(verdict, str):
            survived.append(f"line {k + 1}: {text.split(chr(10))[k].strip()}")
    return len(all_) - len(survived), len(all_), survived


def main():
    twill, arguments = sys.argv[1], sys.argv[2:]
    with_mutants = "--mutants" in arguments
    names = [a for a in arguments if not a.startswith("--")] or KERNELS
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            text, program = emit(twill, name, folder)
            if text is None:
                print(f"{name}: refused: {program}")
                failed = True
                continue
            verdict = run_all(text, name, program, (0, 1, 2, 3, 7), 2)
            if isinstance(verdict, str):
                print(f"{name}: {verdict}")
                failed = True
                continue
            grid = run_grid(text, name, program)
            through_host = launches(text, name, program)
            print(f"{name}: largest error {verdict:.1e}; of a grid: {grid if isinstance(grid, str) else format(grid, '.1e')}; "
                  f"through launch(): {through_host:.1e}")
            failed |= not through_host <= tolerance_of(stand_in.load(text, name))
            failed |= not isinstance(grid, str) and not grid <= tolerance_of(stand_in.load(text, name))
            if with_mutants:
                noticed, count, survived = mutants(text, name, program, 1)
                print(f"  {noticed} of {count} removed waits are noticed")
                for one in survived:
                    print(f"  survives: {one}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
