"""The delivery of events: listeners, redaction, and the list of exporters."""
