"""Numbers and keys as their issuers make them, from a random source. Does nothing when run.

Written from the published rules of each number, apart from the detector: check digits are computed here.
"""

import base64
import json
import random
import string

ALPHANUMERIC = string.ascii_letters + string.digits


def digits(rng: random.Random, count: int, first: str = "0123456789") -> str:
    """Random digits, the first of them from a choice."""
    return rng.choice(first) + "".join(rng.choice(string.digits) for _ in range(count - 1))


def signs(rng: random.Random, count: int, alphabet: str = ALPHANUMERIC) -> str:
    """Random signs of an alphabet, at least one digit among them."""
    made = [rng.choice(alphabet) for _ in range(count)]
    made[rng.randrange(count)] = rng.choice(string.digits)
    return "".join(made)


def widen(text: str) -> str:
    """Digits and letters as full-width signs."""
    return "".join(chr(ord(sign) + 0xFEE0) if sign.isalnum() else sign for sign in text)


def group(text: str, sizes: list[int], separator: str) -> str:
    """A number in groups of the given sizes, the last size repeated."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        size = sizes[min(len(parts), len(sizes) - 1)]
        parts.append(text[at : at + size])
        at += size
    return separator.join(parts)


def chinese_id(rng: random.Random, *, ending: str | None = None) -> str:
    """An identity number of 18 places whose weighted sum is 1 modulo 11."""
    while True:
        born = f"{rng.randint(1935, 2015)}{rng.randint(1, 12):02}{rng.randint(1, 28):02}"
        area = rng.choice(["110101", "310115", "440305", "510107", "330106", "620102", "420111", "650104"])
        body = area + born + digits(rng, 3)
        total = sum(int(digit) * (2 ** (17 - place) % 11) for place, digit in enumerate(body))
        check = (12 - total) % 11
        number = body + ("X" if check == 10 else str(check))
        if ending is None or number.endswith(ending):
            return number


def old_chinese_id(rng: random.Random) -> str:
    """An identity number of 15 places."""
    born = f"{rng.randint(30, 85):02}{rng.randint(1, 12):02}{rng.randint(1, 28):02}"
    return rng.choice(["110105", "320102", "440106", "610103"]) + born + digits(rng, 3)


def hong_kong_id(rng: random.Random) -> str:
    """A letter, six digits and the check digit in brackets."""
    letter, body = rng.choice(string.ascii_uppercase), digits(rng, 6)
    total = (
        36 * 9 + (ord(letter) - 55) * 8 + sum(int(d) * w for d, w in zip(body, range(7, 1, -1), strict=True))
    )
    check = (11 - total % 11) % 11
    return f"{letter}{body}({'A' if check == 10 else check})"


def taiwan_id(rng: random.Random) -> str:
    """A letter that stands for a region, eight digits, the check digit."""
    letter = rng.choice("ABCDEFGH")
    body = rng.choice("12") + digits(rng, 7)
    code = 10 + "ABCDEFGH".index(letter)
    total = code // 10 + code % 10 * 9 + sum(int(d) * w for d, w in zip(body, range(8, 0, -1), strict=True))
    return letter + body + str(-total % 10)


def card(rng: random.Random, beginning: str, size: int) -> str:
    """A card number: the last digit makes the sum of Luhn's rule a multiple of ten."""
    body = beginning + digits(rng, size - len(beginning) - 1)
    total = 0
    for place, digit in enumerate(reversed(body)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return body + str(-total % 10)


def iban(rng: random.Random) -> str:
    """An account number of one of some countries with its two check digits."""
    country, pattern = rng.choice(
        [
            *(("DE", "n" * 18), ("FR", "n" * 10 + "a" * 11 + "nn"), ("GB", "aaaa" + "n" * 14)),
            *(("NL", "aaaa" + "n" * 10), ("IT", "a" + "n" * 10 + "a" * 12), ("CH", "n" * 17)),
            *(("ES", "n" * 20), ("BE", "n" * 12)),
        ]
    )
    body = "".join(rng.choice(string.digits if sign == "n" else string.ascii_uppercase) for sign in pattern)
    moved = "".join(str(int(sign, 36)) for sign in body + country + "00")
    return f"{country}{98 - int(moved) % 97:02}{body}"


def ssn(rng: random.Random) -> tuple[str, str, str]:
    """The three parts of a social security number."""
    area = rng.choice([n for n in range(1, 900) if n != 666])
    return f"{area:03}", f"{rng.randint(1, 99):02}", f"{rng.randint(1, 9999):04}"


def mobile(rng: random.Random) -> str:
    """A Chinese mobile number."""
    return rng.choice(
        ["130", "135", "138", "139", "147", "150", "159", "166", "177", "186", "188", "198"]
    ) + digits(rng, 8)


def north_american(rng: random.Random) -> tuple[str, str, str]:
    """Area, exchange and line of a North American number."""
    area = rng.choice(["212", "415", "312", "206", "646", "713", "404", "617", "305", "780"])
    return area, digits(rng, 3, "23456789"), digits(rng, 3, "0123456789") + rng.choice("123456789")


def email(rng: random.Random) -> str:
    """An address at a provider or a company."""
    names = [
        "li.wei",
        "zhang_san",
        "jane.doe",
        "j.smith+news",
        "wangfang1988",
        "Chen.Jing",
        "o-brien",
        "10086234",
        "x",
    ]
    hosts = [
        "qq.com",
        "163.com",
        "gmail.com",
        "mail.example.org",
        "corp.com.cn",
        "uni-bonn.de",
        "acme.co.uk",
        "a.io",
    ]
    return f"{rng.choice(names)}{rng.choice(['', str(rng.randint(1, 999))])}@{rng.choice(hosts)}"


def jwt(rng: random.Random) -> str:
    """Header, claims and signature, each in base64 without padding."""
    claims = {"sub": digits(rng, 10), "name": signs(rng, 8), "iat": rng.randint(1_500_000_000, 1_800_000_000)}
    parts = [json.dumps({"alg": "HS256", "typ": "JWT"}), json.dumps(claims)]
    coded = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts]
    return ".".join([*coded, signs(rng, 43)])


def password(rng: random.Random) -> str:
    """What people choose: a word and digits, sometimes a sign."""
    word = rng.choice(["Sunny", "dragon", "Hello", "Beijing", "kosmos", "Qwer", "tiger", "Winter"])
    return word + rng.choice(["", "@", "#", "!", "_"]) + digits(rng, rng.randint(3, 6))
