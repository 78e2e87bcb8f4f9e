"""Modes on texts (x)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tests.helpers.parity import Answer, Case, Mode, score_of
from tracejury import similarity
from tracejury.evaluator import Evaluator, run_evaluator
from tracejury.result import Outcome
from tracejury.testing import make_trace
from tracejury_evaluators.registry import built_in_registry

BUILD = cache(built_in_registry)
AS_IS: Mapping[str, Any] = {"strip": False, "unicode_form": "none"}
ANY_CASE: Mapping[str, Any] = {**AS_IS, "case_sensitive": False}
FOLDED = "lower-cased there; case is folded here, so that ς and σ are one letter"

Differs = Callable[[Case], str]


def judged_by(type_name: str, config: Mapping[str, Any]) -> Callable[[Case], Outcome]:
    """Return what judges a case: an evaluator of this config, the reference as its criteria."""

    @cache
    def evaluator() -> Evaluator[Any]:
        return BUILD().build(type_name, config)

    def judge(case: Case) -> Outcome:
        trace = make_trace(output=case["actual"])
        return run_evaluator(evaluator(), trace, {"expected": case["reference"]})

    return judge


def offered(
    library: str, mode: str, type_name: str, config: Mapping[str, Any], **more: Any
) -> Mode:
    """Return a mode on texts that a type of ours offers."""
    fields = ", ".join(f"{name}: {_yaml(value)}" for name, value in config.items())
    return Mode(
        library=library,
        mode=mode,
        kind="x",
        ours=f"{type_name} {{{fields}}}",
        judge=judged_by(type_name, config),
        **more,
    )


def left_out(library: str, note: str, *modes: str, kind: str = "x") -> tuple[Mode, ...]:
    """Return modes that are not offered, for one reason."""
    return tuple(Mode(library=library, mode=mode, kind=kind, note=note) for mode in modes)


def _yaml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def percent(recorded: Any) -> Answer:
    """Return a score from 0 to 100 as one from 0 to 1."""
    score = score_of(recorded)
    return score / 100 if isinstance(score, float) else score


def detail(name: str) -> Callable[[Outcome], float]:
    """Return what reads a number from the details of our outcome."""
    return lambda outcome: float(getattr(outcome, "details")[name])  # noqa: B009


def equal_when_folded(case: Case) -> str:
    """Say why texts are equal here alone."""
    folded, lowered = _pair(case, str.casefold), _pair(case, str.lower)
    return FOLDED if (folded[0] == folded[1]) != (lowered[0] == lowered[1]) else ""


def contained_when_folded(case: Case) -> str:
    """Say why one text is in the other here alone."""
    folded, lowered = _pair(case, str.casefold), _pair(case, str.lower)
    return FOLDED if (folded[0] in folded[1]) != (lowered[0] in lowered[1]) else ""


def empty_answer(case: Case) -> str:
    """Say why an empty answer is judged here."""
    return "" if case["actual"] else "raises where the answer is empty; here it is compared"


def _pair(case: Case, form: Callable[[str], str]) -> tuple[str, str]:
    return form(case["reference"]), form(case["actual"])


Items = list[str]
Split = Callable[[str], Items]


def words(text: str) -> Items:
    """Return the words of a text."""
    return text.split()


def lower_words(text: str) -> Items:
    """Return the words of a text, lower-cased."""
    return text.lower().split()


def bigrams(text: str) -> Items:
    """Return the pairs of characters of a text: none where it has one character."""
    return [text[start : start + 2] for start in range(len(text) - 1)]


def undefined(split: Split, *, one_is_enough: bool = False) -> Differs:
    """Return what says of a case that its sets are empty: both, or where it is enough one."""

    def differs(case: Case) -> str:
        left, right = split(case["reference"]), split(case["actual"])
        empty = not left or not right if one_is_enough else not left and not right
        if empty:
            return (
                "no answer where 0 is divided by 0; here two empty texts are alike (1), "
                "one empty text is not (0), and a text of one character is compared as it is"
            )
        return ""

    return differs


def sets(measure: str, type_name: str) -> tuple[Mode, ...]:
    """Return the modes of one measure of sets."""
    one = measure == "overlap_coefficient"
    lowered = undefined(lower_words, one_is_enough=one)
    value = getattr(similarity, type_name)

    def folded_or_undefined(case: Case) -> str:
        left, right = _pair(case, str.casefold)
        low = [lower_words(case["reference"]), lower_words(case["actual"])]
        other = value(words(left), words(right)) != value(*low)
        return lowered(case) or (FOLDED if other else "")

    return (
        offered(
            "sets",
            f"words(str.split).{measure}",
            type_name,
            AS_IS,
            differs=undefined(words, one_is_enough=one),
        ),
        offered(
            "sets",
            f"words(lower,str.split).{measure}",
            type_name,
            ANY_CASE,
            differs=folded_or_undefined,
        ),
        offered(
            "sets",
            f"char-bigrams.{measure}",
            type_name,
            {"unit": "characters", "ngram": 2, **AS_IS},
            differs=undefined(bigrams, one_is_enough=one),
        ),
    )


SETS = (
    *sets("jaccard", "jaccard"),
    *sets("dice", "dice"),
    *sets("overlap_coefficient", "overlap"),
    *left_out(
        "sets",
        "not symmetric, and takes cubic time at worst; `lcs` is near it",
        "difflib.SequenceMatcher.ratio(autojunk)",
        "difflib.SequenceMatcher.ratio(autojunk=False)",
    ),
)


def rapidfuzz(mode: str, type_name: str, config: Mapping[str, Any], **more: Any) -> Mode:
    """Return a mode of rapidfuzz that a type of ours offers."""
    return offered("rapidfuzz", mode, type_name, {**config, **AS_IS}, **more)


DISTANCE: Mapping[str, Any] = {"answer": detail("distance"), "note": "`distance` in the details"}
ADJACENT, ANYWHERE = {"transpositions": "adjacent"}, {"transpositions": "any"}

RAPIDFUZZ = (
    rapidfuzz("Levenshtein.distance", "levenshtein", {}, **DISTANCE),
    rapidfuzz("Levenshtein.normalized_similarity", "levenshtein", {}),
    rapidfuzz("OSA.distance", "levenshtein", ADJACENT, **DISTANCE),
    rapidfuzz("OSA.normalized_similarity", "levenshtein", ADJACENT),
    rapidfuzz("DamerauLevenshtein.distance", "levenshtein", ANYWHERE, **DISTANCE),
    rapidfuzz("DamerauLevenshtein.normalized_similarity", "levenshtein", ANYWHERE),
    rapidfuzz("Indel.distance", "lcs", {}, **DISTANCE),
    rapidfuzz("Indel.normalized_similarity", "lcs", {}),
    rapidfuzz("LCSseq.normalized_similarity", "lcs", {"relative_to": "longer"}),
    rapidfuzz(
        "LCSseq.similarity", "lcs", {}, answer=detail("length"), note="`length` in the details"
    ),
    rapidfuzz("fuzz.ratio", "lcs", {}, read=percent, note="a hundredth of it"),
    *left_out(
        "rapidfuzz",
        "`fuzz.ratio` with rules of its own for empty texts or punctuation; `lcs` with "
        "`case_sensitive: false` and `collapse_whitespace: true` is near it",
        "fuzz.QRatio",
        "fuzz.ratio+default_process",
    ),
    *left_out(
        "rapidfuzz",
        "chooses among other ratios by length and scales them: what it means cannot be said",
        "fuzz.WRatio",
        "fuzz.WRatio+default_process",
    ),
    *left_out(
        "rapidfuzz",
        "one word in common can make it 100; for a text inside the answer there is `contains`, "
        "and `lcs {relative_to: expected}`",
        "fuzz.partial_ratio",
        "fuzz.partial_token_ratio",
        "fuzz.partial_token_set_ratio",
        "fuzz.partial_token_sort_ratio",
    ),
    *left_out(
        "rapidfuzz",
        "words in any order, compared by characters after sorting: a text and its negation can be "
        "100; `jaccard`, `dice` and `overlap` compare words in any order",
        "fuzz.token_ratio",
        "fuzz.token_set_ratio",
        "fuzz.token_set_ratio+default_process",
        "fuzz.token_sort_ratio",
    ),
    *left_out(
        "rapidfuzz",
        "made for short names, not for answers; no metric, and long texts that share letters "
        "come out alike",
        "Jaro.normalized_similarity",
        "JaroWinkler.normalized_similarity",
    ),
    *left_out(
        "rapidfuzz",
        "one character more at the start makes all others differ; `levenshtein` says what is meant",
        "Hamming.normalized_similarity(pad)",
    ),
    *left_out(
        "rapidfuzz",
        "`starts-with` and `ends-with` judge what is meant by it",
        "Prefix.normalized_similarity",
        "Postfix.normalized_similarity",
    ),
)

CONTAINS_ANY_CASE: Mapping[str, Any] = {"unicode_form": "none", "case_sensitive": False}
CONTAINS: Mapping[str, Any] = {"unicode_form": "none"}
NEGATED: Mapping[str, Any] = {"negated": True}

UIPATH = (
    offered("uipath", "ExactMatch/case_sensitive=true", "equals", AS_IS),
    offered(
        "uipath",
        "ExactMatch/case_sensitive=false",
        "equals",
        ANY_CASE,
        differs=equal_when_folded,
    ),
    offered("uipath", "Contains/case_sensitive=true", "contains", CONTAINS),
    offered("uipath", "Contains/case_sensitive=true,negated", "contains", {**CONTAINS, **NEGATED}),
    offered(
        "uipath",
        "Contains/case_sensitive=false",
        "contains",
        CONTAINS_ANY_CASE,
        differs=contained_when_folded,
    ),
    offered(
        "uipath",
        "Contains/case_sensitive=false,negated",
        "contains",
        {**CONTAINS_ANY_CASE, **NEGATED},
        differs=contained_when_folded,
    ),
    offered("uipath", "JsonSimilarity", "levenshtein", AS_IS),
)

PYDANTIC = (
    offered("pydantic-evals", "Equals", "equals", AS_IS),
    offered("pydantic-evals", "EqualsExpected", "equals", AS_IS),
    offered("pydantic-evals", "Contains/case_sensitive=true", "contains", CONTAINS),
    offered(
        "pydantic-evals",
        "Contains/case_sensitive=false",
        "contains",
        CONTAINS_ANY_CASE,
        differs=contained_when_folded,
    ),
    *left_out(
        "pydantic-evals",
        "the answer of a trace is always a text; `json-schema` says what type the data in it has",
        "IsInstance/type-of-reference",
    ),
)


def data_of(text: str) -> Any:
    """Return the object or array that a text holds; None where it holds none."""
    try:
        data = json.loads(text)
    except ValueError:
        return None
    return data if isinstance(data, dict | list) else None


def read_as_data(case: Case) -> str:
    """Say why texts that hold JSON are compared differently here."""
    texts = (case["reference"], case["actual"])
    held = [data_of(text) for text in texts]
    left, right = (
        text if data is None else json.dumps(data) for text, data in zip(texts, held, strict=True)
    )
    both = None not in held and texts[0] != texts[1]
    differs = both or similarity.levenshtein(left, right) != similarity.levenshtein(*texts)
    return "a text that holds an object or array is compared as data there" if differs else ""


def holds_data(case: Case) -> Outcome:
    """Judge whether an answer is JSON: an object or an array."""
    schema = BUILD().build("json-schema", {"schema": {"type": ["object", "array"]}})
    return run_evaluator(schema, make_trace(output=case["actual"]))


OTHERS = (
    offered(
        "deepeval", "ExactMatchMetric", "equals", {"unicode_form": "none"}, differs=empty_answer
    ),
    *left_out(
        "google-adk",
        "stems English words and drops every letter but a to z, so that two answers in Chinese "
        "have no words; `dice {repeats: true, case_sensitive: false}` is it without both",
        "response_match_score(rouge1 F)/threshold=0.8",
    ),
    offered("autoevals", "ExactMatch", "equals", AS_IS),
    offered("autoevals", "Levenshtein", "levenshtein", AS_IS),
    offered("autoevals", "JSONDiff", "levenshtein", AS_IS, differs=read_as_data),
    Mode(
        library="autoevals",
        mode="ValidJSON(actual)",
        kind="x",
        ours="json-schema {schema: {type: [object, array]}}",
        judge=holds_data,
    ),
)

MODES: tuple[Mode, ...] = (*SETS, *RAPIDFUZZ, *UIPATH, *PYDANTIC, *OTHERS)
