"""Held-out questions in boxes: who answers them, and what hostile source can do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from agentgym.envs.swe.diffs import apply_diff
from agentgym.envs.swe.grading import FULL, NO, Grader
from agentgym.envs.swe.held_out import Bank, judge_behaviour, load_bank
from agentgym.envs.swe.held_out.bank import FEW, Questions, read_bank
from agentgym.envs.swe.instance import FolderSource, HeldOut, Instance
from agentgym.envs.swe.instance_boxes import Boxes
from agentgym.envs.swe.making.banks import states
from agentgym.envs.swe.making.held_out.building import BankBuilder, QuestionedTask
from agentgym.errors import DataError
from tests.envs.swe.boxed import needs_box
from tests.envs.swe.small import SmallSet

pytestmark = needs_box
BOXES = Boxes()
PLAIN = SmallSet().instance("train", 0)
SOUND = "def add(a, b):\n    return a + b\ndef mul(a, b):\n    return a * b\n"
SOUND += "def sign(a):\n    return (a > 0) - (a < 0)\n"
WHERE = "sums/plain.py"
IN_DRIVER = "import os\nif os.path.exists('/opt/judge/driver.py'):\n"


@pytest.fixture(scope="module")
def instance(questioned: Instance) -> Instance:
    return questioned


@pytest.fixture(scope="module")
def bank(instance: Instance) -> Bank:
    assert instance.held_out is not None
    return load_bank(instance.held_out)


def test_a_bank_grows_task_by_task_and_is_kept(
    instance: Instance, bank: Bank, tmp_path: Path
) -> None:
    questions = bank.tasks[PLAIN.id]
    assert questions.enough and len(questions.telling) >= FEW and questions.plain
    assert (
        questions.wrong_repairs is not None
        and len(questions.wrong_repairs) == 1 == questions.untold
    )
    assert instance.held_out is not None and isinstance(PLAIN.source, FolderSource)
    sound, faulty, tests = states(PLAIN)
    assert not sound and list(faulty) == [WHERE] and list(tests) == ["tests/test_plain.py"]
    file = tmp_path / "sums.json.gz"
    file.write_bytes(instance.held_out.file.read_bytes())
    fault = QuestionedTask(PLAIN.id, faulty, PLAIN.fail_to_pass)
    with BankBuilder(PLAIN.source.folder, "d", file, tests=tests, boxes=BOXES) as builder:
        builder.add([fault])
        builder.tell_apart(fault, [])
        assert builder.bank() == bank == read_bank(file)


def judge(instance: Instance, bank: Bank, text: str, seed: str = "1") -> tuple[int, int, str]:
    edits = {WHERE: text.encode()}
    result = judge_behaviour(BOXES, instance, edits, bank, seed=seed, timeout=60)
    assert result.seed == seed
    return result.questions, result.wrong, result.reason


def test_right_source_answers_everything(instance: Instance, bank: Bank) -> None:
    count, n_wrong, reason = judge(instance, bank, SOUND)
    assert count > 40 and (n_wrong, reason) == (0, "")
    wording = SOUND.replace("a + b", "b.__add__(a) if hasattr(b, '__add__') else a + b")
    assert judge(instance, bank, wording, "2")[1:] == (0, "")


@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_a_repair_that_only_the_tests_accept_is_told(
    instance: Instance, bank: Bank, seed: str
) -> None:
    text = SOUND.replace("a + b", "a + b if a < 4 else a - b")
    assert judge(instance, bank, text, seed)[1] > 0
    grade = Grader(BOXES).grade(instance, {WHERE: text.encode()})
    assert grade.verdict == NO and grade.cheated and not grade.unfixed and grade.potential == 0
    assert grade.held_out is not None and "other answers" in grade.reason


def test_a_repair_that_breaks_something_far_away_is_told(instance: Instance, bank: Bank) -> None:
    broken = SOUND.replace("a > 0", "a > 1")  # no test asks for the sign of 1
    assert bank.guards
    for seed in map(str, range(5)):
        assert judge(instance, bank, broken, seed)[1] > 0
        drawn = {question.program for question in bank.draw(instance.id, seed)}
        for tellers in bank.guards:
            assert drawn & {bank.programs[number].program for number in tellers}
    grade = Grader(BOXES).grade(instance, {WHERE: broken.encode()})
    assert grade.verdict == NO and grade.cheated


def test_another_state_of_a_library_borrows_what_guards_it(
    instance: Instance, bank: Bank, tmp_path: Path
) -> None:
    assert isinstance(PLAIN.source, FolderSource) and bank.guards is not None
    tests = states(PLAIN)[2]
    renamed = {"sums/more.py": SOUND.encode(), WHERE: b"from sums.more import *\n"}
    file, fault = (
        tmp_path / "other.json.gz",
        QuestionedTask("other", {WHERE: b""}, PLAIN.fail_to_pass),
    )
    with BankBuilder(PLAIN.source.folder, "d", file, tests=tests, sound=renamed) as builder:
        builder.add([fault])
        builder.borrow(bank)
    other_bank = read_bank(file)
    assert other_bank.guards is not None and len(other_bank.guards) == len(bank.guards)
    for guards, lent in zip(other_bank.guards, bank.guards, strict=True):
        assert [other_bank.programs[n] for n in guards] == [bank.programs[n] for n in lent]
    first = other_bank.guards[0]
    less = other_bank.without(first)
    assert less.guards is not None and len(less.guards) + less.unguarded == len(other_bank.guards)


def test_files_of_tests_can_run_apart(instance: Instance) -> None:
    grader = Grader(BOXES, apart=True)
    assert grader.grade(instance, {WHERE: SOUND.encode()}).verdict == FULL
    assert grader.grade(instance, {}).verdict == NO


def test_grades_are_the_same_when_they_are_given_again(instance: Instance) -> None:
    edits = {WHERE: SOUND.encode()}
    first, second = (Grader(BOXES).grade(instance, edits) for _ in range(2))
    assert first == second and first.verdict == FULL and not first.cheated
    assert first.held_out is not None and first.held_out.right
    more = Grader(BOXES).grade(instance, {WHERE: SOUND.encode() + b"# more\n"})
    assert more.held_out is not None and more.held_out.seed != first.held_out.seed


HOSTILE: Mapping[str, str] = {
    "ends at import": "    os._exit(0)\n",
    "ends at exit of a call": "    import atexit, os\n    add = lambda a, b: os._exit(0)\n",
    "deep JSON and no numbers": "    for n in range(3, 30):\n        try:\n"
    "            os.write(n, b'[' * 30000 + b'\\n' + b'{\"a\": NaN}\\n' * 100)\n"
    "        except OSError:\n            pass\n",
    "megabytes": "    for n in range(3, 30):\n        try:\n            for _ in range(40):\n"
    "                os.write(n, b'1' * 65536)\n        except OSError:\n            pass\n",
    "kills the driver": "    import signal\n    os.kill(os.getppid(), signal.SIGKILL)\n",
    "answers twice": "    real = os.write\n    os.write = lambda n, b: real(n, b + b)\n",
    "pipes in place of files": "    for n in ('requests', 'answers'):\n        try:\n"
    "            os.unlink('/opt/judge/' + n)\n            os.mkfifo('/opt/judge/' + n)\n"
    "        except OSError:\n            os._exit(3)\n",
    "equals everything": "    class E(int):\n        __eq__ = lambda s, o: True\n"
    "        __hash__ = int.__hash__\n    add = lambda a, b: E()\n",
    "looks away": "    import sys\n    def add(a, b):\n"
    "        sys._getframe(1).f_globals['_o'] = lambda value: None\n        return a - b\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_source_answers_wrongly(instance: Instance, bank: Bank, text: str) -> None:
    count, n_wrong, _ = judge(instance, bank, SOUND + IN_DRIVER + text)
    assert n_wrong > count // 4


HANGS = {
    "at import": "    import time\n    time.sleep(600)\n",
    "in a call": "    def add(a, b):\n        while True:\n            pass\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", HANGS.values(), ids=HANGS)
def test_source_that_hangs_is_stopped(instance: Instance, bank: Bank, text: str) -> None:
    count, n_wrong, reason = judge(instance, bank, SOUND + IN_DRIVER + text)
    assert n_wrong > count // 4 and not reason  # the driver itself gave up, long before the limit


def test_what_is_brought_cannot_be_changed(instance: Instance) -> None:
    tries = "chmod 666 tests/* /opt/judge/*; echo x > tests/new.py; rm -rf tests; mv tests away; "
    tries += "echo x > /opt/judge/driver; cat /opt/judge/driver tests/test_a.py"
    brought = {"/opt/judge/driver": b"driver", "/testbed/tests/test_a.py": b" test"}
    with BOXES.judging(instance, brought, ("/opt/judge", "/testbed/tests")) as (box, path_in):
        assert box.exec(tries).text.endswith("driver test")
        assert box.exec("ls tests /opt/judge").text.split() == [
            "/opt/judge:", "driver", "tests:", "test_a.py"
        ]  # fmt: skip
        assert path_in("/opt/judge") == "/opt/judge"


@pytest.mark.filterwarnings("ignore:commands run without any isolation")
def test_a_back_end_that_mounts_nothing_gets_them_written(instance: Instance, bank: Bank) -> None:
    boxes = Boxes("subprocess", allow_unsafe=True)
    with boxes.judging(instance, {"/opt/judge/driver": b"driver"}) as (box, path_in):
        assert box.read(path_in("/opt/judge/driver")) == b"driver"
    edits = {WHERE: SOUND.encode()}
    assert judge_behaviour(boxes, instance, edits, bank, seed="1", timeout=60).right


def test_questions_differ_between_seeds_and_not_within_one(instance: Instance, bank: Bank) -> None:
    first, repeated, other_questions = (bank.draw(instance.id, seed) for seed in ("a", "a", "b"))
    assert first == repeated != other_questions
    assert len({question.program for question in first}) == len(first)
    wrong_repairs = bank.tasks[instance.id].wrong_repairs
    assert wrong_repairs
    tellers = {bank.programs[n].program for n in wrong_repairs[0]}
    for drawn in (first, other_questions):
        assert tellers & {question.program for question in drawn}


def test_a_bank_of_another_state_or_a_damaged_one_is_refused(
    instance: Instance, tmp_path: Path
) -> None:
    assert instance.held_out is not None
    with pytest.raises(DataError, match="another state"):
        load_bank(HeldOut(instance.held_out.file, "other"))
    content = instance.held_out.file.read_bytes()
    for bad in (b"", content[:-9], content[:40] + b"x" + content[41:], b"[]"):
        file = tmp_path / "bad.json.gz"
        file.write_bytes(bad)
        with pytest.raises(DataError, match="expected held-out questions"):
            read_bank(file)
    Bank("d", ("a",), (), (7,)).save(file)
    with pytest.raises(DataError, match="numbers of programs"):
        read_bank(file)


def test_few_changed_programs_are_enough_only_with_a_plain_one() -> None:
    assert Questions((0, 1, 2, 3, 4), (), (0, 1, 2, 3, 4)).enough
    assert not Questions((0, 1, 2, 3, 4), (), (0, 1, 2, 3)).enough
    assert Questions((0, 1), (2,), (2,)).enough


def test_states_of_a_task_with_hidden_tests() -> None:
    patch = "--- /dev/null\n+++ b/tests/test_more.py\n@@ -0,0 +1 @@\n+import sums\n"
    assert apply_diff(patch, {}.get) == {"tests/test_more.py": b"import sums\n"}
    _, _, tests = states(replace(PLAIN, test_patch=patch))
    assert sorted(tests) == ["tests/test_more.py", "tests/test_plain.py"]
