#!/usr/bin/env python3
"""cp_sat_makespan.py FILE... --cpu SECONDS --threads N: the smallest makespan of projects in PSPLIB's format, by OR-Tools' CP-SAT.

The model is the textbook's: an interval an activity, a cumulative constraint a resource, precedences, and the makespan minimised.
Prints a line of JSON a file, as `twill bench makespan --json` does: file, status, lower_bound, makespan, cpu_seconds (of
this process, building the model included). Each schedule is looked at again here, cycle by cycle.
"""

import argparse
import json
import re
import sys
import threading
import time

from ortools.sat.python import cp_model


def read(path):
    """(duration, successors, demands) of each activity by number, and the capacities."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()

    def after(heading, skip):
        at = next(i for i, line in enumerate(lines) if line.startswith(heading)) + skip
        rows = []
        while at < len(lines) and re.match(r"\s*\d", lines[at]):
            rows.append([int(word) for word in lines[at].split()])
            at += 1
        return rows

    successors = {row[0]: row[3:] for row in after("PRECEDENCE RELATIONS", 2)}
    activities = {row[0]: (row[2], successors[row[0]], row[3:]) for row in after("REQUESTS/DURATIONS", 3)}
    return activities, after("RESOURCEAVAILABILITIES", 2)[0]


def is_schedule(activities, capacities, start):
    for v, (duration, successors, _) in activities.items():
        if start[v] < 0 or any(start[w] < start[v] + duration for w in successors):
            return False
    for r, capacity in enumerate(capacities):
        for t in range(max(start.values()) + 1):
            taken = sum(d[r] for v, (duration, _, d) in activities.items() if start[v] <= t < start[v] + duration)
            if taken > capacity:
                return False
    return True


def smallest(path, cpu, threads):
    begin = time.process_time()
    activities, capacities = read(path)
    horizon = max(1, sum(duration for duration, _, _ in activities.values()))
    model = cp_model.CpModel()
    start = {v: model.NewIntVar(0, horizon, f"s{v}") for v in activities}
    interval = {
        v: model.NewIntervalVar(start[v], duration, start[v] + duration, f"i{v}")
        for v, (duration, _, _) in activities.items()
    }
    end = model.NewIntVar(0, horizon, "end")
    for v, (duration, successors, _) in activities.items():
        model.Add(end >= start[v] + duration)
        for w in successors:
            model.Add(start[w] >= start[v] + duration)
    for r, capacity in enumerate(capacities):
        takes = [v for v in activities if activities[v][2][r] > 0 and activities[v][0] > 0]
        model.AddCumulative([interval[v] for v in takes], [activities[v][2][r] for v in takes], capacity)
    model.Minimize(end)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = threads
    done = threading.Event()

    def watch():
        while not done.wait(0.05):
            if time.process_time() - begin >= cpu:
                solver.StopSearch()

    watcher = threading.Thread(target=watch)
    watcher.start()
    status = solver.Solve(model)
    done.set()
    watcher.join()
    row = {"file": path, "solver": "CP-SAT", "threads": threads}
    row["status"] = {cp_model.OPTIMAL: "optimal", cp_model.FEASIBLE: "feasible"}.get(status, "unknown")
    row["lower_bound"] = int(round(solver.BestObjectiveBound()))
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        found = {v: solver.Value(start[v]) for v in activities}
        if not is_schedule(activities, capacities, found):
            raise SystemExit(f"{path}: the schedule breaks a rule")
        row["makespan"] = max(found[v] + activities[v][0] for v in activities)
    row["cpu_seconds"] = round(time.process_time() - begin, 3)
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--cpu", type=float, default=60)
    parser.add_argument("--threads", type=int, default=1)
    flags = parser.parse_args()
    for path in flags.files:
        print(json.dumps(smallest(path, flags.cpu, flags.threads)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
