"""Ordinary programs: which of them only read, and by which of their options they do more."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from kosmos.risk.levels import Assessment, RiskLevel, change, read
from kosmos.risk.words import abbreviates

_MEDIUM, _HIGH, _CRITICAL = RiskLevel.MEDIUM, RiskLevel.HIGH, RiskLevel.CRITICAL


@dataclass(frozen=True, slots=True)
class Reader:
    """A program that only reads, unless one of these options is given or it has too many operands."""

    letters: str = ""  # short options that write or run
    names: Collection[str] = ()  # long options that write or run
    operands: int | None = None
    level: RiskLevel = RiskLevel.LOW


_PLAIN = (
    "arch b2sum base32 base64 basename cal cat cksum cmp column comm cut df diff dir dirname du echo "
    "egrep expand expr factor false fgrep fmt fold free getconf getent grep groups head hexdump id iostat "
    "join last locale logname look ls lsb_release lsblk lscpu lsmem lspci lsusb md5sum mpstat nl nproc "
    "numfmt od paste pgrep pidof pinky pr printf ps pwd readlink realpath rev seq sha1sum sha224sum "
    "sha256sum sha384sum sha512sum sleep stat strings sum tac tail test [ tr true tsort tty type uname "
    "unexpand uptime users vdir vmstat w wc whereis which who whoami zcat zgrep jq pstree findmnt"
)
READERS: dict[str, Reader] = {name: Reader() for name in _PLAIN.split(" ")} | {
    "date": Reader("s", ("--set",)),
    "dig": Reader(level=_MEDIUM),
    "dmesg": Reader("cCDEn", ("--clear", "--read-clear", "--console-off", "--console-on", "--console-level")),
    "env": Reader(level=_MEDIUM),
    "file": Reader("C", ("--compile",)),
    "host": Reader(level=_MEDIUM),
    "hostname": Reader("bF", ("--boot", "--file"), operands=0),
    "lsof": Reader("D"),
    "mount": Reader(operands=0),
    "netstat": Reader(),
    "nslookup": Reader(level=_MEDIUM),
    "ping": Reader("f", level=_MEDIUM),
    "printenv": Reader(level=_MEDIUM),
    "rg": Reader("", ("--pre", "--hostname-bin", "--search-zip")),
    "sort": Reader("oT", ("--output", "--compress-program", "--temporary-directory", "--files0-from")),
    "ss": Reader("KD", ("--kill", "--diag")),
    "traceroute": Reader(level=_MEDIUM),
    "tree": Reader("oR", ("--output",)),
    "uniq": Reader(operands=1),
    "xxd": Reader("r", operands=1),
    "yq": Reader("is", ("--inplace", "--in-place", "--split-exp", "--split-exp-file")),
}
_WRITES = (
    "awk bunzip2 bzip2 chattr chgrp chmod chown cp csplit curl ed ex gawk git gunzip gzip install ln make "
    "mawk mkdir mkfifo mknod mktemp mv nano nc ncat patch rename rsync scp setfacl sftp socat split ssh "
    "tar tee touch truncate unzip vi vim wget xz zip apt apt-get dpkg pip npm yum dnf rpm snap useradd "
    "usermod groupadd passwd iptables nft ufw insmod modprobe swapon swapoff umount crontab at batch "
    "sysctl nsenter unshare chroot python python3 perl ruby node lua php source . eval less more man top "
    "htop screen tmux script"
)
WRITERS = frozenset(_WRITES.split(" "))
_DESTROYS = (
    "rm rmdir unlink shred dd fdisk sfdisk parted wipefs mkfs mkswap kill killall pkill reboot shutdown "
    "halt poweroff init telinit userdel groupdel rmmod blkdiscard lvremove vgremove pvremove etcdctl"
)
DESTROYERS = frozenset(_DESTROYS.split(" "))
_FIND_DESTROYS = frozenset({"-delete"})
_FIND_WRITES = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-fprint", "-fprint0", "-fprintf", "-fls"})
_CREDENTIALS = re.compile(
    r"(^|/)(shadow-?|gshadow|\.ssh|\.aws|\.netrc|\.pgpass|\.git-credentials|\.docker|\.kube|\.gnupg|\.env|environ"
    r"|kubeconfig|admin\.conf|id_(rsa|dsa|ecdsa|ed25519))(/|$)|/secrets?(/|$)|\.(pem|key|p12|pfx|jks|kdbx)$"
    r"|/etc/(kubernetes|sudoers)|serviceaccount/token"
)
_SED_READS = re.compile(r"(\d+|\$)?(,(\d+|\$))?[pdq=]|s([/|#,])[^/|#,\n]*\4[^/|#,\n]*\4[gpiI0-9]*")


def assess_program(name: str, args: Sequence[str]) -> Assessment:
    """The risk of a program that has no judge of its own."""
    return replace(_of_program(name, args), program=name, verb=name, name=_first_operand(args))


def _of_program(name: str, args: Sequence[str]) -> Assessment:
    if name in DESTROYERS or name.startswith("mkfs."):
        return change(f"{name} deletes, overwrites or ends something", _CRITICAL)
    if name == "find":
        return _find(args)
    if name == "sed":
        return _sed(args)
    if name == "ip":
        return _ip(args)
    reader = READERS.get(name)
    if reader is None:
        known = "changes something" if name in WRITERS else "is a program that is not known"
        return change(f"{name} {known}")
    if _does_more(reader, args) or (name == "date" and _sets_clock(args)):
        return change(f"{name} does more than read with these arguments")
    return _credentials(read(f"{name} reads", reader.level), args)


def _does_more(reader: Reader, args: Sequence[str]) -> bool:
    operands = 0
    for at, word in enumerate(args):
        if word == "--":
            operands += len(args) - at - 1
            break
        if word.startswith("--"):
            if abbreviates(word, reader.names):
                return True
        elif word.startswith("-") and word != "-":
            if any(letter in reader.letters for letter in word[1:]):
                return True
        else:
            operands += 1
    return reader.operands is not None and operands > reader.operands


def _sets_clock(args: Sequence[str]) -> bool:
    return any(re.fullmatch(r"\d{8}(\d\d){0,2}(\.\d\d)?", word) for word in args)


def _credentials(found: Assessment, args: Sequence[str]) -> Assessment:
    if any(_CREDENTIALS.search(word) for word in args):
        return found.at_least(_HIGH, "reads what looks like credentials")
    return found


def _find(args: Sequence[str]) -> Assessment:
    if any(word in _FIND_DESTROYS or word in {"rm", "shred", "unlink"} for word in args):
        return change("find deletes what it finds", _CRITICAL)
    if any(word in _FIND_WRITES for word in args):
        return change("find runs a program or writes a file")
    return _credentials(read("find reads"), args)


def _sed(args: Sequence[str]) -> Assessment:
    """Only the plainest scripts are understood: printing lines, and replacing text on the way out."""
    allowed = {"-n", "-E", "-r", "--quiet", "--silent", "--regexp-extended"}
    at = next((at for at, word in enumerate(args) if word not in allowed), None)
    if (
        at is None
        or not _SED_READS.fullmatch(args[at])
        or any(word.startswith("-") for word in args[at + 1 :])
    ):
        return change("sed may write files or run programs")
    return _credentials(read("sed reads"), args[at + 1 :])


def _ip(args: Sequence[str]) -> Assessment:
    words = [word for word in args if not word.startswith("-")]
    if any(word.startswith(("-b", "-n", "--b", "--n")) for word in args) or "exec" in words:
        return change("ip runs commands elsewhere")
    reads = len(words) < 2 or "show".startswith(words[1]) or words[1] in {"list", "lst", "ls", "get"}
    return read("ip reads") if reads else change("ip changes the network")


def _first_operand(args: Sequence[str]) -> str | None:
    return next((word for word in args if word and not word.startswith("-")), None)
