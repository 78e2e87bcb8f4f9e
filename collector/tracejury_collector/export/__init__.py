"""Results over OTLP to another backend: events, what carries them, and how far it has come."""
