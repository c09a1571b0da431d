"""Lines with one identifier each, in Chinese and English, and look-alikes. Does nothing when run."""

import random
import string
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from identifiers import (
    card,
    chinese_id,
    digits,
    email,
    group,
    hong_kong_id,
    iban,
    jwt,
    mobile,
    north_american,
    old_chinese_id,
    password,
    signs,
    ssn,
    taiwan_id,
    widen,
)

Maker = Callable[[random.Random], str]


@dataclass(frozen=True)
class Sample:
    """A line with one identifier at `start` up to `end`."""

    text: str
    start: int
    end: int
    kind: str
    form: str


def _us(rng: random.Random, form: str) -> str:
    area, exchange, line = north_american(rng)
    return form.format(area, exchange, line)


def _ssn(rng: random.Random, separator: str) -> str:
    return separator.join(ssn(rng))


def _landline(rng: random.Random, form: str) -> str:
    area, size = rng.choice([("010", 8), ("021", 8), ("0755", 8), ("0571", 8), ("0535", 7), ("028", 8)])
    return form.format(area, digits(rng, size, "2345678"))


PHONES: Mapping[str, Maker] = {
    "cn mobile": mobile,
    "cn mobile 3-4-4": lambda rng: group(mobile(rng), [3, 4], "-"),
    "cn mobile 3 4 4": lambda rng: group(mobile(rng), [3, 4], " "),
    "cn mobile +86": lambda rng: (
        rng.choice(["+86", "+86 ", "+86-", "0086-", "0086 ", "(+86) "]) + mobile(rng)
    ),
    "cn mobile +86 3 4 4": lambda rng: "+86 " + group(mobile(rng), [3, 4], " "),
    "cn mobile full-width": lambda rng: widen(mobile(rng)),
    "cn landline -": lambda rng: _landline(rng, "{}-{}"),
    "cn landline ()": lambda rng: _landline(rng, rng.choice(["({}){}", "({}) {}", "（{}）{}"])),
    "cn landline bare": lambda rng: _landline(rng, "{}{}"),
    "cn landline extension": lambda rng: (
        _landline(rng, "{}-{}") + rng.choice(["转", "-", "转 "]) + digits(rng, 3)
    ),
    "cn landline full-width": lambda rng: (
        widen(_landline(rng, "{}")) + "－" + widen(digits(rng, 8, "2345678"))
    ),
    "cn landline +86": lambda rng: (
        f"+86 {rng.choice(['10', '21', '755'])} {digits(rng, 4, '2345678')} {digits(rng, 4)}"
    ),
    "cn 400": lambda rng: f"400-{digits(rng, 3)}-{digits(rng, 4)}",
    "us ()": lambda rng: _us(rng, rng.choice(["({}) {}-{}", "({}){}-{}"])),
    "us -": lambda rng: _us(rng, "{}-{}-{}"),
    "us .": lambda rng: _us(rng, "{}.{}.{}"),
    "us spaces": lambda rng: _us(rng, "{} {} {}"),
    "us +1": lambda rng: _us(
        rng, rng.choice(["+1 {} {} {}", "+1-{}-{}-{}", "+1 ({}) {}-{}", "+1{}{}{}", "1-{}-{}-{}"])
    ),
    "us extension": lambda rng: (
        _us(rng, "{}-{}-{}") + rng.choice(["x", " x", " ext. ", " ext "]) + digits(rng, 4)
    ),
    "uk +44": lambda rng: rng.choice(["+44 20 ", "+44 (0)20 "]) + f"{digits(rng, 4, '378')} {digits(rng, 4)}",
    "uk mobile": lambda rng: rng.choice(["+44 7", "07"]) + f"{digits(rng, 3)} {digits(rng, 6)}",
    "uk landline": lambda rng: rng.choice(["020 ", "(020) "]) + f"{digits(rng, 4, '378')} {digits(rng, 4)}",
    "de": lambda rng: rng.choice(["+49 30 ", "030 ", "+49 171 ", "0171/"]) + digits(rng, 7, "23456789"),
    "fr": lambda rng: (
        rng.choice(["+33 ", "0"]) + digits(rng, 1, "12345679") + "".join(f" {digits(rng, 2)}" for _ in "1234")
    ),
    "jp": lambda rng: rng.choice(["090", "080", "03"]) + f"-{digits(rng, 4, '12345678')}-{digits(rng, 4)}",
    "hk": lambda rng: rng.choice(["+852 ", "+852-", "+852"]) + digits(rng, 8, "2569"),
    "tw": lambda rng: f"09{digits(rng, 2)}-{digits(rng, 3)}-{digits(rng, 3)}",
    "e.164": lambda rng: (
        rng.choice(["+9198", "+819", "+614", "+346", "+3934", "+8210", "+55119"]) + digits(rng, 8)
    ),
}
NUMBERS: Mapping[str, tuple[str, Maker]] = {
    "cn id": ("id_card", chinese_id),
    "cn id X": ("id_card", lambda rng: chinese_id(rng, ending="X")),
    "cn id x": ("id_card", lambda rng: chinese_id(rng, ending="X").lower()),
    "cn id spaces": ("id_card", lambda rng: group(chinese_id(rng), [6, 8, 4], " ")),
    "cn id full-width": ("id_card", lambda rng: widen(chinese_id(rng))),
    "cn id 15": ("id_card", old_chinese_id),
    "hk id": ("id_card", hong_kong_id),
    "tw id": ("id_card", taiwan_id),
    "ssn": ("ssn", lambda rng: _ssn(rng, "-")),
    "unionpay 16": ("bank_card", lambda rng: card(rng, "62", 16)),
    "unionpay 19": ("bank_card", lambda rng: card(rng, rng.choice(["622202", "621700", "623052"]), 19)),
    "unionpay groups": (
        "bank_card",
        lambda rng: group(card(rng, "62", rng.choice([16, 19])), [4], rng.choice(" -")),
    ),
    "unionpay full-width": ("bank_card", lambda rng: widen(card(rng, "6217", 19))),
    "visa": ("bank_card", lambda rng: card(rng, "4", 16)),
    "visa groups": ("bank_card", lambda rng: group(card(rng, "4", 16), [4], rng.choice(" -"))),
    "mastercard": (
        "bank_card",
        lambda rng: group(card(rng, rng.choice(["51", "55", "2221"]), 16), [4], rng.choice(["", " "])),
    ),
    "amex": (
        "bank_card",
        lambda rng: group(card(rng, rng.choice(["34", "37"]), 15), [4, 6, 5], rng.choice(["", " ", "-"])),
    ),
    "discover, jcb": ("bank_card", lambda rng: card(rng, rng.choice(["6011", "3530"]), 16)),
    "iban": ("iban", iban),
    "iban groups": ("iban", lambda rng: group(iban(rng), [4], " ")),
}
TOKENS: Mapping[str, Maker] = {
    "aws": lambda rng: "AKIA" + signs(rng, 16, string.ascii_uppercase + string.digits),
    "github": lambda rng: rng.choice(["ghp_", "gho_", "ghs_"]) + signs(rng, 36),
    "github fine": lambda rng: "github_pat_" + signs(rng, 22) + "_" + signs(rng, 59),
    "openai": lambda rng: rng.choice(["sk-", "sk-proj-", "sk-ant-api03-"]) + signs(rng, 40),
    "slack": lambda rng: f"xoxb-{digits(rng, 12)}-{digits(rng, 12)}-{signs(rng, 24)}",
    "google": lambda rng: "AIza" + signs(rng, 35),
    "stripe": lambda rng: "sk_live_" + signs(rng, 24),
    "aliyun": lambda rng: "LTAI" + signs(rng, 20),
    "jwt": jwt,
}
# Forms that nothing but the words before them tells: sentence in both languages, kind, maker.
NAMED: Mapping[str, tuple[str, Maker, tuple[str, ...]]] = {
    "cn passport": (
        "passport",
        lambda rng: rng.choice(["E", "G", "EA"]) + digits(rng, 8),
        ("护照号：{}", "passport no. {}"),
    ),
    "us passport": (
        "passport",
        lambda rng: digits(rng, 9, "123456"),
        ("护照号码 {}。", "US passport number {}, valid"),
    ),
    "ssn bare": ("ssn", lambda rng: _ssn(rng, ""), ("社会安全号（SSN）：{}", "her SSN is {}.")),
    "us bare": (
        "phone",
        lambda rng: _us(rng, "{}{}{}"),
        ("美国手机 {}", "call me at {} tonight", "Phone: {}"),
    ),
    "cn local": ("phone", lambda rng: digits(rng, 8, "2345678"), ("电话：{}，", "Tel. {}", "联系电话 {}")),
    "bank account": (
        "bank_card",
        lambda rng: digits(rng, 17, "3456789"),
        ("银行账号：{}", "bank account {} at"),
    ),
    "password": (
        "password",
        password,
        ("密码：{}", "初始密码为{}，请修改", "password: {}", 'passwd = "{}"', "DB_PASSWORD={}"),
    ),
    "password digits": (
        "password",
        lambda rng: digits(rng, 8),
        ("登录密码：{}", "password: {}", "口令是 {}。"),
    ),
    "api key": (
        "token",
        lambda rng: signs(rng, 32),
        ("api_key={}", "API Key：{}", '"apiKey": "{}"', "密钥：{}。"),
    ),
    "access token": (
        "token",
        lambda rng: signs(rng, 40, "0123456789abcdef"),
        ("access_token: {}", "令牌：{}", "--token {}"),
    ),
    "client secret": (
        "token",
        lambda rng: signs(rng, 28),
        ("client_secret = '{}'", "aws_secret_access_key={}"),
    ),
    "bearer": (
        "token",
        lambda rng: signs(rng, 44),
        ("Authorization: Bearer {}", "请求头 Authorization: Bearer {}"),
    ),
    "url": (
        "password",
        lambda rng: password(rng).replace("@", "-").replace("#", "-"),
        ("postgres://app:{}@db.internal:5432/app", "连接串 mysql://root:{}@10.0.0.8/shop。"),
    ),
}
ZH_PLAIN = (
    "请于2024年3月15日前发给{}，谢谢。",
    "{}",
    "客户王小明（{}）已确认。",
    "他的是{}吗？",
    "| 3 | 张伟 | {} | 备注 |",
    "备注：{}；版本1.28.3。",
)
EN_PLAIN = (
    "Please send it to {}, thanks.",
    "{}",
    "Ms Smith ({}) agreed on 2024-03-15.",
    "It was {}.",
    "| 3 | Jane | {} | note |",
    '"{}" in v1.28.3',
)
ZH_CUES = {
    "phone": ("手机：{}", "联系电话{}，工作日9:00-18:00", "请拨打 {} 咨询。"),
    "id_card": ("身份证号：{}", "身份证号码为{}，", "证件号 {}。"),
    "bank_card": ("银行卡号：{}", "转账至卡号{}，户名李雷", "账号 {}。"),
    "email": ("邮箱：{}", "邮件发送至{}。"),
}
EN_CUES = {
    "phone": ("Phone: {}", "call {} after 6 pm", "mobile {}, home office"),
    "id_card": ("ID card: {}", "identity number {}."),
    "bank_card": ("Card number: {}", "paid with credit card {}, exp. 09/27", "bank account {}"),
    "email": ("E-mail: {}", "mailto:{}", "Li Wei <{}>"),
}


