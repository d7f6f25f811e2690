#!/usr/bin/env python3
"""Writes ../dsse/verifier-cases.json: whole runs of an attestation verifier, each with the exit code it must give.

Deterministic, and independent of the code under test: no clock, no randomness, no OpenSSL, no Node. Exit codes: 0 good,
2 signature or key, 3 subject digest, 4 profile.
"""

import base64
import hashlib
import json
import pathlib

import ed25519

SIGNATURE, SUBJECT, PROFILE = 2, 3, 4

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:svc:predicate:execution-result:v1"
RESULT_TYPE = "urn:svc:execution-result:v1"
MEDIA_TYPE = "application/vnd.svc.execution-result.v1+json"

JOB, TENANT = "job_0197c0de-0000-7000-8000-0000000000aa", "acme"
NAME = f"svc://jobs/{JOB}/result"
FINISHED = "2026-01-01T00:00:01.000Z"

KEY_1, KEY_2 = ed25519.TEST_1, ed25519.TEST_2
PUBLIC_1, PUBLIC_2 = ed25519.public_key(KEY_1), ed25519.public_key(KEY_2)
REMOVED = object()


def canonical(value):
    """RFC 8785, for values whose names and numbers are plain: ASCII names, small integers."""
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False).encode()


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def b64(data):
    return base64.b64encode(data).decode()


def b64url(data):
    return base64.urlsafe_b64encode(data).decode()


def spki(raw, oid="2b6570"):
    return bytes.fromhex(f"302a30050603{oid}032100") + raw


def pem(der, label="PUBLIC KEY"):
    return f"-----BEGIN {label}-----\n{b64(der)}\n-----END {label}-----\n"


def key_id(raw):
    return "sha256:" + sha256(spki(raw))


def pae(payload_type, payload):
    kind = payload_type.encode()
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def changed(value, **changes):
    """A copy with members replaced, or left out if their change is REMOVED."""
    return {k: v for k, v in {**value, **changes}.items() if v is not REMOVED}


def sealed(receipt):
    return changed(receipt, receipt_sha256=sha256(canonical(changed(receipt, receipt_sha256=REMOVED))))


RECEIPT = sealed({
    "schema_version": 4,
    "job_id": JOB,
    "tenant": TENANT,
    "status": "succeeded",
    "exit_code": 0,
    "signal": None,
    "terminal_reason": "exited",
    "created_at": "2026-01-01T00:00:00.000Z",
    "started_at": "2026-01-01T00:00:00.500Z",
    "finished_at": FINISHED,
    "duration_ms": 500,
    "isolation_class": "gvisor-application-kernel",
    "networking": "disabled",
    "event_chain": {"hash_version": 1, "genesis": "0" * 64, "head": "cd" * 32, "count": 4, "complete": True},
})

RESULT_VALUE = {
    "_type": RESULT_TYPE,
    "schema_version": 1,
    "tenant": TENANT,
    "job_id": JOB,
    "status": "succeeded",
    "exit_code": 0,
    "signal": None,
    "terminal_reason": "exited",
    "created_at": RECEIPT["created_at"],
    "started_at": RECEIPT["started_at"],
    "finished_at": FINISHED,
    "duration_ms": 500,
    "truncated": False,
    "receipt_sha256": RECEIPT["receipt_sha256"],
    "stdout": "hi\n",
    "stderr": "",
    "violations": [],
}
RESULT = canonical(RESULT_VALUE)


def predicate(result=RESULT, **changes):
    return changed({
        "tenant": TENANT,
        "jobId": JOB,
        "status": "succeeded",
        "exitCode": 0,
        "finishedAt": FINISHED,
        "isolationClass": "gvisor-application-kernel",
        "networking": "disabled",
        "resultMediaType": MEDIA_TYPE,
        "resultSizeBytes": len(result),
        "receiptSha256": RECEIPT["receipt_sha256"],
        "eventChainHead": "cd" * 32,
        "eventCount": 4,
        "receipt": RECEIPT,
    }, **changes)


