"""Pictures of an episode, as `agentgym play` shows it to a terminal: drawn, so that none is old.

``python .site/pictures.py`` writes the animated one of the tutorial; the site draws one per family.
``python .site/pictures.py viewer`` photographs the viewer for the README, in Chromium.
"""

from __future__ import annotations

import io
import re
import subprocess
import sys
import tempfile
from html import unescape
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.terminal_theme import SVG_EXPORT_THEME

import agentgym
from agentgym.cli.play import play
from agentgym.cli.screen import FramedScreen
from agentgym.registration import families
from agentgym.rewards import parse_hooks

SCREENCAST = Path(__file__).parent / "screencast.svg"
VIEWER = Path(__file__).parent / "viewer.png"
VIEWER_ENV: dict[str, Any] = {
    "difficulty": "easy", "observation_mode": "compact", "expert": "careful",
    "reward_hooks": ("potential", "turn_cost=0.01"),
}  # fmt: skip
"""Arguments of the WebShop of the viewer's picture."""
SECONDS = 2.5
"""Time that each turn of the screencast is shown."""
WIDTH = 92
"""Columns of the terminal."""
FAMILY = "alfworld"
"""Whose episode the screencast shows: its turns are short."""
TASK = {"split": "test", "index": 0}

FORMAT = """<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}"
  xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>
"""
"""As rich draws it, but for fonts, which would be loaded from elsewhere."""


def frames(family: str, rows: int = 0) -> list[str]:
    """Play the demonstrator's episode of a test task, and draw each turn as an SVG.

    Args:
        family: Short name of the environment.
        rows: Lines that every frame has at least, so that all have one size.
    """
    (entry,) = (entry for entry in families() if entry.name == family)
    env: Any = agentgym.make(family, **dict(entry.play))
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    drawn: list[str] = []

    def draw() -> None:
        lines = console.export_text(clear=False).count("\n")
        console.print("\n" * max(0, rows - lines), end="")
        drawn.append(
            console.export_svg(
                title=f"agentgym play {family}",
                theme=SVG_EXPORT_THEME,
                code_format=FORMAT,
                unique_id=f"{family}-{len(drawn)}",
            )
        )

    def ask() -> str:
        action = str(env.unwrapped.demonstrator_action())
        console.print(f"> {action}", style="bold", markup=False, highlight=False)
        draw()
        return action

    try:
        play(env, dict(TASK), seed=0, screen=FramedScreen(console), ask=ask)
    finally:
        env.close()
    draw()
    return drawn


def animated(drawn: list[str]) -> str:
    """Return one SVG that shows one drawing after the other, again and again."""
    sizes = [re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing) for drawing in drawn]
    width, height = (max(float(size[at]) for size in sizes if size) for at in (1, 2))
    share = 100 / len(drawn)
    style = (
        f"@keyframes shown {{ 0%, {share:.3f}% {{ opacity: 1 }} "
        f"{share + 0.001:.3f}%, 100% {{ opacity: 0 }} }}\n"
        f".frame {{ opacity: 0; animation: shown {SECONDS * len(drawn)}s infinite step-end }}"
    )
    parts = [
        f'<g class="frame" style="animation-delay: {SECONDS * at}s">\n{drawing}</g>'
        for at, drawing in enumerate(drawn)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">\n'
        f"<style>{style}</style>\n" + "\n".join(parts) + "\n</svg>\n"
    )


def words(svg: str) -> list[str]:
    """Return the texts of a drawing, in order: what does not depend on who draws it."""
    return [unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


def screencast(family: str = FAMILY) -> str:
    """Return the animated picture of an episode; all its frames have one size."""
    rows = max(_rows(frame) for frame in frames(family))
    return animated(frames(family, rows))


def _rows(svg: str) -> int:
    """Return how many lines a drawing has."""
    return max(int(line) for line in re.findall(r"line-(\d+)\)", svg)) + 2  # None names the last.


def photograph_viewer(path: Path = VIEWER) -> None:
    """Write a picture of an episode of WebShop in the viewer.

    Args:
        path: PNG file to write.

    Raises:
        FileNotFoundError: There is no ``chromium`` on the path.
        subprocess.CalledProcessError: Chromium failed.
    """
    from agentgym.viewer import find_run, render_page

    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "webshop")
        kwargs = {**VIEWER_ENV, "reward_hooks": parse_hooks(VIEWER_ENV["reward_hooks"])}
        agentgym.evaluate(
            "demonstrator", "webshop", num_tasks=1, env_kwargs=kwargs, out=out, scale=False
        )
        page = out / "view.html"
        page.write_bytes(render_page([find_run(out)]))
        flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
                 "--hide-scrollbars", "--window-size=1000,1090", "--virtual-time-budget=4000",
                 f"--user-data-dir={folder}/chromium", f"--screenshot={path}")  # fmt: skip
        subprocess.run(
            ["chromium", *flags, f"{page.as_uri()}#a/1"], check=True, stderr=subprocess.DEVNULL
        )


if __name__ == "__main__":
    if sys.argv[1:] == ["viewer"]:
        photograph_viewer()
    else:
        SCREENCAST.write_text(screencast(), encoding="utf-8")
