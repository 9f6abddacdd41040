#!/usr/bin/env python3
"""cp_sat.py PROBLEM II LENGTH: is there a schedule at this initiation interval no longer than this?

The modulo form of the problem for the CP-SAT solver of OR-Tools, one worker: `twill bench peers`
runs it where the Python package ortools is installed. Prints sat, unsat or unknown, and after sat
a schedule as JSON. --version prints the solver's and nothing else.

Rows and stages are integers, lifetimes intervals on a circle of I residues: whole turns add to the
demand of every residue, the rest is an interval that is also laid one turn later, so that all of the
second turn is seen as it repeats.
"""

import json
import sys
from fractions import Fraction

import ortools
from ortools.sat.python import cp_model


class Circle:
    """Demands on the residues of I that must not exceed a capacity."""

    def __init__(self, model, ii, capacity):
        self.model, self.ii, self.capacity = model, ii, capacity
        self.intervals, self.demands, self.whole = [], [], []

    def add(self, start, length, demand, present=True):
        """`start` in [0, I), an expression; `length` in [0, I], so too."""
        end = self.model.NewIntVar(0, 2 * self.ii, "")
        self.model.Add(end == start + length)
        for turn in (0, self.ii):
            self.intervals.append(
                self.model.NewOptionalIntervalVar(start + turn, length, end + turn, present, "")
            )
            self.demands.append(demand)

    def add_turns(self, amount):
        """`amount` on every residue, an expression."""
        self.whole.append(amount)

    def close(self):
        if self.whole:
            everywhere = self.model.NewIntVar(0, self.capacity, "")
            self.model.Add(everywhere == sum(self.whole))
            self.intervals.append(self.model.NewFixedSizeIntervalVar(0, 2 * self.ii, ""))
            self.demands.append(everywhere)
        if self.intervals:
            self.model.AddCumulative(self.intervals, self.demands, self.capacity)


def buffer_holders(problem, load):
    """The load and the ops of no cycles that hold its buffer: op -> iterations after the load, of several ways the
    longest (graph/ring_depth.hpp)."""
    ops, edges = problem["ops"], problem["edges"]
    index = {op["id"]: v for v, op in enumerate(ops)}
    ways = [(index[e["from"]], index[e["to"]], e["distance"]) for e in edges]
    holders = [load]
    for holder in holders:
        holders += dict.fromkeys(v for u, v, _ in ways if u == holder and not ops[v]["cycles"] and v not in holders)
    ways = [(u, v, distance) for u, v, distance in ways if u != v and u in holders and v in holders]
    after = {load: 0}
    while len(after) < len(holders):
        most, waiting = {}, set()
        for u, v, distance in ways:
            if u in after:
                most[v] = max(most.get(v, 0), after[u] + distance)
            else:
                waiting.add(v)
        found = {v: most[v] for v in holders if v in most and v not in after}
        after.update({v: i for v, i in found.items() if v not in waiting} or found)
    return after


def charged_rings(problem, memory):
    """Of a memory that charges rings: load -> size of each buffer, load -> its holders, and the ops that are not
    charged while they are live, as they are in a ring."""
    ops, holders = problem["ops"], {}
    if not isinstance(problem["memories"][memory], dict) or not problem["memories"][memory].get("rings"):
        return {}, {}, set()
    for u, op in enumerate(ops):
        if op.get("streaming") or op.get("in_flight"):
            holders[u] = buffer_holders(problem, u)
    buffers, inside = {}, set()
    for v, op in enumerate(ops):
        owners = [u for u in holders if v in holders[u]]
        if len(owners) == 1 and op.get("memory", {}).get(memory):
            buffers[owners[0]] = buffers.get(owners[0], 0) + op["memory"][memory]
            inside.add(v)
    return buffers, holders, inside


def capacity_of(memory):
    return memory["capacity"] if isinstance(memory, dict) else memory


