"""Questions that receivers answer: hookspecs, providers, and combined answers."""
