"""Check digits and other rules that tell a real number from any row of digits."""

from datetime import date

_PROVINCE_CODES = (
    "11 12 13 14 15 21 22 23 31 32 33 34 35 36 37 41 42 43 44 45 46 50 51 52 53 54 "
    "61 62 63 64 65 71 81 82 83 91"
)
_PROVINCES = frozenset(_PROVINCE_CODES.split())
_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_IBAN_CODES = (
    "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 "
    "ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 "
    "LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 "
    "QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20"
)
_IBAN_LENGTHS = {code[:2]: int(code[2:]) for code in _IBAN_CODES.split()}


def luhn_holds(digits: str) -> bool:
    """The check digit of payment cards."""
    total = sum(int(digit) for digit in digits[-1::-2])
    return (total + sum(sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])) % 10 == 0


def is_date(year: int, month: int, day: int) -> bool:
    """Whether the calendar has such a day."""
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def id_card_plausible(number: str) -> bool:
    """Province and birthday of a Chinese identity number of 15 or 18 places."""
    born = number[6:14] if len(number) == 18 else "19" + number[6:12]
    year = int(born[:4])
    return number[:2] in _PROVINCES and 1850 <= year <= 2100 and is_date(year, int(born[4:6]), int(born[6:8]))


def id_card_holds(number: str) -> bool:
    """Province, birthday and check digit of a Chinese identity number of 18 places."""
    total = sum(int(digit) * weight for digit, weight in zip(number, _ID_WEIGHTS, strict=False))
    return id_card_plausible(number) and "10X98765432"[total % 11] == number[17].upper()


def iban_length(country: str) -> int:
    """How long an account number of a country is; 0 where the country has none."""
    return _IBAN_LENGTHS.get(country, 0)


def iban_holds(number: str) -> bool:
    """The check digits of an international account number."""
    moved = number[4:] + number[:4]
    return int("".join(str(int(sign, 36)) for sign in moved)) % 97 == 1


def hong_kong_holds(letters: str, digits: str, check: str) -> bool:
    """The check digit of a Hong Kong identity card."""
    values = [36 if sign == " " else ord(sign) - 55 for sign in letters.rjust(2)] + [int(d) for d in digits]
    total = sum(value * weight for value, weight in zip(values, range(9, 1, -1), strict=True))
    return "0A987654321"[total % 11] == check


def taiwan_holds(number: str) -> bool:
    """The check digit of a Taiwan identity card."""
    region = 10 + "ABCDEFGHJKLMNPQRSTUVXYWZIO".index(number[0])
    signs = [region // 10, region % 10, *(int(digit) for digit in number[1:])]
    weights = (1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 1)
    return sum(sign * weight for sign, weight in zip(signs, weights, strict=True)) % 10 == 0


def ssn_allowed(digits: str) -> bool:
    """Whether the United States may have given out such a number."""
    area, group, serial = digits[:3], digits[3:5], digits[5:]
    return area not in ("000", "666") and area < "900" and group != "00" and serial != "0000"


def is_card(digits: str) -> bool:
    """A number of a known issuer with a valid check digit, and not a row of one and the same digit."""
    return luhn_holds(digits) and _length_fits(digits) and len(set(digits)) > 1


def _length_fits(digits: str) -> bool:
    """Whether an issuer with this beginning gives out numbers of this length."""
    two, four, size = int(digits[:2]), int(digits[:4]), len(digits)
    if two == 62 or four in (9558, 6011) or digits[0] == "4":
        return 16 <= size <= 19 if digits[0] != "4" else size in (16, 19)
    if two in (34, 37):
        return size == 15
    if two in (36, 38, 39) or 3000 <= four <= 3059:
        return size == 14
    maestro = two in (50, 56, 57, 58, 60, 63, 67) or 6440 <= four <= 6599
    return size == 16 and (51 <= two <= 55 or 2221 <= four <= 2720 or 3528 <= four <= 3589 or maestro)
