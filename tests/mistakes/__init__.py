"""Mistakes, each made and each told: what `docs/how-to/mistakes.md` says, topic by topic."""
