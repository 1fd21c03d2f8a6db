"""Published sets of SWE tasks, whose repositories lie in container images.

- ``sets.py``: the table of the sets: how to know their rows, where the repository lies, and why.
- ``images.py``: the image of a row.
- ``commands.py``: how a row's tests are run.
- ``logs.py``: what became of each test, read from the log of such a run.
- ``rows.py``: from a row to an :class:`~agentgym.envs.swe.instance.Instance`.
- ``instances.py``: sets of instances from files, folders, and the Hugging Face hub.
- ``patches.py``: unified diffs: the files they touch, and their reverse.

The tests are run by ``grading/image.py``, in a container of the image.

To add one of these, touch these files:

- a published SWE set: a row in ``agentgym/envs/swe/official/sets.yaml``; beside it, a test runner
  goes into ``commands.py`` and a log format into ``logs.py``; how canaries get into it, into
  ``agentgym/envs/swe/grading/canaries.py``
"""

from agentgym.envs.swe.official.instances import OfficialInstances, open_official

__all__ = ["OfficialInstances", "open_official"]