def subject(result=RESULT, **changes):
    return changed({"name": NAME, "mediaType": MEDIA_TYPE, "digest": {"sha256": sha256(result)}}, **changes)


def statement(result=RESULT, **changes):
    return changed({
        "_type": STATEMENT_TYPE,
        "subject": [subject(result)],
        "predicateType": PREDICATE_TYPE,
        "predicate": predicate(result),
    }, **changes)


BODY = canonical(statement())


def envelope(body=BODY, payload_type=PAYLOAD_TYPE, key=KEY_1, signed_type=None, keyid=None, encode=b64):
    signature = ed25519.sign(key, pae(signed_type or payload_type, body))
    hint = key_id(ed25519.public_key(key)) if keyid is None else keyid
    return {
        "payload": encode(body),
        "payloadType": payload_type,
        "signatures": [{"keyid": hint, "sig": encode(signature)}],
    }


def signed(**changes):
    """A validly signed envelope around the statement with these changes."""
    return envelope(canonical(statement(**changes)))


def predicated(**changes):
    """A validly signed envelope around the statement with these changes to its predicate."""
    return signed(predicate=predicate(**changes))


GOOD = envelope()
GOOD_BYTES = json.dumps(GOOD).encode()
GOOD_SIG = base64.b64decode(GOOD["signatures"][0]["sig"])
GOOD_SIG_TEXT = GOOD["signatures"][0]["sig"]

CASES = []


def case(id, exit_code, content, why, basis="", result=RESULT, key=None, tenant=TENANT, name=NAME, media=MEDIA_TYPE):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    CASES.append({
        "id": id,
        "exit": exit_code,
        "why": why,
        "basis": basis,
        "envelope_b64": b64(data),
        "subject_b64": b64(result),
        "public_key_pem": pem(spki(PUBLIC_1)) if key is None else key,
        "tenant": tenant,
        "subject_name": name,
        "media_type": media,
    })


def with_signatures(*signatures):
    return {**GOOD, "signatures": list(signatures)}


def with_sig(data):
    return with_signatures({"sig": data if isinstance(data, str) else b64(data)})


def accepted():
    case("ok", 0, GOOD, "baseline")
    case("ok-urlsafe-b64", 0, envelope(encode=b64url), "verifiers MUST accept either base64 alphabet", "DSSE protocol.md")
    case("ok-unknown-envelope-field", 0, {**GOOD, "x": 1}, "consumers MUST ignore unrecognized fields", "DSSE envelope.md")
    case("ok-no-keyid", 0, with_sig(GOOD_SIG), "keyid is optional", "DSSE envelope.md")
    case("ok-empty-keyid", 0, with_signatures({"keyid": "", "sig": GOOD_SIG_TEXT}), "unset is as empty", "DSSE envelope.md")
    case("ok-wrong-keyid-hint", 0, envelope(keyid="sha256:" + "00" * 32),
         "keyid is unauthenticated and MUST NOT be used for security decisions; the pinned key decides", "DSSE protocol.md")
    case("ok-extra-unverifiable-sig", 0, with_signatures({"keyid": "other", "sig": b64(b"\1" * 64)}, GOOD["signatures"][0]),
         "failed signatures are skipped, one accepted key suffices", "DSSE multi-signature")
    case("ok-unknown-statement-field", 0, signed(x=1), "consumers MUST ignore unrecognized fields", "in-toto v1 parsing rules")
    case("ok-unknown-predicate-field", 0, predicated(x=1), "consumers MUST ignore unrecognized fields", "in-toto v1 parsing rules")
    case("ok-two-subjects-one-matches", 0, signed(subject=[{"name": "other", "digest": {"sha256": "00" * 32}}, subject()]),
         "one subject matches by digest, name and media type together", "in-toto validation.md")
    old = sealed(changed(RECEIPT, tenant=REMOVED, event_chain=REMOVED, isolation_class=REMOVED, networking=REMOVED))
    result = canonical(changed(RESULT_VALUE, receipt_sha256=old["receipt_sha256"]))
    about = predicate(result, receipt=old, receiptSha256=old["receipt_sha256"], eventChainHead=None, eventCount=None,
                      isolationClass=None, networking=None)
    case("ok-older-receipt", 0, envelope(canonical(statement(result, predicate=about))),
         "an older receipt may lack the tenant, posture and chain; it is embedded unchanged", result=result)


