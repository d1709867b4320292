"""Settings that another user could have written are refused: they can put a guard in shadow."""

import os
import sys

import pytest

from hookbus import HookError
from hookbus._program.settings import find_settings

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="owners are not looked at there")

SAID = {
    "hookbus.toml": 'shadow = ["guard"]',
    "pyproject.toml": '[tool.hookbus]\nshadow = ["guard"]',
}


@pytest.fixture(params=SAID)
def settings(request, tmp_path):
    file = tmp_path / "shared" / request.param
    file.parent.mkdir(mode=0o755)
    file.write_text(SAID[request.param])
    file.chmod(0o644)
    (file.parent / "project").mkdir()
    assert found(file).shadow == ("guard",)
    return file


def found(file):
    return find_settings(file.parent / "project")


def belongs_to_another(monkeypatch, *others):
    """Have these paths belong to somebody else, for who looks at them by any name."""
    inodes = {os.lstat(other).st_ino for other in others}

    def seen(look):
        def status(*args, **kwargs):
            real = look(*args, **kwargs)
            if real.st_ino not in inodes:
                return real
            return os.stat_result([*real[:4], 4711, *real[5:]])

        return status

    for name in ("stat", "lstat", "fstat"):
        monkeypatch.setattr(os, name, seen(getattr(os, name)))


@pytest.mark.parametrize("which", ["file", "folder"])
def test_settings_or_a_folder_of_another_user_are_refused(settings, which, monkeypatch):
    belongs_to_another(monkeypatch, settings if which == "file" else settings.parent)
    with pytest.raises(HookError, match="belongs to user 4711.*chown"):
        found(settings)


@pytest.mark.parametrize("which", ["file", "folder"])
def test_settings_that_everybody_may_write_are_refused(settings, which):
    path = settings if which == "file" else settings.parent
    path.chmod(path.stat().st_mode | 0o002)
    with pytest.raises(HookError, match="world-writable.*chmod o-w"):
        found(settings)


@pytest.mark.parametrize("of_another", ["link", "file", "folder"])
def test_settings_behind_a_link_are_refused_where_link_file_or_folder_are_anothers(
    settings, of_another, monkeypatch
):
    there = settings.parent / "elsewhere"
    there.mkdir()
    real = there / "real.toml"
    settings.rename(real)
    settings.symlink_to(real)
    assert found(settings).shadow == ("guard",)
    belongs_to_another(
        monkeypatch, {"link": settings, "file": real, "folder": there}[of_another]
    )  # fmt: skip
    with pytest.raises(HookError, match="belongs to user 4711"):
        found(settings)


def test_a_pyproject_of_another_user_that_says_nothing_of_hookbus_is_passed_by(
    tmp_path, monkeypatch
):
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "project").mkdir()
    belongs_to_another(monkeypatch, tmp_path / "pyproject.toml")
    assert find_settings(tmp_path / "project").shadow == ()
