"""Random programs and random signatures, against an independent model of the design."""
