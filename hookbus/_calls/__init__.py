"""Run one call: its receivers, their order, and the meaning of their answers."""
