/**
 * Seals texts for the nodes of one store. Every role that may connect to the database can listen to a channel and send messages
 * to it. Sealed content cannot be read or forged by such a role.
 */
import { createCipheriv, createDecipheriv, randomUUID } from 'node:crypto';
import { sha256Hex } from '@vouchbox/evidence';

const ALGORITHM = 'aes-256-gcm';
/** The length of a UUID, of which 122 bits are random. */
const saltChars = 36;
const tagBytes = 16;
/** Each text has its own key, so the nonce can stay the same. */
const NONCE = Buffer.alloc(12);

/** The text encrypted under the store's key: a salt, then Base64. */
export function sealed(text: string, key: string): string {
  const salt = randomUUID();
  const cipher = createCipheriv(ALGORITHM, keyFor(salt, key), NONCE);
  return salt + Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64');
}

/** The original text; null if the text was not sealed under this key, or was changed. */
export function unsealed(text: string, key: string): string | null {
  const bytes = Buffer.from(text.slice(saltChars), 'base64');
  if (bytes.length < tagBytes) return null;
  const options = { authTagLength: tagBytes };
  const decipher = createDecipheriv(ALGORITHM, keyFor(text.slice(0, saltChars), key), NONCE, options);
  decipher.setAuthTag(bytes.subarray(-tagBytes));
  try {
    return decipher.update(bytes.subarray(0, -tagBytes), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return null;
  }
}

function keyFor(salt: string, key: string): Buffer {
  return Buffer.from(sha256Hex(`${key} ${salt}`), 'hex');
}
