"""Generate the tables of the pages from the result files.

To add one of these, touch these files:

- the speed of a family: ``benchmarks/<family>_throughput.py``, or none where start, resets and
  steps will do; its name in ``FAMILIES`` of ``benchmarks/throughput.py``, its row in
  ``benchmarks/tables/speed.py``
- a stored training of a family: its row in ``TRAININGS`` of ``benchmarks/tables/training.py``, its
  cheapest arm in ``CHEAP`` of ``benchmarks/baselines.py``, and the sentence under the first table
  of README
- a figure on a page: store its result file in ``benchmarks/results``, named in ``REPORTS`` of
  ``benchmarks/tables/reports.py`` with the report that is about it, written with
  ``benchmarks/provenance.py``, and bind the figure to its path in an entry of
  ``benchmarks/quoted.toml`` (``tests/quoted.py`` says how). A table of results is generated: a
  function in ``benchmarks/tables/``, its name in ``TABLES`` of ``pages.py`` there, ``<!-- table:
  NAME -->`` on the page, then ``python -m benchmarks.tables``
"""
