/** Recognises raster pictures by their first bytes. SVG is not recognised, because it can hold scripts. */

const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const JPEG = [0xff, 0xd8, 0xff];
const GIF = [0x47, 0x49, 0x46, 0x38];
const RIFF = [0x52, 0x49, 0x46, 0x46];
const WEBP = [0x57, 0x45, 0x42, 0x50];
/** The offset at which a RIFF file states its kind. */
const riffKindBytes = 8;

/** The media type of a picture; null if the bytes are no picture of a kind that is shown. */
export function pictureTypeOf(bytes: Uint8Array): string | null {
  if (hasAt(bytes, 0, PNG)) return 'image/png';
  if (hasAt(bytes, 0, JPEG)) return 'image/jpeg';
  if (hasAt(bytes, 0, GIF)) return 'image/gif';
  return hasAt(bytes, 0, RIFF) && hasAt(bytes, riffKindBytes, WEBP) ? 'image/webp' : null;
}

function hasAt(bytes: Uint8Array, place: number, wanted: readonly number[]): boolean {
  return wanted.every((byte, index) => bytes[place + index] === byte);
}
