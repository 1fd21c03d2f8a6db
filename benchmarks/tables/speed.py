"""Tables of speed, memory and search engines."""

from __future__ import annotations

from benchmarks.tables.formats import (
    Table,
    about,
    difference,
    interval,
    result,
    share,
    spoken,
    two,
)

ENGINES = ("bm25", "tantivy", "bm25s", "fts5")
"""Engines in ``search_engines.json``, in column order."""

BATCHED_MODELS = {"tiny": "tiny policy", "smollm2": "SmolLM2-135M"}
"""Names of the models of ``continuous_batching.json``."""


def speed_table() -> Table:
    """Return the costs of each family, the sandboxes and the trainer."""
    return [["measured", "value"], *_webshop(), *_games(), *_worlds(), *_sandboxes(), *_trainer()]


def _webshop() -> Table:
    shop = result("throughput.json")["webshop"]["figures"]
    worlds = [result("throughput.json")[name]["figures"] for name in ("alfworld", "textworld")]
    make_seconds = [
        shop["make_seconds_warm_cache"],
        *(figures["make_seconds"] for figures in worlds),
    ]
    steps = "; ".join(
        about(shop[f"steps_per_second_{mode}"]) for mode in ("text", "text_rich", "compact")
    )
    return [
        [
            "`gym.make` of WebShop (and reset), ALFWorld, TextWorld",
            ", ".join(f"{seconds:.2f} s" for seconds in make_seconds),
        ],
        ["WebShop steps per second: `text`, `text_rich`, `compact`", steps],
        [
            "WebShop reset; search among 1,000 and 100,000 products",
            f"{shop['reset_milliseconds']:.2f} ms; {shop['cold_query_milliseconds']:.2f} ms and "
            f"{shop['large_cold_query_milliseconds']:.1f} ms",
        ],
        [
            "4,096 shops made and reset; memory of one more; of the process",
            f"{shop['many_envs_seconds']:.2f} s; {shop['bytes_per_extra_env'] / 1e3:.1f} KB; "
            f"{shop['rss_megabytes']:.0f} MB",
        ],
        [
            f"{shop['open_episodes']:,.0f} episodes open at once in one process: their start, a "
            "turn of each, their memory",
            f"{shop['open_episodes_start_seconds']:.1f} s; "
            f"{shop['open_episodes_turn_seconds']:.1f} s; "
            f"{shop['open_episodes_megabytes']:.0f} MB",
        ],
        [
            "100,000 products: first `gym.make` ever, products made and indexed; of that the "
            "index; shop opened again; memory of the process",
            f"{shop['large_make_seconds_no_cache']:.1f} s; "
            f"{shop['large_index_build_seconds']:.1f} s; {shop['large_open_seconds']:.2f} s; "
            f"{shop['large_rss_megabytes']:.0f} MB",
        ],
    ]


def _games() -> Table:
    house, game = (result("throughput.json")[name]["figures"] for name in ("alfworld", "textworld"))
    search = result("throughput.json")["search"]["figures"]
    house_steps = ("gym_steps", "searching_steps", "steps", "original_steps")
    game_steps = ("native", "inform7", "original_z8_with_plan", "original_json_with_plan")
    return [
        [
            "ALFWorld, whole rooms, steps per second: `gym.make`, beside the searching expert, "
            "bare engine, original",
            "; ".join(about(house[f"{name}_per_second"]) for name in house_steps),
        ],
        [
            "ALFWorld reset to a new task; the original's",
            f"{house['gym_reset_milliseconds']:.1f} ms; "
            f"{house['original_reset_milliseconds']:.0f} ms",
        ],
        [
            "TextWorld `w4-o6-q8`, steps per second: native, `inform7`, the original's `.z8` and "
            "`.json` with the same information",
            "; ".join(about(game[f"{name}_steps_per_second"]) for name in game_steps),
        ],
        [
            "TextWorld reset of a cached game: native, `inform7`",
            f"{game['native_reset_milliseconds']:.1f} ms; "
            f"{game['inform7_reset_milliseconds']:.0f} ms",
        ],
        [
            "Search: first `gym.make` ever, with 20,000 passages "
            "written and indexed; later ones; steps per second at 20,000 and at 100,000 passages",
            f"{search['make_seconds_no_cache']:.1f} s; {search['make_seconds_warm_cache']:.2f} s; "
            f"{about(search['steps_per_second'])}; {about(search['large_steps_per_second'])}",
        ],
    ]


