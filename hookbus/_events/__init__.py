"""The delivery of events to their listeners, in order and after redaction."""
