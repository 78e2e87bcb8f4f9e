"""The errors of the library; every message names the value and the remedy."""


class TracejuryError(Exception):
    """The root of all errors that Tracejury raises on purpose."""


class DefinitionError(TracejuryError):
    """An evaluator, rule or dialect is defined wrongly."""


class UnreachableError(TracejuryError):
    """The service could not be reached."""
