"""Questions that receivers answer: hookspecs, providers, and how answers become one result."""