def build(problem, ii, length):
    model = cp_model.CpModel()
    ops, edges, slots = problem["ops"], problem["edges"], problem["warps"]
    index = {op["id"]: v for v, op in enumerate(ops)}
    if any(op["cycles"] > length for op in ops):
        return None
    stages = length // ii
    stage = [model.NewIntVar(0, stages, "") for _ in ops]
    row = [model.NewIntVar(0, ii - 1, "") for _ in ops]
    start = []
    for v, op in enumerate(ops):
        start.append(model.NewIntVar(0, length - op["cycles"], op["id"]))
        model.Add(start[v] == row[v] + ii * stage[v])

    # Slots: wide enough; those of variable latency on the slot for them, and nothing else there.
    dynamic = [w for w, slot in enumerate(slots) if slot.get("variable_latency")]
    on = []
    for op in ops:
        literals = [model.NewBoolVar("") for _ in slots]
        model.AddExactlyOne(literals)
        for w, slot in enumerate(slots):
            wrong = bool(dynamic) and (w in dynamic) != bool(op.get("variable_latency"))
            if wrong or slot["width"] < op.get("width", 1):
                model.Add(literals[w] == 0)
        on.append(literals)
    pairs = {}

    def together(u, v):
        """Do u and v share a slot?"""
        key = min(u, v), max(u, v)
        if key not in pairs:
            same = model.NewBoolVar("")
            for w in range(len(slots)):
                model.AddBoolOr(same.Not(), on[u][w].Not(), on[v][w])
                model.AddBoolOr(on[u][w].Not(), on[v][w].Not(), same)
            pairs[key] = same
        return pairs[key]

    units = {f: Circle(model, ii, capacity) for f, capacity in problem["units"].items()}
    for v, op in enumerate(ops):
        for f, segments in op.get("reservation", {}).items():
            for offset, span, amount in segments:
                if span // ii:
                    units[f].add_turns(span // ii * amount)
                if span % ii:
                    begin = model.NewIntVar(0, ii - 1, "")
                    model.AddModuloEquality(begin, start[v] + offset, ii)
                    units[f].add(begin, span % ii, amount)

    waits = {}  # v -> literals, any of which makes its issue find nothing executing on its slot
    always = set()  # ops for which that is so anyway
    last = {}
    for e in edges:
        u, v = index[e["from"]], index[e["to"]]
        begun = start[v] + e["distance"] * ii
        model.Add(begun >= start[u] + e["delay"])
        last.setdefault(u, []).append(begun + e.get("hold", 0))
        spill = e.get("spill", ops[u].get("spill", 0))
        if spill and u != v:
            apart = together(u, v).Not()
            model.Add(begun >= start[u] + e["delay"] + spill).OnlyEnforceIf(apart)
            waits.setdefault(v, []).append(apart)
        if e.get("blocking"):
            always.add(v)

    memories = {m: Circle(model, ii, capacity_of(memory)) for m, memory in problem["memories"].items()}
    inside = {}  # memory -> ops that are in its rings
    files = [Circle(model, ii, slot["registers"]) for slot in slots]
    reach = max((e["distance"] for e in edges), default=0) * ii
    reach += length + max((e.get("hold", 0) for e in edges), default=0)
    for m, circle in memories.items():
        buffers, holders, inside[m] = charged_rings(problem, m)
        for u, size in buffers.items():
            uses = [
                (index[e["to"]], holders[u][index[e["from"]]] + e["distance"], e.get("hold", 0))
                for e in edges
                if index[e["from"]] in holders[u]
            ]
            far = reach * (1 + len(holders[u])) + max((op["cycles"] for op in ops), default=0)
            held = model.NewIntVar(0, far, "")
            ends = [start[v] + i * ii + max(ops[v]["cycles"], hold) - start[u] for v, i, hold in uses]
            model.AddMaxEquality(held, ends + [0])
            more = model.NewIntVar(0, far // ii, "")
            rest = model.NewIntVar(0, ii - 1, "")
            model.Add(held == more * ii + rest)
            circle.add_turns((more + 1) * size)
    for u, op in enumerate(ops):
        footprint = {m: a for m, a in op.get("memory", {}).items() if a and u not in inside[m]}
        registers = op.get("registers", 0)
        if u not in last or not (footprint or registers):
            continue
        life = model.NewIntVar(0, reach, "")
        model.AddMaxEquality(life, [use - start[u] for use in last[u]])
        turns = model.NewIntVar(0, reach // ii, "")
        rest = model.NewIntVar(0, ii - 1, "")
        model.Add(life == turns * ii + rest)
        for m, amount in footprint.items():
            memories[m].add(row[u], rest, amount)
            memories[m].add_turns(turns * amount)
        if registers:
            for w in range(len(slots)):
                files[w].add(row[u], rest, registers, on[u][w])
                here = model.NewIntVar(0, reach // ii, "")
                model.Add(here == turns).OnlyEnforceIf(on[u][w])
                model.Add(here == 0).OnlyEnforceIf(on[u][w].Not())
                files[w].add_turns(here * registers)

    for v in sorted(always | waits.keys()):
        waiting = []
        if v not in always:
            waiting = [model.NewBoolVar("")]
            for reason in waits[v]:
                model.AddImplication(reason, waiting[0])
        free = [on[v][w].Not() for w in dynamic]  # the slot of variable latency waits for nobody
        for o, other in enumerate(ops):
            if o == v or other["cycles"] == 0:
                continue
            condition = waiting + free + [together(o, v)]
            wrapped = model.NewBoolVar("")
            since = row[v] - row[o] + ii * wrapped
            model.Add(since >= 0)
            model.Add(since < ii)
            model.Add(since >= other["cycles"]).OnlyEnforceIf(condition)

    for pin in problem.get("pins", []):
        v = index[pin["op"]]
        if "warp" in pin or "not_warp" in pin:
            (w,) = [w for w, s in enumerate(slots) if s["name"] == pin.get("warp", pin.get("not_warp"))]
            model.Add(on[v][w] == ("warp" in pin))
        elif "cycle" in pin:
            model.Add(start[v] == pin["cycle"])
        elif "stage" in pin:
            model.Add(stage[v] == pin["stage"])
        elif "same_warp_as" in pin:
            model.Add(together(v, index[pin["same_warp_as"]]) == 1)
        else:
            model.Add(together(v, index[pin["other_warp_than"]]) == 0)

    for circle in list(units.values()) + list(memories.values()) + files:
        circle.close()
    return model, start, on


def refuse_unknown(problem):
    """What is in a problem file and not in the model would be another problem solved."""
    if problem.get("inner_loops"):
        sys.exit("cp_sat.py: /inner_loops: inner loops are not in the model")
    known = set(
        "format version doc name cycle_unit initiation_interval units memories channels warps ops edges pins "
        "inner_loops".split()
    )
    if unknown := sorted(set(problem) - known):
        sys.exit(f"cp_sat.py: /{unknown[0]} is not in the model")


def outside(problem, ii):
    """Is this interval outside the range that the problem asks about?"""
    asked = problem.get("initiation_interval", {})
    return ii < asked.get("least", 1) or ii > asked.get("most", ii)


def moves_too_much(problem, ii):
    """Does more pass through some channel in an iteration than in ii cycles can?"""
    def exact(number):
        return Fraction(*number) if isinstance(number, list) else Fraction(number)

    for name, rate in problem.get("channels", {}).items():
        moved = sum(exact(op["traffic"][name]) for op in problem["ops"] if name in op.get("traffic", {}))
        if moved > ii * exact(rate):
            return True
    return False


def main():
    if sys.argv[1:] == ["--version"]:
        print("OR-Tools CP-SAT", ortools.__version__)
        return
    with open(sys.argv[1], encoding="utf-8") as file:
        problem = json.load(file)
    ii, length = int(sys.argv[2]), int(sys.argv[3])
    refuse_unknown(problem)
    impossible = moves_too_much(problem, ii) or outside(problem, ii)
    built = None if impossible else build(problem, ii, length)
    if built is None:
        print("unsat")
        return
    model, start, on = built
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.Solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        print("unsat" if status == cp_model.INFEASIBLE else "unknown")
        return
    print("sat")
    chosen = [w for slots in on for w, literal in enumerate(slots) if solver.Value(literal)]
    placed = [
        {"id": op["id"], "start": solver.Value(start[v]), "warp": problem["warps"][chosen[v]]["name"]}
        for v, op in enumerate(problem["ops"])
    ]
    print(json.dumps({"initiation_interval": ii, "length": length, "ops": placed}))


if __name__ == "__main__":
    main()
