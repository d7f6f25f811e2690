# Prints its environment, to which bash itself adds PWD, SHLVL and _.
exec /usr/bin/python3 -I -c 'import json, os
print(json.dumps({"own": dict(os.environ), "processes": []}))'
