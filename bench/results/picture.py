#!/usr/bin/env python3
"""The picture of RESULTS.md: seconds of Twill and of the best peer on each question of the table in peers.md.

    bench/results/picture.py > bench/results/peers.svg
"""

import math
import os

HERE = os.path.dirname(os.path.abspath(__file__))
LEFT, TOP, WIDTH, HEIGHT = 78, 24, 560, 330
X, Y = (-3, 0), (-1, 2)  # decades of the axes: Twill's seconds and the peer's


def questions():
    """(graph, seconds of Twill, least seconds of a peer, did that peer answer) of each row."""
    with open(os.path.join(HERE, "peers.md"), encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) != 13 or cells[8] not in ("sat", "unsat"):
                continue
            peers = [(float(cell.strip("> ")), not cell.startswith(">")) for cell in cells[10:12] if cell != "-"]
            answered = [seconds for seconds, done in peers if done]
            yield cells[0], float(cells[9]), min(answered) if answered else max(s for s, _ in peers), bool(answered)


def main():
    across = lambda s: LEFT + WIDTH * (math.log10(s) - X[0]) / (X[1] - X[0])
    down = lambda s: TOP + HEIGHT * (1 - (math.log10(s) - Y[0]) / (Y[1] - Y[0]))
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 24} {TOP + HEIGHT + 58}" '
        'font-family="system-ui, sans-serif" font-size="13" role="img">',
        "<title>CPU seconds of Twill and of the best peer, question by question</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    name = lambda power: {-3: "1 ms", -2: "10 ms", -1: "0.1 s", 0: "1 s", 1: "10 s", 2: "100 s"}[power]
    for power in range(X[0], X[1] + 1):
        x = across(10**power)
        out.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{TOP + HEIGHT}" stroke="#e4e4e4"/>')
        out.append(f'<text x="{x:.1f}" y="{TOP + HEIGHT + 20}" text-anchor="middle" fill="#444444">{name(power)}</text>')
    for power in range(Y[0], Y[1] + 1):
        y = down(10**power)
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + WIDTH}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" fill="#444444">{name(power)}</text>')
    for factor in (10, 100, 1000, 10000):  # where the peer takes so many times as long
        low = max(10.0 ** X[0], 10.0 ** Y[0] / factor)
        high = min(10.0 ** X[1], 10.0 ** Y[1] / factor)
        x1, y1, x2, y2 = across(low), down(low * factor), across(high), down(high * factor)
        out.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="#9a9a9a" stroke-dasharray="5 4"/>')
        turn = math.degrees(math.atan2(y2 - y1, x2 - x1))
        at = (x1 + (x2 - x1) * 0.5, y1 + (y2 - y1) * 0.5 - 6)
        out.append(f'<text transform="translate({at[0]:.1f} {at[1]:.1f}) rotate({turn:.1f})" text-anchor="middle" '
                   f'fill="#777777">{factor:,} times</text>')
    for graph, twill, peer, answered in questions():
        x, y = across(twill), down(peer)
        colour = "#b4540a" if graph.startswith("blackwell") else "#1f5fa8"
        what = f"<title>{graph}: Twill {twill} s, best peer {'' if answered else '&gt; '}{peer} s</title>"
        if answered:
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{colour}" fill-opacity="0.75">{what}</circle>')
        else:
            out.append(f'<path d="M{x - 5:.1f} {y + 4:.1f}h10l-5 -9z" fill="{colour}" fill-opacity="0.75">{what}</path>')
    out += [
        f'<text x="{LEFT + WIDTH / 2}" y="{TOP + HEIGHT + 44}" text-anchor="middle">Twill, CPU seconds</text>',
        f'<text transform="translate(20 {TOP + HEIGHT / 2}) rotate(-90)" text-anchor="middle">best peer, CPU seconds</text>',
    ]
    x = LEFT + WIDTH - 150
    for k, (mark, text) in enumerate((("h", "Hopper"), ("b", "Blackwell"), ("t", "stopped at its limit"))):
        y = TOP + HEIGHT - 58 + 20 * k
        colour = {"h": "#1f5fa8", "b": "#b4540a", "t": "#555555"}[mark]
        out.append(f'<path d="M{x - 5} {y + 1}h10l-5 -9z" fill="{colour}"/>' if mark == "t" else
                   f'<circle cx="{x}" cy="{y - 4}" r="4.5" fill="{colour}"/>')
        out.append(f'<text x="{x + 12}" y="{y}">{text}</text>')
    print("\n".join(out + ["</svg>"]))


if __name__ == "__main__":
    main()
