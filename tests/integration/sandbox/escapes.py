# ruff: noqa: E501 - one way a line
"""Ways out of a sandbox, as programs. Each body returns something true when it got what it must not get.

`without` names the layers that have to be left out for the way to be open: that is the proof that those
layers are what closes it. Where nothing is named, several layers close it, or opening it would not be safe.
"""

from dataclasses import dataclass

from kosmos.sandbox.limits import Layer

M, P, N, U = Layer.MOUNTS, Layer.PROCESSES, Layer.NETWORK, Layer.USERS
S, L, E, T = Layer.SECCOMP, Layer.LIMITS, Layer.ENVIRONMENT, Layer.SESSION

HEAD = """
import ctypes, errno, glob, mmap, os, resource, signal, socket, stat, struct, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
X86 = os.uname().machine == "x86_64"
def raw(number, *args):
    return libc.syscall(number, *(ctypes.c_long(a) if isinstance(a, int) else a for a in args))
def call(x86, arm, *args):
    result = raw(x86 if X86 else arm, *args)
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result
def reached(x86, arm, *args):
    "Whether the call got past the filter, whatever the kernel then said."
    raw(x86 if X86 else arm, *args)
    return ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS)
def survives(act):
    child = os.fork()
    if child == 0:
        act()
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0
"""
TAIL = """
try:
    won = attempt()
except (OSError, MemoryError, ValueError, OverflowError, subprocess.SubprocessError) as error:
    won = False
sys.stdout.write("ESCAPED" if won else "HELD")
sys.stdout.flush()
os._exit(0)
"""


@dataclass(frozen=True, slots=True)
class Escape:
    """One way out."""

    name: str
    body: str
    without: frozenset[Layer] = frozenset()
    network: bool = False  # run with the network of the host
    only_bubblewrap: bool = False  # Landlock leaves names and sizes visible, though not contents

    def program(self, **facts: object) -> str:
        """The whole program, with the facts of this run in place of `@name@`."""
        body = "\n".join(f"    {line}" for line in self.body.strip().split("\n"))
        for name, value in facts.items():
            body = body.replace(f"@{name}@", repr(value))
        return f"{HEAD}\ndef attempt():\n{body}\n{TAIL}"


def _way(name: str, body: str, *without: Layer, network: bool = False, bubblewrap: bool = False) -> Escape:
    return Escape(name, body, frozenset(without), network, bubblewrap)


