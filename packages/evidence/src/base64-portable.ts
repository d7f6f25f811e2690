/** Base64 with functions that every platform has. It follows the rules in `base64.ts`, which prefers newer functions. */

/** How many bytes are encoded at once. The limit exists because a function takes a limited number of arguments. */
const CHUNK_BYTES = 0x2000;

/** The bytes of a text whose alphabet the caller has checked; null if the text is not canonical. */
export function decodePortable(text: string): Uint8Array<ArrayBuffer> | null {
  const standard = text.replaceAll('-', '+').replaceAll('_', '/');
  try {
    const bytes = Uint8Array.from(atob(standard), (character) => character.charCodeAt(0));
    return encodePortable(bytes) === standard ? bytes : null;
  } catch {
    return null;
  }
}

/** Base64 in the standard alphabet, padded. */
export function encodePortable(bytes: Uint8Array): string {
  let characters = '';
  for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
    characters += String.fromCharCode(...bytes.subarray(start, start + CHUNK_BYTES));
  }
  return btoa(characters);
}
