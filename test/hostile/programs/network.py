# Tries to reach each target over TCP and UDP, to use other kinds of sockets, and to look up a name. Prints the answers, and
# the interfaces and abstract sockets that exist here. `@TARGETS@` is a JSON list of [address, port].
import errno
import json
import os
import socket
import struct


def attempt(action):
    try:
        return action() or "ok"
    except socket.gaierror:
        return "no name"
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))


def connect(family, kind, address):
    with socket.socket(family, kind) as opened:
        opened.settimeout(0.3)
        opened.connect(address)
        if kind == socket.SOCK_DGRAM:
            opened.send(b"out")


answers = {}
for address, port in json.loads('@TARGETS@'):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for name, kind in (("tcp", socket.SOCK_STREAM), ("udp", socket.SOCK_DGRAM)):
        answers[f"{name} {address} {port}"] = attempt(lambda: connect(family, kind, (address, port)))
answers["icmp"] = attempt(lambda: connect(socket.AF_INET, socket.SOCK_RAW, ("127.0.0.1", 0)))
answers["packet"] = attempt(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close())
answers["netlink"] = attempt(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close())
answers["vsock"] = attempt(lambda: connect(socket.AF_VSOCK, socket.SOCK_STREAM, (2, 1)))
answers["name"] = attempt(lambda: socket.getaddrinfo("example.org", 80) and None)
with open("/proc/net/dev") as file:
    interfaces = [line.split(":")[0].strip() for line in file if ":" in line]
abstract = []
if os.path.exists("/proc/net/unix"):
    with open("/proc/net/unix") as file:
        abstract = [line.split()[-1] for line in file if "@" in line]
print(json.dumps({"answers": answers, "interfaces": interfaces, "abstract": abstract}))
