"""Values are taken out of texts and data where they stand, and nothing else changes."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest

from tracejury_collector.config import parse_config
from tracejury_collector.errors import ConfigError
from tracejury_collector.redaction import Base64, Found, Redactor
from tracejury_collector.redaction.escapes import MAX_ESCAPES
from tracejury_evaluators.patterns import MAX_CANDIDATES, TooMany

CARD = "4111 1111 1111 1111"
ALL = ["email", "phone", "card", "iban", "us_ssn", "ip_address", "keys"]
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F\n\n"
    "MIIEow/+=\nAAAA==\n-----END RSA PRIVATE KEY-----"
)
CUT_PEM = "-----BEGIN PRIVATE KEY-----\nMIIEow/+=\nAAAA"


def redactor(**settings: Any) -> Redactor:
    return Redactor(parse_config({"redact": settings}).redact)


def taken_out(text: str, **settings: Any) -> str:
    return redactor(**(settings or {"patterns": ALL})).text(text, Found())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write to jane.doe+x@mail.example.com.", "write to [redacted:email]."),
        ("jörg@exämple.de", "[redacted:email]"),
        ("?to=jane%40example.com&n=1", "?to=[redacted:email]&n=1"),
        ("call +49 170 1234567 now", "call [redacted:phone] now"),
        ("call (202) 555-0143", "call [redacted:phone]"),
        (f"pay {CARD} or 5500-0000-0000-0004", "pay [redacted:card] or [redacted:card]"),
        ("DE89370400440532013000", "[redacted:iban]"),
        ("078-05-1120", "[redacted:us_ssn]"),
        ("from 8.8.8.8", "from [redacted:ip_address]"),
        ("key sk-proj-abcdefghijklmnopqrstuvwxyz123", "key [redacted:keys]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted:keys]"),
        ("tj_0123456789ab_" + "c3" * 32, "[redacted:keys]"),
        ("ghp_" + "a1" * 18, "[redacted:keys]"),
        ("Authorization: Bearer abcdefghijklmnop1234", "Authorization: Bearer [redacted:keys]"),
        ("Authorization: Basic dXNlcjpwYXNz", "Authorization: Basic [redacted:keys]"),
        ("postgres://me:hunter2@db/x", "postgres://me:[redacted:keys]@db/x"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijk", "[redacted:keys]"),
        (f"a {PEM} b", "a [redacted:keys] b"),
        (CUT_PEM, "[redacted:keys]"),
    ],
)
def test_what_is_known_by_its_form_is_taken_out(text: str, expected: str) -> None:
    assert taken_out(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "0af7651916cd43dd8448eb211c80319c",
        "550e8400-e29b-41d4-a716-446655440000",
        "1790000000000000000",
        "4111 1111 1111 1112",
        "2026-11-22T10:46:37.123456Z",
        "gpt-5-mini-2025-08-07",
        "127.0.0.1:4317",
        "order 20255501 of 3.14159265358979",
        "user@host",
        "a bearer of bad news",
        "",
    ],
)
def test_what_only_resembles_it_stays(text: str) -> None:
    assert taken_out(text) == text


@pytest.mark.parametrize("ensure_ascii", [True, False])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_json_stays_json_and_is_searched_as_it_reads(layers: int, ensure_ascii: bool) -> None:
    content: Any = {
        "to": "jörg@exämple.de",
        "text": f"my card:\n{CARD}\tEMP-12",
        "number": 4111111111111111,
        "small": 12,
        "pi": 3.10,
        "nothing": None,
    }
    for _ in range(layers):
        content = {"inner": json.dumps(content, ensure_ascii=ensure_ascii)}
    settings = {"patterns": ALL, "custom": {"employee": r"^EMP-\d+$|\tEMP-\S+"}}
    found: Any = json.loads(taken_out(json.dumps(content), **settings))
    for _ in range(layers):
        found = json.loads(found["inner"])
    assert found == {
        "to": "[redacted:email]",
        "text": "my card:\n[redacted:card][redacted:employee]",
        "number": "[redacted:card]",
        "small": 12,
        "pi": 3.10,
        "nothing": None,
    }


def test_around_what_is_taken_out_every_byte_stays() -> None:
    text = '{ "a":1e400 ,"a": 12345678901234567890123, "m":"\\u00e4 a@b.com \\/" }\n'
    expected = text.replace("a@b.com", "[redacted:email]")
    assert taken_out(text) == expected


def test_a_pattern_of_ones_own_cannot_break_json() -> None:
    text = json.dumps({"q": "secret=abc", "inner": json.dumps({"q": "secret=abc", "r": 1})})
    found = json.loads(taken_out(text, custom={"secret": r"(?s)secret=.*"}))
    assert found["q"] == "[redacted:secret]"
    assert json.loads(found["inner"]) == {"q": "[redacted:secret]", "r": 1}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[{"content": "to a@b.com\\n4111 1111', '[{"content": "to [redacted:email]\\n4111 1111'),
        (f'[{{"content": "\\n{CARD} and', '[{"content": "\\n[redacted:card] and'),
        ("{'m': 'x\\u0040y.com'}", "{'m': '[redacted:email]'}"),
        ('says "\\\\n4111111111111111\\\\n"', 'says "\\\\n[redacted:card]\\\\n"'),
        ("[INFO] mail a@b.com", "[INFO] mail [redacted:email]"),
    ],
)
def test_text_that_is_cut_off_or_holds_escapes_is_searched_as_it_reads(
    text: str, expected: str
) -> None:
    assert taken_out(text) == expected


def test_named_attributes_and_keys_lose_their_values_whole() -> None:
    found = Found()
    take = redactor(attributes=["password", "http.request.header.*"])
    inner = '{"PassWord":{"a":[1,"}"]},"n":[true,{"password" : null},{"password":"x"}]}'
    given = {
        "password": 5,
        "http.request.header.Authorization": ["x"],
        "args": inner,
        "twice": json.dumps({"args": '{"password":1}'}),
        "map": {"password": "x", "other": "y"},
        "cut": '{"user": "me", "password": "hunt',
        "prose": 'write "password": first',
    }
    result = take.attributes(given, found)
    gone = "[redacted:attribute]"
    assert result["password"] == result["http.request.header.Authorization"] == gone
    assert json.loads(result["args"]) == {
        "PassWord": gone,
        "n": [True, {"password": gone}, {"password": gone}],
    }
    assert json.loads(json.loads(result["twice"])["args"]) == {"password": gone}
    assert result["map"] == {"password": gone, "other": "y"}
    assert result["cut"] == gone
    assert result["prose"] == given["prose"]
    assert found == {"attribute": 8}


def test_kept_attributes_are_passed_over_unless_they_are_named() -> None:
    take = redactor(patterns=["email"], keep=["session.id", "user.*"], attributes=["user.name"])
    given = {"session.id": "a@b.com", "user.mail": "a@b.com", "user.name": "A", "x": "a@b.com"}
    expected = {**given, "user.name": "[redacted:attribute]", "x": "[redacted:email]"}
    assert take.attributes(given, Found()) == expected
    assert not take.is_clean([{"user.name": ""}], [])
    assert take.is_clean([{"user.age": "a"}], [""])


def test_numbers_keys_and_bytes_are_looked_at_too() -> None:
    take, found = redactor(patterns=["email", "card"], custom={"pin": r"^\d{4}$"}), Found()
    given = {
        "n": 4111111111111111,
        "pin": 1234,
        "tokens": 12345,
        "flag": True,
        "to a@b.com": 1.5,
        "bytes": Base64.of(b"to a@b.com"),
        "image": Base64.of(b"\xff\x00a@"),
    }
    assert take.attributes(given, found) == {
        "n": "[redacted:card]",
        "pin": "[redacted:pin]",
        "tokens": 12345,
        "flag": True,
        "to [redacted:email]": 1.5,
        "bytes": "[redacted:email]",
        "image": given["image"],
    }
    assert found == {"card": 1, "pin": 1, "email": 2}


def test_the_first_group_of_a_pattern_is_what_is_taken_out() -> None:
    custom = {"pin": r"PIN[:=] ?(\d+)", "word": r"xyzzy|plugh (\w+)"}
    text = "PIN: 1234, xyzzy, plugh me"
    assert taken_out(text, custom=custom) == (
        "PIN: [redacted:pin], [redacted:word], plugh [redacted:word]"
    )


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (r"^\d{4}$", "1234"),
        (r"\A\d{4}", "1234 x"),
        (r"a\nb", "a\nb"),
        (r"a[^ ]b", "a\nb"),
        (r"\bEMP-\d+\b", "EMP-12"),
        (r"a\\nb", "a\\nb"),
        (r"a\tb", "x a\tb"),
    ],
)
def test_patterns_of_ones_own_match_values_as_they_read_wherever_they_stand(
    pattern: str, value: str
) -> None:
    take = redactor(custom={"own": pattern})
    for layers in range(4):
        text = value
        for _ in range(layers):
            text = json.dumps({"v": text})
        assert not take.is_clean([{"clean": "1"}, {"a": text}], ["x"])
        found = Found()
        take.attributes({"a": text}, found)
        assert found == {"own": 1}


def test_what_overlaps_is_taken_out_once_and_named_as_what_begins_first() -> None:
    custom = {"outer": r"<a@b\.com", "part": r"com>"}
    assert taken_out("to <a@b.com> x", patterns=["email"], custom=custom) == (
        "to [redacted:outer] x"
    )


def test_the_shortest_values_are_found_in_json_too() -> None:
    found = json.loads(taken_out('["a@b.cc", "1.1.1.1", "", {"a@b.cc": "c"}]'))
    assert found == ["[redacted:email]", "[redacted:ip_address]", "", {"[redacted:email]": "c"}]


def test_what_cannot_be_looked_through_is_not_let_through() -> None:
    many = "a@b.com " * (MAX_CANDIDATES + 1)
    for text in (many, json.dumps({"m": many}), "a@b.com" + "\\n" * (MAX_ESCAPES + 1)):
        with pytest.raises(TooMany):
            taken_out(text)


@pytest.mark.parametrize(
    "text",
    [
        "\\" * 300_000,
        "\\" * 300_000 + "a@b.com",
        '{"a": "' + "\\\\" * 200_000 + '"} a@b.com',
        "4111 " * 60_000,
        "+1 2" * 60_000,
        "a." * 200_000 + "@",
        '["a@b.com", ' + "[" * 100_000,
        "-----BEGIN PRIVATE KEY-----" * 10_000,
        "Bearer " * 50_000,
        '"password":' * 50_000,
    ],
)
@pytest.mark.timeout(60)
def test_hostile_texts_are_looked_through_in_time_or_refused(text: str) -> None:
    take = redactor(patterns=ALL, custom={"own": r"(?:x+)+y"}, attributes=["password"])
    with contextlib.suppress(TooMany):
        take.text(text, Found())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"patterns": ["mail"]}, "email"),
        ({"custom": {"x": "(a"}}, "RE2"),
        ({"custom": {"x": "a*"}}, "matches nothing at all"),
        ({"custom": {"x": r"\b"}}, "matches nothing at all"),
        ({"custom": {"email": "a"}}, "'email' is a name of its own"),
        ({"custom": {"attribute": "a"}}, "'attribute' is a name of its own"),
        ({"custom": {"a]b": "a"}}, "a]b"),
        ({"attributes": [""]}, "redact.attributes.0"),
        ({"atributes": ["x"]}, "did you mean 'attributes'"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: Any, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_config({"redact": settings})
    assert said in str(refused.value)


def test_without_settings_nothing_is_looked_at() -> None:
    assert not redactor().is_active
    assert redactor().text(f"a@b.com {CARD}", Found()) == f"a@b.com {CARD}"
