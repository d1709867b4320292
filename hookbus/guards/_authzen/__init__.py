"""Questions to a policy server in the form of OpenID AuthZEN 1.0, over HTTP."""
