"""How a session is named as a target: by project and id, for ids repeat between projects."""

from __future__ import annotations

from urllib.parse import unquote


def session_target(project: str, session_id: str) -> str:
    """Return the target id of a session: its project, a slash, its id.

    A slash or percent sign in the project is written as in a URL, so that no two are alike.
    """
    return f"{project.replace('%', '%25').replace('/', '%2F')}/{session_id}"


def is_session(target_id: str) -> bool:
    """Whether it names a session and not a trace."""
    return "/" in target_id


def session_of(target_id: str) -> tuple[str, str]:
    """Return the project and the session id of a target id."""
    project, _, session_id = target_id.partition("/")
    return unquote(project), session_id
