"""Bars along a logarithmic axis as SVG: the ratio of each contestant in each row, drawn to the
right of 1 if it is above and to the left if it is below."""

import math
from xml.sax.saxutils import escape

COLOURS = ["#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280"]
LEFT, WIDTH, BAR, GAP, TOP = 240, 560, 10, 8, 64


def bars(title, rows, contestants):
    """Returns the image of rows (name, ratios by contestant)."""
    ratios = [ratio for _, found in rows for ratio in found.values()]
    low = min(-1, math.floor(math.log2(min(ratios))))
    high = max(1, math.ceil(math.log2(max(ratios))))
    scale = WIDTH / (high - low)
    place = lambda ratio: LEFT + (math.log2(ratio) - low) * scale
    colours = {who: COLOURS[i % len(COLOURS)] for i, who in enumerate(contestants)}
    parts, y = [], TOP
    for name, found in rows:
        parts.append(f'<text x="{LEFT - 8}" y="{y + BAR * len(found) / 2 + 4:.0f}" text-anchor="end">{escape(name)}</text>')
        for who, ratio in found.items():
            start, end = sorted((place(1), place(ratio)))
            parts.append(
                f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 1):.1f}" height="{BAR - 1}" '
                f'fill="{colours[who]}"><title>{escape(name)}, {escape(who)}: {ratio:.2f}</title></rect>'
            )
            y += BAR
        y += GAP
    axis = []
    for power in range(low, high + 1):
        x = place(2.0**power)
        axis.append(f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{y}" stroke="#{"555" if power == 0 else "ddd"}"/>')
        axis.append(f'<text x="{x:.1f}" y="{TOP - 12}" text-anchor="middle">{2.0**power:g}</text>')
    legend, x = [], LEFT
    for who in contestants:
        legend.append(f'<rect x="{x}" y="28" width="10" height="10" fill="{colours[who]}"/>')
        legend.append(f'<text x="{x + 14}" y="37">{escape(who)}</text>')
        x += 30 + 7 * len(who)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 24}" height="{y + 12}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-size="13">{escape(title)}</text>',
        *legend, *axis, *parts, "</svg>", "",
    ])