def _worlds() -> Table:
    worlds = result("worlds_throughput.json")
    craft, grid, calls, tables, sums, shell = (
        worlds[name]["figures"]
        for name in ("textcraft", "babyai", "service", "database", "mathpython", "shell")
    )
    levels = ("easy", "medium", "hard")
    return [
        [
            "TextCraft, BabyAI, Service (`worlds_throughput.json`, beside other work): steps per "
            "second through `gym.make`; reset to a new task",
            ", ".join(about(world["gym_steps_per_second"]) for world in (craft, grid, calls))
            + f"; {craft['gym_reset_milliseconds']:.2f} ms, "
            f"{grid['gym_reset_milliseconds']:.1f} ms, {calls['gym_reset_milliseconds']:.1f} ms",
        ],
        [
            "Database (the same file), easy, medium and hard: steps per second; turns of the "
            "expert per second, resets included",
            ", ".join(about(tables[f"{level}_steps_per_second"]) for level in levels)
            + "; "
            + ", ".join(about(tables[f"{level}_expert_turns_per_second"]) for level in levels),
        ],
        [
            "MathPython (the same file): steps per second, turns of the expert per second, "
            "episodes with a script in a sandbox per second",
            f"{about(sums['steps_per_second'])}, {about(sums['expert_turns_per_second'])}, "
            f"{sums['script_episodes_per_second']:.0f}",
        ],
        [
            "Shell (the same file), each turn in a sandbox: reset, a turn, episodes per second",
            f"{shell['reset_milliseconds']:.0f} ms, {shell['turn_milliseconds']:.1f} ms, "
            f"{shell['episodes_per_second']:.0f}",
        ],
    ]


def _sandboxes() -> Table:
    box, swe = result("sandbox.json")["namespace"]["figures"], result("swe_throughput.json")
    leftovers = sum(value for name, value in box.items() if name.startswith("left_"))
    return [
        [
            "sandbox of namespaces (`sandbox.json`, beside a run of the tests): a command, median "
            "and 95th percentile; a reset; 16 at once on two cores; left after 1,000 resets and "
            "after SIGKILL of the owner",
            f"{box['exec_milliseconds_median']:.1f} ms, {box['exec_milliseconds_p95']:.1f} ms; "
            f"{box['reset_milliseconds_median']:.0f} ms; "
            f"{about(box['parallel_commands_per_second'])} commands/s; {leftovers or 'nothing'}",
        ],
        [
            "SWE (`swe_throughput.json`, on a quiet machine): reset; first command, with the start "
            "of a sandbox; a later one; a submission graded, held-out questions included",
            f"{swe['reset_milliseconds']:.0f} ms; {swe['first_command_milliseconds']:.0f} ms; "
            f"{swe['command_milliseconds']:.0f} ms; {swe['grade_milliseconds'] / 1e3:.2f} s",
        ],
        [
            "SWE episodes of the expert that looks first, five turns, per second: 1, 4 and 16 "
            "sandboxes on two cores",
            "; ".join(f"{swe[f'boxes_{n}']['episodes_per_second']:.1f}" for n in (1, 4, 16)),
        ],
    ]


def _trainer() -> Table:
    core = result("core_overhead.json")["results"]
    names = ("plain_loop", "vector_inprocess", "gymnasium_sync", "gymnasium_async_pipe")
    trainer = result("trainer_overhead.json")["figures"]
    return [
        [
            "toy environment, steps per second: `gym.make`, `TextVectorEnv`, `SyncVectorEnv`, "
            "`AsyncVectorEnv` (`core_overhead.json`)",
            "; ".join(about(core[name]) for name in names),
        ],
        [
            "rollout per turn without model and environment; credit of a million tokens",
            f"{trainer['rollout_microseconds_per_turn']:.0f} us; "
            f"{trainer['credit_seconds_per_million_tokens'] * 1e3:.0f} ms",
        ],
    ]


def step_table() -> Table:
    """Return the parts of a default step, and the time of a toy step by trainer."""
    profile = result("trainer_profile.json")
    parts, names = profile["profile"]["shares"], ("generation", "update", "environments")
    table = [["a step", "seconds", "sampled tokens per second"]]
    table.append(
        [
            "in the shop: " + ", ".join(f"{name} {100 * parts[name]:.0f} %" for name in names),
            f"{profile['profile']['seconds_per_step']:.1f}",
            about(profile["profile"]["sampled_tokens_per_second"]),
        ]
    )
    of_the_toy = {"hf": "`hf`", "vllm": "`vllm` on the CPU", "trl": "plain TRL"}
    for name, words in of_the_toy.items():
        arm = profile["trainers"][name]
        seconds, tokens = arm["seconds_per_step"], arm["tokens_per_second"]
        table.append([f"toy: {words}", f"{seconds:.1f}", about(tokens)])
    return table


