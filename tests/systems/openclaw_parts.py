"""What the tests of OpenClaw's hooks share: a host, and its handlers."""

import pytest

from hookbus.adapters.openclaw import GLOBAL_POLICY, HOOKS, HookRunner, Registry


class Host:
    """A registry, a runner set up as OpenClaw's global one, and what handlers noted."""

    def __init__(self, registry=None, **options):
        self.registry = registry or Registry()
        self.runner = HookRunner(self.registry, **{"failure_policy": GLOBAL_POLICY, **options})
        self.seen = []

    def returns(self, plugin, hook, value=None, **options):
        def handler(event, ctx):
            self.seen.append((plugin, event))
            return value

        return self.registry.on(plugin, hook, handler, **options)

    async def run(self, hook, event=None, ctx=None, **options):
        result = self.runner.run(hook, {} if event is None else event, ctx, **options)
        return result if HOOKS[hook].kind == "sync" else await result

    @property
    def order(self):
        return [plugin for plugin, _ in self.seen]


@pytest.fixture
def host():
    return Host()


def raising(error):
    def handler(event, ctx):
        raise error

    return handler


async def merged(hook, *returned, event=None):
    host = Host()
    for number, value in enumerate(returned):
        host.returns(f"p{number}", hook, value, priority=-number)
    return await host.run(hook, {} if event is None else event)