def broken_envelopes():
    case("empty-file", SIGNATURE, b"", "not JSON")
    case("not-json", SIGNATURE, b"hello", "not JSON")
    case("json-array", SIGNATURE, b"[]", "not an object")
    case("json-null", SIGNATURE, b"null", "not an object")
    case("bom", SIGNATURE, b"\xef\xbb\xbf" + GOOD_BYTES, "a byte order mark is not JSON")
    case("trailing-garbage", SIGNATURE, GOOD_BYTES + b"x", "trailing bytes")
    case("two-documents", SIGNATURE, GOOD_BYTES + GOOD_BYTES, "two JSON texts")
    case("truncated", SIGNATURE, GOOD_BYTES[:-5], "truncated file")
    case("invalid-utf8", SIGNATURE, GOOD_BYTES[:-1] + b',"x":"\xff"}', "invalid UTF-8 in the envelope")
    case("deep-nesting", SIGNATURE, GOOD_BYTES[:-1] + b',"x":' + b"[" * 20000 + b"]" * 20000 + b"}",
         "must fail closed, not crash")
    case("dup-payload-key", SIGNATURE, GOOD_BYTES[:-1] + b',"payload":"e30="}', "duplicate member: first or last wins",
         "RFC 8259 s4, RFC 7493 s2.3")
    case("dup-payload-key-escaped", SIGNATURE, GOOD_BYTES[:-1] + b',"\\u0070ayload":"e30="}',
         "the same duplicate, spelled with an escape", "RFC 8259 s7, s4")
    case("dup-signatures-key", SIGNATURE, b'{"signatures":[],' + GOOD_BYTES[1:], "duplicate member")
    case("no-signatures", SIGNATURE, changed(GOOD, signatures=REMOVED), "required")
    case("empty-signatures", SIGNATURE, with_signatures(), "no signature")
    case("signatures-object", SIGNATURE, {**GOOD, "signatures": GOOD["signatures"][0]}, "wrong type")
    case("payload-missing", SIGNATURE, changed(GOOD, payload=REMOVED), "required")
    case("payload-changed", SIGNATURE, {**GOOD, "payload": b64(canonical(statement(predicate={"tenant": "evil"})))},
         "payload replaced")


