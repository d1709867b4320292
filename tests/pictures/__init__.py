"""Pictures of the documentation, made from what the programs really print and measure."""
