from __future__ import annotations

import copy
import json
import pickle
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.core.outcome import Outcome
from agentgym.core.tasks import Task
from agentgym.episodes import (
    FORMAT,
    Episode,
    RecordedState,
    Recorder,
    RecordFacts,
    Turn,
    append_episode,
    read_episodes,
    replay,
    rescore,
)
from agentgym.episodes.records import clean
from agentgym.errors import ConfigurationError, DataError, EnvFailure
from agentgym.evaluation import evaluate
from agentgym.policies import CallablePolicy, ModelOutput
from agentgym.rewards import (
    InvalidAction,
    LinearAlpha,
    Potential,
    Progressive,
    Repeat,
    ShapedReward,
    SuccessBonus,
    TurnCost,
)
from agentgym.rewards.table import hooks_from_json, hooks_to_json
from agentgym.vector import TextVectorEnv
from tests.prepared import LookedUp, PreparedEnv
from tests.toy import COLOURS, TOY_ID, ToyEnv


def play(env: gymnasium.Env, seed: int | None, actions: list[str], **options: Any) -> None:
    env.reset(seed=seed, options=options)
    over = False
    while not over:
        _, _, terminated, truncated, _ = env.step(actions.pop(0) if actions else "press red")
        over = terminated or truncated


def record(path: Path, *, seed: int | None = 0, actions=(), options=None, **kwargs: Any) -> Episode:
    env = Recorder(gymnasium.make(TOY_ID, **kwargs), path)
    play(env, seed, list(actions), **(options or {}))
    return list(read_episodes(path))[-1]


