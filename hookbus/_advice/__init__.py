"""Advice on probable mistakes: lost keys, slow guards, comparisons in globs, and misuse."""
