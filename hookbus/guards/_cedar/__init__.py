"""Cedar policies: their files, the types of tools, and one decision."""