ODD = [
    "\ud800",
    "\udfff",
    "\ud83d\ude00",
    "😀",
    "\n",
    "\r",
    "\u2028",
    "\x85",
    "\x00",
    '"',
    "\\",
    "\\ud800",
]
text = st.one_of(
    st.text(max_size=20),
    st.lists(st.sampled_from(ODD), max_size=8).map("".join),
)
number = st.floats(-1e300, 1e300, allow_nan=False)
states = st.builds(
    RecordedState, text.map(clean), number, number, text.map(clean), st.none() | st.integers()
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | number | text.map(clean),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text.map(clean), inner, max_size=3),
    max_leaves=6,
)
tables = st.dictionaries(text.map(clean), json_values, max_size=3)
turns = st.builds(
    Turn, text.map(clean), text.map(clean), states, number,
    st.dictionaries(text.map(clean), number, max_size=3), st.booleans(), st.booleans(),
    st.booleans(), st.booleans(), st.none() | text.map(clean), st.none() | st.integers(0, 10**6),
    st.none() | st.integers(0, 10**6),
)  # fmt: skip
names = st.lists(text.map(clean), max_size=2).map(tuple)
words = text.map(clean)
episodes = st.builds(
    Episode, words, tables, words, words, words, st.none() | st.integers(0, 2**31),
    st.none() | tables, tables, states, st.lists(turns, max_size=3).map(tuple), words, tables,
    names, names, words, words, st.dictionaries(words, words, max_size=2), tables,
    st.lists(tables, max_size=2).map(tuple),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(episode=episodes)
def test_a_record_is_one_ascii_line_and_reads_back_equal(episode):
    line = episode.to_line()
    assert line.isascii() and line.count("\n") == 1 and line.endswith("\n")
    assert len(line.splitlines()) == 1
    assert Episode.from_line(line) == episode
    assert json.loads(line)["format"] == FORMAT


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(episode=episodes)
def test_files_survive_weird_text(tmp_path_factory, episode):
    path = tmp_path_factory.mktemp("episodes") / "a" / "e.jsonl"
    append_episode(path, episode)
    append_episode(path, episode)
    assert list(read_episodes(path)) == [episode, episode]


@given(value=text)
def test_clean_joins_pairs_and_keeps_the_rest(value):
    assert clean(clean(value)) == clean(value) == json.loads(json.dumps(value))


@settings(max_examples=25, deadline=None)
@given(
    seed=st.none() | st.integers(0, 2**31),
    actions=st.lists(st.sampled_from([*(f"press {c}" for c in COLOURS)]) | text, max_size=8),
)
def test_what_is_recorded_replays_exactly(tmp_path_factory, seed, actions):
    path = tmp_path_factory.mktemp("episodes") / "e.jsonl"
    episode = record(path, seed=seed, actions=actions)
    report = replay(episode)
    assert report.equal, report.difference
    assert report.turns == len(episode.turns) and report.difference == ""


@pytest.mark.parametrize("grammar", ["native", "xml", "tool_call"])
def test_replay_in_other_settings(tmp_path, grammar):
    env = gymnasium.make(TOY_ID, grammar=grammar, horizon=6)
    path = tmp_path / "e.jsonl"
    evaluate("oracle", env, num_tasks=4, record=path, horizon=7)
    records = list(read_episodes(path))
    assert len(records) == 4
    for episode in records:
        assert episode.env_kwargs == {"grammar": grammar, "horizon": 6}
        assert (episode.policy, episode.stop_reason, episode.score) == ("oracle", "success", 1.0)
        assert len(episode.panel_sha256) == 64
        assert {"agentgym-suite", "gymnasium", "numpy", "python"} == set(episode.packages)
        assert episode.turns[0].executed.startswith("press ")
        assert replay(episode).equal


def test_the_first_difference_is_shown(tmp_path):
    episode = record(tmp_path / "e.jsonl", actions=["press red"])
    turn = episode.turns[2]
    for change, words in (
        (replace(turn, reward=9.0), "turn 3: reward differs: expected 9.0, got"),
        (replace(turn, truncated=True), "turn 3: truncated differs"),
        (replace(turn, after=replace(turn.after, observation="nothing")), "turn 3: observation"),
        (replace(turn, action="press gold", executed="press gold"), "turn 3"),
    ):
        turns = (*episode.turns[:2], change, *episode.turns[3:])
        report = replay(replace(episode, turns=turns))
        if change.action == turn.action:
            assert not report.equal and report.turns == 2
            assert report.difference.startswith(words)
    report = replay(replace(episode, start=replace(episode.start, observation="x")))
    assert report.difference.startswith("reset: observation differs at character 0")
    changed = {**episode.packages, "numpy": "0.1"}
    report = replay(replace(episode, task_id="toy/other", packages=changed))
    assert "numpy 0.1 then" in report.difference
    longer = replace(episode, turns=(*episode.turns, turn))
    assert "the episode ended" in replay(longer).difference


def test_what_json_cannot_hold_is_named(tmp_path):
    hooks = [unnamed_cost(0.5)]
    episode = record(tmp_path / "e.jsonl", reward_hooks=hooks)
    assert episode.not_stored == ("reward_hooks",) and episode.hooks == ("turn_cost",)
    assert episode.reward_hooks == ()
    with pytest.raises(ConfigurationError, match="reward_hooks"):
        replay(episode)
    assert replay(episode, gymnasium.make(TOY_ID, reward_hooks=hooks)).equal
    report = replay(episode, gymnasium.make(TOY_ID))
    assert report.difference.startswith("reset: hooks differs")
    with pytest.raises(ConfigurationError, match="registered id"):
        replay(replace(episode, not_stored=(), env_id="agentgym-test/Gone-v0"))


class OwnCost(TurnCost):
    """Not one of the supplied hooks."""


def unnamed_cost(cost: float = 0.01) -> TurnCost:
    """A hook of a class that no module holds by name."""

    class Unnamed(TurnCost):
        pass

    return Unnamed(cost)


def test_hooks_of_ones_own_are_recorded_and_made_again_once_imported(tmp_path, monkeypatch):
    hooks = [OwnCost(0.5), TurnCost(name="other")]
    episode = record(tmp_path / "e.jsonl", reward_hooks=hooks)
    assert episode.reward_hooks[0]["class"] == f"{__name__}:OwnCost"
    assert hooks_from_json(episode.reward_hooks) == hooks and replay(episode).equal
    monkeypatch.delitem(sys.modules, __name__)
    with pytest.raises(ConfigurationError, match=rf"module '{__name__}' to be imported.*--env"):
        replay(episode)


@pytest.mark.parametrize("name", ["os:system", "subprocess:Popen", f"{__name__}:gone", "os:"])
def test_a_record_names_nothing_but_hooks(name):
    with pytest.raises(DataError, match="damaged"):
        hooks_from_json([{"class": name, "fields": {}}])


SUPPLIED = [
    [SuccessBonus(0.25), InvalidAction(0.1)],
    [
        Progressive(LinearAlpha(0.2, 0.9, 10), forfeit=True, name="mix"),
        Potential(0.9, weight=2),
        TurnCost(0.01),
        Repeat(0.5),
    ],
    [Progressive(0.3, step=Progressive(0.5, step=Repeat(name="inner")))],
]


@pytest.mark.parametrize("hooks", SUPPLIED)
def test_supplied_hooks_are_recorded_and_made_again(tmp_path, hooks):
    episode = record(
        tmp_path / "e.jsonl",
        actions=["jump", "press red", "press red"],
        options={"training_step": 3},
        reward_hooks=hooks,
    )
    assert episode.not_stored == () and "reward_hooks" not in episode.env_kwargs
    assert hooks_from_json(episode.reward_hooks) == hooks
    report = replay(episode)
    assert report.equal, report.difference
    assert not replay(replace(episode, reward_hooks=())).equal


@pytest.mark.parametrize(
    "hook",
    [
        unnamed_cost(),
        Potential(phi=lambda state: 0.0),
        Progressive(lambda step: 0.5),
        Progressive(step=OwnCost()),
        Potential(weight=float("nan")),
        TurnCost(weight=np.float32(0.1)),
        Potential(weight=10**400),
    ],
)
def test_hooks_that_json_cannot_hold(hook):
    assert hooks_to_json([hook]) is None and hooks_to_json([TurnCost(), hook]) is None
    assert hooks_to_json(hook) is None and hooks_to_json(()) == ()


def test_a_hook_inside_itself_is_not_recorded():
    hook = Progressive()
    hook.step = hook
    assert hooks_to_json([hook]) is None


def damaged(**changes: Any) -> dict[str, Any]:
    return {"class": "Progressive", "fields": {"alpha": 0.5, **changes}}


@pytest.mark.parametrize(
    "entry",
    [
        1,
        {},
        {"class": "os.system", "fields": {}},
        {"class": ["TurnCost"], "fields": {}},
        {"class": "LinearAlpha", "fields": {}},
        {"class": "TurnCost"},
        {"class": "TurnCost", "fields": {"_turns": 1}},
        {"function": "potential_gain"},
        {"function": "TurnCost"},
        damaged(_turns=1),
        damaged(weight="1"),
        damaged(name=None),
        damaged(alpha={"class": "TurnCost", "fields": {}}),
        damaged(step={"function": "family_potential"}),
        damaged(step={"class": "potential_gain", "fields": {}}),
    ],
)
def test_damaged_hooks_are_refused(tmp_path, entry):
    episode = record(tmp_path / "e.jsonl")
    with pytest.raises(DataError, match=r"expected .* at reward_hooks\[0\].*, got .*damaged"):
        replay(replace(episode, reward_hooks=(entry,)))


def test_records_without_the_field_of_the_hooks_are_read(tmp_path):
    episode = record(tmp_path / "e.jsonl")
    data = json.loads(episode.to_line())
    assert data.pop("reward_hooks") == []
    assert Episode.from_line(json.dumps(data)) == episode
    with pytest.raises(DataError, match="'reward_hooks' to be"):
        Episode.from_line(json.dumps({**data, "reward_hooks": {}}))


HOOKS = [Progressive(0.3), Potential(0.9), InvalidAction(0.2), TurnCost(0.01), Repeat(0.5)]


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 1000),
    actions=st.lists(st.sampled_from(["press red", "press blue", "press pink"]), max_size=8),
)
def test_rescoring_needs_no_model(tmp_path_factory, seed, actions):
    path = tmp_path_factory.mktemp("episodes") / "e.jsonl"
    plain_record = record(path, seed=seed, actions=actions, options={"training_step": 3})
    shaped = record(
        path, seed=seed, actions=actions, options={"training_step": 3}, reward_hooks=HOOKS
    )
    wrapped = Recorder(ShapedReward(gymnasium.make(TOY_ID), HOOKS), path)
    play(wrapped, seed, list(actions), training_step=3)
    expected = [turn.reward_terms for turn in shaped.turns]
    assert rescore(plain_record, HOOKS) == expected
    assert rescore(plain_record, HOOKS, gymnasium.make(TOY_ID)) == expected
    assert rescore(shaped, HOOKS) == expected
    assert wrapped.last is not None and rescore(wrapped.last, HOOKS) == expected
    assert rescore(shaped, []) == [turn.reward_terms for turn in plain_record.turns]


