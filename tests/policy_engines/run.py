"""Run the tasks with one engine: `python run.py cedarpy`. Prints the results as JSON."""

import json
import sys

from engines import ENGINES
from tasks import play

if __name__ == "__main__":
    print(json.dumps(play(ENGINES[sys.argv[1]])))
