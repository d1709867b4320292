"""Distributions that are really built and pip-installed bring plugins by entry point."""

import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]

SETUP = """
[metadata]
name = {name}
version = 1.0
[options]
packages = find:
[options.package_data]
* = hookbus-plugin.toml
[options.entry_points]
hookbus.plugins =
"""

MANIFEST = """
format = 1
id = "{id}"
version = "1.0"
hooks = ["pre_reply"]
provides.tool = ["{id}"]
"""

CODE = """
def stamp(agent, msg): return {{"msg": msg + "+{id}"}}
def register(api):
    api.connect("pre_reply", stamp)
    api.provide("tool", "{id}", stamp)
"""

# A package of the distribution `shop`: its entry point, its manifest, its code.
PACKAGES = {
    "shop.good": (
        "good = shop.good.plugin:register",
        MANIFEST.format(id="good"),
        CODE.format(id="good"),
    ),
    "shop.bad": (
        "bad = shop.bad.plugin:register",
        MANIFEST.format(id="bad"),
        "from . import part\nraise RuntimeError",
    ),
    "shop.bare": ("bare = shop.bare.plugin:register", None, "raise AssertionError"),
    "shop.named": (
        "alias = shop.named.plugin:register",
        MANIFEST.format(id="named"),
        "raise AssertionError",
    ),
    "shop.toml": ("toml = shop.toml.plugin:register", "format =", "raise AssertionError"),
    "shop.gone": ("gone = shop.gone.absent:register", MANIFEST.format(id="gone"), ""),
    "shop.off": (
        "off = shop.off.plugin:register",
        MANIFEST.format(id="off") + "[settings]\n",
        "raise AssertionError",
    ),
}

START = """
import json, os, sys
import hookbus
from hookbus import Bus, explain, hookable, load_plugins

bus = Bus()
class Agent:
    @hookable("reply", bus=bus)
    def reply(self, msg): return msg
agent = Agent()
def modules():
    return sorted(name for name in sys.modules if name.partition(".")[0] in ("shop", "dev"))
def out(**said): print(json.dumps(said))
def rows(plugins): return {row.plugin: [row.place, row.status, row.why] for row in plugins.rows()}
"""


def write(root, name, packages):
    for package, (_, manifest, code) in packages.items():
        home = root.joinpath(*package.split("."))
        home.mkdir(parents=True)
        (home.parent / "__init__.py").touch()
        (home / "__init__.py").touch()
        (home / "part.py").touch()
        (home / "plugin.py").write_text(code)
        if manifest is not None:
            (home / "hookbus-plugin.toml").write_text(manifest)
    (root / "setup.cfg").write_text(
        SETUP.format(name=name) + "".join(f"    {point}\n" for point, _, _ in packages.values())
    )
    (root / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
    )
    return root


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """A fresh environment with hookbus and two distributions, one of them editable."""
    root = tmp_path_factory.mktemp("installed")
    source = root / "hookbus"
    shutil.copytree(
        REPOSITORY / "hookbus", source / "hookbus", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("setup.cfg", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, source)
    shop = write(root / "shop", "shop", PACKAGES)
    tool = ("dev = dev.tool.plugin:register", MANIFEST.format(id="dev"), CODE.format(id="dev"))
    dev = write(root / "dev", "dev", {"dev.tool": tool})
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / "venv"], check=True)
    python = root / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    pip += ["--disable-pip-version-check", "--no-compile"]
    subprocess.run([*pip, "setuptools>=70.1"], check=True)
    subprocess.run([*pip, "--no-build-isolation", source, shop, "--editable", dev], check=True)
    handmade(python)
    return python


def handmade(python):
    """Add what no build tool would write, but something has: an entry point of no form and one of
    no manifest.
    """
    where = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(where, check=True, capture_output=True, text=True).stdout.strip())
    home = site / "handmade-1.0.dist-info"
    home.mkdir()
    (home / "METADATA").write_text("Metadata-Version: 2.1\nName: handmade\nVersion: 1.0\n")
    (home / "entry_points.txt").write_text(
        "[hookbus.plugins]\nodd = not a module\nunlisted = handmade.plugin\n"
    )
    (home / "direct_url.json").write_text("{")


