"""Clocks of a main loop, predicted from its machine code: one scheduler of a Hopper multiprocessor with a warp of each consumer
warpgroup. A model: nothing that it prints was measured.

usage: simulate.py LISTING [NAME]     LISTING: cuobjdump --dump-sass of a cubin or object; NAME: part of a kernel's name

What is modelled. A scheduler issues at most one instruction a clock. A warp's next one waits for the stall count of the one
before, the scoreboards that it names (control_codes.py), its unit, a wait for products, a named barrier. The scheduler stays with
a warp while it can issue every clock and asks for no yield (Huerta et al. 2025, Section 5.1.2), else it takes the one that has
been able to for longest (there it is the youngest, with queues at the units, which this model lacks). The four quadrants are alike, so one stands for all; the tensor cores are one unit that runs products in the order of issue.

What is not: instruction caches, register banks, bank conflicts, shared memory's bandwidth between units, the loader (K, V, Q and dO
have always arrived), the limit of products in the queue, clocks of the power limit. A branch is followed as most rounds do:
waits succeed, the mask is skipped, lane 0's arrivals are executed.

Sources of the numbers in UNITS and LATENCY: throughputs from the CUDA C++ Programming Guide's table of arithmetic instructions
for compute capability 9.0 (per SM and clock: 128 FP32, 64 integer, comparison and conversion, 16 MUFU, 32 lanes of shuffle, 128
bytes of shared memory), which the stall counts of ptxas agree with; HGMMA from Luo et al., "Benchmarking and Dissecting the
NVIDIA Hopper GPU Architecture through Microbenchmarking" (2024): 128 clocks for m64n256k16, in proportion to N; shared memory
latency from the same. The rest is assumed and marked so."""
import re
import sys

sys.dont_write_bytecode = True
import control_codes  # noqa: E402
import machine_code  # noqa: E402

# Pattern, unit, clocks of the unit in one quadrant, latency until a scoreboard that it raised is lowered. First match.
UNITS = [
    (r"MUFU", "MUFU", 8, 18),            # latency: what ptxas leaves between it and a first use
    (r"SHFL", "memory", 4, 24),          # latency assumed
    (r"F2FP|FMNMX|FSETP|FSEL|SEL|ISETP|LOP3|IADD3|VIADD|VIMNMX|SHF|LEA|PRMT|PLOP3|IABS|POPC|VOTE", "ALU", 2, 6),
    (r"FFMA|FMUL|FADD", "FMA", 1, 4),
    (r"IMAD|CS2R|MOV", "FMA", 1, 4),     # IMAD.MOV and shifts: as fast as ptxas spaces them
    (r"LDS\.128|STS\.128", "memory", 16, 33),
    (r"LDS\.64|STS\.64", "memory", 8, 30),
    (r"LDSM|STSM", "memory", 16, 33),
    (r"LDS|STS", "memory", 4, 29),
    (r"LDC|ULDC|S2R|S2UR", "memory", 4, 30),
    (r"SYNCS", "memory", 4, 22),         # assumed: an mbarrier looked at or arrived at
    (r"MEMBAR", "memory", 4, 32),        # assumed: the block's scope
    (r"FENCE", "memory", 4, 20),         # assumed
    (r"R2UR", "memory", 2, 12),
    (r"U[A-Z0-9]+", "uniform", 1, 6),
]
BARRIER = 24       # assumed: from the last arrival at a named barrier to the first instruction behind it
PRODUCT_START = 8  # assumed: from a product's issue to its first clock on the tensor core
PRODUCT_TAIL = 32  # assumed: from its last clock until a wait for it is over
REDUCTION = 16     # bytes a clock that dQ's reduction takes (model.md); its buffer is free when it has been read


class Instruction:
    """One instruction as the simulator sees it."""
    __slots__ = ("text", "control", "kind", "unit", "clocks", "latency", "number", "threads", "commits")

    def __init__(self, text, control):
        self.text, self.control = text, control
        self.kind, self.unit, self.clocks, self.latency = "plain", None, 0, 6
        self.number = self.threads = 0
        self.commits = False
        word = text.split()[0]
        product = re.match(r"HGMMA\.64x(\d+)x16\.", word)
        wait = re.match(r"WARPGROUP\.DEPBAR\S*\s+\S+,\s*0x([0-9a-f]+)", text)
        barrier = re.match(r"BAR\.(SYNC|ARV)\S*\s+(\S+),\s*(0x[0-9a-f]+)", text)
        if product:
            self.kind, self.clocks, self.commits = "product", int(product[1]) // 2, "gsb0" in text
        elif word.startswith("HGMMA"):
            raise ValueError(f"a product of unknown shape: {text}")
        elif wait:
            self.kind, self.number = "wait", int(wait[1], 16)
        elif barrier:
            self.kind = "sync" if barrier[1] == "SYNC" else "arrive"
            self.number, self.threads = barrier[2], int(barrier[3], 16)
        else:
            for pattern, unit, clocks, latency in UNITS:
                if re.match(pattern, word):
                    self.unit, self.clocks, self.latency = unit, clocks, latency
                    break


