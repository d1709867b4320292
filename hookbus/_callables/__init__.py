"""Inspect callables: their code, their parameters, and their bytecode."""
