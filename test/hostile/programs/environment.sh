# Prints its environment; bash adds PWD, SHLVL and _ of its own.
exec /usr/bin/python3 -I -c 'import json, os
print(json.dumps({"own": dict(os.environ), "processes": []}))'
