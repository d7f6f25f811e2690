#!/usr/bin/env python3
"""Audits jobs with Python's own library and openssl: chains, receipts, results, statements. It shares no code with the service.

  auditor.py --public-key key.pem --tenant acme DIRECTORY...                     exported jobs
  auditor.py --public-key key.pem --tenant acme --url URL --token KEY JOB_ID...  jobs of a service
Without a public key only chains and receipts are audited. Each job gets one line: good, or bad and what is.
"""
import argparse, base64, hashlib, json, pathlib, subprocess, sys, tempfile, urllib.request  # noqa: E401
from decimal import Decimal

MEDIA_TYPE = "application/vnd.svc.execution-result.v1+json"


def need(holds, what):
    if not holds:
        raise ValueError(what)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def parse(data):
    """JSON without duplicate names."""
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


def audit_chain(events, receipt):
    head, hashed, summary = "0" * 64, 0, receipt["event_chain"]
    for seq, event in enumerate(events, 1):
        need(event["seq"] == seq and event["job_id"] == receipt["job_id"], f"event {seq}")
        if event["hash_version"] == 0 and hashed == 0 and event["prev_hash"] is event["event_hash"] is None:
            continue
        linked = {name: event[name] for name in ("data", "job_id", "kind", "seq", "timestamp")}
        digest = sha256(b"svc.event.v1\n" + canonical({**linked, "prev_hash": head}))
        need((event["hash_version"], event["prev_hash"], event["event_hash"]) == (1, head, digest), f"event {seq}")
        head, hashed = digest, hashed + 1
        need(hashed <= summary["count"], f"event {seq}")
    need(hashed == summary["count"], f"event {len(events) + 1}")
    need(summary["head"] == head, f"event {len(events)}")
    need(summary["complete"] == (hashed == len(events)), "event_chain.complete")


def audit_receipt(events, receipt):
    unsealed = {name: value for name, value in receipt.items() if name != "receipt_sha256"}
    need(sha256(canonical(unsealed)) == receipt["receipt_sha256"], "receipt_sha256")
    for stream in ("stdout", "stderr") if "output" in receipt else ():
        records = [event["data"]["text"] for event in events if event["kind"] == stream]
        joined = "\n".join(records).encode()
        for member, value in (("bytes", len(joined)), ("records", len(records)), ("sha256", sha256(joined))):
            need(receipt["output"][f"{stream}_{member}"] == value, f"output.{stream}_{member}")
    need([event["seq"] for event in events if event["kind"] == "finished"] == [len(events)], "finished")
    need(all(receipt[name] == value for name, value in events[-1]["data"].items()), "finished")


def expected_result(events, receipt, tenant, truncated):
    def fold(stream):
        records = [event["data"] for event in events if event["kind"] == stream]
        return "".join(record["text"] + ("" if record.get("partial") else "\n") for record in records)

    same = "job_id status exit_code signal terminal_reason created_at started_at finished_at duration_ms receipt_sha256"
    return {
        **{name: receipt[name] for name in same.split()},
        "_type": "urn:svc:execution-result:v1", "schema_version": 1, "tenant": tenant,
        "truncated": receipt.get("truncated", truncated), "stdout": fold("stdout"), "stderr": fold("stderr"),
        "violations": [event["data"] for event in events if event["kind"] == "violation"],
    }


def expected_statement(receipt, tenant, result):
    name = f"svc://jobs/{receipt['job_id']}/result"
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "mediaType": MEDIA_TYPE, "digest": {"sha256": sha256(result)}}],
        "predicateType": "urn:svc:predicate:execution-result:v1",
        "predicate": {
            "tenant": tenant, "jobId": receipt["job_id"], "status": receipt["status"], "exitCode": receipt["exit_code"],
            "finishedAt": receipt["finished_at"], "isolationClass": receipt.get("isolation_class"),
            "networking": receipt.get("networking"), "resultMediaType": MEDIA_TYPE, "resultSizeBytes": len(result),
            "receiptSha256": receipt["receipt_sha256"], "eventChainHead": receipt["event_chain"]["head"],
            "eventCount": receipt["event_chain"]["count"], "receipt": receipt,
        },
    }


def is_signed(message, signature, public_key):
    with tempfile.TemporaryDirectory() as scratch:
        files = [pathlib.Path(scratch, name) for name in ("message", "signature")]
        for file, content in zip(files, (message, signature)):
            file.write_bytes(content)
        words = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public_key, "-rawin", "-in", files[0], "-sigfile", files[1]]
        return subprocess.run(words, capture_output=True).returncode == 0


def audit_attestation(events, receipt, envelope, result, options):
    signed = parse(envelope)
    payload, kind = base64.b64decode(signed["payload"], validate=True), signed["payloadType"].encode()
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)
    signatures = [base64.b64decode(entry["sig"], validate=True) for entry in signed["signatures"]]
    need(any(is_signed(message, signature, options.public_key) for signature in signatures), "signature")
    need(payload == canonical(expected_statement(receipt, options.tenant, result)), "statement")
    need(result == canonical(expected_result(events, receipt, options.tenant, parse(result)["truncated"])), "result")


def from_directory(directory, _options):
    files = {path.name: path.read_bytes() for path in pathlib.Path(directory).iterdir() if path.is_file()}
    events = [parse(line) for line in files["events.ndjson"].splitlines()]
    return events, parse(files["receipt.json"]), lambda: (files["attestation.dsse.json"], files["result.json"])


def from_service(job, options):
    def get(path):
        request = urllib.request.Request(f"{options.url}/v1/jobs/{job}{path}", headers={"Authorization": f"Bearer {options.token}"})
        with urllib.request.urlopen(request) as answer:
            body = answer.read()
            need(answer.headers.get("X-Content-Sha256", sha256(body)) == sha256(body), "X-Content-Sha256")
            return body

    events, after = [], 0
    while after is not None:
        page = parse(get(f"/replay?limit=1000&after={after}"))
        events, after = events + page["events"], page["next_cursor"]
    return events, parse(get(""))["receipt"], lambda: (get("/attestation"), get("/result-artifact"))


def audit(job, options):
    try:
        events, receipt, attestation = (from_service if options.url else from_directory)(job, options)
        audit_chain(events, receipt)
        audit_receipt(events, receipt)
        if options.public_key:
            audit_attestation(events, receipt, *attestation(), options)
        return f"good {len(events)}"
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        return f"bad {error}" if type(error) is ValueError else f"bad malformed: {error!r}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("--public-key", "--tenant", "--url", "--token"):
        parser.add_argument(option)
    parser.add_argument("jobs", nargs="+")
    options = parser.parse_args()
    verdicts = [audit(job, options) for job in options.jobs]
    print("\n".join(f"{job} {verdict}" for job, verdict in zip(options.jobs, verdicts)))
    sys.exit(not all(verdict.startswith("good") for verdict in verdicts))
