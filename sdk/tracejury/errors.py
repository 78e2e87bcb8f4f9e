"""The errors of the library; every message names the value and the remedy."""


class TracejuryError(Exception):
    """The root of all errors that Tracejury raises on purpose."""


class DefinitionError(TracejuryError):
    """An evaluator, rule or dialect is defined wrongly."""


class UnreachableError(TracejuryError):
    """The service could not be reached."""


class ApiError(TracejuryError):
    """The service refused a request: its status, machine code, and the remedy."""

    def __init__(self, *, status: int, code: str, detail: str, remedy: str = "") -> None:
        super().__init__("; ".join(part for part in (detail, remedy) if part))
        self.status = status
        self.code = code
        self.detail = detail
        self.remedy = remedy


class MissingExtraError(TracejuryError):
    """A part of Tracejury is used whose extra is not installed."""
