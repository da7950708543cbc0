"""tasksim: simulation and load testing of MCP tasks (SEP-1686)."""
