"""Bar charts with a logarithmic axis as SVG. The bar of a ratio starts at 1 and extends to the right
if the ratio is greater, else to the left."""

import math
from xml.sax.saxutils import escape

COLOURS = ["#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280"]
LEFT, WIDTH, BAR, GAP, TOP = 240, 560, 10, 8, 64


def bar_chart(title, rows, peers):
    """Returns the chart of rows (name, ratios by peer)."""
    ratios = [ratio for _, found in rows for ratio in found.values()]
    low = min(-1, math.floor(math.log2(min(ratios))))
    high = max(1, math.ceil(math.log2(max(ratios))))
    scale = WIDTH / (high - low)
    position = lambda ratio: LEFT + (math.log2(ratio) - low) * scale
    colours = {peer: COLOURS[i % len(COLOURS)] for i, peer in enumerate(peers)}
    parts, y = [], TOP
    for name, found in rows:
        middle = y + BAR * len(found) / 2 + 4
        parts.append(f'<text x="{LEFT - 8}" y="{middle:.0f}" text-anchor="end">{escape(name)}</text>')
        for peer, ratio in found.items():
            start, end = sorted((position(1), position(ratio)))
            parts.append(
                f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 1):.1f}" height="{BAR - 1}" '
                f'fill="{colours[peer]}"><title>{escape(name)}, {escape(peer)}: {ratio:.2f}</title></rect>'
            )
            y += BAR
        y += GAP
    axis = []
    for power in range(low, high + 1):
        x = position(2.0**power)
        colour = "#555" if power == 0 else "#ddd"
        axis.append(f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{y}" stroke="{colour}"/>')
        axis.append(f'<text x="{x:.1f}" y="{TOP - 12}" text-anchor="middle">{2.0**power:g}</text>')
    legend, x = [], LEFT
    for peer in peers:
        legend.append(f'<rect x="{x}" y="28" width="10" height="10" fill="{colours[peer]}"/>')
        legend.append(f'<text x="{x + 14}" y="37">{escape(peer)}</text>')
        x += 30 + 7 * len(peer)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 24}" height="{y + 12}" '
        'font-family="sans-serif" font-size="11">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-size="13">{escape(title)}</text>',
        *legend, *axis, *parts, "</svg>", "",
    ])
