"""The rules by which modes merge answers."""
