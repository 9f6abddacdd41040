#!/usr/bin/env python3
"""cp_sat_optimum.py PROBLEM --cpu SECONDS --threads N: the smallest I, then the smallest L, by OR-Tools' CP-SAT.

`twill bench modules` runs it where the Python package ortools is installed. Whether there is a schedule at an I is
asked of the model of cp_sat.py: at the bound of units, channels and recurrences, where all ops fit one after another,
and then by bisection, where a schedule at I gives one at I + 1; where not, upward from the bound. L is minimised at the I that is left. Prints a line of JSON whenever a bound or a
schedule is better: cpu (seconds of this process since the model's module was loaded), ii and length as [bound, found],
0 = none, and ops with each schedule. Bounds are of schedules no longer than "within", printed first: long enough for
all ops one after another.
"""

import argparse
import json
import threading
import time

from cp_sat import build, moves_too_much, outside, refuse_unknown
from ortools.sat.python import cp_model


def reserved(problem):
    """unit -> cycles of all instances that an iteration takes."""
    taken = {}
    for op in problem["ops"]:
        for unit, segments in op.get("reservation", {}).items():
            taken[unit] = taken.get(unit, 0) + sum(span * amount for _, span, amount in segments)
    return taken


def recurrence_fits(problem, ii):
    """Is there no circle of dependences whose delays are more than its distance times ii?"""
    start = {op["id"]: 0 for op in problem["ops"]}
    for _ in problem["ops"]:
        changed = False
        for e in problem["edges"]:
            least = start[e["from"]] + e["delay"] - e["distance"] * ii
            if start[e["to"]] < least:
                start[e["to"]], changed = least, True
        if not changed:
            return True
    return False


