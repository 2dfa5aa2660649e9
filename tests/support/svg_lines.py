# SPDX-License-Identifier: Apache-2.0
"""Lines over time as an SVG, written by hand: panels below each other, each
with its own scale and a legend. No library."""
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, GAP = 960, 220, 70, 230, 30, 50
COLOURS = ("#1f6fb4", "#d1495b", "#2e8b57", "#e09f3e", "#6a4c93", "#00798c",
           "#8d5b4c", "#5c677d", "#b5179e", "#606c38")


def _nice(value):
    """A round number not below value."""
    step = 1
    while True:
        for factor in (1, 2, 5):
            if value <= factor * step:
                return factor * step
        step *= 10


def _text(x, y, text, anchor="start", size=12, colour="#333"):
    return (f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" '
            f'text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>')


def _panel(top, title, lines, last, marks):
    """lines: {name: [(seconds, value)]}; marks: [(seconds, words)]."""
    most = _nice(max((value for row in lines.values() for _, value in row),
                     default=1) or 1)
    span = WIDTH - LEFT - RIGHT
    out = [_text(LEFT, top - 8, title, size=14),
           f'<rect x="{LEFT}" y="{top}" width="{span}" height="{HEIGHT}" '
           'fill="none" stroke="#999"/>']
    for part in range(5):
        y = top + HEIGHT - HEIGHT * part / 4
        out.append(f'<line x1="{LEFT}" x2="{LEFT + span}" y1="{y:.1f}" '
                   f'y2="{y:.1f}" stroke="#e4e4e4"/>')
        out.append(_text(LEFT - 6, y + 4, f"{most * part / 4:g}", "end"))
        x = LEFT + span * part / 4
        out.append(_text(x, top + HEIGHT + 16, f"{last * part / 240:.1f} min",
                         "middle"))
    for seconds, words in marks:
        x = LEFT + span * seconds / last
        out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" '
                   f'y2="{top + HEIGHT}" stroke="#999" '
                   'stroke-dasharray="4 3"/>')
        out.append(_text(x + 4, top + 14, words, colour="#777"))
    for place, (name, row) in enumerate(lines.items()):
        colour = COLOURS[place % len(COLOURS)]
        points = " ".join(
            f"{LEFT + span * at / last:.1f},"
            f"{top + HEIGHT - HEIGHT * value / most:.1f}"
            for at, value in row)
        out.append(f'<polyline points="{points}" fill="none" '
                   f'stroke="{colour}" stroke-width="1.5"/>')
        y = top + 14 + 17 * place
        out.append(f'<line x1="{WIDTH - RIGHT + 10}" '
                   f'x2="{WIDTH - RIGHT + 30}" y1="{y - 4}" y2="{y - 4}" '
                   f'stroke="{colour}" stroke-width="3"/>')
        out.append(_text(WIDTH - RIGHT + 36, y, name))
    return out


def write(path, heading, panels, marks=()):
    """panels: [(title, {name: [(seconds, value)]})]."""
    last = max((at for _, lines in panels for row in lines.values()
                for at, _ in row), default=1) or 1
    height = TOP + 40 + len(panels) * (HEIGHT + GAP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
           f'height="{height}" viewBox="0 0 {WIDTH} {height}" '
           'font-family="sans-serif">',
           f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
           _text(LEFT, 22, heading, size=16)]
    for place, (title, lines) in enumerate(panels):
        out += _panel(TOP + 36 + place * (HEIGHT + GAP), title, lines, last,
                      marks)
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(out) + "\n</svg>\n")
