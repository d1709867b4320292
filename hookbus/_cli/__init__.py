"""The commands of `hookbus`, a room for each group of them; nobody imports them but the door."""
