#!/usr/bin/env python3
"""Audits jobs with Python's own library and openssl: chains, receipts, results, statements. It shares no code with the service.

  auditor.py --public-key key.pem --tenant acme DIRECTORY...
Each directory has one job, as `vouchbox export` writes it or fetch_job.py saves it from a service. Without a public key, only
chains and receipts are audited. Each job gets one line: good, or bad and the fault.
"""
import argparse, base64, hashlib, json, pathlib, subprocess, sys, tempfile  # noqa: E401
from decimal import Decimal

MEDIA_TYPE = "application/vnd.svc.execution-result.v1+json"
DIGESTED = {"code_sha256": "code", "stdin_sha256": "stdin", "policy_sha256": "policy.json"}
LINKED = "data job_id kind seq timestamp".split()
OUTCOME = "job_id status exit_code signal terminal_reason created_at started_at finished_at duration_ms receipt_sha256".split()
BESIDE = "salt tenantJobNumber also".split()
STATED = "job_id status exit_code finished_at isolation_class networking receipt_sha256".split()


def need(holds, what):
    if not holds:
        raise ValueError(what)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def parse(data):
    def unique(pairs):
        need(len(dict(pairs)) == len(pairs), "a member named twice")
        return dict(pairs)
    return json.loads(data, object_pairs_hook=unique)


def text(value):
    """RFC 8785."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(text(name) + ":" + text(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text, value)) + "]"
    if not isinstance(value, float):
        return json.dumps(value, ensure_ascii=False)
    if 1e-6 <= abs(value) < 1e21 or value == 0:
        return str(int(value)) if value == int(value) else format(Decimal(repr(value)), "f")
    mantissa, exponent = repr(value).split("e")
    return f"{mantissa}e{int(exponent):+d}"


def canonical(value):
    return text(value).encode()


def data_of(events, kind):
    return [event["data"] for event in events if event["kind"] == kind]


def audit_chain(events, receipt):
    head, hashed, summary = "0" * 64, 0, receipt["event_chain"]
    for seq, event in enumerate(events, 1):
        digest = sha256(b"svc.event.v1\n" + canonical({**{name: event[name] for name in LINKED}, "prev_hash": head}))
        links = event["hash_version"], event["prev_hash"], event["event_hash"]
        is_migrated = links == (0, None, None) and hashed == 0
        is_next = links == (1, head, digest) and hashed < summary["count"]
        need((event["seq"], event["job_id"]) == (seq, receipt["job_id"]) and (is_next or is_migrated), f"event {seq}")
        head, hashed = (digest, hashed + 1) if is_next else (head, hashed)
    need(hashed == summary["count"], f"event {len(events) + 1}")
    need((summary["head"], summary["complete"]) == (head, hashed == len(events)), f"event {len(events)}")


def audit_receipt(events, receipt, submitted):
    unsealed = {name: value for name, value in receipt.items() if name != "receipt_sha256"}
    stated = {"receipt_sha256": sha256(canonical(unsealed)), **{name: sha256(data) for name, data in submitted.items()}}
    output = {"encoding": "utf8-event-lines-joined-by-lf-no-trailing-lf"}
    for stream in ("stdout", "stderr"):
        lines = [record["text"] for record in data_of(events, stream)]
        joined = "\n".join(lines).encode()
        output |= {f"{stream}_bytes": len(joined), f"{stream}_records": len(lines), f"{stream}_sha256": sha256(joined)}
    stated |= {"output": output, "output_artifacts": data_of(events, "artifact"), **events[-1]["data"]}
    stated["large_outputs"] = data_of(events, "large_output")
    for name, value in stated.items():
        need(receipt.get(name, value) == value, name)
    need([event["seq"] for event in events if event["kind"] == "finished"] == [len(events)], "finished")


def expected_result(events, receipt, tenant):
    def fold(stream):
        return "".join(line["text"] + ("" if line.get("partial") else "\n") for line in data_of(events, stream))
    return {
        **{name: receipt[name] for name in OUTCOME}, "_type": "urn:svc:execution-result:v1",
        "schema_version": 1, "tenant": tenant,
        "stdout": fold("stdout"), "stderr": fold("stderr"), "violations": data_of(events, "violation"),
        "truncated": receipt.get("truncated", data_of(events, "truncated") != []),
    }


def expected_statement(receipt, tenant, result, beside):
    camel = {name: name[0] + name.title().replace("_", "")[1:] for name in STATED}
    return {
        "_type": "https://in-toto.io/Statement/v1", "predicateType": "urn:svc:predicate:execution-result:v1",
        "subject": [
            {"name": f"svc://jobs/{receipt['job_id']}/result", "mediaType": MEDIA_TYPE, "digest": {"sha256": sha256(result)}},
        ],
        "predicate": {
            **{camel[name]: receipt.get(name) for name in STATED}, "tenant": tenant, "receipt": receipt,
            "eventChainHead": receipt["event_chain"]["head"], "eventCount": receipt["event_chain"]["count"],
            "resultMediaType": MEDIA_TYPE, "resultSizeBytes": len(result), **beside,
        },
    }


def audit_attestation(events, receipt, envelope, result, options):
    signed = parse(envelope)
    payload, kind = base64.b64decode(signed["payload"], validate=True), signed["payloadType"].encode()
    with tempfile.TemporaryDirectory() as scratch:
        message, signature = pathlib.Path(scratch, "message"), pathlib.Path(scratch, "signature")
        message.write_bytes(b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload))
        signature.write_bytes(base64.b64decode(signed["signatures"][0]["sig"], validate=True))
        key = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", options.public_key]
        verified = subprocess.run([*key, "-rawin", "-in", message, "-sigfile", signature], capture_output=True)
    need(verified.returncode == 0, "signature")
    # These members are in no other file, so the audit takes the signed values.
    beside = {name: value for name, value in parse(payload)["predicate"].items() if name in BESIDE}
    need(len(bytes.fromhex(beside.get("salt", "00" * 16))) == 16, "salt")
    need(payload == canonical(expected_statement(receipt, options.tenant, result, beside)), "statement")
    need(result == canonical(expected_result(events, receipt, options.tenant)), "result")


def audit(directory, options):
    try:
        files = {path.name: path.read_bytes() for path in pathlib.Path(directory).iterdir() if path.is_file()}
        events, receipt = [parse(line) for line in files["events.ndjson"].splitlines()], parse(files["receipt.json"])
        audit_chain(events, receipt)
        audit_receipt(events, receipt, {name: files[file] for name, file in DIGESTED.items() if file in files})
        if options.public_key:
            audit_attestation(events, receipt, files["attestation.dsse.json"], files["result.json"], options)
        return f"good {len(events)}"
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        return f"bad {error}" if type(error) is ValueError else f"bad malformed: {error!r}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("--public-key", "--tenant"):
        parser.add_argument(option)
    parser.add_argument("directories", nargs="+")
    options = parser.parse_args()
    verdicts = [audit(directory, options) for directory in options.directories]
    print("\n".join(f"{directory} {verdict}" for directory, verdict in zip(options.directories, verdicts)))
    sys.exit(not all(verdict.startswith("good") for verdict in verdicts))
