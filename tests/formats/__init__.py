"""The file formats of journals and of stores of approvals, and a sample of each version.

`samples/` has one file for each version of each format. `tests/test_formats.py` reads and writes a
copy of every one. `python -m tests.formats --write` makes those of this version.
"""
