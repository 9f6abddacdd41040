#!/usr/bin/env python3
"""The study of bench/STUDY.md: rows, tables of the rows, and a random part of them again.

    bench/study.py run STUDY [--part ABC|D|E] [--twill PROGRAM] [--solvers FOLDER] [--seconds N] [-j N]
    bench/study.py tables STUDY [--twill PROGRAM]      # Markdown on standard output
    bench/study.py again STUDY SHARE [--seed N]        # SHARE of the linked solver's rows, run and compared

STUDY is a folder outside the tree. `run` makes the instances and the sample if they are not there, goes on where it
was stopped (--resume), and ends after N seconds if they are given: what is not run then is a random part.
--solvers is what bench/solvers.sh got. Needs Python 3.9 and nothing else.
"""

import argparse
import collections
import hashlib
import itertools
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
import time

LIMIT = {"ABC": 20, "D": 5, "D-again": 5, "E": 100}  # CPU seconds a row
FAMILY = 12  # questions a family
STARTS = ["direct", "channelled", "order", "rowstage", "binary"]
SUMS = ["bdd", "gte", "swc", "gpw", "dpw", "sorter", "adder", "lpw"]
CARDS = ["seqcounter", "totalizer", "ktotalizer", "kmtotalizer", "sortnet", "cardnet", "adder"]
AWARE = ["bdd", "swc", "gte"]
ENCODINGS = (
    [f"start={s}" for s in STARTS]
    + [f"start=order,pb={p}" for p in SUMS]
    + [f"start=order,card={c}" for c in CARDS]
    + [f"start=order,pb={p}-amo" for p in AWARE]
    + ["form=straight-line"]
    + [f"form=straight-line,pb={p}{amo}" for p in AWARE for amo in ("", "-amo")]
)
BY_SOLVER = [f"start={s}" for s in STARTS] + [f"start=order,pb={p}" for p in ("bdd", "gpw", "dpw", "gte", "adder")]
SOLVERS = ("cadical-1.5.3", "cadical-1.9.5", "cadical-3.0.0", "kissat", "glucose", "minisat")


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def sample(folder, twill):
    """FAMILY questions of each family, by the hashes of their names: the same whatever the order."""
    instances = os.path.join(folder, "instances")
    if not os.path.exists(os.path.join(instances, "instances.jsonl")):
        subprocess.run([twill, "bench", "instances", "--grid", "domain", "-o", instances], check=True)
    chosen = os.path.join(instances, "sample.jsonl")
    families = collections.defaultdict(list)
    for question in lines(os.path.join(instances, "instances.jsonl")):
        families[question["family"]].append(question)
    with open(chosen, "w", encoding="utf-8") as file:
        for family in sorted(families):
            key = lambda q: hashlib.sha256(b"7 " + q["name"].encode()).hexdigest()
            for question in sorted(families[family], key=key)[:FAMILY]:
                file.write(json.dumps(question) + "\n")
    return chosen


def run(args):
    chosen = sample(args.folder, args.twill)
    begin = time.time()
    left = lambda: max(1, args.seconds - (time.time() - begin)) if args.seconds else 0

    def rows(part, encodings, more):
        command = [args.twill, "bench", "run", "-o", os.path.join(args.folder, f"rows-{part}.jsonl"), "--instances",
                   chosen, "--encodings", ";".join(encodings), "--cpu-limit", str(LIMIT[part]), "--memory", "2G",
                   "--shuffle", "7", "--resume", "-j", str(args.jobs)] + more
        if args.seconds:
            command += ["--budget", str(int(left()))]
        code = subprocess.run(command).returncode
        if code not in (0, 3):
            sys.exit(f"bench run ended with {code}")

    if args.part in ("all", "ABC"):
        rows("ABC", ENCODINGS, ["--scramble", "0,1"])
    if args.part in ("all", "D"):
        more = []
        listing = subprocess.run([os.path.join(os.path.dirname(__file__), "solvers.sh"), args.solvers],
                                 capture_output=True, text=True, check=True).stdout
        for line in listing.splitlines():
            name, _, command = line.split(" ", 1)[1].strip("'").partition("=")
            if name.startswith(SOLVERS):
                more += ["--solver", f"{name}={command}"]
        # Its newer versions are built here; the package above is the oldest.
        versions = subprocess.run([os.path.join(os.path.dirname(__file__), "cadical_versions.sh"),
                                   os.path.join(args.solvers, "cadical-versions")],
                                  capture_output=True, text=True, check=True).stdout
        for version, root in (line.split(" ", 1) for line in versions.splitlines()):
            if f"cadical-{version}" in SOLVERS and not any(f"cadical-{version}=" in option for option in more):
                more += ["--solver", f"cadical-{version}={os.path.join(root, 'build', 'cadical')} -q {{cnf}} {{proof}}"]
        rows("D", BY_SOLVER, more + ["--others-only"])
        # What chance does: another scramble of one solver.
        one = next((k for k, option in enumerate(more) if option.startswith(f"{SOLVERS[0]}=")), None)
        if one is not None:
            rows("D-again", BY_SOLVER, more[one - 1:one + 1] + ["--others-only", "--scramble", "1"])
    if args.part in ("all", "E"):
        chains(args, chosen, left)


