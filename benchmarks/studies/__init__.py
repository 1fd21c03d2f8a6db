"""Studies: experiments over many training runs, each defined in one small file.

To add one of these, touch these files:

- a study: a file in ``benchmarks/studies/`` with ``STUDY = Study(...)``: arms, measures, picture;
  figures that other studies can use in ``benchmarks/studies/runner/measures.py``
"""
