"""Make gold values: run the reference solutions of published rows in their images."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from agentgym.envs.swe.grading.blinded_run import Looks, bring_tests, read_tests, run_blinded
from agentgym.envs.swe.grading.blinding import blind
from agentgym.envs.swe.grading.gold import RUNS, Gold, load_gold, save_gold, steady
from agentgym.envs.swe.grading.grader import Grader
from agentgym.envs.swe.grading.image import grade_run, run_in_image
from agentgym.envs.swe.grading.protection import Changes
from agentgym.envs.swe.grading.verdict import FULL
from agentgym.envs.swe.held_out.answers import known_names
from agentgym.envs.swe.instance import Instance
from agentgym.envs.swe.instance_boxes import Boxes, apply_in_box, changes_since
from agentgym.envs.swe.official.logs import PYTEST_NAMES, statuses_of
from agentgym.errors import EnvFailure

FAILURES = 3
"""Number of consecutive rows without a box after which preparation stops: the engine is down, or
the disk is full."""


@dataclass
class Prepared:
    """The result of preparing rows: each dict maps ids of rows."""

    existing: dict[str, Gold] = field(default_factory=dict)
    """Rows that had stored values already."""
    created: dict[str, Gold] = field(default_factory=dict)
    """Rows that were prepared now."""
    failed: dict[str, str] = field(default_factory=dict)
    """Rows that could not be prepared, with the reason."""
    untried: tuple[str, ...] = ()
    """Ids of the rows that were not tried, after too many failures."""


def prepare(
    instances: Iterable[Instance],
    boxes: Boxes,
    timeout: float,
    watch: Callable[[str], None] = lambda name: None,
) -> Prepared:
    """Make the values of all rows that have none, and store those of each row at once.

    So an interrupted run continues where it stopped.

    Args:
        instances: The rows.
        boxes: Opens boxes.
        timeout: Time limit of one run of the tests, in seconds.
        watch: Called with the id of each row before it is processed.
    """
    rows, result, consecutive_failures = list(instances), Prepared(), 0
    for position, instance in enumerate(rows):
        watch(instance.id)
        stored = load_gold(instance)
        if stored is not None:
            result.existing[instance.id] = stored
            continue
        try:
            gold = make_gold(boxes, instance, timeout)
        except EnvFailure as problem:
            result.failed[instance.id] = str(problem)
            consecutive_failures += 1
            if consecutive_failures == FAILURES:
                result.untried = tuple(instance.id for instance in rows[position + 1 :])
                break
            continue
        consecutive_failures = 0
        if save_gold(instance, gold) is None:
            result.failed[instance.id] = "the cache cannot be written: set AGENTGYM_CACHE"
        else:
            result.created[instance.id] = gold
    return result


def make_gold(boxes: Boxes, instance: Instance, timeout: float) -> Gold:
    """Run the reference solution of a row, and return the values that its blinded tests see.

    Args:
        boxes: Opens boxes.
        instance: The instance; its source must be an image.
        timeout: Time limit of one run of the tests, in seconds.

    Returns:
        The values. If the row cannot be graded by values, there are none, and ``reason`` says why.

    Raises:
        EnvFailure: A box cannot be opened, or the reference solution does not apply.
    """
    with boxes.open(instance) as box:
        initial_changes = box.changes()
        apply_in_box(box, instance.patch, "the solution")
        changes = changes_since(box, initial_changes)
    solution = Grader(boxes).edits(instance, changes).counted
    gold = _make_plain_gold(boxes, instance, solution, timeout)
    if gold.reason:
        return gold
    if instance.log_format not in PYTEST_NAMES:
        return replace(gold, reason="its runner is not pytest")
    with boxes.open(instance, grading=True) as box:
        bring_tests(box, instance)
        texts = read_tests(box, instance)
    files = {path: text for path, original in texts.items() if (text := blind(original))}
    if not files:
        return replace(gold, reason="its tests have no expectation that can be cut out")
    plain_texts = {path: texts[path] for path in files}
    originals = run_blinded(boxes, instance, plain_texts, solution, timeout)
    runs = [run_blinded(boxes, instance, files, solution, timeout) for _ in range(RUNS)]
    reason = next((run.reason for run in (originals, *runs) if run.reason), "")
    if reason:
        return replace(gold, reason=reason)
    tests = steady(originals.collected, runs, known_names(texts.values()))
    blinded = replace(gold, files=files, tests=tests)
    if not blinded.share(instance):
        return replace(gold, reason="no test of FAIL_TO_PASS looks at a steady value")
    faulty = run_blinded(boxes, instance, files, {}, timeout)
    if not _tells(blinded, faulty, instance):
        return replace(gold, reason="the faulty repository answers the same")
    return blinded


def _make_plain_gold(boxes: Boxes, instance: Instance, solution: Changes, timeout: float) -> Gold:
    """Return the result of the row's own test command on its reference solution."""
    gold = Gold()
    run = run_in_image(boxes, instance, solution, timeout, trusted=True)
    if run.forged:  # the solution forges nothing, so the command does not run canaries
        gold = Gold(reported=False)
        run = run_in_image(boxes, instance, solution, timeout, gold=gold, trusted=True)
    grade = grade_run(instance, run)
    gold = replace(gold, expected_failures=run.expected)
    if grade.verdict == FULL:
        return gold
    lacking = (*grade.unfixed, *grade.broken)
    problem = grade.reason or f"{len(lacking)} tests fail, such as {next(iter(lacking), '?')}"
    return replace(gold, reason=f"its right solution is not FULL: {problem}")


def _tells(gold: Gold, faulty: Looks, instance: Instance) -> bool:
    """Return whether a test of FAIL_TO_PASS gives other values in the faulty repository."""
    named = PYTEST_NAMES[instance.log_format]
    wrong_results = {named(test): "FAILED" for test in gold.wrong_tests(faulty)}
    statuses = statuses_of(instance.fail_to_pass, wrong_results)
    return any(status is not None for status in statuses.values())
