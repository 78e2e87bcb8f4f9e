"""Commands about what is stored, and how it gets less."""

from __future__ import annotations

from rich.text import Text

from tracejury import terminal
from tracejury.cli.app import Json, Url, app, connected, example
from tracejury.rest import ProjectStorage, Storage
from tracejury.terminal import age, size

PANEL = "Operation"


@app.command(rich_help_panel=PANEL, epilog=example("tracejury storage"))
def storage(url: Url = None, json: Json = False) -> None:
    """Show what the database takes on disk, by project, and how long it is kept."""
    with connected(url) as client:
        found = client.storage()
    terminal.print_json(found) if json else _print(found)


def _print(found: Storage) -> None:
    out = terminal.console()
    limit = f" of {size(found.limit_bytes)}" if found.limit_bytes else ""
    facts = {
        "data": f"{size(found.live_bytes)}{limit}",
        "file": f"{size(found.file_bytes)}, {size(found.free_bytes)} of it free to be used again",
        "log": size(found.wal_bytes),
        "disk": f"{size(found.disk_free_bytes)} free",
        "rows": ", ".join(f"{name} {count:,}" for name, count in found.rows.items()),
    }
    if any(found.deleted.values()):
        facts["deleted"] = ", ".join(f"{count:,} ({why})" for why, count in found.deleted.items())
    if found.rejected:
        reasons = [f"{row.count:,} {row.signal} ({row.reason})" for row in found.rejected]
        facts["rejected"] = "; ".join(reasons)
    lost = {signal: counts.get("lost", 0) for signal, counts in found.records.items()}
    if any(lost.values()):
        facts["lost"] = ", ".join(f"{count:,} {signal}" for signal, count in lost.items() if count)
    if found.set_aside:
        facts["aside"] = ", ".join(found.set_aside)
    for name, fact in facts.items():
        out.print(Text.assemble((f"{name:<9}", "dim"), fact))
    columns: list[tuple[str, terminal.Justify]] = [
        ("project", "left"),
        ("spans", "right"),
        ("about", "right"),
        ("oldest", "right"),
        ("keeps spans", "right"),
        ("results", "right"),
    ]
    if found.projects:
        terminal.print_rows(out, columns, [_row(project) for project in found.projects])


def _row(project: ProjectStorage) -> list[str]:
    own = f" of {size(project.limit_bytes)}" if project.limit_bytes else ""
    return [
        project.project,
        f"{project.spans:,}",
        f"{size(project.bytes)}{own}",
        age(project.oldest),
        _kept(project.keeps_spans_s),
        _kept(project.keeps_results_s),
    ]


def _kept(seconds: float | None) -> str:
    if seconds is None:
        return "forever"
    for unit, length in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds >= length and seconds % length == 0:
            return f"{seconds / length:g}{unit}"
    return f"{seconds:g}s"