def test_rescoring_plays_again_for_hooks_that_need_details(tmp_path):
    episode = record(tmp_path / "e.jsonl", actions=["press red", "nonsense"])
    with pytest.raises(ConfigurationError, match="expected env= for looked_up"):
        rescore(episode, [LookedUp()])
    terms = rescore(episode, [LookedUp()], PreparedEnv())
    assert [turn["looked_up"] for turn in terms] == [1.0] * len(episode.turns)


def test_rescoring_refuses_a_name_in_use(tmp_path):
    episode = record(tmp_path / "e.jsonl")
    with pytest.raises(ConfigurationError, match="task"):
        rescore(episode, [TurnCost(name="task")])
    gold = replace(
        episode, turns=tuple(replace(t, reward_terms={"gold": 1.0}) for t in episode.turns)
    )
    with pytest.raises(ConfigurationError, match="gold"):
        rescore(gold, [TurnCost(name="gold")])


def test_broken_lines_are_named(tmp_path, caplog):
    path = tmp_path / "e.jsonl"
    episode = record(path)
    with path.open("a") as file:
        file.write("\n" + episode.to_line()[:50])
    with pytest.raises(DataError, match=r"e\.jsonl, line 3: expected one JSON object"):
        list(read_episodes(path))
    append_episode(path, episode)
    assert list(read_episodes(path, strict=False)) == [episode, episode]
    assert "line 3" in caplog.text
    with pytest.raises(DataError, match="No such file"):
        list(read_episodes(tmp_path / "none.jsonl"))
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="utf-8"):
        list(read_episodes(tmp_path / "binary"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "agentgym.episode/2"}, 'expected "format"'),
        ({"seed": "0"}, "'seed' to be a whole number"),
        ({"seed": True}, "'seed' to be a whole number"),
        ({"start": {}}, "'start.observation', but it is missing"),
        ({"turns": [1]}, r"'turns\[0\]' to be an object"),
        ({"turns": None}, "'turns' to be a list"),
        ({"hooks": [1]}, r"'hooks\[0\]' to be a text"),
        ({"not_stored": [["a"]]}, r"'not_stored\[0\]' to be a text"),
        ({"reward_hooks": [1]}, r"'reward_hooks\[0\]' to be an object"),
        ({"packages": {"numpy": 1}}, "'packages.numpy' to be a text"),
        ({"options": {"training_step": "x"}}, "'options.training_step' to be a whole number"),
        ({"options": {"prices": {"calls": "x"}}}, "'options.prices.calls' to be a finite number"),
        ({"extra": {"unused_outputs": 3}}, "'extra.unused_outputs' to be a list"),
        (
            {"extra": {"unused_outputs": [{"prompt_tokens": "5"}]}},
            r"'extra.unused_outputs\[0\].prompt_tokens' to be a whole number",
        ),
    ],
)
def test_damaged_records_are_refused(tmp_path, change, words):
    data = {**json.loads(record(tmp_path / "e.jsonl").to_line()), **change}
    with pytest.raises(DataError, match=words):
        Episode.from_line(json.dumps(data))
    del data["task_id"]
    with pytest.raises(DataError):
        Episode.from_line(json.dumps(data))
    for line in ("[]", "", "[" * 100_000):
        with pytest.raises(DataError):
            Episode.from_line(line)