@pytest.fixture
def run(python, tmp_path):
    def run(program, **environment):
        clean = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "HOOKBUS"))
        }
        done = subprocess.run(
            [python, "-W", "error", "-c", START + textwrap.dedent(program)], cwd=tmp_path,
            env={**clean, **environment},
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_an_installed_distribution_brings_a_plugin_and_a_broken_one_hurts_nobody(run):
    said = run("""
        plugins = load_plugins(bus, deny=["off"])
        tool = plugins.provided("tool", "good")
        out(file=hookbus.__file__, rows=rows(plugins), said=agent.reply("m"), tool=tool(0, "x"),
            modules=modules())
    """)
    assert "site-packages" in said["file"]
    problems = {
        "bad": "its import raised RuntimeError",
        "bare": "the distribution shop has no hookbus-plugin.toml for shop.bare.plugin",
        "alias": "the manifest has id = 'named', but its entry point is 'alias'",
        "toml": "the manifest is not valid TOML",
        "gone": "the module shop.gone.absent does not exist",
        "odd": "the entry point's value 'not a module' is malformed",
        "unlisted": "it cannot be read",
    }  # fmt: skip
    for plugin, problem in problems.items():
        place, status, why = said["rows"][plugin]
        assert (place, status) == ("installed", "refused") and problem in why
    others = {name: status for name, (_, status, _) in said["rows"].items() if status != "refused"}
    assert others == {"good": "loaded", "dev": "loaded", "off": "disabled"}
    assert said["said"] == "m+dev+good" and said["tool"] == {"msg": "x+good"}
    assert said["modules"] == [
        "dev", "dev.tool", "dev.tool.plugin", "shop", "shop.bad", "shop.bad.part", "shop.gone",
        "shop.good", "shop.good.plugin",
    ]  # fmt: skip


def test_a_manifest_is_read_without_importing_the_distribution(run):
    said = run("""
        plugins = load_plugins(bus, allow=[])
        out(rows=rows(plugins), modules=modules())
    """)
    assert said["modules"] == [] and said["rows"]["good"][1:] == [
        "disabled",
        "allow= does not name it",
    ]


def test_installed_plugins_can_be_left_out(run):
    assert run("out(rows=rows(load_plugins(bus, installed=False)))") == {"rows": {}}


def test_unload_and_reload_of_an_installed_plugin_leave_its_modules_and_fire_once(run):
    said = run("""
        plugins = load_plugins(bus, allow=["good"])
        seen = [agent.reply("m")]
        for step in ("reload", "reload", "unload", "load", "disable", "enable"):
            getattr(plugins, step)("good"); seen.append(agent.reply("m"))
        plugins.close()
        seen.append(agent.reply("m"))
        out(seen=seen, modules=modules(), rows=len(explain(agent.reply)))
    """)
    assert said["seen"] == ["m+good", "m+good", "m+good", "m", "m+good", "m", "m+good", "m"]
    assert said["modules"] == ["shop", "shop.good", "shop.good.plugin"] and said["rows"] == 0


def test_a_plugin_folder_shadows_an_installed_plugin_and_it_is_said(run, tmp_path):
    home = tmp_path / "user" / "good"
    home.mkdir(parents=True)
    (home / "hookbus-plugin.toml").write_text(MANIFEST.format(id="good"))
    (home / "plugin.py").write_text(CODE.format(id="good").replace("+good", "+mine"))
    said = run("""
        plugins = load_plugins(bus, user="user", allow=["good"])
        problems = [str(each) for each in plugins.diagnostics if each.plugin == "good"]
        out(said=agent.reply("m"), problems=problems)
    """)
    assert said["said"] == "m+mine"
    [problem] = said["problems"]
    assert (
        "error: plugin good" in problem
        and f"the plugin of user ({home / 'hookbus-plugin.toml'}) has the id 'good'" in problem
    )


def test_a_worker_process_loads_exactly_what_the_host_has_loaded(run):
    host = run("out(**load_plugins(bus, deny=['dev', 'off']).environment())")
    assert host == {"HOOKBUS_PLUGINS": "installed:good"}
    worker = run(
        "plugins = load_plugins(bus); out(loaded=plugins.loaded, modules=modules())", **host
    )
    assert worker == {"loaded": ["good"], "modules": ["shop", "shop.good", "shop.good.plugin"]}
