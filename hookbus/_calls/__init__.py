"""One call: who runs, in what order, and what their answers mean."""
