"""Evaluators written for other systems: one module each, with the names of that system."""
