# pyright: reportMissingModuleSource=false
from PyInstaller.utils.hooks import collect_data_files, collect_submodules

hiddenimports = collect_submodules("hookbus.page")
datas = collect_data_files("hookbus.page")
