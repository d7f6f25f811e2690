# Runs after the cell's bundle is staged and before the runtime starts. Applies a JSON list of edits to config.json, and
# then becomes the runtime. An edit is {"set": [path…], "to": value}, {"drop": [path…]}, {"mount": place, "without":
# [option…]}, or {"filter": "none" | "broken"}, which changes the filter that the runtime or process 1 sets.
import json
import os
import sys

config_path, edits, command = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
with open(config_path) as file:
    config = json.load(file)
for edit in edits:
    if "filter" in edit:
        broken = edit["filter"] == "broken"
        config["linux"]["seccomp"] = {"defaultAction": "SCMP_ACT_NONSENSE"} if broken else None
        if config["process"]["args"][0] == "/svc/init":
            config["process"]["args"][1] = "/no/such/filter" if broken else "-"
        continue
    if "mount" in edit:
        mount = next(mount for mount in config["mounts"] if mount["destination"] == edit["mount"])
        mount["options"] = [option for option in mount["options"] if option not in edit["without"]]
        continue
    *way, last = edit.get("set") or edit["drop"]
    place = config
    for step in way:
        place = place[step]
    if "set" in edit:
        place[last] = edit["to"]
    else:
        del place[last]
with open(config_path, "w") as file:
    json.dump(config, file)
os.execv(command[0], command)
