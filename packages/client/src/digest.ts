/** SHA-256, from the platform or from the caller. */

/** SHA-256 as lower-case hex. */
export type Sha256 = (bytes: Uint8Array<ArrayBuffer>) => Promise<string> | string;

/** The platform's SHA-256. Browsers have it only for pages served with TLS or from the local host. */
export async function platformSha256(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  return hex(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}

/** 128 random bits as hex. `crypto.randomUUID` is missing from pages served without TLS. */
export function randomKey(): string {
  return hex(crypto.getRandomValues(new Uint8Array(16)));
}

export function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
