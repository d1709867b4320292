"""Finds plugins in folders and as entry points of installed distributions, without importing their
code.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import unquote, urlparse

import attrs

from hookbus.exceptions import PluginError

from ._entry_points import EntryPoint, entry_points, name_of
from ._manifest import FILE_NAME, Manifest, read_manifest
from ._trust import check_folder, check_place

PLACES: Final = ("workspace", "user", "bundled", "installed")
"""The places where hookbus searches for plugins. If two plugins have the same id, the plugin in the
earlier place is used.
"""


@attrs.frozen
class Candidate:
    """A plugin that was found.

    Attributes:
        place: one of `PLACES`.
        name: the name of the plugin's folder or entry point.
        file: the manifest of the plugin, or the file or folder that was found instead.
        folder: the folder of the plugin; None for an installed plugin.
        entry: the module and function that register the plugin; None without a valid manifest.
        problem: the reason why the plugin cannot be loaded, if known.
    """

    place: str
    name: str
    file: str
    folder: str | None = None
    entry: str | None = None
    manifest: Manifest | None = None
    problem: PluginError | None = None

    @property
    def is_place(self) -> bool:
        """Whether this candidate stands for an entire place that cannot be read."""
        return self.folder is None and self.place != "installed"

    @property
    def id(self) -> str:
        """The id of the plugin or, without a valid manifest, the name of its folder or entry point.
        """
        return self.manifest.id if self.manifest else self.name


def find(folders: Mapping[str, str], *, installed: bool) -> list[Candidate]:
    """Return all plugins, sorted by place and then by name.

    Args:
        folders: for each place, the folder with its plugins. A folder that does not exist counts as
            empty.
        installed: whether to also search entry points.
    """
    found = [
        candidate
        for place in PLACES
        if place in folders
        for candidate in in_folder(place, folders[place])
    ]
    return [*found, *(_of_entry_point(point) for point in entry_points())] if installed else found


def again(candidate: Candidate, root: str | None) -> Candidate:
    """Read a plugin again and return its current state."""
    if candidate.folder is not None and root is not None:
        return of_folder(candidate.place, candidate.folder, root)
    for point in entry_points():
        found = _of_entry_point(point)
        if found.name == candidate.name and found.file == candidate.file:
            return found
    return attrs.evolve(
        candidate, problem=PluginError("it is no longer installed", "install it again")
    )


def in_folder(place: str, root: str) -> Iterator[Candidate]:
    """Yield a candidate for every folder in a place.

    Names that begin with a dot or underscore are skipped.
    """
    if not os.path.lexists(root):
        return
    try:
        check_place(root)
        names = sorted(os.listdir(root))
    except OSError as error:
        yield Candidate(
            place, place, root,
            problem=PluginError(f"{root} cannot be read ({error.strerror})", "make it readable"),
        )  # fmt: skip
    except PluginError as problem:
        yield Candidate(place, place, root, problem=problem)
    else:
        for name in names:
            folder = os.path.join(root, name)
            if not name.startswith((".", "_")) and (
                os.path.isdir(folder) or os.path.islink(folder)
            ):
                yield of_folder(place, folder, root)


def of_folder(place: str, folder: str, root: str) -> Candidate:
    """Return the plugin in a folder. Its manifest is read only if the folder can be trusted."""
    file = os.path.join(folder, FILE_NAME)
    found = Candidate(place, os.path.basename(folder), file, folder)
    try:
        check_folder(folder, root)
        manifest = _read(file)
    except PluginError as problem:
        return attrs.evolve(found, problem=problem)
    except OSError as error:
        return attrs.evolve(
            found, problem=PluginError(f"it cannot be read ({error.strerror})", "make it readable")
        )
    return attrs.evolve(found, entry=manifest.entry, manifest=manifest)


def _read(file: str) -> Manifest:
    try:
        with open(file, "rb") as source:
            return read_manifest(source.read())
    except FileNotFoundError:
        raise PluginError(
            f"it has no {FILE_NAME}", f"create {file}, or remove the folder"
        ) from None


# -- entry points ----------------------------------------------------------------------------------


def _of_entry_point(point: EntryPoint) -> Candidate:
    found = Candidate("installed", point.name, f"entry point {point.name} = {point.value}")
    if point.problem is not None:
        return attrs.evolve(found, problem=point.problem)
    try:
        file = _manifest_of(point)
        found = attrs.evolve(found, file=file)
        manifest = _read(file)
        if manifest.id != point.name:
            raise PluginError(
                f"the manifest has id = {manifest.id!r}, but its entry point is {point.name!r}",
                "give both the same name",
            )
    except PluginError as problem:
        return attrs.evolve(found, problem=problem)
    except Exception as error:  # the metadata of a distribution may contain anything
        return attrs.evolve(
            found, problem=PluginError(f"it cannot be read ({error})", "install it again")
        )
    return attrs.evolve(
        found, entry=f"{point.module}:{point.attribute or 'register'}", manifest=manifest
    )


def _manifest_of(point: EntryPoint) -> str:
    """Return the manifest that is nearest to the module of an entry point, according to the
    distribution's list of files.
    """
    distribution = point.distribution
    parts = point.module.split(".")
    wanted = ["/".join([*parts[:depth], FILE_NAME]) for depth in range(len(parts), 0, -1)]
    files = {str(file).replace(os.sep, "/") for file in distribution.files or ()}
    source = _editable_source(distribution.read_text("direct_url.json"))
    for path in wanted:
        if path in files:
            return os.fspath(str(distribution.locate_file(path)))
        # The list of files of an editable install does not contain the source.
        for root in (source, os.path.join(source, "src")) if source else ():
            if os.path.isfile(os.path.join(root, path)):
                return os.path.join(root, path)
    raise PluginError(
        f"the distribution {name_of(distribution)} has no {FILE_NAME} for {point.module}",
        f"add {wanted[-1]} to its package data",
    )


def _editable_source(direct_url: str | None) -> str | None:
    origin = json.loads(direct_url) if direct_url else {}
    url = urlparse(origin.get("url", ""))
    is_editable = origin.get("dir_info", {}).get("editable", False)
    return unquote(url.path) if is_editable and url.scheme == "file" else None