def path(code, body):
    """A round of the loop as most rounds go: the instructions of `body` (sorted indices into code, a Function of control_codes) from
    its first to the branch back. A forward branch is taken if it skips code that selects -INF, the mask."""
    index = {at: i for i, (at, _, _, _) in enumerate(code)}
    inside, result, i = set(body), [], body[0]
    while True:
        _, predicate, text, control = code[i]
        result.append(Instruction(text, control))
        target = re.search(r"\b0x([0-9a-f]+)\s*$", text) if text.startswith("BRA") else None
        if target:
            to = index[int(target[1], 16)]
            if to == body[0]:
                return result
            conditional = predicate or re.match(r"BRA\S*\s+!?U?P", text)
            skipped = [code[k][2] for k in range(i + 1, to)] if to > i else []
            out_of_line = to > i and to in inside and not any(k not in inside for k in range(i, to))
            masks = out_of_line and sum("-INF" in words for words in skipped) > 8
            if not conditional or masks:
                i = to
                continue
        i += 1
        if len(result) > 100000 or i not in inside:
            raise ValueError(f"no way round the loop from {code[body[0]][0]:#x}")


class Warp:
    """One warp, with its place in its loop and what it waits for."""

    def __init__(self, loop, start):
        self.loop, self.at, self.round = loop, 0, 0
        self.ready = start                 # by stall counts
        self.boards = [0] * 6              # clock at which each scoreboard is down
        self.open = 0                      # when the products of the open group have ended
        self.groups = []                   # ends of committed groups, oldest first
        self.blocked = False               # at a named barrier
        self.rounds = []                   # clock at which each round began
        self.free = 0                      # its staging buffer of dQ
        self.waited = None                 # when the last wait for products was over
        self.chains = []                   # clocks from there to the next product, a list a round


class Simulation:
    """Loops of several warps on one scheduler. `tokens`: arrivals there are at the beginning, name of the barrier -> count.
    `reduced`: bytes of a warpgroup's part of dQ."""

    def __init__(self, loops, starts=None, tokens=None, reduced=16384, alone=False):
        self.warps = [Warp(loop, (starts or [0] * len(loops))[n]) for n, loop in enumerate(loops)]
        self.units, self.tensor, self.busy = {}, 0, 0
        self.barriers = dict(tokens or {})
        self.waiting = {}
        self.last, self.yielded, self.clock = None, False, -1
        self.reduction, self.reduced = 0, reduced
        self.alone = alone  # every named barrier lets pass

    def since(self, w):
        """The clock from which the warp's next instruction could be issued if it had the scheduler and its unit for itself."""
        warp = self.warps[w]
        if warp.blocked:
            return float("inf")
        op = warp.loop[warp.at]
        pending = len(warp.groups) - op.number if op.kind == "wait" else 0
        return max([warp.ready] + [warp.boards[b] for b in op.control.wait] + warp.groups[:max(0, pending)])

    def earliest(self, w):
        """The first clock at which the warp's next instruction may be issued."""
        unit = self.warps[w].loop[self.warps[w].at].unit
        return max(self.since(w), self.clock + 1, self.units.get(unit, 0))

    def step(self):
        """Issues one instruction; its warp's number."""
        when = [self.earliest(w) for w in range(len(self.warps))]
        clock = min(when)
        if clock == float("inf"):
            raise RuntimeError("all warps wait at named barriers")
        ready = [w for w, at in enumerate(when) if at == clock]
        others = [w for w in ready if w != self.last] or ready
        stays = self.last in ready and clock == self.clock + 1 and not self.yielded
        w = self.last if stays else min(others if self.yielded else ready, key=lambda w: (self.since(w), -w))
        warp = self.warps[w]
        op = warp.loop[warp.at]
        if warp.at == 0:
            warp.rounds.append(clock)
            warp.chains.append([])
        self.clock, self.last, self.yielded = clock, w, op.control.yields
        warp.ready = clock + max(op.control.stall, 1)
        if op.unit:
            self.units[op.unit] = clock + op.clocks
        for board in (op.control.write, op.control.read):
            if board is not None:
                warp.boards[board] = max(warp.boards[board], clock + op.latency)
        if op.kind == "product":
            if warp.waited is not None:
                warp.chains[-1].append(clock - warp.waited)
                warp.waited = None
            self.tensor = max(self.tensor, clock + PRODUCT_START) + op.clocks
            self.busy += op.clocks
            warp.open = self.tensor + PRODUCT_TAIL
            if op.commits:
                warp.groups.append(warp.open)
        elif op.kind == "wait":
            del warp.groups[:max(0, len(warp.groups) - op.number)]
            warp.waited = clock
        elif op.kind in ("sync", "arrive"):
            self.meet(w, op, clock)
        warp.at += 1
        if warp.at == len(warp.loop):
            warp.at = 0
            warp.round += 1
        return w

    def meet(self, w, op, clock):
        """A named barrier. Of 256 threads it is both warpgroups', of 160 a warpgroup's and the warp's that reduces dQ, of 128 its own."""
        warp = self.warps[w]
        if op.threads % 128 == 32:
            if op.kind == "sync":
                warp.ready = max(warp.ready, warp.free + BARRIER)
            else:
                self.reduction = max(self.reduction, clock + BARRIER) + self.reduced // REDUCTION
                warp.free = self.reduction
            return
        if self.alone or op.threads == 128:
            warp.ready = max(warp.ready, clock + (BARRIER if op.kind == "sync" else 0))
            return
        self.barriers[op.number] = self.barriers.get(op.number, 0) + 1
        if op.kind == "sync":
            warp.blocked = True
            self.waiting.setdefault(op.number, []).append(w)
        if self.barriers[op.number] == op.threads // 128:
            self.barriers[op.number] = 0
            for other in self.waiting.pop(op.number, []):
                self.warps[other].blocked = False
                self.warps[other].ready = max(self.warps[other].ready, clock + BARRIER)

    def run(self, rounds):
        """Until every warp has gone round so often. One that never stalls or yields would keep the others from it."""
        while min(warp.round for warp in self.warps) < rounds:
            self.step()
            if max(warp.round for warp in self.warps) > 100 * rounds:
                raise RuntimeError("a warp never lets another one issue")
        return self


