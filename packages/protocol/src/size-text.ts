/** Writes sizes as people say them. */

const UNITS = [
  [1024 ** 3, 'GiB'],
  [1024 ** 2, 'MiB'],
  [1024, 'KiB'],
] as const;

/** A number of bytes as text, such as `64 MiB`, in the largest unit that gives a whole number. */
export function sizeText(bytes: number): string {
  const [unit, name] = UNITS.find(([size]) => bytes >= size && bytes % size === 0) ?? [
    1,
    bytes === 1 ? 'byte' : 'bytes',
  ];
  return `${bytes / unit} ${name}`;
}
