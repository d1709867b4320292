"""The tool on eventlet's server; with the argument `late`, imported before eventlet patches."""

import sys

if "late" in sys.argv:
    from tests.servers import guarded  # noqa: F401 - for its call at import

import eventlet
import eventlet.wsgi

eventlet.monkey_patch()

from tests.servers.guarded import wsgi  # noqa: E402

listening = eventlet.listen(("127.0.0.1", 0))
print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
eventlet.wsgi.server(listening, wsgi, log_output=False)
