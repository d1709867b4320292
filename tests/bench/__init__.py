"""The table that shows what hookbus costs, next to the same work written by hand: `python -m
tests.bench`.

`harness` measures, `hand` is what is written by hand, `rows` says what is compared, `limits` what
it may cost, `table` and `chart` show it. Every other module is one group of cases.
"""
