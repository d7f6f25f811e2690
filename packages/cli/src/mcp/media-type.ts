/** Finds a file's media type: for a picture, by the first bytes; for any other file, by the end of the name. */

const PICTURES: readonly (readonly [mediaType: string, starts: string])[] = [
  ['image/png', '\x89PNG\r\n\x1a\n'],
  ['image/jpeg', '\xff\xd8\xff'],
  ['image/gif', 'GIF8'],
];

const BY_ENDING: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  htm: 'text/html',
  html: 'text/html',
  json: 'application/json',
  log: 'text/plain',
  md: 'text/markdown',
  pdf: 'application/pdf',
  svg: 'image/svg+xml',
  tsv: 'text/tab-separated-values',
  txt: 'text/plain',
  xml: 'application/xml',
};

/** The media type of a file; `application/octet-stream` if neither its bytes nor its name shows the type. */
export function mediaTypeOf(path: string, bytes: Uint8Array): string {
  const start = Buffer.from(bytes.subarray(0, 12)).toString('latin1');
  const picture = PICTURES.find(([, starts]) => start.startsWith(starts));
  if (picture !== undefined) return picture[0];
  if (start.startsWith('RIFF') && start.endsWith('WEBP')) return 'image/webp';
  const ending = path.slice(path.lastIndexOf('.') + 1).toLowerCase();
  return BY_ENDING[ending] ?? 'application/octet-stream';
}

/** Whether a model can see a file of this type as a picture. */
export function isPicture(mediaType: string): boolean {
  return mediaType === 'image/webp' || PICTURES.some(([picture]) => picture === mediaType);
}

/** The file as text if it is UTF-8 without NUL; null for any other file. */
export function textOf(bytes: Uint8Array): string | null {
  if (bytes.includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
