# pyright: reportMissingModuleSource=false
from PyInstaller.utils.hooks import collect_data_files, collect_submodules

OWN_HOOKS = ("adapters", "exporters", "guards", "page")
FOR_DEVELOPERS = ("_cli", "_pyinstaller", "_pytest", "cli", "demo", "testing")
LIBRARIES = ("cryptography", "regex", "rfc8785")


def is_needed(name):
    return name.split(".")[1:2] not in [[each] for each in (*OWN_HOOKS, *FOR_DEVELOPERS)]


hiddenimports = [*collect_submodules("hookbus", filter=is_needed), *LIBRARIES]
datas = collect_data_files("hookbus", excludes=["page/**"])
