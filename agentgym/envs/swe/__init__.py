"""SWE tasks: repair a repository so that its failing tests pass.

Files:

- ``env.py``: the Gymnasium environment
- ``tasks.py``, ``instance.py``: instances as tasks, and their sources; the instance class
- ``engine/session.py``, ``commands.py``, ``file_text.py``, ``observation.py``,
  ``admissible.py``: one episode; from a text to a command; text of files; observations; the
  admissible actions
- ``grading/``: ``grader.py``, ``protection.py`` (what counts), ``twins.py``, ``copying.py`` and
  ``suite_names.py`` (canaries), ``test_run.py``, ``runner.py`` and ``junit.py`` (a run of tests),
  ``verdict.py``, ``suspicion.py``; published sets: ``image.py`` (the row's own command),
  ``canaries.py`` and ``pytest_plugin.py``, ``expected_failures.py``, ``evidence.py``;
  ``blinding.py`` (tests without expectations), ``looks.py`` and ``blinded_run.py`` (in the box),
  ``gold.py`` and ``preparation.py`` (values of the right solution)
- ``held_out/``: ``programs.py`` (from tests to programs), ``driver.py`` (runs them in the box),
  ``judge.py``, ``asking.py`` and ``answers.py`` (compare on the host), ``bank.py`` (what is stored)
- ``instance_boxes.py``, ``runtime.py``, ``trees.py``: boxes with a repository; what they see of the
  host; from a source to a pristine folder
- ``diffs.py``, ``git_names.py``, ``edits.py``, ``parsed_source.py``: unified diffs, applied in
  memory; names in them; edits by bytes; a parsed file and its bytes
- ``experts/``: ``oracle.py`` knows the solution, ``developer.py`` looks first
- ``baselines/``: policies: ``blind_mutation.py``, ``issue_search.py``; what they run in the box:
  ``token_search.py``, ``issue_run.py``, ``issue_examples.py``, ``issue_repairs.py``
- ``stored_instances.py``, ``hidden_tests.py``, ``syntax.py``, ``bundled.py``: tasks on disk; their
  tests cut out; the bundled sets
- ``making/``, a room of its own: makes and exports tasks, and attacks their graders
- ``official/``: rows of published sets, their images, commands and logs
- ``bundled.d/``: data: the bundled libraries in ``repositories/``, as text files; patches of their
  later releases in ``regressions/``, their tasks in ``instances.jsonl`` and ``tokens.jsonl``,
  held-out questions in ``held_out/``
"""