def name_turns(loop, other):
    """A barrier of both warpgroups whose number is in a register is the one at which the other warpgroup arrives."""
    arrivals = {op.number for op in other if op.kind == "arrive" and op.threads == 256}
    for op in loop:
        if op.kind == "sync" and op.threads == 256 and "R" in op.number:
            if len(arrivals) != 1:
                raise ValueError(f"whose barrier is it: {op.text}")
            op.number = next(iter(arrivals))


def predict(loops, rounds=24, reduced=16384, warpgroups=2):
    """The steady state of all warpgroups: clocks a round, share of the tensor core's that it works, clocks of its products in a
    round, the longest chain of a warp alone from a wait for products to the next product, and that between which two."""
    both = loops if len(loops) == warpgroups else loops * warpgroups
    for loop, other in zip(both, both[::-1]):
        name_turns(loop, other)
    named = sorted({op.number for loop in both for op in loop if op.kind == "sync" and op.threads == 256})
    arrives = any(op.kind == "arrive" and op.threads == 256 for loop in both for op in loop)
    alone = [Simulation([loop], alone=True, reduced=reduced).run(8).warps[0] for loop in both]
    # With turns the order is fixed. Without, two beginnings: together, and as far apart as may be in a round.
    apart = (alone[0].rounds[-1] - alone[0].rounds[-2]) // len(both)
    starts = [[0] * len(both)] + ([] if arrives else [[apart * n for n in range(len(both))]])
    clocks = []
    for start in starts:
        done = Simulation(both, start, {named[0]: 1} if arrives else None, reduced).run(rounds)
        half = rounds // 2
        clocks.append(max((w.rounds[rounds - 1] - w.rounds[half - 1]) / (rounds - half) for w in done.warps))
    products = sum(op.clocks for loop in both for op in loop if op.kind == "product")
    return {"clocks": clocks, "products": products,
            "alone": [warp.rounds[-1] - warp.rounds[-2] for warp in alone],
            "chains": [warp.chains[-2] for warp in alone]}


def main_loops(text):
    """Of every kernel of a listing: (its Function, the rounds of its main loops)."""
    codes = control_codes.listing(text.splitlines())
    for function in machine_code.parse(text):
        code = codes[function.name]
        loops = [path(code, body) for body in function.main_loops()]
        if loops:
            yield function, loops


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        for function, loops in main_loops(file.read()):
            if len(sys.argv) > 2 and sys.argv[2] not in function.name:
                continue
            got = predict(loops)
            print(" ".join(map(str, machine_code.label(function.name) or (function.name,))))
            print("  clocks a round", [round(c, 1) for c in got["clocks"]], "products", got["products"], "alone", got["alone"],
                  "chains", got["chains"])
