"""Whether a number is what it looks like: check digits, ranges, lengths."""

from __future__ import annotations

from ipaddress import ip_address

CARD_PREFIXES = (
    *("34", "37", "4", "51", "52", "53", "54", "55", "6011", "62", "644", "645", "646", "647"),
    *("648", "649", "65", "35", "300", "301", "302", "303", "304", "305", "36", "38", "39", "2"),
)
IBAN_LENGTHS = {
    country: length
    for length, countries in {
        15: "NO",
        16: "BE",
        18: "DK FI FO FK GL NL SD",
        19: "MK SI",
        20: "AT BA EE KZ LT LU MN XK",
        21: "CH CR HR LI LV",
        22: "BG BH DE GB GE IE ME RS VA",
        23: "AE GI IL IQ OM SO TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST",
        26: "IS TR",
        27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HN HU LB NI PL SV",
        29: "BR EG PS QA UA",
        30: "JO KW MU YE",
        31: "MT SC",
        32: "LC",
        33: "RU",
    }.items()
    for country in countries.split()
}
"""Source: SWIFT IBAN registry."""


def is_card(text: str) -> bool:
    """Whether digits, perhaps in groups, are a payment card number: issuer, length, check digit.

    Source: ISO/IEC 7812-1, Annex B (Luhn).
    """
    number = text.replace(" ", "").replace("-", "")
    if not 13 <= len(number) <= 19 or not number.startswith(CARD_PREFIXES):
        return False
    return len(set(number)) > 1 and _luhn(number) % 10 == 0


def _luhn(number: str) -> int:
    odd, even = number[-1::-2], number[-2::-2]
    return sum(map(int, odd)) + sum(sum(divmod(2 * int(digit), 10)) for digit in even)


def is_iban(text: str) -> bool:
    """Whether a text begins with an IBAN: country, length, check digits.

    Source: ISO 13616-1, ISO/IEC 7064 (mod 97-10).
    """
    number = text.replace(" ", "")
    length = IBAN_LENGTHS.get(number[:2], 0)
    if not length or len(number) < length:
        return False
    number = number[:length]
    return int("".join(str(int(ch, 36)) for ch in number[4:] + number[:4])) % 97 == 1


def is_us_ssn(text: str) -> bool:
    """Whether three groups of digits may be a social security number.

    Source: Social Security Administration, number randomization: what is never assigned.
    """
    area, group, serial = text.split("-")
    return area not in ("000", "666") and area[0] != "9" and group != "00" and serial != "0000"


def is_phone(text: str) -> bool:
    """Whether a text has as many digits as a phone number.

    Source: ITU-T E.164: at most 15 digits.
    """
    return 8 <= sum(map(str.isdigit, text)) <= 15


def is_ip_address(text: str) -> bool:
    """Whether a text is an address that is used on the public internet."""
    try:
        return ip_address(text.rstrip(".:")).is_global
    except ValueError:
        return False
