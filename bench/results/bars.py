#!/usr/bin/env python3
"""The pictures at the heads of results pages: bars of a table of the page itself.

    bench/results/bars.py PAGE > PICTURE      # bench/results/PAGE.svg, but for those of ELSEWHERE
    bench/results/bars.py --check             # each picture is what its page's table says; code 1 if not

PAGES says of each page which table and which columns.
"""

import html
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ELSEWHERE = {"study": ("../STUDY.md", "../study.svg"), "gpu": ("../../gpu/RESULTS.md", "../../gpu/results.svg")}
BAR, GAP, RIGHT = 14, 10, 560
BLUE, BROWN, GREY, PALE = "#1f5fa8", "#b4540a", "#8a8a8a", "#c9d7e8"


def files(page):
    """The page and its picture."""
    return [os.path.join(HERE, name) for name in ELSEWHERE.get(page, (page + ".md", page + ".svg"))]


def number(cell):
    """1,234 -> 1234.0, 54 % -> 54.0; None where a cell is no number."""
    try:
        return float(cell.replace(",", "").strip("*> %"))
    except ValueError:
        return None


def table(page, columns):
    """Rows, as {column: cell}, of the first table of a page that has all of these columns."""
    header = None
    with open(files(page)[0], encoding="utf-8") as file:
        for line in file:
            if not line.startswith("|"):
                if header:
                    return
                continue
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if header is None:
                header = cells if set(columns) <= set(cells) else None
            elif not set(line) <= set("|-: \n"):
                yield dict(zip(header, cells))


def attention():
    """Of each graph the layout with the best schedule."""
    best = {}
    for row in table("attention", ("graph", "layout", "status", "CPU s")):
        found = (number(row["I"]), number(row["L"]))
        if row["status"] == "optimal" and (row["graph"] not in best or found < best[row["graph"]][0]):
            best[row["graph"]] = (found, number(row["CPU s"]))
    return [(graph, [(seconds, BROWN if graph.startswith("blackwell") else BLUE)]) for graph, (_, seconds) in best.items()]


def certificates():
    return [(row["kernel"], [(number(row["without, CPU"]), PALE), (number(row["with, CPU"]), BLUE)])
            for row in table("certificates", ("kernel", "without, CPU", "with, CPU")) if row["kernel"] != "the nine"]


def emission():
    return [(row["kernel"], [(number(row["all"]), BLUE if row["kernel"].startswith("emitted") else GREY)])
            for row in table("emission", ("kernel", "spills", "all", "HGMMA"))]


def hard():
    return [(row["set"].split(" (")[0], [(100 * number(row["settled, as published"].split(",")[0]) / number(row["projects"]), BLUE)])
            for row in table("hard", ("set", "projects", "settled, as published"))]


def triton():
    rows = []
    for row in table("triton", ("loops of", "loops", "solved", "no schedule", "refused")):
        parts = [number(row[column]) for column in ("solved", "no schedule", "refused")]
        rows.append((row["loops of"], list(zip((100 * part / number(row["loops"]) for part in parts), (BLUE, BROWN, GREY)))))
    return rows


def study():
    """Encodings of starts (part A) and of sums (part B); rows of several encodings are left out."""
    return [(row["encoding"].split(" (")[0], [(number(row["PAR2 s"]), BLUE if row[""] == "A" else BROWN)])
            for row in table("study", ("", "encoding", "solved", "PAR2 s"))
            if row[""] in ("A", "B") and number(row["PAR2 s"]) is not None]


def gpu():
    return [(f"{kind} {row['schedule']}", [(number(row["tensor core busy"]), colour)])
            for kind, colour, column in (("forward", BLUE, "clocks a step of 128 x 128 (I)"),
                                         ("backward", BROWN, "clocks a query row (I)"))
            for row in table("gpu", ("schedule", column, "tensor core busy"))]


