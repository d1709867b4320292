"""Events that leave the program: redaction, and the list of exporters."""
