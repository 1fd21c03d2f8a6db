"""The tests, which mirror the packages.

They share what is expensive. To test one of these for real, override its fixture:

- Toy runs (``tests/trainers/toy_runs.py``) fork from a process that has imported torch, and later
  phases begin with the warm start of a finished run (``toy_runs.begun_from``). They draw no
  pictures (fixture ``pictures``) and know the words of the toy (``words``).
- Commands fork, too (``tests/warm_python.py``). Pass an ``environment`` to test what an import
  reads or prints.
- SWE submissions are graded once (``tests/envs/swe/grades.py``, fixture ``grades``).
- Nothing is synced to disk (``tests/disk.py``), and garbage is collected only where a test calls
  ``gc.collect()`` (``tests/garbage.py``).
- Property tests draw the same examples in every run; ``--hypothesis-profile=anew`` draws others.
"""
