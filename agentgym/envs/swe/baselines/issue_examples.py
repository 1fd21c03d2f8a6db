"""Write the examples of an issue down as tests.

Typed by ``IssueSearch`` into a box and run there; nothing on the host imports it. An issue shows
code, then what came out, and often what should have: each example becomes a script and a test of
what it shows. An example without an expectation only has to end otherwise than it did.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator

FOLDER = "/tmp/issue_examples"
TESTS = "test_issue_examples.py"
_CODE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_VALUE = re.compile(r"^```\n(.*?)\n```$|`([^`\n]+)`", re.DOTALL | re.MULTILINE)
_WANTED = re.compile(r"expect|should", re.IGNORECASE)
_SILENT = re.compile(r"nothing is raised|no error|without an error|goes through|not told", re.I)
_ERROR = re.compile(r"[A-Za-z_]\w*(?:Error|Exception|Warning)\b")
_HEAD = f'''\
import contextlib
import io
import runpy

ACCIDENTS = ("AttributeError", "NameError", "NotImplementedError", "TypeError")


def shown(number):
    """Return the exception of an example, and all that it shows."""
    printed, kind = io.StringIO(), ""
    with contextlib.redirect_stdout(printed):
        try:
            runpy.run_path(f"{FOLDER}/{{number}}.py")
        except Exception as error:
            kind = type(error).__name__
            print(f"{{kind}}: {{error}}" if str(error) else kind)
    return kind, printed.getvalue().strip()
'''


def examples(issue: str) -> Iterator[tuple[str, str]]:
    """Yield each script of an issue with the condition that it has to meet."""
    places = [*_CODE.finditer(issue)]
    for n, place in enumerate(places):
        end = places[n + 1].start() if n + 1 < len(places) else len(issue)
        condition = _condition(issue[place.end() : end])
        try:
            yield _showing(place[1]), condition
        except SyntaxError:
            continue


def _condition(tail: str) -> str:
    """Return what has to hold of an example, from the words and values behind it."""
    output, begin = "", 0
    for value in _VALUE.finditer(tail):
        text = (value[1] or value[2]).strip()
        if _WANTED.search(tail[begin : value.start()]):
            return f"text in {('', 'None')!r}" if text == "nothing" else f"text == {text!r}"
        output, begin = output or text.split("[...]\n")[-1], value.end()
    if _SILENT.search(tail) and not _ERROR.match(output):
        return "kind and kind not in ACCIDENTS"
    if _ERROR.match(output):
        return f"kind != {output.partition(':')[0]!r} and kind not in ACCIDENTS"
    return f"text != {output!r} and kind not in ACCIDENTS" if output else "not kind"


def _showing(script: str) -> str:
    """Return a script that prints the value of its last expression."""
    body = ast.parse(script).body
    if not body or not isinstance(body[-1], ast.Expr):
        return script
    rows = script.split("\n")
    last = body[-1]
    rows[last.lineno - 1 : last.end_lineno] = [f"print(repr({ast.unparse(last.value)}))"]
    return "\n".join(rows)


def write_tests(issue: str) -> int:
    """Write the scripts and the file of tests, and return how many tests there are."""
    os.makedirs(FOLDER, exist_ok=True)
    tests = [_HEAD]
    for number, (script, condition) in enumerate(examples(issue)):
        with open(f"{FOLDER}/{number}.py", "w", encoding="utf-8") as file:
            file.write(script)
        tests.append(
            f"\n\ndef test_example_{number}():\n"
            f"    kind, text = shown({number})\n    assert {condition}\n"
        )
    place = os.path.join("tests" if os.path.isdir("tests") else ".", TESTS)
    with open(place, "w", encoding="utf-8") as file:
        file.write("".join(tests))
    return len(tests) - 1