def broken_signatures():
    case("sig-missing", SIGNATURE, with_signatures({"keyid": "x"}), "required")
    case("sig-null", SIGNATURE, with_signatures({"sig": None}), "wrong type")
    case("sig-empty", SIGNATURE, with_sig(""), "empty signature")
    case("sig-not-base64", SIGNATURE, with_sig("***"), "invalid base64")
    case("sig-b64-garbage-suffix", SIGNATURE, with_sig(GOOD_SIG_TEXT + "$$"), "lenient decoders skip what is not base64")
    case("sig-b64-newline", SIGNATURE, with_sig(GOOD_SIG_TEXT[:8] + "\n" + GOOD_SIG_TEXT[8:]), "white space inside")
    case("sig-b64-unpadded", SIGNATURE, with_sig(GOOD_SIG_TEXT.rstrip("=")), "padding left out: a second spelling")
    case("sig-b64-noncanonical-bits", SIGNATURE,
         with_sig(GOOD_SIG_TEXT[:-3] + chr(ord(GOOD_SIG_TEXT[-3]) + 1) + "=="),
         "non-zero pad bits: same bytes, second spelling", "RFC 4648 s3.5")
    case("sig-hex", SIGNATURE, with_sig(GOOD_SIG.hex()), "hex is not the encoding")
    case("sig-63", SIGNATURE, with_sig(GOOD_SIG[:63]), "truncated")
    case("sig-65", SIGNATURE, with_sig(GOOD_SIG + b"\0"), "trailing byte")
    case("sig-bitflip", SIGNATURE, with_sig(bytes([GOOD_SIG[0] ^ 1]) + GOOD_SIG[1:]), "bit flip")
    s_plus_l = (int.from_bytes(GOOD_SIG[32:], "little") + ed25519.Q).to_bytes(32, "little")
    case("sig-S-plus-L", SIGNATURE, with_sig(GOOD_SIG[:32] + s_plus_l), "malleability: S >= L is refused", "RFC 8032 s5.1.7")
    case("sig-zero", SIGNATURE, with_sig(bytes(64)), "all zero")
    case("sig-identity-R", SIGNATURE, with_sig(b"\1" + bytes(63)), "R = identity, S = 0 under a normal key")
    case("sig-over-payload-not-pae", SIGNATURE, with_sig(ed25519.sign(KEY_1, BODY)), "signature over the raw payload")
    case("sig-over-b64-payload", SIGNATURE, with_sig(ed25519.sign(KEY_1, pae(PAYLOAD_TYPE, b64(BODY).encode()))),
         "PAE over the base64 text")
    case("sig-over-other-type", SIGNATURE, envelope(signed_type="text/plain"), "payloadType substituted after signing")
    case("sig-low-byte-type", SIGNATURE, envelope(payload_type="\u0161pplication/vnd.in-toto+json", signed_type=PAYLOAD_TYPE),
         "an encoder that keeps low bytes only would take U+0161 for the letter a")
    case("other-key", SIGNATURE, envelope(key=KEY_2), "signed by another key, with its own keyid")
    case("other-key-claims-keyid", SIGNATURE, envelope(key=KEY_2, keyid=key_id(PUBLIC_1)),
         "signed by another key, with the keyid of the pinned one")


def broken_statements():
    case("type-generic-json", PROFILE, envelope(payload_type="application/json"), "validly signed, other payloadType")
    case("type-uppercase", PROFILE, envelope(payload_type="application/VND.in-toto+json"), "payloadType is case-sensitive")
    case("type-empty", PROFILE, envelope(payload_type=""), "empty type")
    case("type-params", PROFILE, envelope(payload_type=PAYLOAD_TYPE + "; charset=utf-8"), "no parameters")
    case("payload-not-json", PROFILE, envelope(b"hello"), "signed non-JSON")
    case("payload-array", PROFILE, envelope(b"[]"), "signed array")
    case("payload-invalid-utf8", PROFILE, envelope(BODY[:-1] + b',"x":"\xff"}'), "signed invalid UTF-8")
    case("dup-statement-subject", PROFILE, envelope(BODY[:-1] + b',"subject":[]}'), "duplicate member inside", "RFC 7493")
    case("stmt-type-v2", PROFILE, signed(_type="https://in-toto.io/Statement/v2"), "wrong _type", "in-toto")
    case("stmt-type-v01", PROFILE, signed(_type="https://in-toto.io/Statement/v0.1"), "the profile is Statement/v1 only")
    case("stmt-type-host", PROFILE, signed(_type="https://not-in-toto.io/Statement/v1"), "wrong _type")
    case("stmt-no-subject", PROFILE, signed(subject=REMOVED), "required")
    case("stmt-empty-subject", PROFILE, signed(subject=[]), "at least one subject")
    case("pred-type-other", PROFILE, signed(predicateType="https://slsa.dev/provenance/v1"), "other predicateType")
    case("pred-type-missing", PROFILE, signed(predicateType=REMOVED), "required")
    case("pred-missing", PROFILE, signed(predicate=REMOVED), "the tenant cannot be checked")