@pytest.mark.parametrize("part", ["1", None, [1]])
def test_damaged_reward_terms_are_refused(tmp_path, part):
    data = json.loads(record(tmp_path / "e.jsonl").to_line())
    data["turns"][0]["reward_terms"]["own"] = part
    with pytest.raises(DataError, match=r"'turns\[0\].reward_terms.own' to be a number"):
        Episode.from_line(json.dumps(data))
    data["turns"][0]["reward_terms"]["own"] = True  # what environments of others may pay
    assert Episode.from_line(json.dumps(data)).turns[0].reward_terms["own"] is True


def test_an_environment_of_another_kind_is_refused(tmp_path):
    episode = replace(record(tmp_path / "e.jsonl"), env_id="CartPole-v1", env_kwargs={})
    with pytest.raises(ConfigurationError, match="tasks in text, got 'CartPole-v1'"):
        replay(episode)
    replay(replace(record(tmp_path / "e.jsonl"), options={"training_step": None}))


def test_values_that_json_cannot_hold_are_refused(tmp_path):
    episode = record(tmp_path / "e.jsonl")
    for bad in ({"x": float("nan")}, {"x": object()}):
        with pytest.raises(DataError, match="JSON-safe"):
            replace(episode, extra=bad).to_line()
    with pytest.raises(DataError, match="PCG64"):
        replay(replace(episode, seed=None, rng={"bit_generator": "MT19937"}))


def test_later_fields_do_not_disturb(tmp_path):
    episode = record(tmp_path / "e.jsonl")
    data = {**json.loads(episode.to_line()), "colour": "red"}
    assert Episode.from_line(json.dumps(data)) == episode


