/**
 * Texts sealed for the nodes of one store. Every role that may connect to the database can listen to a channel and send messages
 * to it, so a message has no content that such a role could read or forge.
 */
import { createCipheriv, createDecipheriv, randomUUID } from 'node:crypto';
import { sha256Hex } from '@vouchbox/evidence';

const ALGORITHM = 'aes-256-gcm';
/** The length of a UUID, of which 122 bits are random. */
const saltChars = 36;
const tagBytes = 16;
/** The key differs from text to text, so the nonce need not differ. */
const NONCE = Buffer.alloc(12);

/** The text encrypted under the store's key: a salt, then Base64. */
export function sealed(text: string, key: string): string {
  const salt = randomUUID();
  const cipher = createCipheriv(ALGORITHM, keyFor(salt, key), NONCE);
  return salt + Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64');
}

/** The original text; null if it was not sealed under this key, or was changed. */
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
