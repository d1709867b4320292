"""The detached program that the hook starts. It runs the server, unless a server is already
running."""

import importlib.util
import os
import sys
from typing import Any

MOST_LOGGED = 1 << 20


def load(name: str, path: str, **more: Any) -> Any:
    """Import a module from a file without changing `sys.path`."""
    spec = importlib.util.spec_from_file_location(name, path, **more)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def set_environment() -> None:
    """Set the environment of the server, without variables that a project could set through its
    agent."""
    import pwd

    os.environ.update(PATH="/usr/local/bin:/usr/bin:/bin", LANG="C.UTF-8", HOME="/")
    try:
        user = pwd.getpwuid(os.getuid())
    except KeyError:  # a user without an entry, as in containers
        return
    os.environ.update(HOME=user.pw_dir, USER=user.pw_name, LOGNAME=user.pw_name)


def main(settings: str) -> int:
    """Serve until the server has been idle for a certain time. Return the exit code, which says
    that the server was not needed any longer.
    """
    os.umask(0o077)
    os.closerange(3, 4096)  # what the agent left open
    if os.fstat(2).st_size > MOST_LOGGED:
        os.ftruncate(2, 0)
    here = os.path.dirname(os.path.abspath(__file__))
    hook = load("_hookbus_gate_hook", os.path.join(here, "_hook.py"))
    os.chdir("/")
    set_environment()
    locked = load("_hookbus_gate_lock", os.path.join(here, "_lock.py")).lock(hook.place(settings))
    if locked is None:
        return int(hook.ENDED)
    # The hookbus that this file belongs to, whatever else is installed.
    package = os.path.dirname(here)
    load("hookbus", os.path.join(package, "__init__.py"), submodule_search_locations=[package])
    from hookbus.gate._server import serve

    serve(settings, locked)
    return int(hook.ENDED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