# page: what is shown, its unit, rows, kind ("log", "linear", "stacked"), first and last of the axis, legend
PAGES = {
    "attention": ("CPU time to the proved optimum, raw clocks, best layout", "s", attention, "log", 1e-3, 1.0,
                  ((BLUE, "Hopper"), (BROWN, "Blackwell"))),
    "certificates": ("CPU time of a solve", "ms", certificates, "log", 1.0, 1000.0,
                     ((PALE, "without a certificate"), (BLUE, "with one"))),
    "emission": ("Instructions of a main loop of attention forward, Hopper", "", emission, "linear", 0.0, 700.0,
                 ((GREY, "lowered by hand"), (BLUE, "emitted"))),
    "gpu": ("Predicted, not measured: tensor core busy, head dimension 128", "%", gpu, "linear", 0.0, 100.0,
            ((BLUE, "attention forward"), (BROWN, "attention backward"))),
    "hard": ("Projects of the literature that are settled", "%", hard, "linear", 0.0, 100.0, ()),
    "study": ("Mean time to an answer (PAR2), 120 questions, two scrambles", "s", study, "log", 0.1, 10.0,
              ((BLUE, "encodings of start cycles"), (BROWN, "encodings of sums"))),
    "triton": ("Loops of Triton modules", "%", triton, "stacked", 0.0, 100.0,
               ((BLUE, "solved"), (BROWN, "no schedule"), (GREY, "refused"))),
}


def drawn(page):
    title, unit, rows, kind, first, last, legend = PAGES[page]
    rows = rows()
    assert rows and all(bars and all(value is not None for value, _ in bars) for _, bars in rows), page
    left = 20 + 7.4 * max(len(name) for name, _ in rows)
    at = (lambda x: RIGHT * (math.log10(max(x, first)) - math.log10(first)) / (math.log10(last) - math.log10(first))) if kind == "log" else (
        lambda x: RIGHT * (x - first) / (last - first))
    heights = [BAR if kind == "stacked" else BAR * len(bars) for _, bars in rows]
    top, bottom = 56, sum(heights) + GAP * len(rows)
    text = lambda x: f"{x:,.3g}" if x < 1000 else f"{x:,.0f}"
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + RIGHT + 64:.0f} {top + bottom + 34}" '
           'font-family="system-ui, sans-serif" font-size="13" role="img">',
           f"<title>{html.escape(title)}</title>", '<rect width="100%" height="100%" fill="#ffffff"/>',
           f'<text x="16" y="22" font-weight="600">{html.escape(title)}{", " + unit if unit else ""}</text>']
    x = 16
    for colour, name in legend:
        out.append(f'<rect x="{x}" y="33" width="11" height="11" fill="{colour}"/><text x="{x + 16}" y="43" fill="#444444">{name}</text>')
        x += 34 + 7 * len(name)
    ticks = ([first * 10**k for k in range(round(math.log10(last / first)) + 1)] if kind == "log" else
             [first + (last - first) * k / 5 for k in range(6)])
    for tick in ticks:
        x = left + at(tick)
        out.append(f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{top + bottom}" stroke="#e4e4e4"/>')
        out.append(f'<text x="{x:.1f}" y="{top + bottom + 18}" text-anchor="middle" fill="#444444">{text(tick)}</text>')
    y = top + GAP / 2
    for (name, bars), height in zip(rows, heights):
        out.append(f'<text x="{left - 8:.1f}" y="{y + height / 2 + 4:.1f}" text-anchor="end">{html.escape(name)}</text>')
        begin = 0.0
        for k, (value, colour) in enumerate(bars):
            down = y if kind == "stacked" else y + BAR * k
            wide = at(value) if kind != "stacked" else RIGHT * value / 100
            out.append(f'<rect x="{left + begin:.1f}" y="{down:.1f}" width="{wide:.1f}" height="{BAR - 1}" fill="{colour}">'
                       f"<title>{html.escape(name)}: {text(value)} {unit}</title></rect>")
            if kind == "stacked":
                begin += wide
            else:
                out.append(f'<text x="{left + wide + 5:.1f}" y="{down + 11:.1f}" font-size="11" fill="#444444">{text(value)}</text>')
        y += height + GAP
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    if sys.argv[1:] == ["--check"]:
        stale = []
        for page in PAGES:
            with open(files(page)[1], encoding="utf-8") as file:
                if file.read() != drawn(page):
                    stale.append(page)
        for page in stale:
            text, picture = (os.path.relpath(name) for name in files(page))
            print(f"{picture} is not what {text} says: bench/results/bars.py {page} > {picture}")
        return 1 if stale else 0
    if len(sys.argv) != 2 or sys.argv[1] not in PAGES:
        print(f"usage: bars.py --check | {' | '.join(PAGES)}", file=sys.stderr)
        return 2
    sys.stdout.write(drawn(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
