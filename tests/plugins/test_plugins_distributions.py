"""Entry points are read one distribution at a time: a broken one hides no other, and is named."""

import pytest

from .conftest import said_of, statuses

MANIFEST = """
format = 1
id = "{id}"
version = "1.0"
hooks = ["pre_reply"]
"""

CODE = """
def register(api):
    api.connect("pre_reply", lambda agent, msg: {{"msg": msg + "{mark}"}})
"""


class Site:
    """A folder on the path that distributions are installed into."""

    def __init__(self, root):
        self.root = root
        root.mkdir()

    def put(self, name, entry_points, *, metadata=True, version="1.0"):
        home = self.root / f"{name}-{version}.dist-info"
        home.mkdir()
        if metadata:
            text = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            (home / "METADATA").write_text(text)
        (home / "entry_points.txt").write_bytes(entry_points)
        return home

    def put_plugin(self, name, mark):
        home = self.put(
            name, f"[console_scripts]\n{name} = {name}:x\n\n[hookbus.plugins]\n"
            f"# a comment\n{name} = {name}_code : register [extra]\n".encode(),
        )  # fmt: skip
        package = self.root / f"{name}_code"
        package.mkdir()
        (package / "__init__.py").write_text(CODE.format(mark=mark))
        (package / "hookbus-plugin.toml").write_text(MANIFEST.format(id=name))
        (home / "RECORD").write_text(f"{name}_code/hookbus-plugin.toml,,\n")


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path / "site")
    return Site(tmp_path / "site")


def test_a_broken_distribution_is_named_and_all_others_load(load, agent, site):
    site.put_plugin("distgood", "+good")
    site.put("distbytes", b"[hookbus.plugins]\n\xff = x:y\n")
    site.put("distlines", b"junk\n[hookbus.plugins]\nlonely\nodd = not a module\n = x:y\n")
    site.put("distnameless", b"[hookbus.plugins]\nunlisted = distnameless.plugin\n", metadata=False)
    site.put("distother", b"[console_scripts]\nnot a line\n")
    odd = site.put("disturl", b"[hookbus.plugins]\nlisted = disturl.plugin\n")
    (odd / "direct_url.json").write_text("[5]")

    plugins = load(installed=True)

    assert agent.reply("m") == "m+good"
    assert statuses(plugins) == {
        "installed:distgood": "loaded", "installed:distbytes": "refused",
        "installed:lonely": "refused", "installed:odd": "refused",
        "installed:distlines": "refused", "installed:unlisted": "refused",
        "installed:listed": "refused",
    }  # fmt: skip
    for plugin, said in {
        "distbytes": "the entry points of the distribution distbytes cannot be read",
        "lonely": "the entry point's line 'lonely' is malformed, in the distribution distlines",
        "odd": "the entry point's value 'not a module' is malformed, in the distribution distlines",
        "unlisted": "the distribution distnameless has no hookbus-plugin.toml",
        "listed": "it cannot be read",
    }.items():
        assert said in said_of(plugin, plugins)


def test_of_two_distributions_of_one_name_the_first_on_the_path_is_taken(
    load, agent, site, tmp_path, monkeypatch
):
    site.put_plugin("dist.twice", "+behind")
    monkeypatch.syspath_prepend(tmp_path / "first")
    first = Site(tmp_path / "first")
    first.put("Dist_Twice", b"[hookbus.plugins]\nother = x:y\n", version="2.0")
    assert list(statuses(load(installed=True))) == ["installed:other"]
    assert agent.reply("m") == "m"


def test_a_plugin_is_loaded_again_from_its_distribution(load, agent, site):
    site.put_plugin("distagain", "+a")
    plugins = load(installed=True)
    plugins.reload("distagain")
    assert agent.reply("m") == "m+a" and statuses(plugins) == {"installed:distagain": "loaded"}
