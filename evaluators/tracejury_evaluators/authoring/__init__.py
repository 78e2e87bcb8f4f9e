"""The commands for authors of evaluators: list, try, add and register."""