def _wrong_digit(rng: random.Random, number: str) -> str:
    """The number with another last digit, so that its check fails."""
    return number[:-1] + rng.choice([digit for digit in string.digits if digit != number[-1]])


def _moment(rng: random.Random, scale: int) -> str:
    return str(rng.randint(1_500_000_000, 1_799_999_999) * scale + rng.randrange(scale))


def _uuid(rng: random.Random) -> str:
    return group(signs(rng, 32, "0123456789abcdef"), [8, 4, 4, 4, 12], "-")


# What operations and business texts are full of and what no detector may hide.
DECOYS: Mapping[str, tuple[Maker, tuple[str, ...]]] = {
    "unix time": (
        lambda rng: _moment(rng, rng.choice([1, 1000, 10**6, 10**9])),
        ("at {} the pod", "时间 {}", "{}"),
    ),
    "date and time": (
        lambda rng: f"20{digits(rng, 2, '12')}-0{digits(rng, 1, '123456789')}-1{digits(rng, 1)} 12:30:05",
        ("{} INFO start", "发布于 {}", "| {} |"),
    ),
    "hash": (
        lambda rng: signs(rng, rng.choice([32, 40, 64]), "0123456789abcdef"),
        ("sha256:{}", "提交 {}", "{}"),
    ),
    "digits hash": (lambda rng: digits(rng, 40), ("digest {}", "{}")),
    "uuid": (_uuid, ("uid: {}", "任务 {} 失败", "{}")),
    "version": (
        lambda rng: f"v1.{rng.randint(0, 40)}.{rng.randint(0, 20)}-rc.{rng.randint(0, 9)}",
        ("in {}", "升级到{}后"),
    ),
    "address": (
        lambda rng: ".".join(str(rng.randint(1, 254)) for _ in "1234"),
        ("{}:6443", "地址 {}", "from {}/16 to"),
    ),
    "ports": (
        lambda rng: f"{rng.randint(10000, 29999)}-{rng.randint(30000, 65535)}",
        ("ports {}", "端口范围 {}"),
    ),
    "bytes": (lambda rng: str(rng.randint(9000, 17000) << 20), ("memory: {}", "内存 {}", "{} bytes")),
    "amount": (
        lambda rng: f"{rng.randint(1, 99)},{digits(rng, 3)},{digits(rng, 3)}.50",
        ("revenue {}", "营收{}元"),
    ),
    "decimal": (lambda rng: "0." + digits(rng, 15), ("p = {}", "准确率 {}")),
    "order number": (lambda rng: digits(rng, rng.choice([11, 16])), ("order no. {}", "订单号：{}")),
    "table row": (
        lambda rng: " ".join(digits(rng, rng.choice([3, 4]), "123456789") for _ in range(8)),
        ("{}", "| {} |"),
    ),
    "isbn": (
        lambda rng: f"978-7-{digits(rng, 3)}-{digits(rng, 5)}-{digits(rng, 1)}",
        ("ISBN {}", "书号 ISBN {}"),
    ),
    "card, wrong check": (lambda rng: _wrong_digit(rng, card(rng, "62", 19)), ("item {}", "批次 {}", "{}")),
    "id, wrong check": (lambda rng: _wrong_digit(rng, chinese_id(rng)), ("item {}", "批次 {}", "{}")),
    "placeholder": (
        lambda rng: rng.choice(
            ["<your-password>", "${DB_PASSWORD}", "$(cat pass)", "****", '""', "changeme", "xxxxxxxx"]
        ),
        ("password: {}", "密码：{}", "api_key={}", "token: {}"),
    ),
    "name in a cluster": (
        lambda rng: (
            rng.choice(["db-user-pass", "bootstrap-token", "registry-key"])
            + "-"
            + signs(rng, 10, "bcdfghjk2456789")
        ),
        ("secret: {}", "secretName: {}", "token: {}"),
    ),
    "package": (
        lambda rng: f"web@{rng.randint(1, 9)}.{rng.randint(0, 9)}.{rng.randint(0, 9)}-beta.rc",
        ("npm i {}", "依赖 {}"),
    ),
}


