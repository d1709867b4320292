"""guards.paths_within by the rules of Windows, on a Windows disk that exists only in this file."""

import ntpath
import posixpath

import pytest

from hookbus import HookBlocked
from hookbus.guards import _paths, paths_within

WORK = "C:\\Work"
INSIDE = [
    ".", "a.txt", "a/b.txt", "a\\b.txt", ".\\a.txt", "deep\\..\\a.txt", "C:\\Work", "C:\\Work\\",
    "C:\\Work\\a.txt", "c:\\work\\A.TXT", "C:/Work/a.txt", "C:/WORK\\deep/new.txt",
    "C:\\Work\\ä.txt",
    "deep/LINK-IN/x", "a~1.txt", "10%.txt", "c.on", "console.txt", "com10", "null.txt", "WORK~1",
    "\\\\files\\team\\own\\a.txt", "//FILES/Team/OWN/new.txt",
]  # fmt: skip
OUTSIDE = {
    "up": ["..", "..\\x", "../x", "a\\..\\..\\x", "deep/../..\\x", "C:\\Work\\..\\x",
           "deep\\OUT\\x"],
    "other folders": ["C:\\", "C:\\Windows\\win.ini", "C:\\Work2", "C:\\Work2\\a.txt",
                      "D:\\Work\\x",
                      "c:/windows", "C:\\Workshop"],
    "drives without a folder": ["C:", "C:a.txt", "C:..\\x", "c:work", "D:"],
    "no drive": ["\\", "\\Work\\a.txt", "/Work/a.txt", "/etc/passwd", "\\x"],
    "shares": ["\\\\evil\\share\\x", "//evil/share/x", "\\\\files\\other\\x", "\\\\files", "\\\\",
               "\\\\files\\team\\own2\\x", "\\\\files\\team\\..\\other", "/\\evil\\share",
               "\\/evil/x/y",
               "\\\\10.0.0.1\\c$\\x", "\\\\evil@SSL\\DavWWWRoot\\x", "///evil/share/x",
               "\\\\evil:80\\x\\y"],
    "devices": ["\\\\?\\C:\\Work\\a.txt", "\\\\.\\PhysicalDrive0", "//./pipe/x",
                "\\\\?\\UNC\\files\\x",
                "NUL", "nul.txt", "CON", "deep\\aux", "COM1", "C:\\Work\\lpt9.log", "prn .txt",
                "CONIN$", "com\u00b9", "C:\\Work\\con.tar.gz", "\\??\\C:\\Work"],
    "streams": ["a.txt:hidden", "a.txt::$DATA", "C:\\Work:x", "1:\\x", "C:\\Work\\a.txt:x:$DATA",
                "deep:x"],
    "addresses": ["http://x/y", "file:///C:/Work/a.txt", "file:C:\\Work", "s3://b/k"],
    "names that Windows changes": ["a.txt.", "deep.\\x", "deep...\\x", "C:\\Work\\x \\y", "..."],
    "names that cannot be": ["a?.txt", "*.txt", "a|b", 'a"b', "<a", "a>"],
    "variables and blanks": ["%TEMP%\\x", "~\\x", "$HOME\\x", " a", "a ", "", "a\0b", "a\u2215b",
                             "C\uff1a\\x"],
}  # fmt: skip


class Disk:
    """The paths of Windows, and a disk: what is on it, where links lead, what was looked at."""

    sep = "\\"
    there = ("C:\\Work", "C:\\Work\\deep", "C:\\Windows", "C:\\Work2", "\\\\files\\team\\own")
    links = {"c:\\work\\deep\\out": "C:\\Windows", "c:\\work\\deep\\link-in": "C:\\Work"}

    def __init__(self):
        self.looked = []

    normpath = staticmethod(ntpath.normpath)

    def isdir(self, path):
        return path in self.there

    def realpath(self, path, *, strict=False):
        whole = ntpath.normpath(ntpath.join(WORK, path))
        self.looked.append(whole)
        for link, target in self.links.items():
            if whole.lower() == link or whole.lower().startswith(link + "\\"):
                whole = target + whole[len(link) :]
        if strict and whole.lower() not in [each.lower() for each in self.there]:
            raise FileNotFoundError(whole)
        return whole  # with the letters that were given

    def samefile(self, one, other):
        return one.lower() == other.lower()


@pytest.fixture
def disk(monkeypatch):
    disk = Disk()
    monkeypatch.setattr(_paths, "_paths", disk)
    return disk


@pytest.mark.parametrize("path", INSIDE)
def test_what_is_inside_goes_through_however_it_is_written(call, bus, disk, path):
    bus.register(paths_within(WORK, "\\\\files\\team\\own"))
    call("read", path=path)


@pytest.mark.parametrize("kind", OUTSIDE)
def test_what_is_outside_or_odd_is_blocked(call, bus, disk, kind):
    bus.register(paths_within(WORK, "\\\\files\\team\\own"))
    for path in OUTSIDE[kind]:
        with pytest.raises(HookBlocked) as error:
            call("read", path=path)
        assert error.value.verdict.code == "path", path
    assert call.made == []


def test_no_other_server_is_looked_at(call, bus, disk):
    bus.register(paths_within(WORK))
    for path in OUTSIDE["shares"] + OUTSIDE["devices"]:
        with pytest.raises(HookBlocked):
            call("read", path=path)
    assert all(each.startswith("C:\\Work") for each in disk.looked), disk.looked


def test_where_letters_count_a_folder_of_other_letters_is_another_one(call, bus, disk):
    disk.samefile = lambda one, other: one == other  # as a folder of Windows may be set to
    bus.register(paths_within(WORK))
    with pytest.raises(HookBlocked, match="outside"):
        call("read", path="C:\\WORK\\a.txt")


def test_a_folder_that_ignores_the_case_of_letters_is_found_elsewhere_too(
    call, bus, monkeypatch, tmp_path
):
    class Mac:
        sep, normpath, isdir = "/", staticmethod(posixpath.normpath), staticmethod(posixpath.isdir)
        realpath = staticmethod(posixpath.realpath)

        @staticmethod
        def samefile(one, other):
            return one.lower() == other.lower()

    monkeypatch.setattr(_paths, "_paths", Mac)
    bus.register(paths_within(tmp_path))
    call("read", path=str(tmp_path).upper() + "/a.txt")
    with pytest.raises(HookBlocked):
        call("read", path=str(tmp_path).upper() + "2/a.txt")
