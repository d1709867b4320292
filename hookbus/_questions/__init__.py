"""Questions that receivers answer: hookspecs, providers, and the combination of answers."""
