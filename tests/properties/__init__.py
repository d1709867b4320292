"""Random programs and random signatures, against a second reading of the design."""
