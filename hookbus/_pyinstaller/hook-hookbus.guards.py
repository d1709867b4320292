# pyright: reportMissingModuleSource=false
from importlib.util import find_spec

from PyInstaller.utils.hooks import collect_data_files, collect_submodules

LIBRARIES = (
    "cachetools", "cedarpy", "detect_secrets", "genai_prices", "limits", "pydantic", "regex",
    "rfc8785", "stamina", "stdnum",
)  # fmt: skip

hiddenimports = collect_submodules("hookbus.guards")
datas = []
for library in LIBRARIES:
    if find_spec(library) is not None:
        hiddenimports += collect_submodules(library)
        datas += collect_data_files(library)
