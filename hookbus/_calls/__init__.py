"""One call: the receivers that run, their order, and the meaning of their answers."""
