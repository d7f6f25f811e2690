/** Saves bytes as a file of the person's. They are given no type, so that no browser opens them as a page. */
export function saveBytes(bytes: Uint8Array<ArrayBuffer>, name: string): void {
  const url = URL.createObjectURL(new Blob([bytes], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = safeName(name);
  link.click();
  URL.revokeObjectURL(url);
}

/** The last part of a path, of plain characters alone. A program chose the name. */
function safeName(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1).replaceAll(/[^\w.-]/g, '_');
  return name.replace(/^\.+/, '') || 'file';
}
