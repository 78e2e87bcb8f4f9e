"""Keys: who may call the service, for what, and in which project."""
