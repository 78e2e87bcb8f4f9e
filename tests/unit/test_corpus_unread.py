"""Of what the recorded frameworks write, nothing that looks like content is left unread."""

from __future__ import annotations

from tests.helpers.corpus import CORPUS, case_names, read_case
from tracejury.dialects import BUILT_IN
from tracejury.dialects.active import Tables

# The runtime of AutoGen passes contents on in messages; question and answer stand in traces apart.
UNREAD = {("autogen SingleThreadedAgentRuntime", "message")}


def test_what_no_rule_reads_is_known_to_hold_nothing() -> None:
    tables = Tables(BUILT_IN)
    for name in case_names():
        for span in read_case(CORPUS / "captures" / name)[0]:
            names = tuple(event.name for event in span.events)
            plan = tables.plan(span.scope_name, span.resource, span.attributes, names)
            tables.count_unread(plan, span.attributes)
    assert {(scope, key) for scope, key, _, _ in tables.take_unread()} == UNREAD


def test_what_one_dialect_knows_may_mean_something_to_another() -> None:
    tables = Tables(BUILT_IN)
    assert tables.index.is_known("memory.kind", "voltagent")
    assert not tables.index.is_known("memory.kind", "")
    assert tables.index.is_known("voltagent.anything", "")