FILES = (
    _way("absolute path", "return open(@secret@).read()", M),
    _way("dots", "return open('../../../../../..' + @secret@).read()", M),
    _way("symlink", "os.symlink(@secret@, 'a-link'); return open('a-link').read()", M),
    _way("symlinked folder", "os.symlink('/', 'top'); return open('top' + @secret@).read()", M),
    _way("proc self root", "return open('/proc/self/root' + @secret@).read()", M),
    _way("proc one root", "return open('/proc/1/root' + @secret@).read()"),
    _way("proc cwd", "return open('/proc/self/cwd/../..' + @secret@).read()", M),
    _way("passwd", "return open('/etc/passwd').read()", M),
    _way("folders of the host", "return [f for f in ('/var', '/root', '/home', '/run') if os.path.exists(f)]", M, bubblewrap=True),
    _way("devices of the host", "return set(os.listdir('/dev')) - set('null zero full random urandom fd'.split())", M, bubblewrap=True),
    _way("write the system", "return open('/usr/kosmos-test', 'w')"),
    _way("write the top", "return open('/kosmos-test', 'w')"),
    _way("write settings", "return open('/etc/kosmos-test', 'w')"),
    _way("write a program", "return open('/usr/bin/env', 'r+b')"),
    _way("core pattern", "return open('/proc/sys/kernel/core_pattern', 'w').write('|/x')"),
    _way("sysrq", "return open('/proc/sysrq-trigger', 'w').write('h')"),
    _way("kernel memory", "return open('/proc/kcore', 'rb').read(8)"),
    _way("kernel log", "return os.read(os.open('/proc/kmsg', os.O_RDONLY | os.O_NONBLOCK), 8)"),
    _way("hard link", "os.link('/usr/bin/env', 'env'); return True"),
    _way("device node", "os.mknod('sda', 0o600 | stat.S_IFBLK, os.makedev(8, 0)); return os.open('sda', 0)"),
    _way("character device", "os.mknod('mem', 0o600 | stat.S_IFCHR, os.makedev(1, 1)); return True"),
    _way("open descriptors", "return [f for f in range(3, 200) if os.path.exists(f'/proc/self/fd/{f}') and os.readlink(f'/proc/self/fd/{f}')[:5] != '/proc']"),
    _way("file handle", "return call(304, 265, -100, b'\\0' * 64, 0) >= 0"),
    _way("name to handle", "return reached(303, 264, -100, b'/usr', ctypes.create_string_buffer(200), ctypes.create_string_buffer(8), 0)", S),
    _way("chroot", "os.mkdir('jail'); os.chroot('jail'); return True"),
)  # fmt: skip
ENVIRONMENT = (
    _way("own environment", "return 'planted-value' in str(os.environ)", E),
    _way("environ of self", "return b'planted-value' in open('/proc/self/environ', 'rb').read()", E),
    _way("environ of the first", "return b'planted-value' in open('/proc/1/environ', 'rb').read()", E),
    _way("environ of all", "return any(b'planted-value' in open(f, 'rb').read() for f in glob.glob('/proc/[0-9]*/environ'))", E),
    _way("command lines", "return any(b'py' + b'test' in open(f, 'rb').read() for f in glob.glob('/proc/[0-9]*/cmdline'))", P),
)  # fmt: skip
PROCESSES = (
    _way("process of the host", "return os.path.exists(f'/proc/{@pid@}/status')", P, bubblewrap=True),
    _way("signal to the host", "try:\n    os.kill(@pid@, 0)\nexcept PermissionError:\n    pass\nreturn True", P),
    _way("session", "return os.getsid(0) != os.getpid() and os.getsid(0) == 0", T, bubblewrap=True),
    _way("set user", "os.setuid(0); return True"),
    _way("set groups", "os.setgroups([0]); return True"),
    _way("setuid program", "return b'uid=0' in subprocess.run(['/usr/bin/su', '-c', 'id'], capture_output=True, timeout=5).stdout"),
    _way("capabilities", "return any(int(l.split()[1], 16) for l in open('/proc/self/status') if l.startswith(('CapEff', 'CapPrm', 'CapBnd')))"),
    _way("privileges to gain", "return 'NoNewPrivs:\\t1' not in open('/proc/self/status').read()"),
    _way("trace", "return call(101, 117, 0, 0, 0, 0) == 0", S),
    _way("attach", "child = os.fork()\nif child == 0:\n    time.sleep(5)\nreturn call(101, 117, 16, child, 0, 0) == 0", S),
    _way("memory of another", "b = ctypes.create_string_buffer(8)\nv = struct.pack('QQ', ctypes.addressof(b), 8)\nreturn call(310, 270, os.getpid(), v, 1, v, 1, 0) == 8", S),
    _way("descriptor of another", "return reached(438, 438, os.pidfd_open(os.getpid()), 0, 0)", S),
    _way("compare kernel objects", "return reached(312, 272, os.getpid(), os.getpid(), 0, 0, 1)", S),
)  # fmt: skip
NAMESPACES = (
    _way("user namespace", "return call(272, 97, 0x10000000) == 0", U, S),
    _way("clone into a namespace", "if not X86:\n    return False\npid = call(56, 220, 0x10000000 | 17, 0, 0, 0, 0)\nif pid == 0:\n    os._exit(0)\nreturn True", U, S),
    _way("mount in a namespace", "call(272, 97, 0x10020000); return libc.mount(b't', b'/tmp', b'tmpfs', 0, 0) == 0", U, S),
    _way("network namespace", "return call(272, 97, 0x40000000) == 0"),
    _way("process namespace", "return call(272, 97, 0x20000000) == 0"),
    _way("clone3", "libc.syscall(435, None, 0); return ctypes.get_errno() != errno.ENOSYS", S),
    _way("enter a namespace", "return reached(308, 268, os.open('/proc/self/ns/net', 0), 0)"),
    _way("namespace of the first", "return call(308, 268, os.open('/proc/1/ns/mnt', 0), 0) == 0"),
    _way("mount", "return call(165, 40, b'none', b'/tmp', b'tmpfs', 0, 0) == 0"),
    _way("remount for writing", "return call(165, 40, 0, b'/usr', 0, 4096 | 32, 0) == 0"),
    _way("unmount", "return call(166, 39, b'/workspace', 2) == 0"),
    _way("pivot", "return call(155, 41, b'/', b'/tmp') == 0"),
    _way("open a tree", "return call(428, 428, -100, b'/', 0) >= 0", S),
    _way("new mount calls", "return reached(430, 430, b'tmpfs', 0)"),
    _way("bubblewrap in bubblewrap", "return subprocess.run(['/usr/bin/bwrap', '--unshare-user', '--ro-bind', '/', '/', '/usr/bin/true'], capture_output=True, timeout=5).returncode == 0", U, S),
)  # fmt: skip
NETWORK = (
    _way("loopback of the host", "socket.create_connection(('127.0.0.1', @port@), 2); return True", N),
    _way("datagram", "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); return s.sendto(b'x', ('127.0.0.1', @port@))", N),
    _way("interfaces", "return [n for n in os.listdir('/sys/class/net')]"),
    _way("abstract socket", "s = socket.socket(socket.AF_UNIX); s.connect(b'\\0' + @abstract@); return True", N, S),
    _way("abstract socket with network", "s = socket.socket(socket.AF_UNIX); s.connect(b'\\0' + @abstract@); return True", S, network=True),
    _way("pair of datagrams", "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); return a.sendto(b'x', b'\\0' + @datagrams@)", S, network=True),
    _way("socket of the host", "s = socket.socket(socket.AF_UNIX); s.connect(@path@); return True"),
    _way("netlink", "return socket.socket(16, socket.SOCK_RAW, 0)", S),
    _way("packets", "return socket.socket(17, socket.SOCK_RAW, 0)"),
    _way("raw", "return socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
    _way("hypervisor", "return reached(41, 198, 40, 1, 0)", S),
    _way("kernel ciphers", "return reached(41, 198, 38, 5, 0)", S),
)  # fmt: skip
KERNEL = (
    _way("keyring", "return reached(250, 219, 0, -3, 0)", S),
    _way("new key", "return reached(248, 217, b'user', b'kosmos', b'x', 1, -2)", S),
    _way("io_uring", "libc.syscall(425, 1, ctypes.create_string_buffer(120)); return ctypes.get_errno() != errno.EPERM", S),
    _way("page faults", "return reached(323, 282, 1)", S),
    _way("personality", "return call(135, 92, 0x0040000) >= 0", S),
    _way("berkeley filters", "return reached(321, 280, 0, 0, 0)"),
    _way("performance counters", "return reached(298, 241, b'\\0' * 128, 0, -1, -1, 0)"),
    _way("modules", "return reached(175, 105, b'', 0, b'')"),
    _way("kexec", "return reached(246, 104, 0, 0, 0, 0)"),
    _way("restart the machine", "return reached(169, 142, 0, 0, 0, 0)"),
    _way("clock", "return reached(164, 170, 0, 0)"),
    _way("swap", "return reached(167, 224, b'/x', 0)"),
    _way("host name", "return reached(170, 161, b'evil', 4)"),
    _way("accounting", "return reached(163, 89, b'/x')"),
    _way("watch all files", "return reached(300, 262, 0, 0)"),
    _way("kernel messages", "return reached(103, 116, 10, 0, 0)"),
    _way("setuid bit", "open('a', 'w'); os.chmod('a', 0o4755); return os.stat('a').st_mode & 0o4000", S),
    _way("setuid bit by descriptor", "f = os.open('b', os.O_CREAT | os.O_WRONLY); os.fchmod(f, 0o6755); return os.fstat(f).st_mode & 0o6000", S),
    _way("setuid bit at birth", "f = os.open('c', os.O_CREAT | os.O_WRONLY, 0o4755); return os.fstat(f).st_mode & 0o4000", S),
    _way("setuid bit by node", "os.mknod('d', 0o4755 | stat.S_IFREG); return os.stat('d').st_mode & 0o4000", S),
    _way("file in memory", "return os.memfd_create('x') >= 0", S),
    _way("shared segment", "return call(29, 194, 0, 4096, 0o1600) >= 0", S),
    _way("typing into a terminal", "return reached(16, 29, 0, 0x5412, b'x')", S),
    _way("typing with a longer number", "return reached(16, 29, 0, 0x100005412, b'x')", S),
    _way("pasting into a terminal", "return reached(16, 29, 0, 0x541C, b'\\3')", S),
    _way("short pointers", "return not X86 or survives(lambda: libc.syscall(0x40000000 | 39))", S),
)  # fmt: skip
LIMITS = (
    _way("many processes", "made = 0\nwhile made < 60:\n    if os.fork() == 0:\n        time.sleep(5)\n        os._exit(0)\n    made += 1\nreturn made", L),
    _way("much memory", "return len(bytearray(400 * 2**20))", L),
    _way("much shared memory", "return mmap.mmap(-1, 3 * 2**30)", L),
    _way("large file", "return open('large', 'wb', 0).write(b'x' * 3 * 2**20) > 2**20", L),
    _way("many open files", "return [os.dup(0) for _ in range(100)]", L),
    _way("settings in the workspace", "return os.path.realpath(os.environ['HOME']).startswith(os.getcwd())"),
    _way("full scratch", "for n in range(20):\n    open(os.environ['TMPDIR'] + f'/{n}', 'wb').write(b'x' * 2**19)\nreturn True", bubblewrap=True),
    _way("limits taken back", "resource.setrlimit(resource.RLIMIT_NPROC, (5000, 5000)); return True"),
    _way("core file", "return resource.getrlimit(resource.RLIMIT_CORE)[1] != 0"),
)  # fmt: skip
ESCAPES = (*FILES, *ENVIRONMENT, *PROCESSES, *NAMESPACES, *NETWORK, *KERNEL, *LIMITS)
