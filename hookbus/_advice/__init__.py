"""Advice on probable mistakes of receivers: lost keys, slow guards, and misuse of hookbus."""