def chains(args, chosen, left):
    """Every satisfiable question's loop at its I, from twice its length down, both ways."""
    path = os.path.join(args.folder, "chains.jsonl")
    done = {(row["file"], row["incremental"]) for row in lines(path)} if os.path.exists(path) else set()
    asked = [q for q in lines(chosen) if q["expected"] == "SAT"]
    with open(path, "a", encoding="utf-8") as file:
        for q in asked:
            for afresh in ([], ["--afresh"]):
                if (q["problem"], not afresh) in done or (args.seconds and left() <= 1):
                    continue
                ended = subprocess.run(
                    [args.twill, "bench", "chain", os.path.join(os.path.dirname(chosen), q["problem"]), "--ii",
                     str(q["ii"]), "--length", str(2 * q["length"]), "--encoding", "start=order", "--cpu-limit",
                     str(LIMIT["E"]), "--memory", "2G"] + afresh, capture_output=True, text=True, check=False)
                if ended.returncode not in (0, 1, 3):
                    sys.exit(ended.stderr)
                row = json.loads(ended.stdout)
                row.update(file=q["problem"], family=q["family"])
                file.write(json.dumps(row) + "\n")
                file.flush()


class Rows:
    """PAR2 and conflicts by question: scrambles averaged first. With `whole` of questions alone that all were asked."""

    def __init__(self, rows, whole=False):
        self.rows = [r for r in rows if r["status"] != "NOTRUN"]
        if whole:
            asked = collections.Counter(r["instance"] for r in self.rows)
            self.rows = [r for r in self.rows if asked[r["instance"]] == max(asked.values())]
        values = collections.defaultdict(list)
        conflicts = collections.defaultdict(list)
        self.solved = collections.Counter()
        for r in self.rows:
            solved = r["status"] in ("SAT", "UNSAT")
            who = (r["solver"], self.short(r))
            values[who, r["instance"]].append(r["cpu_s"] if solved else 2 * r["limit_cpu_s"])
            self.solved[who] += solved
            if solved and "conflicts" in r:
                conflicts[who, r["instance"]].append(r["conflicts"])
        self.seconds = {k: statistics.mean(v) for k, v in values.items()}
        self.conflicts = {k: statistics.mean(v) for k, v in conflicts.items()}
        self.family = {r["instance"]: r["family"] for r in self.rows}

    @staticmethod
    def short(row):
        """The keys that are not the default."""
        parts = [part for part in row["encoding"].split(",")
                 if not part.endswith("=auto") and part not in ("form=modulo", "symmetry=on")]
        return ",".join(parts) or "default"

    def of(self, who, family=None):
        return {i: s for (w, i), s in self.seconds.items() if w == who and family in (None, self.family[i])}

    def table(self, contestants, families):
        print("| encoding | solved | PAR2 s | conflicts |" + "".join(f" {f} |" for f in families))
        print("|---|--:|--:|--:|" + "--:|" * len(families))
        for who in contestants:
            mine = self.of(who)
            if not mine:
                continue
            solved = sum(s < 2 * LIMIT["ABC"] for s in mine.values())
            by = {f: self.of(who, f) for f in families}
            mean = statistics.mean(statistics.mean(v.values()) for v in by.values() if v)
            spent = sum(c for (w, _), c in self.conflicts.items() if w == who)
            cells = [f"{statistics.mean(v.values()):.3g}" if v else "-" for v in by.values()]
            print(f"| {who[1]} | {solved} of {len(mine)} | {mean:.3g} | {spent:,.0f} | " + " | ".join(cells) + " |")


