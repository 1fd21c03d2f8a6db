"""The table of claims on ``benchmarks/README.md``: each with its value, command and result file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from benchmarks.tables.formats import Table, about, difference, interval, result, share, spoken
from benchmarks.tables.origins import command_of
from benchmarks.tables.paths import evaluate
from benchmarks.tables.pretrained import pretrained_gains, trained_families
from benchmarks.tables.reports import report_of
from benchmarks.tables.training import TRAININGS, spread_gains
from trainers.output.roles import DEMONSTRATOR

ABOVE = "ends above"


class Claim(NamedTuple):
    """A row: a claim and its measured value."""

    claim: str
    """One plain sentence."""
    value: str
    """The formatted value with its interval and n."""
    file: str
    """The result file."""
    command: str = ""
    """Command that reproduces it, if the file's command does more."""


def claims_table() -> Table:
    """Return a row for each claim, negative results included."""
    table = [["claim", "measured", "command", "result"]]
    groups = (
        _pretrained, _trainings, _from_scratch, _other_policies, _presets, _credit, _horizons,
        _engines, _services, _costs_of_training, _parity, _reading, _swe,
    )  # fmt: skip
    return [*table, *(_row(claim) for group in groups for claim in group())]


def _row(claim: Claim) -> list[str]:
    """Write a claim, linked to its report and its file."""
    return [
        f"[{claim.claim}](reports/{report_of(claim.file)}.md)",
        claim.value,
        f"`{claim.command or command_of(claim.file)}`",
        f"[`{claim.file}`](results/{claim.file})",
    ]


def _pretrained() -> Iterator[Claim]:
    """Yield how RL of a pretrained model ends beside its strongest baseline."""
    for file, family, runs in trained_families():
        yield _training(
            f"{spoken(family)}, SmolLM2-135M",
            dict(pretrained_gains(runs)),
            file,
            f"python -m benchmarks.studies pretrained_gain --only {family} --seeds 3",
        )


def _trainings() -> Iterator[Claim]:
    """Yield how each family's default training ends beside its strongest baseline."""
    for family, training in TRAININGS.items():
        if family == training.family:
            command = f"python -m benchmarks.studies training_gain --only {family}"
            yield _training(spoken(family), spread_gains(training), training.file, command)


def _training(tasks: str, gains: Mapping[str, Mapping[str, Any]], file: str, command: str) -> Claim:
    """Return the claim of a training: RL beside the strongest baseline or demonstrator."""
    strongest = min(gains, key=lambda arm: (round(gains[arm]["mean"], 6), _ends(gains[arm])[1]))
    verdict = _verdict(gains[strongest])
    other_arms = [arm for arm in gains if arm != strongest and _verdict(gains[arm]) != ABOVE]
    rank = "stronger than every baseline" if strongest == DEMONSTRATOR else "the strongest baseline"
    claim = f"{tasks}: RL {verdict} `{strongest}`, {rank}"
    if verdict == ABOVE and other_arms:
        claim += f", and not significantly above `{'`, `'.join(other_arms)}`"
    return Claim(claim, _spread(gains[strongest]), file, command)


def _verdict(gain: Mapping[str, Any]) -> str:
    """Describe in a few words where a difference over seeds lies."""
    low, high = _ends(gain)
    return ABOVE if low > 0 else "ends below" if high < 0 else "is not significantly above"


def _ends(gain: Mapping[str, Any]) -> tuple[float, float]:
    """Return the interval of a difference; without one, an interval around zero."""
    low, high = gain["ci95"] or (0.0, 0.0)
    return low, high


def _spread(figure: Mapping[str, Any], write: Any = difference) -> str:
    """Write a figure over seeds with its interval and their number."""
    seeds = len(figure["values"])
    if not figure["ci95"]:
        return f"{share(figure['mean'])}, {seeds} seed{'s' * (seeds > 1)}"
    return f"{write(figure['mean'], figure['ci95'])}, {seeds} seeds"


def _success(mean: float, ends: tuple[float, float]) -> str:
    """Write a success with its interval, cut to [0, 1]."""
    low, high = ends
    return f"{share(mean)} {interval((max(low, 0.0), min(high, 1.0)))}"


def _from_scratch() -> Iterator[Claim]:
    """Yield what reward alone taught."""
    for family, file in (
        ("textworld", "from_scratch_told.json"), ("webshop", "from_scratch_added.json"),
        ("search", "from_scratch_search.json"), ("alfworld", "from_scratch_alfworld.json"),
        ("alfworld", "from_scratch_lamp.json"),
    ):  # fmt: skip
        figures = result(file)["families"][family]
        trained, blind = figures["success"]["trained"], figures["blind"]["success"]
        tasks = f"{spoken(family)}, using a lamp" if "lamp" in file else spoken(family)
        verdict = "beats" if min(trained["values"]) > blind else "does not beat"
        yield Claim(
            f"{tasks}: reward without demonstrations {verdict} the best blind policy "
            f"({share(blind)})",
            _spread(trained, _success),
            file,
            f"python -m benchmarks.studies from_scratch --only {family}",
        )


