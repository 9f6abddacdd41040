"""A bar chart like Figure 7 of Soi et al. (2025) as SVG: groups of bars by sequence length."""

# One colour a program, told apart in grey too.
_COLOURS = ["#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f", "#b07aa1", "#9c755f", "#bab0ac"]


def _escape(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def bars(title, groups, names, values):
    """values[(name, group)] = TFLOPS; what is missing was not measured and has no bar."""
    width, height, left, top, bottom = 960, 420, 60, 50, 70
    most = max(values.values(), default=0) or 1
    step = next(s for s in (50, 100, 200, 400, 1000, 5000) if most / s <= 10 or s == 5000)
    limit = step * (int(most / step) + 1)
    plot = height - top - bottom
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{width / 2}" y="20" text-anchor="middle" font-size="14">{_escape(title)}</text>',
    ]
    for tick in range(0, limit + 1, step):
        y = top + plot * (1 - tick / limit)
        out.append(f'<line x1="{left}" y1="{y:.1f}" x2="{width - 10}" y2="{y:.1f}" stroke="#ddd"/>')
        out.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{tick}</text>')
    out.append(f'<text x="14" y="{top + plot / 2}" text-anchor="middle" '
               f'transform="rotate(-90 14 {top + plot / 2})">TFLOPS</text>')
    group_width = (width - left - 20) / max(1, len(groups))
    bar = group_width * 0.85 / max(1, len(names))
    for g, group in enumerate(groups):
        x0 = left + g * group_width + group_width * 0.075
        for n, name in enumerate(names):
            value = values.get((name, group))
            if value is None:
                continue
            h = plot * value / limit
            out.append(f'<rect class="bar" x="{x0 + n * bar:.1f}" y="{top + plot - h:.1f}" '
                       f'width="{bar * 0.92:.1f}" height="{h:.1f}" '
                       f'fill="{_COLOURS[n % len(_COLOURS)]}"><title>{_escape(name)} '
                       f'{_escape(group)}: {value:.1f}</title></rect>')
        out.append(f'<text x="{x0 + group_width * 0.425:.1f}" y="{top + plot + 16}" '
                   f'text-anchor="middle">{_escape(group)}</text>')
    for n, name in enumerate(names):
        x = left + n * (width - left) / max(1, len(names))
        out.append(f'<rect x="{x:.1f}" y="{height - 32}" width="12" height="12" '
                   f'fill="{_COLOURS[n % len(_COLOURS)]}"/>')
        out.append(f'<text x="{x + 16:.1f}" y="{height - 22}">{_escape(name)}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