def broken_subjects():
    digest = sha256(RESULT)
    wrong = "00" * 32
    case("subj-no-digest", PROFILE, signed(subject=[{"name": NAME}]), "digest required")
    case("subj-empty-digest", PROFILE, signed(subject=[subject(digest={})]), "digest required")
    case("subj-digest-upper", PROFILE, signed(subject=[subject(digest={"sha256": digest.upper()})]),
         "lower-case hex is the named encoding", "digest_set.md")
    case("subj-digest-short", PROFILE, signed(subject=[subject(digest={"sha256": digest[:62]})]), "length")
    case("subj-only-md5", SUBJECT, signed(subject=[subject(digest={"md5": hashlib.md5(RESULT).hexdigest()})]),
         "an algorithm that is not taken")
    case("subj-sha256-wrong-sha1-right", SUBJECT,
         signed(subject=[subject(digest={"sha256": wrong, "sha1": hashlib.sha1(RESULT).hexdigest()})]), "sha256 must match")
    case("subj-digest-wrong", SUBJECT, signed(subject=[subject(digest={"sha256": wrong})]), "digest mismatch")
    case("subj-name-other-job", PROFILE, signed(subject=[subject(name="svc://jobs/OTHER/result")]), "names another job")
    case("subj-name-missing", PROFILE, signed(subject=[subject(name=REMOVED)]), "names no job")
    case("subj-split-name-digest", PROFILE,
         signed(subject=[subject(digest={"sha256": wrong}), {"name": "other", "digest": {"sha256": digest}}]),
         "the name of one subject and the digest of another must not be combined")
    case("subj-media-other", PROFILE,
         signed(subject=[subject(mediaType="text/plain")], predicate=predicate(resultMediaType="text/plain")),
         "media type differs from the expected one")
    case("subject-one-byte", SUBJECT, GOOD, "subject file changed", result=RESULT + b"\n")
    case("subject-reencoded", SUBJECT, GOOD, "subject decoded and encoded again",
         result=json.dumps(json.loads(RESULT), indent=1).encode())
    case("subject-empty", SUBJECT, GOOD, "empty subject file", result=b"")


def broken_predicates():
    case("pred-tenant-other", PROFILE, predicated(tenant="other"), "tenant differs from the expected one")
    case("pred-tenant-missing", PROFILE, predicated(tenant=REMOVED), "tenant missing")
    case("pred-tenant-case", PROFILE, predicated(tenant="ACME"), "exact comparison")
    case("pred-tenant-array", PROFILE, predicated(tenant=["acme"]), "type confusion")
    without_tenant = canonical(statement(predicate=predicate(tenant=REMOVED)))
    case("pred-tenant-proto", PROFILE, envelope(without_tenant[:-1] + b',"__proto__":{"tenant":"acme"}}'),
         "__proto__ of the statement must not supply the tenant")
    inner = canonical(predicate(tenant=REMOVED))
    proto = inner[:-1] + b',"__proto__":{"tenant":"acme"}}'
    case("pred-own-proto", PROFILE, envelope(without_tenant.replace(inner, proto)),
         "__proto__ of the predicate must not supply the tenant")
    case("pred-job-other", PROFILE, predicated(jobId="job_other"), "another job than the subject's name")
    case("pred-status-unknown", PROFILE, predicated(status="great"), "no terminal status")
    case("pred-status-contradicts", PROFILE, predicated(status="failed"), "says something else than its receipt")
    case("pred-exit-contradicts", PROFILE, predicated(exitCode=1), "says something else than its receipt")
    case("pred-isolation-contradicts", PROFILE, predicated(isolationClass="confidential-vm"), "claims more than its receipt")
    case("pred-networking-contradicts", PROFILE, predicated(networking="host"), "says something else than its receipt")
    case("pred-chain-contradicts", PROFILE, predicated(eventCount=3), "another count than its receipt")
    case("pred-size-other", PROFILE, predicated(resultSizeBytes=len(RESULT) + 1), "another size than the subject")
    case("pred-media-other", PROFILE, predicated(resultMediaType="text/plain"), "another media type than the subject")
    case("pred-receipt-missing", PROFILE, predicated(receipt=REMOVED), "no receipt")
    case("pred-receipt-changed", PROFILE, predicated(receipt={**RECEIPT, "duration_ms": 1}), "receipt without its digest")
    case("pred-receipt-digest-other", PROFILE, predicated(receiptSha256="ab" * 32), "not the digest of the receipt")
    foreign = sealed({**RECEIPT, "tenant": "other"})
    case("pred-receipt-foreign", PROFILE, predicated(receipt=foreign, receiptSha256=foreign["receipt_sha256"]),
         "the receipt of another tenant")
    for name, change in (("type", {"_type": "urn:other"}), ("version", {"schema_version": 2}), ("tenant", {"tenant": "other"}),
                         ("job", {"job_id": "job_other"}), ("status", {"status": "failed"}),
                         ("receipt", {"receipt_sha256": "ab" * 32})):
        result = canonical({**RESULT_VALUE, **change})
        case(f"result-{name}-other", PROFILE, envelope(canonical(statement(result))),
             "validly signed, but the result does not say what the predicate says of it", result=result)


