"""Evaluation requests to a policy server, in the format of OpenID AuthZEN 1.0, over HTTP."""
