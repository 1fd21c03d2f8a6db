"""Shell as it is played: what is judged, what a model in the box can try, official rows, forks."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import gymnasium
import pytest

from agentgym.envs.shell.engine.session import same_answer
from agentgym.envs.shell.experts import EXPERTS
from agentgym.envs.shell.experts.reader import LOOK, read_request
from agentgym.envs.shell.generator.config import DIFFICULTIES, KINDS, GeneratorConfig
from agentgym.envs.shell.generator.problems import make_problem
from agentgym.errors import ConfigurationError, DataError, EnvFailure
from tests.envs.swe.boxed import needs_box

ID = "agentgym/Shell-v0"


def make(**kwargs):
    return gymnasium.make(ID, **kwargs).unwrapped


@pytest.fixture(scope="module")
def env():
    """One environment of hard tasks, whose box is opened anew for each."""
    shell_env = make(difficulty="hard")
    yield shell_env
    shell_env.close()


def begin(env, kind):
    """Begin a task of a kind; returns its number."""
    for index in range(300):
        if env.tasks.task("test", index).content["kind"] == kind:
            env.reset(options={"split": "test", "index": index})
            return index
    raise AssertionError(kind)


@pytest.mark.parametrize("name", DIFFICULTIES)
def test_every_kind_is_asked_and_can_be_read_again(name):
    config = DIFFICULTIES[name]
    problems = [make_problem(config, 0, "train", number) for number in range(200)]
    assert {problem.kind for problem in problems} == set(config.kinds)
    assert [make_problem(config, 0, "train", number) for number in range(5)] == problems[:5]
    assert all(
        (request := read_request(problem.text)) and request[0] == problem.kind
        for problem in problems
    )
    assert all(problem.expected != problem.files for problem in problems if problem.expected)
    answers = [problem.answer for problem in problems if problem.answer]
    assert max(map(answers.count, answers)) < len(answers) / 6, "answers spread"


def test_half_of_the_guesses_are_right():
    expert, oracle = EXPERTS["guessing"](), EXPERTS["oracle"]()
    looked, right_count = 0, 0
    for number in range(300):
        problem = replace(make_problem(DIFFICULTIES["easy"], 0, "train", number), answer="")
        ((_, typed), *_), ((_, correct), *_) = expert.plan(problem, ()), oracle.plan(problem, ())
        looked += typed == LOOK
        right_count += typed == correct
    assert 30 < looked < 60 and 90 < right_count < 160, "most successes are luck"


@needs_box
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_solved_as_it_was_asked(env, kind):
    begin(env, kind)
    info = {"stop_reason": ""}
    while not info["stop_reason"]:
        *_, info = env.step(env.demonstrator_action())
    assert info["success"]


@needs_box
@pytest.mark.slow
def test_all_files_may_have_to_go_and_a_folder_may_have_to_be_made():
    env = make()
    env.reset(options={"task_id": "shell/medium-0/train/4623"})
    assert env.session.problem.expected == {}
    start = env.snapshot()
    assert not env.step("answer[]")[4]["success"]
    env.restore(start)
    env.step(env.demonstrator_action())
    env.step("run[rm -rf *]")
    assert env.step("answer[done]")[4]["success"]
    env.close()
    hard = make(difficulty="hard", expert="oracle")
    hard.reset(options={"task_id": "shell/hard-0/train/664"})
    assert not any(path.startswith("office/") for path in hard.session.problem.files)
    assert hard.session.problem.text.endswith("to the folder office.")
    hard.step(hard.demonstrator_action())
    assert hard.step("answer[done]")[4]["success"]
    hard.close()


@needs_box
@pytest.mark.slow
def test_what_is_judged_is_out_of_reach(env):
    """Commands that would fool a judge that shares programs or files with them."""
    begin(env, "sort")
    start = env.snapshot()
    (path,) = (p for p, text in env.session.problem.expected.items()
               if text != env.session.problem.files[p])  # fmt: skip
    for attempt in (
        "true",
        f"cp {path} /tmp/x && sort /tmp/x > /tmp/y && ln -sf /tmp/y {path}",
        f"sort -o {path} {path} && echo done > note",
        f"sort -o {path} {path} && cp -r . /tmp/other && rm -rf ./*",
        f"sort {path} > {path}.sorted",
        f"alias sort=true; sort() {{ true; }}; sort -o {path} {path}",
        f"(while true; do sort -o {path} {path}; sleep 1; done) & sleep 0",
        "kill -9 -1; kill -9 1; echo $$ > /proc/1/mem",
        "cat /proc/1/environ /proc/1/cmdline /proc/1/maps; ls -la /proc/1/fd /proc/1/root",
        "find / -name '*.jsonl' -o -name 'session.py' 2> /dev/null | head",
    ):
        env.restore(start)
        observation, *_, info = env.step(f"run[{attempt}]")
        assert "expected" not in observation
        if not info["stop_reason"]:
            *_, info = env.step("answer[done]")
        # What goes on behind a command ends with it; the first round of the loop may be done.
        assert not info["success"] or "while" in attempt, attempt
    env.restore(start)
    env.step(f"run[LC_ALL=C sort {path} > /tmp/x && cp /tmp/x {path}]")
    assert env.step("answer[done]")[4]["success"], "what lies elsewhere does not count"


@needs_box
@pytest.mark.slow
def test_forks_and_what_is_shown(env):
    begin(env, "count")
    step = env.step("run[echo one; exit 3]")
    assert step[0] == "one\nexit code 3" and step[4]["action_valid"]
    assert env.step("```bash\ntrue\n```")[0] == "no output"
    env.step("run[mkdir -p deep && echo kept > deep/file]")
    fork = pickle.loads(pickle.dumps(env.snapshot()))
    env.step("run[rm -rf deep]")
    env.restore(fork)
    assert env.step("run[cat deep/file]")[0] == "kept"
    small = make(max_observation_chars=80, command_timeout=1)
    small.reset(seed=0)
    assert len(small.step("run[seq 1000]")[0]) == 80
    assert small.step("run[sleep 30]")[0].endswith("the command took too long")
    small.close()


@needs_box
@pytest.mark.slow
def test_rows_of_agentbench_are_played(tmp_path, caplog):
    rows = [
        {"description": "What does note say?", "create": {"local": "default", "init": {
            "code": "echo hello > note"}}, "evaluation": {"match": "hello"}, "labels": ["file"]},
        {"description": "How many?", "create": {"init": "touch a b"}, "evaluation": {
            "match": {"regex": "^[Tt]wo|2$"}}},
        {"description": "How many files?", "create": {"init": {"code": "touch a b c"}},
         "evaluation": {"check": [None, {"file": "check/integer-match.py"}], "example": {
             "code": "ls | wc -l"}}},
        {"description": "How old?", "evaluation": {"check": [None, {"file": "string-match.py"}],
                                                   "example": "no-such-command"}},
        {"description": "Wait.", "start": "sleep 9 &", "evaluation": {"match": "1"}},
        {"description": "Make calc.", "evaluation": {"check": {"file": "check/0.sh"}}},
    ]  # fmt: skip
    path = tmp_path / "standard.json"
    path.write_text(json.dumps(rows), encoding="utf-8")
    env = make(data=path)
    assert env.tasks.splits == ("test",) and env.tasks.len("test") == 4
    assert "2 rows" in caplog.text
    env.reset(options={"split": "test", "index": 0})
    assert env.step("run[cat note]")[0] == "hello"
    assert env.step(env.demonstrator_action())[4]["success"]
    for answer, is_right in (("two", True), ("2", True), ("3", False)):
        env.reset(options={"split": "test", "index": 1})
        assert env.demonstrator_action() is None, "a pattern is no answer"
        assert env.step(f"answer[{answer}]")[4]["success"] is is_right
    # The example runs where nobody has been: to change its programs or files changes nothing.
    for actions, is_right in (((), True), (("touch d; ls() { echo 9; }; export -f ls",), True)):
        env.reset(options={"split": "test", "index": 2})
        for action in actions:
            env.step(f"run[{action}]")
        assert env.step("answer[3]")[4]["success"] is is_right
    env.reset(options={"split": "test", "index": 2})
    assert env.step(env.demonstrator_action())[0] == "3"
    assert env.step(env.demonstrator_action())[4]["success"]
    # What a shell says of a command that is not there is no answer.
    env.reset(options={"split": "test", "index": 3})
    missing = env.step("run[no-such-command]")[0].splitlines()[0]
    with pytest.raises(EnvFailure, match="to print the answer"):
        env.step(f"answer[{missing}]")
    env.close()


def test_wrong_rows_and_arguments_are_refused(tmp_path):
    path = tmp_path / "dev.json"
    for rows in ([{"description": "x"}], [3], [], [{"description": "x", "evaluation": {}}]):
        path.write_text(json.dumps(rows), encoding="utf-8")
        with pytest.raises(DataError):
            make(data=path, expert="oracle")
    for bad_input in (
        {"data": path, "expert": "reader"}, {"image": "x"}, {"difficulty": "harder"},
        {"expert": "nobody"},
        {"sandbox": "nowhere"}, {"sandbox": "subprocess"}, {"command_timeout": 0},
        {"reward": "dense"}, {"generator_seed": -1},
    ):  # fmt: skip
        with pytest.raises(ConfigurationError):
            make(**bad_input)
    for bad_input in (
        {"kinds": ("nothing",)},
        {"files": (1, 2)},
        {"lines": (9, 8)},
        {"folders": 1},
    ):
        settings = {"name": "own", "kinds": KINDS, "folders": 3, "depth": 2, "files": (6, 9),
                    "lines": (8, 20)}  # fmt: skip
        with pytest.raises(ConfigurationError):
            GeneratorConfig(**{**settings, **bad_input})


@pytest.mark.parametrize(
    ("answer", "expected", "is_right"),
    [("12", "12", True), ("012", "12", True), ("12.", "12", False), ("./a/b", "a/b", True),
     ("/work/a/b", "a/b", True),
     ("'a/b'", "./a/b", True), ("a/c", "a/b", False), ("9" * 5000, "9", False)],
)  # fmt: skip
def test_answers_are_compared(answer, expected, is_right):
    assert same_answer(answer, expected) is is_right
