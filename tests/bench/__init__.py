"""The benchmark of hookbus, next to the same work written by hand: `python -m tests.bench`.

`harness` measures. `hand` has the handwritten code, `rows` the comparisons, and `limits` the
allowed ratios. `table` and `chart` show the results. Every other module is a group of cases.
"""
