"""Mistakes, each made by a test and reported, by the topics of `docs/how-to/mistakes.md`."""
