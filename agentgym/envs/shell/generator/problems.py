"""Files and tasks about them, each determined by its key alone.

A question names a file; the policy has to find its folder.
"""

from __future__ import annotations

import posixpath

from agentgym.envs.shell.engine.session import Problem
from agentgym.envs.shell.generator.config import GENERATOR_VERSION, GeneratorConfig
from agentgym.support.random_stream import Stream
from agentgym.support.text_lines import split_lines

FOLDERS = ("north", "south", "attic", "cellar", "office", "garden")
NAMES = (
    "ledger", "diary", "letter", "recipe", "report", "roster", "survey", "almanac", "manual",
    "memo", "receipt", "atlas", "novel", "essay", "log", "index", "outline", "summary", "catalog",
    "notice", "register", "journal", "chart", "script",
)  # fmt: skip
ENDINGS = ("txt", "md", "csv", "bak")
WORDS = ("amber", "birch", "cedar", "delta", "ember", "flint", "grove", "heron", "ivory", "jade")
RARE = ("quartz", "zephyr", "umbra", "vortex")
"""Words that occur in some files only, at most one per line."""
PLAIN_FOLDERS = 2
"""Folders of tasks with files without extensions."""
TELLS = {
    "count": "How many lines of the file {file} contain the word {word}?",
    "sum": "Each line of the file {file} ends in a number. What is the sum of these numbers?",
    "holder": "Which file contains the word {word}? Answer with its path.",
    "longest": "Which file whose name ends in .{word} has the most lines? Answer with its path.",
    "sort": "Sort the lines of the file {file} by their characters, in the file itself.",
    "replace": "In the file {file}, replace every word {word} by {other}.",
    "delete": "Delete every file whose name ends in .{word}, and no other.",
    "collect": "Write the lines of the file {file} that contain the word {word} to a new file "
    "{other} in the same folder.",
    "move": "Move every file that contains the word {word} to the folder {other}.",
}
"""Task descriptions, by kind."""
Files = dict[str, str]


def make_problem(config: GeneratorConfig, *key: str | int) -> Problem:
    """Make a task.

    Args:
        config: Number of files and kinds of tasks.
        *key: Identifies the task.
    """
    stream = Stream("shell", GENERATOR_VERSION, config.name, *key)
    kind = stream.choice(config.kinds)
    folders = _folders(config, stream)
    count = stream.between(*config.files)
    names = stream.sample(NAMES, count)
    if config.folders > PLAIN_FOLDERS:
        names = [f"{name}.{stream.choice(ENDINGS)}" for name in names]
    files = {f"{stream.choice(folders)}/{name}": _text(config, stream) for name in names}
    path = stream.choice([*files])
    words = sorted({part for part in files[path].split() if part.isalpha()})
    word, rare_word = stream.choice(words), stream.choice(RARE)
    if kind in ("delete", "longest"):
        word = path.rpartition(".")[2]
        if kind == "longest":
            # One file has more lines than any other.
            line_count = max(text.count("\n") for text in files.values())
            files[path] += "".join(
                _line(stream) for _ in range(line_count + 1 - files[path].count("\n"))
            )
    elif kind in ("holder", "move"):
        word = rare_word
        rare_word = stream.choice(
            [folder for folder in folders if folder != posixpath.dirname(path)]
        )
        _hide(files, path, word, stream)
        if kind == "move":
            decoys = [
                candidate
                for candidate in files
                if posixpath.dirname(candidate) != rare_word and candidate != path
            ]
            for decoy in decoys[: stream.between(0, 2)]:
                _hide(files, decoy, word, stream)
    elif kind == "collect":
        rare_word = f"{rare_word}.txt"
    text = TELLS[kind].format(file=posixpath.basename(path), word=word, other=rare_word)
    answer, expected = solve(kind, dict(files), path, word, rare_word)
    return Problem(text, kind, files, answer, expected=expected)


def solve(
    kind: str, files: Files, path: str, word: str, rare_word: str
) -> tuple[str, Files | None]:
    """Return the answer, and the files expected after a change (None for a question)."""
    lines = split_lines(files[path], keep_ends=True)
    holders = [file_path for file_path in sorted(files) if word in files[file_path].split()]
    if kind == "count":
        return str(sum(word in line.split() for line in lines)), None
    if kind == "sum":
        return str(sum(int(line.split()[-1]) for line in lines)), None
    if kind in ("holder", "longest"):
        return path, None
    if kind == "sort":
        files[path] = "".join(sorted(lines))
    elif kind == "replace":
        files[path] = "".join(
            " ".join(rare_word if token == word else token for token in line.split()) + "\n"
            for line in lines
        )
    elif kind == "delete":
        files = {
            file_path: text
            for file_path, text in files.items()
            if not file_path.endswith(f".{word}")
        }
    elif kind == "collect":
        collected = "".join(line for line in lines if word in line.split())
        files[posixpath.join(posixpath.dirname(path), rare_word)] = collected
    elif kind == "move":
        for file_path in holders:
            files[posixpath.join(rare_word, posixpath.basename(file_path))] = files.pop(file_path)
    return "", files


def _folders(config: GeneratorConfig, stream: Stream) -> list[str]:
    """Draw folders, some of them in others."""
    folders: list[str] = []
    for name in FOLDERS[: config.folders]:
        above = [folder for folder in folders if folder.count("/") < config.depth - 1]
        nested = bool(above) and stream.percent(50)
        folders.append(f"{stream.choice(above)}/{name}" if nested else name)
    return folders


def _text(config: GeneratorConfig, stream: Stream) -> str:
    return "".join(_line(stream) for _ in range(stream.between(*config.lines)))


def _line(stream: Stream) -> str:
    """Write a line: words, then a number."""
    words = [stream.choice(WORDS) for _ in range(stream.between(2, 5))]
    return f"{' '.join(words)} {stream.between(1, 99)}\n"


def _hide(files: Files, path: str, word: str, stream: Stream) -> None:
    """Put a word in front of a line of a file."""
    lines = split_lines(files[path], keep_ends=True)
    place = stream.below(len(lines))
    lines[place] = f"{word} {lines[place]}"
    files[path] = "".join(lines)
