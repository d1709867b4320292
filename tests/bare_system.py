"""An imitation of a system without Unix: deleted names and modules.

After `remove_unix_names()` this process sees `win32`. `os.name` and the paths do not change. The
choices that the standard library made on import remain, so it is imported first.
"""

import asyncio  # noqa: F401 - chooses its loops
import concurrent.futures.thread  # noqa: F401 - asks for os.register_at_fork when it is imported
import getpass  # noqa: F401
import logging.handlers  # noqa: F401
import multiprocessing.util  # noqa: F401
import os
import random  # noqa: F401
import select
import selectors
import signal
import socket
import subprocess  # noqa: F401
import sys
import sysconfig
import tempfile  # noqa: F401
import time
import urllib.request  # noqa: F401
import uuid  # noqa: F401
import webbrowser  # noqa: F401
from contextlib import suppress

with suppress(ImportError):  # for the page, where its packages are installed
    import uvicorn  # noqa: F401

sysconfig.get_config_vars()

MODULES = ("fcntl", "grp", "pwd", "pty", "resource", "syslog", "termios", "tty")
NAMES = {
    os: """chown chroot confstr fchmod fchown fdatasync fork forkpty fpathconf fstatvfs getegid
        geteuid getgid getgroups getloadavg getpgid getpgrp getpriority getresuid getsid
        getuid initgroups kill killpg lchown lockf mkfifo mknod nice openpty pathconf
        pipe2 posix_fadvise posix_fallocate posix_spawn posix_spawnp pread preadv pwrite
        pwritev readv register_at_fork sched_getaffinity sched_yield sendfile setegid
        seteuid setgid setgroups setpgid setpriority setreuid setsid setuid statvfs sync
        sysconf tcgetpgrp uname wait wait3 wait4 waitid writev O_CLOEXEC O_DIRECTORY
        O_DSYNC O_NOCTTY O_NOFOLLOW O_NONBLOCK O_SYNC""",
    select: "epoll poll",
    signal: """SIGALRM SIGBUS SIGCHLD SIGCONT SIGHUP SIGKILL SIGPIPE SIGQUIT SIGSTOP SIGTSTP SIGUSR1
        SIGUSR2 SIGWINCH alarm getitimer pause pthread_kill pthread_sigmask setitimer siginterrupt
        sigpending sigtimedwait sigwait""",
    socket: "AF_UNIX SO_PASSCRED SO_PEERCRED SO_REUSEPORT SCM_RIGHTS recv_fds send_fds",
    time: "tzset",
}  # fmt: skip


def remove_unix_names():
    """Delete what Windows has not from the modules of this process."""
    pair, family = socket.socketpair, socket.AF_UNIX
    socket.socketpair = lambda *given: pair(family)  # which Windows makes in another way
    selectors.DefaultSelector = selectors.SelectSelector
    for module, names in NAMES.items():
        for name in names.split():
            vars(module).pop(name, None)
    for name in MODULES:
        sys.modules[name] = None
    sys.platform = "win32"
