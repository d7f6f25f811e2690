#!/usr/bin/env python3
"""Prints good or bad for each DSSE envelope, with python3-cryptography: verify_with_cryptography.py KEY.pem ENVELOPE..."""
import base64
import json
import sys

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import load_pem_public_key

key = load_pem_public_key(open(sys.argv[1], "rb").read())
for path in sys.argv[2:]:
    envelope = json.load(open(path))
    kind, payload = envelope["payloadType"].encode(), base64.b64decode(envelope["payload"], validate=True)
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    try:
        key.verify(base64.b64decode(envelope["signatures"][0]["sig"], validate=True), message)
        print("good")
    except InvalidSignature:
        print("bad")
