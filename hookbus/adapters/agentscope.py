"""AgentScope 1.0.21 on hookbus."""