def _other_policies() -> Iterator[Claim]:
    """Yield what agents that own their loop learn, and what the tiny policy learns of SWE."""
    for file, agent in (
        ("agent_training.json", "a plain HTTP loop"),
        ("framework_training.json", "an OpenAI Agents SDK agent"),
    ):
        gain = result(file)["paired"]["trained_minus_warm_start"]["success"]
        yield Claim(
            f"Training {agent} on a toy beats its warm start, but not with greedy actions",
            _spread(gain),
            file,
            "agentgym-train --env tests.toy:agentgym-test/Toy-v0 --agent ...",
        )
    swe = result("swe_training.json")["policies"]
    solved = [f"{swe[arm]['solved']} of {swe[arm]['n']}" for arm in ("warm-start", "trained")]
    yield Claim(
        "SWE: RL adds nothing to eight tasks memorized by cloning",
        f"{solved[0]} before, {solved[1]} after, 1 seed",
        "swe_training.json",
    )


def _presets() -> Iterator[Claim]:
    """Yield what comparisons of presets found."""
    recipes = result("recipes.json")
    families = recipes["families"].values()
    updates = [row["recipes"]["turn-loo, 4 updates"]["minus_turn_loo"] for row in families]
    yield Claim(
        "`turn-loo` learns more with four updates a step than with one, on two tasks",
        "; ".join(map(_spread, updates)),
        "recipes.json",
    )
    differences = recipes["differences"]
    yield Claim(
        "Most presets are not significantly different from `turn-loo` at their best rate",
        f"{differences['without_zero']} of {differences['all']} differences significant, 5 seeds",
        "recipes.json",
    )


def _horizons() -> Iterator[Claim]:
    """Yield what growing horizons do."""
    power = result("horizon_map.json")["differences"]
    cells = result("horizon_map.json")["cells"]
    yield Claim(
        "No schedule of growing horizons clearly beats a constant one",
        f"{power['without_zero']} of {power['informative']} differences significant",
        "horizon_map.json",
    )
    yield Claim(
        "A horizon shorter than ALFWorld's tasks need costs success",
        _spread(cells["strong/alfworld"]["schedules"]["short"]["minus_long"]),
        "horizon_map.json",
    )


def _credit() -> Iterator[Claim]:
    """Yield what forks, critics and reward models add."""
    forks = result("fork_credit.json")["families"]
    for family, words in (("webshop", "WebShop"), ("textworld", "TextWorld")):
        yield Claim(
            f"Credit by forks is not better than `turn-loo` at equal tokens: {words}",
            _spread(forks[family]["methods"]["fork-value"]["minus_turn_loo"]),
            "fork_credit.json",
        )
    critics = result("critic_control.json")["arms"]
    yield Claim(
        "`ppo` with a critic is not significantly above critic values of 0",
        _spread(critics["ppo/model"]["minus_zero"]),
        "critic_control.json",
    )
    implicit = result("implicit_rewards.json")["families"]["toy"]
    yield Claim(
        "`istar`'s reward model ranks unseen episodes well, but costs success",
        f"{_success(implicit['ranking']['mean'], implicit['ranking']['ci95'])}; "
        f"{_spread(implicit['minus_without'])}",
        "implicit_rewards.json",
    )


def _engines() -> Iterator[Claim]:
    """Yield how fast the environments are beside others."""
    speed = {name: result("throughput.json")[name]["figures"] for name in ("alfworld", "textworld")}
    house, game = speed["alfworld"], speed["textworld"]
    yield Claim(
        "ALFWorld's native engine is faster than the original (steps a second)",
        f"{about(house['gym_steps_per_second'])} against {house['original_steps_per_second']:.0f}",
        "throughput.json",
    )
    yield Claim(
        "So is TextWorld's, with the same information",
        f"{about(game['native_steps_per_second'])} against "
        f"{about(game['original_json_with_plan_steps_per_second'])}",
        "throughput.json",
    )
    peers = result("peers.json")
    single = {
        name: about(row["steps_per_second"]) for name, row in peers["one_environment"].items()
    }
    yield Claim(
        "The contract makes a toy slower than bare Gymnasium, faster than TextArena",
        f"{single['agentgym']} steps/s against {single['gymnasium']} and {single['textarena']}",
        "peers.json",
        "python -m benchmarks.peers",
    )


def _services() -> Iterator[Claim]:
    """Yield how fast retrieval, sandboxes and evaluations are."""
    engines = result("search_engines.json")["corpora"]
    for passages, words in (("1000000", "faster"), ("10000", "slower")):
        p50 = {
            name: engines[passages]["engines"][name]["search_p50_milliseconds"]
            for name in ("bm25", "tantivy")
        }
        yield Claim(
            f"BM25 search is {words} than tantivy at {int(passages):,} passages",
            f"{p50['bm25']:.2f} against {p50['tantivy']:.2f} ms",
            "search_engines.json",
        )
    box = result("sandbox.json")["namespace"]["figures"]
    yield Claim(
        "A sandbox command is cheap, and 1,000 resets leave nothing behind",
        f"{box['exec_milliseconds_median']:.1f} ms; {box['left_processes_after_resets']} processes",
        "sandbox.json",
    )
    rows = result("chat_evaluation.json")["rows"]
    yield Claim(
        "Evaluations wait for many requests at once",
        f"{rows[0]['seconds']:.1f} s with 1 in flight, {rows[2]['seconds']:.1f} s with 32",
        "chat_evaluation.json",
    )


