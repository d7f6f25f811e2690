"""Runs OpenStack Swift with its S3 interface on loopback, in one directory.

Arguments: the directory, four ports (account, container, object, S3), the user's secret. A line on the standard input
says what to do: `start` or `kill`. The answer is a line, too. When the input ends, the servers are killed (SIGKILL).
"""

import ctypes
import getpass
import os
import signal
import sys

# The module that looks up names is not needed here and is slow to load.
os.environ["EVENTLET_NO_GREENDNS"] = "yes"
import eventlet.patcher

# Swift itself makes this call in each server. The call scans every object in memory, so it comes before other modules load.
eventlet.patcher.monkey_patch(all=False, socket=True, select=True, thread=True)

import swift.common.utils
from swift.common.ring import RingBuilder
from swift.common.wsgi import run_wsgi

# These modules are slow to load, so they are loaded once, before the servers are forked.
import swift.account.server
import swift.common.middleware.s3api.s3api
import swift.common.middleware.tempauth
import swift.container.server
import swift.obj.server
import swift.proxy.server

KINDS = ("account", "container", "object")
DIES_WITH_PARENT = 1
PROXY = """
[pipeline:main]
pipeline = catch_errors cache listing_formats s3api tempauth proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
# tempauth requires a cache. It is not needed here: nothing answers at this address.
memcache_servers = 127.0.0.1:1
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = {secret} .admin
"""


def write(directory, name, text):
    with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
        file.write(text)


def defaults(directory, port):
    return (
        f"[DEFAULT]\nbind_ip = 127.0.0.1\nbind_port = {port}\nuser = {getpass.getuser()}\nworkers = 0\n"
        f"swift_dir = {directory}\ndevices = {directory}/devices\nmount_check = false\n"
        "disable_fallocate = true\nlog_address = /nonexistent\n"
    )


def make_ring(directory, kind, port):
    """One part and one device are enough for a test server."""
    builder = RingBuilder(1, 1, 0)
    address = {"ip": "127.0.0.1", "port": port, "replication_ip": "127.0.0.1", "replication_port": port}
    builder.add_dev({"id": 0, "region": 1, "zone": 1, "device": "disk", "weight": 1, "meta": "", **address})
    builder.rebalance()
    builder.get_ring().save(os.path.join(directory, f"{kind}.ring.gz"))


def serve(directory, name):
    """Forks a server. It leaves this process's group, so the kernel must end the server when this process ends."""
    pid = os.fork()
    if pid != 0:
        return pid
    ctypes.CDLL(None).prctl(DIES_WITH_PARENT, signal.SIGKILL)
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(0, 1)
    os._exit(run_wsgi(os.path.join(directory, f"{name}.conf"), name))


def kill(servers):
    """Kills the server for clients first. If it outlived the others, it would report that they are gone. No crash does that."""
    for pid in reversed(servers):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def main():
    directory, *ports = sys.argv[1:6]
    secret = sys.argv[6]
    swift_conf = "[swift-hash]\nswift_hash_path_suffix = tests\n[storage-policy:0]\nname = only\ndefault = yes\n"
    os.makedirs(os.path.join(directory, "devices", "disk"), exist_ok=True)
    write(directory, "swift.conf", swift_conf)
    swift.common.utils.SWIFT_CONF_FILE = os.path.join(directory, "swift.conf")
    for kind, port in zip(KINDS, ports):
        make_ring(directory, kind, int(port))
        text = f"[pipeline:main]\npipeline = {kind}-server\n[app:{kind}-server]\nuse = egg:swift#{kind}\n"
        write(directory, f"{kind}-server.conf", defaults(directory, port) + text)
    write(directory, "proxy-server.conf", defaults(directory, ports[3]) + PROXY.format(secret=secret))
    names = [f"{kind}-server" for kind in (*KINDS, "proxy")]
    servers = []
    for line in sys.stdin:
        if line.strip() == "start":
            servers = [serve(directory, name) for name in names]
        else:
            kill(servers)
            servers = []
        print("done", flush=True)
    kill(servers)


main()