def test_only_finished_episodes_are_written(tmp_path):
    path = tmp_path / "e.jsonl"
    env = Recorder(ToyEnv(), path)
    env.reset(seed=0)
    env.step("press red")
    assert not path.exists()
    play(env, 1, [])
    env.close()
    records = list(read_episodes(path))
    assert len(records) == 1 and records[0].seed == 1 and records[0] == env.last
    assert records[0].env_id == "ToyEnv"


class BrokenEnv(ToyEnv):
    def _act(self, action: str) -> Outcome:
        if self.turn == 1:
            raise EnvFailure("the disk is gone")
        return super()._act(action)


def test_a_failed_episode_is_recorded_as_such(tmp_path):
    env = Recorder(BrokenEnv(), tmp_path / "e.jsonl")
    env.reset(seed=0)
    env.step("press red")
    with pytest.raises(EnvFailure):
        env.step("press red")
    (episode,) = read_episodes(tmp_path / "e.jsonl")
    assert episode.stop_reason == "error" and len(episode.turns) == 1
    assert episode.details == {"error": "the disk is gone", "unanswered_action": "press red"}
    assert replay(episode, ToyEnv()).equal, "the turns that were answered"


class UnbegunEnv(ToyEnv):
    def _start(self, task: Task, rng: np.random.Generator) -> str:
        raise EnvFailure("no power")


def test_an_episode_that_could_not_begin_is_recorded_as_such(tmp_path):
    env = Recorder(UnbegunEnv(), tmp_path / "e.jsonl")
    task_id = env.unwrapped.tasks.task("test", 3).id
    with pytest.raises(EnvFailure):
        env.reset(seed=4, options={"task_id": task_id, "horizon": 2})
    (episode,) = read_episodes(tmp_path / "e.jsonl")
    assert (episode.task_id, episode.seed, episode.turns) == (task_id, 4, ())
    assert (episode.stop_reason, episode.details) == ("error", {"error": "no power"})
    assert not episode.began
    assert replay(episode, ToyEnv()).equal, "there is nothing to play again"


@pytest.mark.parametrize("seed", [3, None])
def test_facts_are_all_that_a_record_needs_beyond_the_info(tmp_path, seed):
    """An episode of a slot, with nothing at hand but what it returned, is that of a recorder."""
    plain_recorder = Recorder(gymnasium.make(TOY_ID), tmp_path / "e.jsonl")
    slots = TextVectorEnv([lambda: RecordFacts(gymnasium.make(TOY_ID))])
    for env in (plain_recorder, slots):  # a generator that has been used
        env.reset(seed=5)
        env.reset()
    _, started = slots.reset_slots([0], [seed])[0]
    plain_recorder.reset(seed=seed)
    answers = [slots.step_slots([0], [action])[0] for action in ["press red", "jump"] * 4]
    play_on = [plain_recorder.step(action) for action in ["press red", "jump"] * 4]
    assert [turn[:4] for turn in answers] == [turn[:4] for turn in play_on]
    assert plain_recorder.last is not None
    rng = started["record"].get("rng")
    assert (None if rng is None else json.loads(rng)) == plain_recorder.last.rng
    assert started["record"]["potential"] == plain_recorder.last.start.potential
    assert started["record"]["rng_key"] == plain_recorder.last.rng_key
    for turn, answer in zip(plain_recorder.last.turns, answers, strict=True):
        facts = answer[4]["record"]
        assert (turn.executed, turn.after.potential) == (facts["executed"], facts["potential"])
        assert turn.reason == facts["reason"]


def test_model_output_is_recorded(tmp_path):
    class Model(CallablePolicy):
        last_output = ModelOutput("<think>hm</think>press red", 7, 5)

    path = tmp_path / "e.jsonl"
    evaluate(Model(lambda observation, info: "press red"), TOY_ID, num_tasks=1, record=path)
    (episode,) = read_episodes(path)
    assert episode.turns[0].raw_text == "<think>hm</think>press red"
    assert (episode.turns[0].prompt_tokens, episode.turns[0].completion_tokens) == (7, 5)
    assert episode.policy == "Model"


def test_recorders_copy_and_pickle(tmp_path):
    env = Recorder(ToyEnv(), tmp_path / "e.jsonl")
    for clone in (copy.deepcopy(env), pickle.loads(pickle.dumps(env))):
        play(clone, int(np.int64(3)), [])
    first, second = read_episodes(tmp_path / "e.jsonl")
    assert first == second