def tau(one, other):
    """Kendall's rank correlation (tau-a) of two lists of values of the same things."""
    pairs = list(itertools.combinations(range(len(one)), 2))
    agree = sum((one[i] - one[j]) * (other[i] - other[j]) > 0 for i, j in pairs)
    against = sum((one[i] - one[j]) * (other[i] - other[j]) < 0 for i, j in pairs)
    return (agree - against) / len(pairs)


def signed_ranks(one, other):
    """Wilcoxon's test (1945) of two lists, two-sided, by the normal approximation; equal pairs are left out."""
    differences = sorted((a - b for a, b in zip(one, other) if a != b), key=abs)
    n = len(differences)
    if n == 0:
        return 1.0
    larger = sum(k + 1 for k, d in enumerate(differences) if d > 0)
    deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    return math.erfc(abs(larger - n * (n + 1) / 4) / deviation / math.sqrt(2))


def mean_ranks(rows, solver, encodings):
    """By encoding its mean rank among the encodings' seconds, over the questions."""
    places = collections.Counter()
    for q in rows.family:
        mine = [rows.seconds[(solver, e), q] for e in encodings]
        for e, t in zip(encodings, mine):
            places[e] += sum(u < t for u in mine) + (sum(u == t for u in mine) + 1) / 2
    return {e: places[e] / len(rows.family) for e in encodings}


def ranks_table(rows, ranks, encodings):
    """Mean ranks by solver, and p of the first encoding against each, corrected by Holm (1979)."""
    order = sorted(encodings, key=lambda e: sum(of[e] for of in ranks.values()))
    corrected = {}
    for s in ranks:
        seconds = {e: [rows.seconds[(s, e), q] for q in rows.family] for e in encodings}
        raw = sorted((signed_ranks(seconds[order[0]], seconds[e]), e) for e in order[1:])
        least = 0
        for k, (p, e) in enumerate(raw):
            least = max(least, min(1, p * (len(raw) - k)))
            corrected[s, e] = least
    print(f"\n**D: mean rank of {len(encodings)}, and p of {order[0]} against it**\n\n| encoding |" + "".join(f" {s} |" for s in ranks))
    print("|---|" + "--:|" * len(ranks))
    for e in order:
        print(f"| {e} |" + "".join(f" {of[e]:.2f}" + ("" if e == order[0] else f", {corrected[s, e]:.1g}") + " |" for s, of in ranks.items()))


