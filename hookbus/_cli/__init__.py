"""The commands of `hookbus`, one module for each group. Only `hookbus.cli` imports them."""
