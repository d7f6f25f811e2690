# Prints `listening`. Then, if a process on this host takes a name that begins with the mark, prints the part after the mark.
# Linux, Documentation/driver-api/connector.rst; include/uapi/linux/cn_proc.h.
import os
import socket
import struct
import sys

MARK = sys.argv[1].encode()
NETLINK_CONNECTOR, CN_IDX_PROC, CN_VAL_PROC, PROC_CN_MCAST_LISTEN = 11, 1, 1, 1
PROC_EVENT_COMM = 0x200
SO_RCVBUFFORCE = 33
HEADER, MESSAGE = 16, 20  # nlmsghdr, cn_msg
EVENT = HEADER + MESSAGE
NAME = EVENT + 16 + 8  # after the fields what, cpu, timestamp and two process ids

news = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_CONNECTOR)
news.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)
news.bind((os.getpid(), CN_IDX_PROC))
wish = struct.pack("=I", PROC_CN_MCAST_LISTEN)
message = struct.pack("=IIIIHH", CN_IDX_PROC, CN_VAL_PROC, 0, 0, len(wish), 0) + wish
news.send(struct.pack("=IHHII", HEADER + len(message), 3, 0, 0, os.getpid()) + message)
print("listening")
while True:
    event = news.recv(4096)
    if struct.unpack_from("=I", event, EVENT)[0] != PROC_EVENT_COMM:
        continue
    name = event[NAME : NAME + 16].rstrip(b"\0")
    if name.startswith(MARK):
        print(name[len(MARK) :].decode())