def tables(args):
    read = lambda name: lines(os.path.join(args.folder, name)) if os.path.exists(os.path.join(args.folder, name)) else []
    abc = read("rows-ABC.jsonl")
    if abc:
        rows = Rows(abc)
        families = sorted(set(rows.family.values()))
        who = sorted({w for w, _ in rows.seconds}, key=lambda w: statistics.mean(rows.of(w).values()))
        print(f"{len(rows.rows)} rows, {len(rows.family)} questions, {sum(r['cpu_s'] for r in rows.rows) / 3600:.1f} CPU hours\n")
        for title, keys in (("A: starts", [f"start={s}" for s in STARTS]),
                            ("B: weighted sums", [f"start=order,pb={p}" for p in SUMS]),
                            ("B: cardinalities", [f"start=order,card={c}" for c in CARDS]),
                            ("C: with at-most-one groups", [f"start=order,pb={p}{a}" for p in AWARE for a in ("", "-amo")]
                             + [f"form=straight-line,pb={p}{a}" for p in AWARE for a in ("", "-amo")])):
            print(f"\n**{title}**\n")
            rows.table([w for w in who if w[1] in keys], families)
        noise = []
        for w in who:
            for i in rows.of(w):
                times = [r["cpu_s"] for r in rows.rows if r["instance"] == i and rows.short(r) == w[1]]
                if len(times) == 2 and min(times) > 0.05:
                    noise.append(abs(times[0] - times[1]) / statistics.mean(times))
        if noise:
            print(f"\nTwo scrambles of one formula differ by {100 * statistics.median(noise):.0f} % in the median ({len(noise)} pairs above 0.05 s).")
    by_solver = read("rows-D.jsonl")
    if by_solver:
        rows = Rows(by_solver, whole=True)
        encodings = sorted({w[1] for w, _ in rows.seconds}, key=lambda e: statistics.mean(
            s for (w, _), s in rows.seconds.items() if w[1] == e))
        solvers = sorted({w[0] for w, _ in rows.seconds})
        print(f"\n**D: PAR2 in seconds (and how many are not solved) by solver**: {len(rows.rows)} rows, {len(rows.family)} questions, "
              f"{sum(r['cpu_s'] for r in rows.rows) / 3600:.1f} CPU hours\n\n| encoding |" + "".join(f" {s} |" for s in solvers))
        print("|---|" + "--:|" * len(solvers))
        par2 = {(s, e): statistics.mean(rows.of((s, e)).values()) for s in solvers for e in encodings}
        for e in encodings:
            left = lambda s: len(rows.family) - rows.solved[s, e]
            print(f"| {e} |" + "".join(f" {par2[s, e]:.3g}" + (f" ({left(s)})" if left(s) else "") + " |" for s in solvers))
        ranks = {s: mean_ranks(rows, s, encodings) for s in solvers}
        ranks_table(rows, ranks, encodings)
        if noise := read("rows-D-again.jsonl"):
            once_more = Rows([r for r in noise if r["instance"] in rows.family])
            name = next(iter(once_more.seconds))[0][0]
            if all(len(once_more.of((name, e))) == len(rows.family) for e in encodings):
                ranks[f"{name}, another scramble"] = mean_ranks(once_more, name, encodings)
        print("\n**D: rank correlation of the encodings' mean ranks (Kendall's tau)**\n\n| |" + "".join(f" {s} |" for s in ranks))
        print("|---|" + "--:|" * len(ranks))
        for s, mine in ranks.items():
            print(f"| {s} |" + "".join(" |" if s == o else f" {tau([mine[e] for e in encodings], [of[e] for e in encodings]):.2f} |"
                                       for o, of in ranks.items()))
    pairs = collections.defaultdict(dict)
    for row in read("chains.jsonl"):
        pairs[row["file"]][row["incremental"]] = row
    both = [p for p in pairs.values() if len(p) == 2 and all(r["status"] != "unknown" for r in p.values())]
    if both:
        print("\n**E: one formula under assumptions, or a new formula a question**\n\n| | loops | questions | conflicts | CPU s | of it encoding | faster on |")
        print("|---|--:|--:|--:|--:|--:|--:|")
        for mode, name in ((True, "one formula"), (False, "a new one each")):
            rows = [p[mode] for p in both]
            faster = sum(p[mode]["cpu_s"] < p[not mode]["cpu_s"] for p in both)
            total = lambda key: sum(r[key] for r in rows)
            print(f"| {name} | {len(both)} | {total('questions')} | {total('conflicts'):,} | {total('cpu_s'):.1f} | {total('encode_cpu_s'):.1f} | {faster} |")
        for p in both:
            if p[True].get("length") != p[False].get("length"):
                sys.exit(f"{p[True]['problem']}: {p[True].get('length')} and {p[False].get('length')}")


def again(args):
    rows = [r for r in lines(os.path.join(args.folder, "rows-ABC.jsonl")) if r["status"] in ("SAT", "UNSAT")]
    chosen = random.Random(args.seed).sample(rows, max(1, int(args.share * len(rows))))
    differ = 0
    for row in chosen:
        ended = subprocess.run([args.twill] + row["argv"], capture_output=True, text=True, check=False)
        repeated = json.loads(ended.stdout.splitlines()[-1])
        if counted := re.search(r"^c conflicts: +([0-9]+)", ended.stdout, re.MULTILINE):
            repeated["conflicts"] = int(counted.group(1))  # the solver's own count, as in rows
        same = all(repeated.get(key) == row.get(key) for key in ("status", "conflicts", "vars", "clauses"))
        differ += not same
        if not same:
            print(f"{row['instance']}, {row['encoding']}: {row['status']}, {row['conflicts']} conflicts; "
                  f"again {repeated.get('status')}, {repeated.get('conflicts')}")
    print(f"{len(chosen)} rows again: {len(chosen) - differ} with the same answer, sizes and conflicts, {differ} without")
    sys.exit(1 if differ else 0)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("run", "tables", "again"))
    parser.add_argument("folder")
    parser.add_argument("share", nargs="?", type=float, default=0.1)
    parser.add_argument("--twill", default=os.path.join(here, "../build/release/engine/twill"))
    parser.add_argument("--part", choices=("all", "ABC", "D", "E"), default="all")
    parser.add_argument("--solvers", default="")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-j", "--jobs", type=int, default=1)
    args = parser.parse_args()
    if args.command == "run" and args.part in ("all", "D") and not args.solvers:
        parser.error("part D needs --solvers FOLDER (bench/solvers.sh)")
    os.makedirs(args.folder, exist_ok=True)
    {"run": run, "tables": tables, "again": again}[args.command](args)


if __name__ == "__main__":
    main()
