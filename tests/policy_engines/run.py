"""Run the tasks with one engine: `python run.py cedarpy`. Prints the results as JSON."""

import json
import sys

from engines import Aegis, Cedar, ControlZero, Hookbus, PolicyGateway, Strands
from tasks import play
from toolkits import ControlSpec, GovernanceToolkit

ENGINES = {
    "hookbus": Hookbus, "cedarpy": Cedar, "strands-agents": Strands, "agent-aegis": Aegis,
    "controlzero": ControlZero, "agent-policy-gateway": PolicyGateway,
    "agent-control-spec": ControlSpec, "agent-governance-toolkit-core": GovernanceToolkit,
}  # fmt: skip

if __name__ == "__main__":
    print(json.dumps(play(ENGINES[sys.argv[1]])))
