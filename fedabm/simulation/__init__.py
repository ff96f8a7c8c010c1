"""The agent-based model: scenario, owners and server as Mesa agents, one round after the other, ledger and graphs."""
