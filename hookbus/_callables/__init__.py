"""What is known about a callable: its code, its parameters, and its bytecode."""
