"""What bench/schema.c is, by json.loads and python-jsonschema from the folder OWLCLAW_PEERS."""

import json
import os
import pathlib
import sys
import time

sys.path.insert(0, os.environ["OWLCLAW_PEERS"])
import jsonschema  # noqa: E402

SLICES, SLICE_NS = 25, 50e6
_, schema_path, instance_path, verdict = sys.argv[1:]
validator = jsonschema.Draft202012Validator(json.loads(pathlib.Path(schema_path).read_text()))
text = pathlib.Path(instance_path).read_bytes()


def took_ns(n):
    start = time.process_time_ns()
    for _ in range(n):
        if validator.is_valid(json.loads(text)) != (verdict == "valid"):
            sys.exit("the wrong verdict")
    return time.process_time_ns() - start


count = 1
while took_ns(count) < SLICE_NS:
    count *= 2
print(min(took_ns(count) / count for _ in range(SLICES)))
