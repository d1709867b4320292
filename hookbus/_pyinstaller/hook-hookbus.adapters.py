# pyright: reportMissingModuleSource=false
from PyInstaller.utils.hooks import collect_submodules

hiddenimports = collect_submodules("hookbus.adapters")
