"""One call: which receivers run, in what order, and what their answers mean."""
