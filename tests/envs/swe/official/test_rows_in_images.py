"""Instances of published sets in their images, which are made here: no registry is asked.

Each verdict is the same in boxes of namespaces, without a daemon, and in containers of an engine.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agentgym.envs.swe.env import SWEEnv
from agentgym.envs.swe.grading.grader import Grader
from agentgym.envs.swe.grading.preparation import prepare
from agentgym.envs.swe.grading.verdict import BLINDED, FULL, NO, PARTIAL, REPORT, Grade
from agentgym.envs.swe.instance import ImageSource, Instance
from agentgym.envs.swe.instance_boxes import Boxes, apply_in_box, changes_since
from agentgym.envs.swe.official import open_official
from agentgym.envs.swe.official.patches import reversed_diff
from agentgym.errors import EnvFailure
from tests.envs.swe.official import local_image
from tests.envs.swe.official.sample_rows import swe_gym, swe_smith
from tests.sandbox.conftest import usable

SWE_GYM = "xingyaoww/sweb.eval.x86_64.quiet_s_ledger-7:latest"
SMITH = "jyangballin/swesmith.x86_64.quiet_1776_ledger.0123abcd:latest"
R2E = "agentgym-test/ledger_final:latest"
FAILS = ["tests/test_sums.py::test_two[four"]  # cut at the space, as the set's own lists are
PASSES = ["tests/test_sums.py::test_one"]
RUN_TESTS = f"PYTHONPATH=. /{local_image.ENVIRONMENT}/bin/pytest -rA r2e_tests\n"


class World(NamedTuple):
    """What the tests share."""

    boxes: Boxes
    patch: str
    test_patch: str


@pytest.fixture(scope="module", params=["namespace", "docker"])
def world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """Make the images where a back end looks for them; remove them afterwards."""
    name = usable(request.param)
    root = tmp_path_factory.mktemp("images")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AGENTGYM_CACHE", str(root / "cache"))
        images = local_image.EngineImages() if name == "docker" else local_image.StoredImages(root)
        patch, test_patch = local_image.repository(root / "faulty")
        images.build(SWE_GYM, root / "faulty", {})
        fixed = {**local_image.BASE, **local_image.SOLUTION, **local_image.TESTS}
        local_image.repository(root / "sound", fixed | {"README.md": "Sums.\n"})
        images.build(SMITH, root / "sound", {})
        tests = local_image.TESTS["tests/test_sums.py"]
        hidden = {"/r2e_tests/test_1.py": tests, "/testbed/run_tests.sh": RUN_TESTS}
        images.build(R2E, root / "faulty", hidden)
        yield World(Boxes(sandbox=name, pull="never"), patch, test_patch)
        images.remove()


def read(folder: Path, row: dict[str, Any]) -> Instance:
    """Write a row to a file of JSON lines and read it as anybody would."""
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
    instances = open_official(str(folder / "rows.jsonl"))
    return instances.instance(instances.splits[0], 0)


def row(world: World, **changes: Any) -> dict[str, Any]:
    real = {"patch": world.patch, "test_patch": world.test_patch}
    return swe_gym(**{**real, "FAIL_TO_PASS": FAILS, "PASS_TO_PASS": PASSES, **changes})


def grade(world: World, instance: Instance, *commands: str) -> Grade:
    """Run commands as an agent would, and grade what they leave behind."""
    with world.boxes.open(instance) as box:
        initial = box.changes()
        for command in commands:
            result = box.exec(command)
            assert result.exit_code == 0, result.text
        changes = changes_since(box, initial)
    return Grader(world.boxes).grade(instance, changes)


def gold(world: World, instance: Instance) -> Grade:
    with world.boxes.open(instance) as box:
        initial = box.changes()
        apply_in_box(box, instance.patch, "the solution")
        changes = changes_since(box, initial)
    return Grader(world.boxes).grade(instance, changes)


@pytest.mark.slow
def test_the_right_solution_of_a_row_of_swe_gym_resolves_it(world: World, tmp_path: Path) -> None:
    assert gold(world, read(tmp_path, row(world))).verdict == FULL


@pytest.mark.slow
def test_doing_nothing_does_not(world: World, tmp_path: Path) -> None:
    result = grade(world, read(tmp_path, row(world)))
    assert (result.verdict, result.unfixed, result.broken) == (NO, tuple(FAILS), ())


def test_changed_tests_do_not_count(world: World, tmp_path: Path) -> None:
    result = grade(
        world,
        read(tmp_path, row(world)),
        "echo 'def test_two(): pass' > tests/test_sums.py",
        "echo 'collect_ignore = []' > conftest.py",
    )
    assert result.verdict == NO
    assert {"tests/test_sums.py", "conftest.py"} <= set(result.ignored)


def test_the_tests_of_a_row_take_the_place_of_an_edit_of_their_file(
    world: World, tmp_path: Path
) -> None:
    """Even of one that counts, since the right solution changes that file too."""
    instance = read(tmp_path, row(world, patch=world.patch + world.test_patch))
    easier = local_image.TESTS["tests/test_sums.py"].replace(" == 9", "")
    result = grade(world, instance, f"printf %s {shlex.quote(easier)} > tests/test_sums.py")
    assert "tests/test_sums.py" not in result.ignored
    assert (result.verdict, result.unfixed) == (NO, tuple(FAILS))


def test_a_half_solution(world: World, tmp_path: Path) -> None:
    instance = read(tmp_path, row(world, FAIL_TO_PASS=[*FAILS, "tests/test_sums.py::test_three"]))
    result = grade(world, instance, "sed -i 's/= amount/+= amount/' ledger/sums.py")
    assert (result.verdict, result.fixed) == (PARTIAL, tuple(FAILS))


def test_a_solution_that_breaks_something(world: World, tmp_path: Path) -> None:
    broken = "def total(amounts):\\n    return 9\\n"
    result = grade(world, read(tmp_path, row(world)), f"printf '{broken}' > ledger/sums.py")
    assert (result.verdict, result.broken) == (NO, tuple(PASSES))


def test_source_that_ends_the_run_early_is_not_believed(world: World, tmp_path: Path) -> None:
    lines = "".join(f"print('PASSED {test}')\\n" for test in (*FAILS, *PASSES))
    forged = f"import os\\n{lines}os._exit(3)\\n"
    result = grade(world, read(tmp_path, row(world)), f'printf "{forged}" > ledger/sums.py')
    assert result.verdict == NO
    assert "exit code" in result.reason


def test_an_agent_sees_no_later_commit_and_its_python_first(world: World, tmp_path: Path) -> None:
    with world.boxes.open(read(tmp_path, row(world))) as box:
        history = box.exec("git log --all --format=%s; git status --short; git branch -a").text
        assert history.split("\n")[0] == "Initial commit"
        assert "solution" not in history
        assert len(history.splitlines()) == 2  # one commit, one branch
        assert box.exec("command -v python").text == "/opt/miniconda3/envs/testbed/bin/python\n"
        assert box.changes() == {}


def test_rows_of_swe_smith_break_a_sound_image(world: World, tmp_path: Path) -> None:
    lists = {"FAIL_TO_PASS": FAILS, "PASS_TO_PASS": PASSES}
    fault = reversed_diff(world.patch)
    instance = read(tmp_path, swe_smith(patch=fault, image_name=SMITH, **lists))
    result = gold(world, instance)
    assert result.verdict == FULL, result
    result = grade(world, instance)
    assert (result.verdict, result.unfixed) == (NO, tuple(FAILS))


def r2e_row() -> dict[str, Any]:
    expected = {"test_one": "PASSED", "test_two[four and five]": "PASSED"}
    log = "= short test summary info =\nPASSED r2e_tests/test_1.py::test_one\n"
    lines = [
        {"type": "deleted", "content": "        result = amount"},
        {"type": "added", "content": "        result += amount"},
    ]
    place = {"start": 4, "length": 1}
    hunk = {"descriptor": {"old_range": place, "new_range": place}}
    hunk["line_group"] = {"all_lines": lines}  # type: ignore[dict-item]
    path = "ledger/sums.py"
    file = {
        "header": {"file": {"path": path}}, "minus_file": {"path": f"a/{path}"},
        "plus_file": {"path": f"b/{path}"}, "hunks": [hunk],
    }  # fmt: skip
    return {
        "repo_name": "ledger", "commit_hash": "e" * 40, "docker_image": R2E,
        "problem_statement": "[ISSUE]Sums are wrong.[/ISSUE]",
        "parsed_commit_content": json.dumps({"file_diffs": [file]}),
        "expected_output_json": json.dumps(expected),
        "execution_result_content": json.dumps({"old_commit_res_stdout": log}),
    }  # fmt: skip


def test_rows_of_r2e_gym_hide_their_tests(world: World, tmp_path: Path) -> None:
    instance = read(tmp_path, r2e_row())
    with world.boxes.open(instance) as box:
        assert box.exec("ls -d /r2e_tests run_tests.sh").exit_code != 0
    assert grade(world, instance).verdict == NO
    result = gold(world, instance)
    assert result.verdict == FULL, result


def eval_script(world: World) -> str:
    """Return a script that brings the tests along, as rows of SWE-bench 5 have it."""
    return (
        f"git apply - <<'EOF'\n{world.test_patch}EOF\n"
        ": '>>>>> Start Test Output'\npytest -rA tests\n: '>>>>> End Test Output'\n"
    )


@pytest.mark.parametrize("kind", ["patch", "script", "r2e-gym", "swe-smith"])
def test_hidden_tests_are_blinded(world: World, tmp_path: Path, kind: str) -> None:
    lists = {"FAIL_TO_PASS": FAILS, "PASS_TO_PASS": PASSES}
    rows = {
        "patch": lambda: row(world),
        "script": lambda: row(world, eval_script=eval_script(world), image=SWE_GYM),
        "r2e-gym": r2e_row,
        "swe-smith": lambda: swe_smith(patch=reversed_diff(world.patch), image_name=SMITH, **lists),
    }
    instance = read(tmp_path, rows[kind]())
    assert isinstance(instance.source, ImageSource)
    python = (f"/{local_image.ENVIRONMENT}/bin",)  # that of R2E-Gym would lie in the repository
    instance = replace(instance, source=replace(instance.source, path=python))
    prepared = prepare([instance], world.boxes, 120)
    assert prepared.failed == {} and prepared.created[instance.id].reason == ""
    grade_ = gold(world, instance)
    assert (grade_.verdict, grade_.evidence, grade_.blinded) == (FULL, BLINDED, 1.0)
    cheat = "class E(int):\n    def __eq__(self, other):\n        return True\n"
    cheat += "def total(amounts):\n    return E(4)\n"
    assert grade(world, instance, f"cat > ledger/sums.py <<'END'\n{cheat}END").verdict == NO


def test_what_lies_beside_the_package_takes_no_place(world: World, tmp_path: Path) -> None:
    instance = read(tmp_path, row(world))
    printed = "".join(f"PASSED {test}\n" for test in (*FAILS, *PASSES))
    text = f"import os\nos.write(1, {printed!r}.encode())\nos._exit(0)\n"
    write = f"cat > iniconfig.py <<'END'\n{text}END\ncp iniconfig.py pluggy.py"
    result = grade(world, instance, write, "echo '# seen' >> ledger/sums.py")
    assert (result.verdict, result.evidence) == (NO, REPORT)
    assert result.ignored == ("iniconfig.py", "pluggy.py")


def test_a_script_longer_than_an_argument_may_be(world: World, tmp_path: Path) -> None:
    script = (
        f"git apply - <<'EOF'\n{world.test_patch}EOF\n"
        f": '{'x' * 200_000}'\n"
        "echo 'PASSED forged'\n: '>>>>> Start Test Output'\npytest -rA tests\n"
        ": '>>>>> End Test Output'\n"
    )
    instance = read(tmp_path, row(world, eval_script=script, image=SWE_GYM))
    result = gold(world, instance)
    assert result.verdict == FULL, result
    assert grade(world, instance).verdict == NO


@pytest.mark.parametrize("way", ["as it is", "fuzzy", "none"])
def test_the_ways_to_apply_a_diff(world: World, tmp_path: Path, way: str) -> None:
    instance = read(tmp_path, row(world))
    with world.boxes.open(instance) as box:
        if way != "as it is":
            box.exec("sed -i 's/for amount in amounts/for amount in list(amounts)/' ledger/sums.py")
        if way == "none":
            box.exec("sed -i 's/= amount/= 0/' ledger/sums.py")
            changes_before = box.changes()
            with pytest.raises(EnvFailure, match="expected applying the solution to succeed"):
                apply_in_box(box, instance.patch, "the solution")
            assert box.changes() == changes_before  # no way left anything behind
        elif way == "fuzzy" and box.exec("command -v patch").exit_code:
            pytest.skip("the image has no patch")
        else:
            apply_in_box(box, instance.patch, "the solution")
            assert b"+= amount" in (box.changes()["ledger/sums.py"] or b"")


def test_the_environment_plays_a_file_of_rows(world: World, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(row(world)) + "\n")
    settings: dict[str, Any] = {"sandbox": world.boxes.sandbox, "pull": "never", "reward": "dense"}
    env = SWEEnv(data=tmp_path / "rows.jsonl", **settings)
    try:
        observation, info = env.reset(seed=0, options={"instance_id": "Quiet__ledger-7"})
        assert "I expected 9." in observation
        paid, over = 0.0, False
        while not over:
            _, reward, terminated, truncated, info = env.step(env.demonstrator_action())
            paid, over = paid + float(reward), terminated or truncated
        assert (paid, info["success"]) == (1.0, True)
        env.reset(seed=0)
        _, reward, terminated, _, info = env.step("```submit\n```")
        assert (float(reward), terminated, info["success"]) == (0.0, True, False)
    finally:
        env.close()
