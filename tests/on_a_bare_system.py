"""Use each feature once on a system without what only Unix has: `python -m tests.on_a_bare_system
FOLDER`.

Prints one JSON object: the name of each feature, and "works" or its error.
"""

import json
import os
import sys
import traceback
import warnings
from pathlib import Path

from tests.bare_features import FEATURES  # isort: skip - takes names away
from tests import bare_features_of_files as files

warnings.simplefilter("error")
place, outcomes = Path(sys.argv[1]), {}
for name, function in FEATURES.items():
    folder = place / name
    folder.mkdir()
    try:
        function(folder)
        outcomes[name] = "works"
    except BaseException:
        outcomes[name] = traceback.format_exc()
os.chdir(folder.anchor)  # the folder goes, and the journal of `run` with it
files.hookbus.default_bus.events._clear_state()
print(json.dumps(outcomes))
