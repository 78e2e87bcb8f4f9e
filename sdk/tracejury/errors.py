"""The errors of the library; every message names the value and the remedy."""


class TracejuryError(Exception):
    """The root of all errors that Tracejury raises on purpose."""


class DefinitionError(TracejuryError):
    """An evaluator, rule or dialect is defined wrongly."""


class UnreachableError(TracejuryError):
    """The service could not be reached."""


class ApiError(TracejuryError):
    """The service refused a request: its status, machine code, and the remedy.

    `retry_after_s` is when the service says that the same request may succeed. `excerpt` shows
    where a query is wrong: its line, and a caret below; empty where none is.
    """

    def __init__(
        self,
        *,
        status: int,
        code: str,
        detail: str,
        remedy: str = "",
        retry_after_s: float | None = None,
        excerpt: str = "",
    ) -> None:
        super().__init__("; ".join(part for part in (detail, remedy) if part))
        self.status = status
        self.code = code
        self.detail = detail
        self.remedy = remedy
        self.retry_after_s = retry_after_s
        self.excerpt = excerpt


class MissingExtraError(TracejuryError):
    """A part of Tracejury is used whose extra is not installed."""
