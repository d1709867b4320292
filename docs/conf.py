"""The site: Sphinx with furo and MyST, built offline.

`python -m tests.docs_site` builds and checks it.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
# for the extension site_parts, and for tests.systems.coverage, which it reads
sys.path[:0] = [str(HERE), str(ROOT)]

import site_parts  # noqa: E402

import hookbus  # noqa: E402, F401
from tests.package_metadata import AUTHOR, REPOSITORY  # noqa: E402

project = "hookbus"
author = AUTHOR
html_title = "hookbus"
language = "en"

extensions = ["myst_nb", "sphinx_design", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "site_parts"]
exclude_patterns = ["_static"]

# -- pages -----------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

# -- notebooks: copied here from examples/ when the build starts, shown with their stored outputs

site_parts.copy_notebooks(ROOT / "examples", HERE / "notebooks")
nb_execution_mode = "off"
nb_ipywidgets_js = {}

# -- the API, from docstrings ----------------------------------------------------------------------

default_role = "code"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
napoleon_numpy_docstring = False
napoleon_use_ivar = True
napoleon_use_rtype = False
nitpick_ignore_regex = [
    # Names of other libraries: the build is offline and reads no inventories.
    ("py:.*", r"(collections|contextlib|types|blinker|attrs|asyncio|threading)\..*"),
    ("py:.*", r"(os|pathlib|enum|logging|decimal)\..*"),
    ("py:attr", "set_class"),  # in blinker's docstring of `send`
    # Type variables and aliases, which have no page.
    ("py:.*", r"(.*\.)?(P|T|R|F|G|E|C|Gate|T_co|R_co)(\.\w+)?"),
    ("py:.*", r"(.*\.)?(When|Rule|Merged|Mode|Steps|Undo|Uninstall|Untested|Function|FallbackOn)"),
    ("py:.*", r"(.*\.)?(Role|OnError|Path|Options|Unguarded|Guard|ConnectOptions|QuestionOptions)"),
    ("py:.*", r"(.*\.)?(_Hidden|Kinds|Connectable|FunctionKind|Level|Status|Home|Void)"),
    ("py:.*", r"(.*\.)?(Of|OfOne|OfMany|Required|Form|Aside|Pause|Halves)"),
    ("py:.*", r"(.*\.)?(Tool|Approve|Dispatch|ClawHook|Selection|Word|Storage|Server)"),
    ("py:.*", r"typing\.(~P|Literal\['none')"),
]

# -- looks: nothing is loaded from other hosts -----------------------------------------------------

html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["hookbus.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_sphinx = False
html_theme_options = {
    "navigation_with_keys": False,
    "footer_icons": [{"name": "Source", "url": REPOSITORY, "html": "Source", "class": ""}],
}
pygments_style = "tango"
# the default style underlines class names, as if they were links
pygments_dark_style = "github-dark"