def _costs_of_training() -> Iterator[Claim]:
    """Yield what training costs in time and memory."""
    faster = result("trainer_profile.json")["times_faster_than_trl"]
    yield Claim(
        "A training step costs less processor time than plain TRL's (aim: half)",
        f"TRL takes {faster['hf']:.2f} times as much",
        "trainer_profile.json",
    )
    gains = {
        (run["engine"], run["turn_lengths"]): run["gain"]
        for run in result("rollout_overlap.json")["runs"]
        if run["step_ms"] == 0
    }
    yield Claim(
        "Streaming rollouts help with long tails, not with even turns",
        f"{gains['hf', 'long_tail']:.2f} and {gains['hf', 'even']:.2f} times as fast",
        "rollout_overlap.json",
    )
    held_out = result("async_training.json")["held_out"]
    yield Claim(
        "Asynchronous training costs no measurable success",
        "; ".join(
            difference(gain["value"], (gain["low"], gain["high"]))
            for gain in (row["staleness_1_minus_0"] for row in held_out)
        )
        + " (seeds 0, 1)",
        "async_training.json",
    )
    memory = "small_vocabulary.runs.0.memory."
    ratio = evaluate(f"{memory}estimated_bytes / {memory}peak_bytes", "large_model_gpu.json")
    yield Claim(
        "The memory estimate holds for 662 M random weights on an H100",
        f"{ratio:.2f} times the peak, 1 run",
        "large_model_gpu.json",
    )


def _parity() -> Iterator[Claim]:
    """Yield whether engines and interfaces are right."""
    parity = result("textworld_parity.json")
    steps, differences = parity["steps"], parity["differences"]
    admissible = sum(n for key, n in differences.items() if key.startswith("admissible"))
    yield Claim(
        "TextWorld's native engine answers admissible commands as Inform 7 does",
        f"{admissible} of {steps['admissible']:,} differ; "
        f"{sum(differences.values()) - admissible} of "
        f"{steps['free'] + steps['inadmissible']:,} others",
        "textworld_parity.json",
    )
    levels = result("babyai_parity.json")
    yield Claim(
        "BabyAI equals minigrid's in mission, reward and end",
        f"{levels['different']} of {levels['n']:,} episodes differ",
        "babyai_parity.json",
    )
    conformance = result("conformance.json")
    parts = [conformance, *(part for part in conformance.values() if isinstance(part, dict))]
    different = sum(part.get("differing", 0) for part in parts)
    yield Claim(
        "Interfaces of other projects show the same episodes",
        f"{different} differ, 9 interfaces, 100 tasks a family",
        "conformance.json",
        "python -m benchmarks.conformance",
    )


def _reading() -> Iterator[Claim]:
    """Yield what is solved without reading."""
    families = result("blind_policies.json")
    best = {
        settings: max(
            row["success"]
            for key, cell in families.items()
            if key.endswith(f", {settings}")
            for policy, row in cell["policies"].items()
            if policy == "random" or policy.startswith("blind-")
        )
        for settings in ("default", "training")
    }
    yield Claim(
        "Policies that read nothing solve few default tasks, more of the training tasks",
        f"at most {share(best['default'])}; at most {share(best['training'])}",
        "blind_policies.json",
    )
    arms = result("long_task.json")["arms"]
    cut, windowed, summarised = (
        share(arms[name]["success"]["mean"])
        for name in ("all turns", "`--window 30`", "`summary_every=15`")
    )
    yield Claim(
        "Summaries solve a task of 60 turns in 2,048 tokens, where a window forgets",
        f"{summarised}; with a window {windowed}, cut short {cut}, 3 seeds",
        "long_task.json",
    )


def _swe() -> Iterator[Claim]:
    """Yield what the grader of SWE accepts."""
    team = result("swe_red_team.json")["exploits"]
    yield Claim(
        "SWE: no known exploit earns reward from the grader",
        f"{team['paid']} of {team['tried']} attempts, {team['number']} exploits",
        "swe_red_team.json",
    )
    fuzzed = [result(f"swe_fuzzed_{name}.json") for name in ("submissions", "bundled", "releases")]
    accepted_wrong = sum(sample["accepted though wrong"] for sample in fuzzed)
    yield Claim(
        "SWE: the grader seldom accepts what an independent judge calls wrong",
        f"{accepted_wrong} of {sum(sample['submissions'] for sample in fuzzed):,} submissions",
        "swe_fuzzed_submissions.json",
    )
    fixes = [result("swe_right_fixes.json")[key] for key in ("rewritten", "by_hand")]
    yield Claim(
        "SWE: the grader accepts right repairs in other words",
        f"{sum(row['full'] for row in fixes)} of {sum(row['fixes'] for row in fixes)}",
        "swe_right_fixes.json",
    )
