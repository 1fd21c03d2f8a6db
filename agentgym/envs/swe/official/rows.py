"""Convert a row of a published set to an instance.

Most sets have the fields of SWE-bench (Jimenez et al., 2024): ``instance_id``, ``repo``,
``base_commit``, ``patch``, ``test_patch``, ``problem_statement``, ``version``, ``FAIL_TO_PASS`` and
``PASS_TO_PASS``, the last two as lists or JSON-encoded lists. SWE-smith has no ``test_patch``, and
its ``patch`` is the fault. R2E-Gym has ``repo_name``, ``commit_hash``, ``docker_image``,
``parsed_commit_content`` (the solution, as parsed hunks), ``expected_output_json`` (the status of
each test with the solution) and ``execution_result_content`` (logs with and without it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentgym.core.outcome import well_formed
from agentgym.envs.swe.git_names import write_name
from agentgym.envs.swe.instance import ImageSource, Instance
from agentgym.envs.swe.official.commands import plan_run
from agentgym.envs.swe.official.images import image_name
from agentgym.envs.swe.official.logs import read_r2e
from agentgym.envs.swe.official.patches import reversed_diff, touched_files
from agentgym.envs.swe.official.sets import DataSet
from agentgym.errors import DataError
from agentgym.support.strict_json import parse_json

DETAILS = ("base_commit", "version", "created_at", "difficulty", "language")
"""Fields that are copied to the details of the instance, for people."""
ISSUE_TAGS = ("[ISSUE]", "[/ISSUE]")
"""Tags around the statements of R2E-Gym, which are removed."""


def read_row(row: Any, data_set: DataSet, image_mirror: str = "") -> Instance:
    """Convert a row to an instance.

    Args:
        row: The row.
        data_set: The set that it belongs to.
        image_mirror: Registry and namespace that replace those of its image; empty: none.

    Raises:
        ConfigurationError: ``image_mirror`` is invalid.
        DataError: The row cannot be used; the message names the field.
    """
    if not isinstance(row, Mapping):
        raise DataError(f"expected an object, got {row!r:.80}")
    if data_set.name == "r2e-gym":
        row = _from_r2e(row)
    instance_id, repo = _text(row, "instance_id"), _text(row, "repo")
    patch, test_patch = _text(row, "patch"), _text(row, "test_patch", optional=True)
    fails, passes = _tests(row, "FAIL_TO_PASS"), _tests(row, "PASS_TO_PASS")
    if not fails:
        raise DataError("expected at least one test in FAIL_TO_PASS, got none")
    run = plan_run(data_set, row, repo, (*fails, *passes), test_patch)
    faulty = data_set.name == "swe-smith"
    source = ImageSource(
        image=image_name(data_set, row, instance_id, image_mirror),
        workdir=data_set.workdir.format(repo=repo.rpartition("/")[2]),
        fault=patch if faulty else "",
        hidden=data_set.hidden,
        path=data_set.path,
    )
    return Instance(
        id=instance_id,
        repo=repo,
        statement=_statement(row),
        source=source,
        patch=reversed_diff(patch) if faulty else patch,
        fail_to_pass=fails,
        pass_to_pass=passes,
        test_patch="" if run.brings_tests else test_patch,
        brought_tests=test_patch if run.brings_tests else "",
        test_command=run.command,
        log_format=run.log_format,
        protected=(*data_set.protected, *map(_literal, touched_files(test_patch))),
        environment=data_set.environment,
        details={"data_set": data_set.name, **_details(row)},
    )


def _text(row: Mapping[str, Any], name: str, optional: bool = False) -> str:
    value = row.get(name)
    if value is None and optional:
        return ""
    if not isinstance(value, str) or not (optional or value.strip()):
        raise DataError(f"expected text in {name}, got {value!r:.80}")
    return well_formed(value)


def _statement(row: Mapping[str, Any]) -> str:
    text = _text(row, "problem_statement")
    for tag in ISSUE_TAGS:
        text = text.replace(tag, "")
    return text.strip()


def _tests(row: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a field with a list of tests, which may be JSON-encoded."""
    value = row.get(name)
    if isinstance(value, str):
        value = _json(value, name)
    if not isinstance(value, list | tuple) or not all(isinstance(test, str) for test in value):
        raise DataError(
            f"expected a list of tests, or the JSON text of one, in {name}, got {value!r:.80}"
        )
    return tuple(dict.fromkeys(map(well_formed, value)))