def make_decoys(seed: int, each: int) -> list[tuple[str, str]]:
    """`each` lines of every form that hold no identifier, with the form."""
    rng = random.Random(seed)
    return [
        (rng.choice(sentences).replace("{}", maker(rng)), form)
        for _ in range(each)
        for form, (maker, sentences) in DECOYS.items()
    ]


def make_samples(seed: int, each: int) -> list[Sample]:
    """`each` lines of every form, half in Chinese; half of the telling forms have no hint before them."""
    rng = random.Random(seed)
    return [sample for _ in range(each) for sample in _round(rng)]


def _round(rng: random.Random) -> Iterator[Sample]:
    forms = [("phone", form, maker) for form, maker in PHONES.items()]
    forms += [(kind, form, maker) for form, (kind, maker) in NUMBERS.items()]
    forms += [("token", form, maker) for form, maker in TOKENS.items()]
    forms += [("email", "e-mail", email)] * 6
    for kind, form, maker in forms:
        plain, cues = rng.choice([(ZH_PLAIN, ZH_CUES), (EN_PLAIN, EN_CUES)])
        sentences = cues.get(kind, plain) if rng.random() < 0.5 else plain
        yield _place(rng.choice(sentences), maker(rng), kind, form)
    for form, (kind, maker, sentences) in NAMED.items():
        yield _place(rng.choice(sentences), maker(rng), kind, form)


def _place(sentence: str, value: str, kind: str, form: str) -> Sample:
    before, after = sentence.split("{}")
    return Sample(before + value + after, len(before), len(before) + len(value), kind, form)
