"""Spans and log records without what must not be stored; ids stay as they are."""

from __future__ import annotations

from typing import Any, TypeVar

import orjson

from tracejury_collector.receive.records import Event, RawLog, RawSpan, Resource, Scope
from tracejury_collector.receive.values import Plain, Rejected
from tracejury_collector.redaction import MARKER, Found, Redactor
from tracejury_evaluators.patterns import TooMany

R = TypeVar("R", RawSpan, RawLog)


class Redacting:
    """Takes out of the records of one request, and counts, what a redactor finds."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.found = Found()
        self._resource_seen: tuple[Resource, Resource] | None = None

    def scope(self, scope: Scope) -> Scope:
        """Return a scope and its resource.

        Raises: Rejected
        """
        try:
            return self._scope(scope)
        except TooMany:
            raise _rejected() from None

    def span(self, scope: Scope, span: RawSpan) -> RawSpan:
        """Return a span under a scope that was redacted.

        Raises: Rejected
        """
        try:
            return self._span(scope, span)
        except TooMany:
            raise _rejected() from None

    def log(self, scope: Scope, log: RawLog) -> RawLog:
        """Return a log record under a scope that was redacted.

        Raises: Rejected
        """
        try:
            return self._log(scope, log)
        except TooMany:
            raise _rejected() from None

    def _scope(self, scope: Scope) -> Scope:
        found, take = Found(), self._redactor
        resource = self._resource(scope.resource)
        document = orjson.loads(scope.json)
        redacted = Scope(
            resource,
            take.text(document["name"], found),
            take.text(document["version"], found),
            take.attributes(document.get("attributes", {}), found),
            document.get("dropped_attributes_count", 0),
            take.text(scope.schema_url, found),
            {*found, *resource.redacted},
        )
        self.found.update(found)
        return redacted

    def _resource(self, resource: Resource) -> Resource:
        """Return the resource, redacted and counted once for all its scopes."""
        if self._resource_seen is None or self._resource_seen[0] is not resource:
            self._resource_seen = resource, self._redacted_resource(resource)
        return self._resource_seen[1]

    def _redacted_resource(self, resource: Resource) -> Resource:
        found, take = Found(), self._redactor
        document = orjson.loads(resource.json)
        redacted = Resource(
            take.attributes(resource.attributes, found),
            document.get("dropped_attributes_count", 0),
            take.value(document.get("entity_refs", []), found),
            take.text(resource.schema_url, found),
            {*found},
        )
        self.found.update(found)
        return redacted

    def _span(self, scope: Scope, span: RawSpan) -> RawSpan:
        if self._is_clean(span):
            return self._marked(span, Found(), scope)
        take, found = self._redactor, Found()
        redacted = span._replace(
            trace_state=take.text(span.trace_state, found),
            name=take.text(span.name, found),
            attributes=take.attributes(span.attributes, found),
            events=[self._event(event, found) for event in span.events],
            links=[self._link(link, found) for link in span.links],
            status_message=take.text(span.status_message, found),
        )
        return self._marked(redacted, found, scope)

    def _is_clean(self, span: RawSpan) -> bool:
        """Whether nothing is to be taken out; quickly, for of most spans nothing is."""
        if span.links:
            return False
        attributes, texts = [span.attributes], [span.name, span.trace_state, span.status_message]
        for event in span.events:
            attributes.append(event.attributes)
            texts.append(event.name)
        return self._redactor.is_clean(attributes, texts)

    def _event(self, event: Event, found: Found) -> Event:
        take = self._redactor
        attributes = take.attributes(event.attributes, found)
        return event._replace(name=take.text(event.name, found), attributes=attributes)

    def _link(self, link: dict[str, Any], found: Found) -> dict[str, Any]:
        take = self._redactor
        redacted = {**link}
        if "trace_state" in link:
            redacted["trace_state"] = take.text(link["trace_state"], found)
        if "attributes" in link:
            redacted["attributes"] = take.attributes(link["attributes"], found)
        return redacted

    def _log(self, scope: Scope, log: RawLog) -> RawLog:
        take, found = self._redactor, Found()
        redacted = log._replace(
            event_name=take.text(log.event_name, found),
            severity_text=take.text(log.severity_text, found),
            body=take.value(log.body, found),
            attributes=take.attributes(log.attributes, found),
        )
        return self._marked(redacted, found, scope)

    def _marked(self, record: R, found: Found, scope: Scope) -> R:
        """Return the record with an attribute that names what was taken out, if anything was."""
        names: set[str] = {*found, *scope.redacted}
        if not names:
            return record
        self.found.update(found)
        attributes: dict[str, Plain] = {**record.attributes, MARKER: [*sorted(names)]}
        return record._replace(attributes=attributes)


def _rejected() -> Rejected:
    return Rejected("holds more than can be looked through for redaction")
