"""Events on their way out: listeners, redaction, and the exporters that exist."""