def _json(text: str, name: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        raise DataError(f"expected JSON in {name}, got {text!r:.80}") from None


def _object(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = row.get(name)
    value = _json(value, name) if isinstance(value, str) else value
    if not isinstance(value, Mapping):
        raise DataError(
            f"expected an object, or the JSON text of one, in {name}, got {value!r:.80}"
        )
    return value


def _literal(path: str) -> str:
    """Return the fnmatch pattern that matches only this path."""
    return "".join(f"[{sign}]" if sign in "*?[" else sign for sign in path)


def _details(row: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(row[name]) for name in DETAILS if row.get(name) not in (None, "")}


def _from_r2e(row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a row of R2E-Gym to the fields of SWE-bench.

    The deciding tests are those that pass with the solution: FAIL_TO_PASS if they failed or were
    missing without it, else PASS_TO_PASS. Without a log from before the solution, all are
    FAIL_TO_PASS.
    """
    repo, commit = _text(row, "repo_name"), _text(row, "commit_hash")
    expected = {
        str(name).partition(" - ")[0]: status
        for name, status in _object(row, "expected_output_json").items()
    }
    with_solution = [name for name, status in expected.items() if name and status == "PASSED"]
    old_log = ""
    if row.get("execution_result_content"):
        old_log = _object(row, "execution_result_content").get("old_commit_res_stdout") or ""
    statuses = read_r2e(str(old_log))
    passes = [name for name in with_solution if statuses.get(name) == "PASSED"]
    fails = [name for name in with_solution if statuses.get(name) != "PASSED"]
    return {
        **row,
        "instance_id": f"{repo}__{commit}",
        "repo": repo,
        "patch": "".join(_r2e_patch(_object(row, "parsed_commit_content"))),
        "FAIL_TO_PASS": fails,
        "PASS_TO_PASS": passes,
    }


def _r2e_patch(commit: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a commit's diff, restricted to Python files that are not tests."""
    try:
        for file in commit["file_diffs"]:
            path = file["header"]["file"]["path"]
            if path.endswith(".py") and not _is_test(path):
                yield from _r2e_file(path, file)
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(
            f"expected file_diffs with headers and hunks in parsed_commit_content, but {error!r} "
            "is missing or of another type"
        ) from None


def _r2e_file(path: str, file: Mapping[str, Any]) -> Iterator[str]:
    yield f"diff --git {write_name(f'a/{path}')} {write_name(f'b/{path}')}\n"
    if file["header"].get("misc_line"):
        yield f"{file['header']['misc_line']}\n"
    if not (file.get("minus_file") and file.get("plus_file")):
        return
    yield f"--- {write_name(file['minus_file']['path'])}\n"
    yield f"+++ {write_name(file['plus_file']['path'])}\n"
    signs = {"context": " ", "added": "+", "deleted": "-", "note": "\\ "}
    for hunk in file["hunks"]:
        place = hunk["descriptor"]
        old, new = _r2e_span(place["old_range"]), _r2e_span(place["new_range"])
        yield f"@@ -{old} +{new} @@\n"
        for line in hunk["line_group"]["all_lines"]:
            yield f"{signs[line['type']]}{line['content']}\n"


def _r2e_span(span: Mapping[str, Any]) -> str:
    length = span.get("length")
    return f"{span['start']}" if length is None else f"{span['start']},{length}"


def _is_test(path: str) -> bool:
    """Return whether R2E-Gym counts a file as a test [R2E-Gym: commit_models/diff_classes.py]."""
    *folders, name = path.split("/")
    in_tests = any(folder.lower() in ("test", "tests") for folder in folders)
    return in_tests or name.startswith("test_") or name.endswith("_test.py")
