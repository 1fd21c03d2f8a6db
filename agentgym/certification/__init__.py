"""Certificates of environments: which checks they pass, on which tasks, with which figures.

`certify` runs the checks of `table.CHECKS` on one environment. A check is a function of a `Subject`
in ``solving`` (who is paid), ``tasks``, ``sameness`` (equal seeds, processes and ``interfaces``;
records and forks), ``bounds`` (texts, memory, resources, time) or ``learning``. It returns what it
measured, or raises `NotApplicable` or `NotRun`; its docstring says what it does and what a pass
means, and reports show it.

To add one of these, touch these files:

- a check: a function in one of these files, its name in ``table.py``, and in
  ``tests/certification/test_defects.py`` an environment with the defect that it detects
- an interface through which episodes are compared: a function in ``interfaces.py`` and its row in
  ``INTERFACES`` there
"""

from __future__ import annotations

from agentgym.certification.certificate import Certificate
from agentgym.certification.result import CheckResult, Status
from agentgym.certification.run import certify, read_certificate
from agentgym.certification.table import CHECKS

__all__ = ["CHECKS", "Certificate", "CheckResult", "Status", "certify", "read_certificate"]
