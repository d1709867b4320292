"""A folder that leads out, can be changed by anyone or belongs to a stranger is refused, with the
reason.
"""

import os
import sys

import pytest

from .conftest import plugin_modules, said_of, statuses

pytestmark = pytest.mark.skipif(
    sys.platform == "win32", reason="modes and owners are not looked at on Windows"
)
STRANGER = 54321


@pytest.fixture
def home(user):
    home = user.put("odd", "raise AssertionError('this code must not be imported')")
    (home / "part").mkdir()
    (home / "part" / "data.txt").write_text("")
    user.put("good")
    return home


def assert_refused(plugins, *parts):
    said = said_of("odd", plugins)
    assert all(part in said for part in parts), said
    assert statuses(plugins) == {"user:good": "loaded", "user:odd": "refused"}
    assert plugin_modules() == ["hookbus_plugin_good", "hookbus_plugin_good.plugin"]


@pytest.mark.parametrize("path", [".", "plugin.py", "hookbus-plugin.toml", "part", "part/data.txt"])
def test_what_anyone_could_change_is_refused(load, user, home, path):
    target = (home / path).resolve()
    target.chmod(target.stat().st_mode | 0o002)
    assert_refused(load(user=user), f"{target} is world-writable", f"chmod o-w {target}")


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only root can give a file away"
)
@pytest.mark.parametrize("path", [".", "plugin.py", "hookbus-plugin.toml", "part/data.txt"])
def test_what_belongs_to_a_stranger_is_refused(load, user, home, path):
    target = (home / path).resolve()
    os.chown(target, STRANGER, -1)
    assert_refused(
        load(user=user), f"{target} belongs to user {STRANGER}", f"chown {os.geteuid()} {target}"
    )


def test_only_root_and_the_user_of_the_process_are_no_strangers(load, user, monkeypatch):
    user.put("a")
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    plugins = load(user=user)
    if user.root.stat().st_uid == 0:
        assert plugins.loaded == ("a",)
    else:
        assert f"who is neither root nor the user {STRANGER} of this process" in said_of(
            "user", plugins
        )


@pytest.mark.parametrize("target", ["/etc/passwd", "../../outside.py", "/"])
def test_a_link_that_leads_out_is_refused(load, user, home, target):
    link = home / "part" / "link"
    link.symlink_to(target)
    assert_refused(load(user=user), f"{link} points outside the plugin's folder")


@pytest.mark.parametrize("name", ["hookbus-plugin.toml", "plugin.py"])
def test_a_manifest_or_entry_that_is_a_link_out_is_refused(load, user, home, tmp_path, name):
    (home / name).rename(tmp_path / name)
    (home / name).symlink_to(tmp_path / name)
    assert_refused(load(user=user), f"{home / name} points outside")


def test_a_plugin_folder_that_is_a_link_out_of_its_place_is_refused(load, user, home, tmp_path):
    home.rename(tmp_path / "elsewhere")
    home.symlink_to(tmp_path / "elsewhere")
    assert_refused(load(user=user), f"{home} points outside {user.root}")


def test_a_link_that_stays_inside_is_accepted(load, user):
    home = user.put("a")
    (home / "alias.txt").symlink_to("plugin.py")
    assert load(user=user).loaded == ("a",)


def test_a_fifo_is_refused_and_not_read(load, user, home):
    (home / "hookbus-plugin.toml").unlink()
    os.mkfifo(home / "hookbus-plugin.toml")
    assert_refused(load(user=user), "is neither a file nor a folder")


def test_a_place_that_anyone_could_change_holds_nothing(load, user, home):
    user.root.chmod(0o777)
    plugins = load(user=user)
    assert plugins.loaded == () and f"{user.root} is world-writable" in said_of("user", plugins)


def test_a_place_may_itself_be_a_link_since_the_operator_named_it(load, user, tmp_path):
    user.put("a")
    (tmp_path / "link").symlink_to(user.root)
    assert load(user=tmp_path / "link").loaded == ("a",)


def test_trust_is_looked_at_again_on_reload(load, agent, user):
    home = user.put("a", mark="1")
    plugins = load(user=user)
    user.put("a", mark="2")
    (home / "plugin.py").chmod(0o666)
    plugins.reload("a")
    assert "is world-writable" in said_of("a", plugins) and agent.reply("m") == "m1"