def broken_arguments():
    case("arg-tenant-other", PROFILE, GOOD, "the caller expects another tenant", tenant="other")
    case("arg-name-other", PROFILE, GOOD, "the caller expects another job", name="svc://jobs/OTHER/result")
    case("arg-media-other", PROFILE, GOOD, "the caller expects another media type", media="application/json")


def broken_keys():
    points = {
        "identity": "01" + "00" * 31,
        "order2": "ec" + "ff" * 30 + "7f",
        "order4": "00" * 32,
        "order8": "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "noncanonical-p": "ed" + "ff" * 30 + "7f",
        "noncanonical-p+1": "ee" + "ff" * 30 + "7f",
        "offcurve-y2": "02" + "00" * 31,
    }
    for name, point in points.items():
        case(f"key-{name}", SIGNATURE, with_signatures({"keyid": "", "sig": b64(b"\1" + bytes(63))}),
             "a weak or invalid pinned key is refused when it is read", key=pem(spki(bytes.fromhex(point))))
    pkcs8 = bytes.fromhex("302e020100300506032b657004220420") + KEY_1
    case("key-pem-private", SIGNATURE, GOOD, "a private key given as public key", key=pem(pkcs8, "PRIVATE KEY"))
    case("key-pem-private-labelled-public", SIGNATURE, GOOD, "a private key under a public label", key=pem(pkcs8))
    case("key-pem-two", SIGNATURE, GOOD, "two PEM blocks", key=pem(spki(PUBLIC_2)) + pem(spki(PUBLIC_1)))
    case("key-pem-x25519", SIGNATURE, GOOD, "X25519 SPKI", key=pem(spki(PUBLIC_1, oid="2b656e")))
    case("key-pem-trailing-der", SIGNATURE, GOOD, "SPKI with trailing bytes", key=pem(spki(PUBLIC_1) + b"\0"))
    case("key-pem-leading-text", SIGNATURE, GOOD, "text before the block", key="# pinned\n" + pem(spki(PUBLIC_1)))
    case("key-pem-empty", SIGNATURE, GOOD, "empty PEM", key="")


def main():
    for group in (accepted, broken_envelopes, broken_signatures, broken_statements, broken_subjects, broken_predicates,
                  broken_arguments, broken_keys):
        group()
    document = {
        "about": "Inputs of an offline verifier and the exit code it must give. envelope_b64 and subject_b64 are file bytes.",
        "key_ids": {"rfc8032-test1": key_id(PUBLIC_1), "rfc8032-test2": key_id(PUBLIC_2)},
        "cases": CASES,
    }
    target = pathlib.Path(__file__).resolve().parent.parent / "dsse" / "verifier-cases.json"
    target.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{len(CASES)} cases")


main()
