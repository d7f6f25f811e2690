#!/usr/bin/env python3
"""Saves the evidence of ended jobs for auditor.py, in a directory for each job. Needs only Python's own library.

  fetch_job.py --url URL --token KEY DIRECTORY JOB_ID...
"""
import argparse, hashlib, json, pathlib, urllib.request  # noqa: E401


def get(options, path):
    headers = {"Authorization": f"Bearer {options.token}"}
    with urllib.request.urlopen(urllib.request.Request(options.url + path, headers=headers)) as answer:
        body, digest = answer.read(), answer.headers.get("X-Content-Sha256")
    if digest not in (None, hashlib.sha256(body).hexdigest()):
        raise ValueError(f"{path}: the body does not have the digest that the service states")
    return body


def files_of(job, options):
    base, events, after = f"/v1/jobs/{job}", [], 0
    while after is not None:
        page = json.loads(get(options, f"{base}/replay?limit=1000&after={after}"))
        events, after = events + page["events"], page["next_cursor"]
    detail = json.loads(get(options, base))
    spec = detail["requested_spec"]
    policy = {"allow_network": False, **{name: spec[name] for name in ("limits", "outputs", "requirements", "runtime")}}
    yield "events.ndjson", "".join(json.dumps(event) + "\n" for event in events).encode()
    yield "receipt.json", json.dumps(detail["receipt"]).encode()
    yield "code", spec["code"].encode()
    yield "policy.json", json.dumps(policy, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    yield "attestation.dsse.json", get(options, f"{base}/attestation")
    yield "result.json", get(options, f"{base}/result-artifact")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for option in ("--url", "--token"):
        parser.add_argument(option, required=True)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("jobs", nargs="+")
    options = parser.parse_args()
    for job in options.jobs:
        (options.directory / job).mkdir(parents=True)
        for name, content in files_of(job, options):
            (options.directory / job / name).write_bytes(content)
