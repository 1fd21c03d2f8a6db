"""The row of judges in the table of methods."""

from __future__ import annotations

from trainers.methods.method import Method

METHOD = Method(
    name="judges",
    used=lambda run: any(env.judges for env in run.envs),
    figures={"judges": {}},
    result="trainers.methods.judges.result:result_of_judges",
)
