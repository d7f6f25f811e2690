/** Saves bytes as a file on the person's machine. */
export function saveBytes(bytes: Uint8Array<ArrayBuffer>, name: string): void {
  saveBlob(new Blob([bytes]), name);
}

/** Saves a file with a general media type instead of its own, so that no browser opens it as a page. */
export function saveBlob(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob.slice(0, blob.size, 'application/octet-stream'));
  const link = document.createElement('a');
  link.href = url;
  link.download = safeName(name);
  link.click();
  // Some browsers begin to read the file only after a while.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** The last part of a path, reduced to plain characters, because a program chose the path. */
function safeName(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).replaceAll(/[^\w.-]/g, '_');
  return name.replace(/^\.+/, '') || 'file';
}