def first_bound(problem, most):
    """No smaller I has a schedule."""
    low = max([1, problem.get("initiation_interval", {}).get("least", 1)])
    for unit, taken in reserved(problem).items():
        low = max(low, -(-taken // problem["units"][unit]))
    for within in (lambda ii: not moves_too_much(problem, ii), lambda ii: recurrence_fits(problem, ii)):
        high = max(most, low)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if within(middle) else (middle + 1, high)
    return low


def monotone(problem):
    """Does a schedule at I give one at I + 1? (Each op takes each unit once, from its issue on; no pin to a time.)"""
    once = all(
        len(segments) == 1 and segments[0][0] == 0
        for op in problem["ops"]
        for segments in op.get("reservation", {}).values()
    )
    return once and not any("cycle" in pin or "stage" in pin for pin in problem.get("pins", []))


def serial_length(problem):
    """All ops one after another, each as long as it and what it hands on take."""
    longest = {op["id"]: op["cycles"] for op in problem["ops"]}
    for e in problem["edges"]:
        longest[e["from"]] = max(longest[e["from"]], e["delay"] + e.get("spill", 0))
    spill = sum(op.get("spill", 0) for op in problem["ops"])
    return max(1, sum(longest.values()) + spill)


class Found(cp_model.CpSolverSolutionCallback):
    def __init__(self, take):
        super().__init__()
        self.take = take

    def on_solution_callback(self):
        self.take(self.Value)


class Optimum:
    def __init__(self, problem, cpu, threads):
        self.problem, self.cpu, self.threads = problem, cpu, threads
        self.begin = time.process_time()
        self.within = serial_length(problem)
        self.ii, self.length, self.best = [0, 0], [0, 0], None
        self.told = None
        self.solver = None
        self.until = cpu  # CPU seconds when the question that is asked ends
        threading.Thread(target=self.watch, daemon=True).start()

    def spent(self):
        return time.process_time() - self.begin

    def watch(self):
        while True:
            time.sleep(0.05)
            if self.solver and self.spent() >= self.until:
                self.solver.StopSearch()

    def tell(self, schedule=None):
        state = [list(self.ii), list(self.length)]
        if state == self.told:
            return
        self.told = state
        line = {"cpu": round(self.spent(), 3), "ii": self.ii, "length": self.length}
        if schedule:
            line["ops"] = schedule
        print(json.dumps(line), flush=True)

    def take(self, ii, start, on, value):
        slots = [w for literals in on for w, literal in enumerate(literals) if value(literal)]
        ops = self.problem["ops"]
        schedule = [
            {"id": op["id"], "start": value(start[v]), "warp": self.problem["warps"][slots[v]]["name"]}
            for v, op in enumerate(ops)
        ]
        length = max(1, max(placed["start"] + op["cycles"] for placed, op in zip(schedule, ops)))
        if self.best is None or (ii, length) < (self.ii[1], self.length[1]):
            self.ii[1], self.length[1], self.best = ii, length, schedule
            self.tell(schedule)

    def ask(self, ii, length, seconds, minimise=False):
        """sat, unsat or unknown of schedules at ii no longer than length; sat of the least where it is minimised."""
        self.until = min(self.cpu, self.spent() + seconds)
        built = None if moves_too_much(self.problem, ii) or outside(self.problem, ii) else build(self.problem, ii, length)
        if built is None:
            return "unsat"
        model, start, on = built
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = self.threads
        if minimise:
            end = model.NewIntVar(1, length, "")
            for v, op in enumerate(self.problem["ops"]):
                model.Add(end >= start[v] + op["cycles"])
            model.Minimize(end)
            for v, placed in enumerate(self.best):
                model.AddHint(start[v], placed["start"])

            def bound(value):
                self.length[0] = max(self.length[0], int(value))
                self.tell()

            solver.best_bound_callback = bound
        if self.spent() >= self.until:
            return "unknown"
        self.solver = solver
        status = solver.Solve(model, Found(lambda value: self.take(ii, start, on, value)))
        self.solver = None
        if status == cp_model.INFEASIBLE:
            return "unsat"
        done = (cp_model.OPTIMAL,) if minimise else (cp_model.OPTIMAL, cp_model.FEASIBLE)
        return "sat" if status in done else "unknown"

    def left(self):
        return self.cpu - self.spent()

    def least_interval(self):
        """Until I is proved or the time is over."""
        at, share = self.ii[0], 0.25
        climbs = monotone(self.problem)
        while self.left() > 0 and not 0 < self.ii[1] <= self.ii[0] and self.ii[0] <= self.within:
            answer = self.ask(at, max(self.within, at), max(0.5, share * self.left()))
            if answer == "unsat" and (climbs or at == self.ii[0]):
                self.ii[0] = max(self.ii[0], at + 1)
                self.tell()
            if not self.ii[1]:  # serial order, before anything else is asked
                at, share = (self.within, 0.25) if at < self.within else (self.ii[0], min(1, 2 * share))
                continue
            low = self.ii[0] if answer != "unknown" else max(self.ii[0], at + 1)
            if low >= self.ii[1]:
                low, share = self.ii[0], min(1, 2 * share)
            at = (low + self.ii[1]) // 2 if climbs else low

    def run(self):
        print(json.dumps({"within": self.within}), flush=True)
        self.ii[0] = first_bound(self.problem, self.within)
        self.tell()
        self.least_interval()
        if self.best and self.ii[0] == self.ii[1]:
            self.length[0] = max(op["cycles"] for op in self.problem["ops"])
            if self.ask(self.ii[1], self.length[1], self.left(), minimise=True) == "sat":
                self.length[0] = self.length[1]
            self.tell()
        print(json.dumps({"cpu": round(self.spent(), 3), "ii": self.ii, "length": self.length, "end": True}), flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("problem")
    parser.add_argument("--cpu", type=float, default=20)
    parser.add_argument("--threads", type=int, default=1)
    flags = parser.parse_args()
    with open(flags.problem, encoding="utf-8") as file:
        problem = json.load(file)
    refuse_unknown(problem)
    Optimum(problem, flags.cpu, flags.threads).run()


if __name__ == "__main__":
    main()
