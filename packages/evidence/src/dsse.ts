/**
 * The Dead Simple Signing Envelope: a payload, its type, and signatures over both. It is written in one canonical form
 * and read strictly. DSSE v1.0.2, protocol and envelope.
 */
import { decodeBase64, encodeBase64 } from './base64.ts';
import { canonicalJson } from './canonical-json.ts';
import { isJsonObject, parseStrictJson, type Refused, refused } from './strict-json.ts';

/** One signature as the envelope states it. `keyid` is an unauthenticated hint and decides nothing. */
export interface EnvelopeSignature {
  readonly keyid: string;
  readonly sig: Uint8Array<ArrayBuffer>;
}

/** A decoded envelope, with the bytes that were signed. */
export interface Envelope {
  readonly payloadType: string;
  readonly payload: Uint8Array<ArrayBuffer>;
  readonly signatures: readonly EnvelopeSignature[];
}

export type EnvelopeResult = { readonly kind: 'envelope'; readonly envelope: Envelope } | Refused;

/** The most signatures that are tried. The service's envelopes have one. */
const SIGNATURES_MAX = 16;

/**
 * The bytes that a signature covers: the type and the payload. Each follows its length in bytes, so that neither can be taken for
 * the other.
 */
export function preAuthEncoding(payloadType: string, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const type = encoder.encode(payloadType);
  const head = encoder.encode(`DSSEv1 ${type.length} ${payloadType} ${payload.length} `);
  const bytes = new Uint8Array(head.length + payload.length);
  bytes.set(head);
  bytes.set(payload, head.length);
  return bytes;
}

/** The envelope's bytes as they are stored and served: RFC 8785, standard base64. */
export function encodeEnvelope({ payloadType, payload, signatures }: Envelope): Uint8Array<ArrayBuffer> {
  const others = canonicalJson({
    payloadType,
    signatures: signatures.map(({ keyid, sig }) => ({ keyid, sig: encodeBase64(sig) })),
  });
  // `payload` is long and comes first, and its base64 needs no escapes.
  return new TextEncoder().encode(`{"payload":"${encodeBase64(payload)}",${others.slice(1)}`);
}

/** Reads an envelope. Unknown members are ignored, as DSSE asks; known members must be exactly right. */
export function decodeEnvelope(bytes: Uint8Array): EnvelopeResult {
  const json = parseStrictJson(bytes);
  if (json.kind === 'refused') return json;
  if (!isJsonObject(json.value)) return refused('it is not a JSON object');
  const { payload, payloadType, signatures } = json.value;
  if (typeof payloadType !== 'string') return refused('it has no payloadType');
  const payloadBytes = typeof payload === 'string' ? decodeBase64(payload) : null;
  if (payloadBytes === null) return refused('its payload is not canonical base64');
  const decoded = decodeSignatures(signatures);
  if (typeof decoded === 'string') return refused(decoded);
  return { kind: 'envelope', envelope: { payloadType, payload: payloadBytes, signatures: decoded } };
}

/** The signatures, or what is wrong with them. */
function decodeSignatures(signatures: unknown): EnvelopeSignature[] | string {
  if (!Array.isArray(signatures) || signatures.length === 0) return 'it has no signatures';
  if (signatures.length > SIGNATURES_MAX) return `it has more than ${SIGNATURES_MAX} signatures`;
  const decoded: EnvelopeSignature[] = [];
  for (const signature of signatures as unknown[]) {
    if (!isJsonObject(signature)) return 'a signature is not an object';
    const { keyid = '', sig } = signature;
    if (typeof keyid !== 'string') return 'the keyid of a signature is not a string';
    const bytes = typeof sig === 'string' && sig !== '' ? decodeBase64(sig) : null;
    if (bytes === null) return 'a signature is not canonical base64';
    decoded.push({ keyid, sig: bytes });
  }
  return decoded;
}
