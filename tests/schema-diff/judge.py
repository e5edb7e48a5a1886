"""python-jsonschema as a judge: a line {"schema": …, "instances": […]} is answered by a line with a
verdict for each instance: "valid", "invalid", or "none: " and why."""

import json
import sys

from jsonschema import Draft202012Validator
from jsonschema_specifications import REGISTRY


def verdict(validator, instance):
    try:
        return "valid" if validator.is_valid(instance) else "invalid"
    except Exception as error:  # of whatever kind: it is no verdict
        return f"none: {type(error).__name__}: {error}"[:200]


for line in sys.stdin:
    case = json.loads(line)
    judge = Draft202012Validator(case["schema"], registry=REGISTRY)
    print(json.dumps([verdict(judge, instance) for instance in case["instances"]]), flush=True)
