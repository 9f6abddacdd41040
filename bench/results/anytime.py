#!/usr/bin/env python3
"""Curves of `twill bench modules --curves`: what each solver had found and proved after how many CPU seconds.

    bench/results/anytime.py CURVES.csv ... > bench/results/anytime.svg

Left the gap of I, (found - bound) / found, 1 where nothing is found, the mean over the loops; right the share of
loops whose I and L are proved (or that there is no schedule). With --table the figures at 0.1, 1 and 10 s.
"""

import csv
import math
import sys

NAMES = {"twill": ("Twill", "#1f5fa8"), "cp-sat": ("CP-SAT, 1 thread", "#b4540a"),
         "cp-sat-all": ("CP-SAT, all threads", "#6a6a6a")}
LEFT, TOP, WIDTH, HEIGHT, BETWEEN = 56, 40, 300, 230, 70
X = (-3, 1)  # decades of CPU seconds


def read(files):
    """solver -> loop -> [(seconds, gap, proved)]."""
    curves = {}
    for name in files:
        with open(name, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                low, high, length, found = (int(row[k]) for k in ("ii_bound", "ii_found", "length_bound", "length_found"))
                none = row["none"] == "1"
                gap = 0 if none else (high - low) / high if high else 1
                proved = none or (0 < high == low and 0 < found == length)
                points = curves.setdefault(row["solver"], {}).setdefault(row["loop"], [])
                points.append((float(row["cpu_s"]), gap, proved))
    return curves


def at(curves, loops, seconds):
    """(mean gap, share proved) of the loops."""
    gaps = proved = 0
    for loop in loops:
        before = [p for p in curves.get(loop, []) if p[0] <= seconds]
        gaps += before[-1][1] if before else 1
        proved += before[-1][2] if before else 0
    return gaps / len(loops), proved / len(loops)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--table"]
    curves = read(arguments)
    loops = sorted(set.union(*(set(c) for c in curves.values())))
    solvers = [s for s in NAMES if s in curves]
    if "--table" in sys.argv:
        print("| after CPU s | " + " | ".join(NAMES[s][0] for s in solvers) + " |")
        print("|--:" * (1 + len(solvers)) + "|")
        for seconds in (0.01, 0.1, 1, 10):
            cells = [f"{100 * g:.1f} %, {100 * p:.0f} %" for g, p in (at(curves[s], loops, seconds) for s in solvers)]
            print(f"| {seconds} | " + " | ".join(cells) + " |")
        return
    width, height = 2 * WIDTH + BETWEEN + LEFT + 24, TOP + HEIGHT + 64
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="system-ui, sans-serif" font-size="13" role="img">',
        f"<title>Gap of I and share of loops proved over CPU seconds, {len(loops)} loops of Triton modules</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    steps = [10 ** (X[0] + (X[1] - X[0]) * k / 200) for k in range(201)]
    for panel, what in enumerate(("gap of I, mean", "I and L proved, share of loops")):
        x0 = LEFT + panel * (WIDTH + BETWEEN)
        across = lambda s: x0 + WIDTH * (math.log10(s) - X[0]) / (X[1] - X[0])
        down = lambda y: TOP + HEIGHT * (1 - y)
        out.append(f'<text x="{x0}" y="{TOP - 14}">{what}</text>')
        for power in range(X[0], X[1] + 1):
            x = across(10**power)
            out.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{TOP + HEIGHT}" stroke="#e4e4e4"/>')
            name = {-3: "1 ms", -2: "10 ms", -1: "0.1 s", 0: "1 s", 1: "10 s"}[power]
            out.append(f'<text x="{x:.1f}" y="{TOP + HEIGHT + 18}" text-anchor="middle" fill="#444444">{name}</text>')
        for part in range(0, 5):
            y = down(part / 4)
            out.append(f'<line x1="{x0}" y1="{y:.1f}" x2="{x0 + WIDTH}" y2="{y:.1f}" stroke="#e4e4e4"/>')
            out.append(f'<text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#444444">{25 * part} %</text>')
        for solver in solvers:
            path = "".join(f"{'L' if k else 'M'}{across(s):.1f} {down(at(curves[solver], loops, s)[panel]):.1f}"
                           for k, s in enumerate(steps))
            out.append(f'<path d="{path}" fill="none" stroke="{NAMES[solver][1]}" stroke-width="2">'
                       f"<title>{NAMES[solver][0]}</title></path>")
    for k, solver in enumerate(solvers):
        x = LEFT + 170 * k
        out.append(f'<line x1="{x}" y1="{height - 18}" x2="{x + 22}" y2="{height - 18}" '
                   f'stroke="{NAMES[solver][1]}" stroke-width="3"/>')
        out.append(f'<text x="{x + 28}" y="{height - 14}">{NAMES[solver][0]}</text>')
    out.append(f'<text x="{width - 24}" y="{height - 14}" text-anchor="end">CPU seconds</text>')
    print("\n".join(out + ["</svg>"]))


if __name__ == "__main__":
    main()