def overlap_table() -> Table:
    """Return the speed-up of streaming over lockstep rollouts."""
    runs = result("rollout_overlap.json")["runs"]
    delays = list(dict.fromkeys(run["step_ms"] for run in runs))
    table = [["", *(f"{delay:.0f} ms{' per step' * (not delay)}" for delay in delays)]]
    for engine, name in (("hf", "HF engine"), ("vllm", "vLLM")):
        for lengths, words in (("even", "even turns"), ("long_tail", "long tail")):
            engine_runs = [r for r in runs if (r["engine"], r["turn_lengths"]) == (engine, lengths)]
            cells = [
                f"{two(r['gain'])} ({two(min(r['gains']))}, {two(max(r['gains']))})"
                for r in engine_runs
            ]
            table.append([f"{name}, {words}", *cells])
    return table


def batching_table() -> Table:
    """Return the processor time of a token with our engine and with transformers' own batching."""
    table = [["milliseconds a token", "`hf`", "`generate_batch`", "times"]]
    for model, row in result("continuous_batching.json")["models"].items():
        costs = row["milliseconds_per_token"]
        cells = [two(costs["hf"]), two(costs["generate_batch"]), two(row["ratio"])]
        table.append([BATCHED_MODELS[model], *cells])
    return table


def long_tails_table() -> Table:
    """Return speed and held-out success of the kinds of training where turns take long."""
    names = {
        "synchronous": "synchronous",
        "staleness_1": "`staleness 1`",
        "fully_async": "fully async",
    }
    runs = result("long_tails.json")["runs"]
    table = [
        [
            "seed",
            "warm start",
            "",
            "episodes an hour",
            "fully async, times",
            "held-out success",
            "fully async minus it",
        ]
    ]
    for run in runs:
        for kind, name in names.items():
            rival = kind in run["times"]
            minus = run["success_minus"][kind] if rival else None
            table.append(
                [
                    *(
                        [str(run["seed"]), share(run["synchronous"]["warm_start"])]
                        if kind == "synchronous"
                        else ["", ""]
                    ),
                    name,
                    f"{run[kind]['episodes_per_hour']:,}",
                    two(run["times"][kind]) if rival else "",
                    share(run[kind]["success"]),
                    difference(minus["value"], (minus["low"], minus["high"])) if minus else "",
                ]
            )
    return table


def engines_table() -> Table:
    """Return the processor time of a search, and the share of queries with all evidence found."""
    corpora = result("search_engines.json")["corpora"]
    table = [["", "ours", "tantivy", "bm25s", "SQLite FTS5"]]
    for corpus in corpora.values():
        passages, engines = corpus["passages"], corpus["engines"]
        wordnet = corpus is corpora["wordnet"]
        name = f"WordNet, {passages:,} entries" if wordnet else f"{passages:,} generated passages"
        table.append([name, *(_search(engines.get(engine), "search") for engine in ENGINES)])
        if passages >= 100_000 and not wordnet:
            cells = [_search(engines.get(engine), "long") for engine in ENGINES]
            table.append([f"{passages:,}, whole questions", *cells])
    return table


def _search(engine: dict[str, float] | None, kind: str) -> str:
    """Write median and 99th percentile of a search, and for short queries the share found."""
    if engine is None:
        return ""
    p50, p99 = (_milliseconds(engine[f"{kind}_{p}_milliseconds"]) for p in ("p50", "p99"))
    return f"{p50}/{p99}" + (f", {share(engine['gold@3'])}" if kind == "search" else "")


def _milliseconds(value: float) -> str:
    """Write milliseconds with two digits or more."""
    return two(value) if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def long_process_table() -> Table:
    """Return how memory and speed of a process change while it plays episodes of a family."""
    columns = ["episodes", "MB after a fifth", "MB at the end", "time at the end beside the start"]
    files = (result("long_process.json"), result("long_process_boxes.json"))
    table = [["family", *columns]]
    for name, row in [item for file in files for item in file["families"].items()]:
        memory = (f"{row[f'megabytes_{when}']:.0f}" for when in ("early", "late"))
        ratio = f"{row['end_beside_start']:.2f}"
        table.append([spoken(name), f"{row['episodes']:,}", *memory, ratio])
    return table


def long_training_table() -> Table:
    """Return the success, the memory and the cost of a training, hour by hour."""
    held = ["MB", "descriptors", "folder, MB"]
    table = [["hour", "steps", "validation success", "CPU ms a turn", *held]]
    for hour, row in enumerate(result("long_training.json")["parts"], 1):
        trained = "success" in row  # the warm start comes first
        success = f"{share(row['success'])} {interval(row['ci95'])}" if trained else ""
        cost = f"{row['cpu_milliseconds_a_turn']:.1f}" if trained else ""
        sizes = (f"{row['megabytes']:.0f}", str(row["descriptors"]))
        folder = f"{row['folder_megabytes']:.0f}"
        table.append([str(hour), f"{row['step']:,}", success, cost, *sizes, folder])
    return table
