/** Writes JSON as docs/API.md shows it: a value is on one line if it fits, and `…` stands for what is left out. */

const COLUMNS = 110;
/** Stands for members or characters that are left out. */
const LEFT_OUT = '…';

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

export function shownJson(value: Json, indent = ''): string {
  const line = onOneLine(value);
  if (typeof value !== 'object' || value === null || indent.length + line.length <= COLUMNS) return line;
  const inner = `${indent}  `;
  if (Array.isArray(value)) {
    return `[\n${value.map((item: Json) => `${inner}${shownJson(item, inner)}`).join(',\n')}\n${indent}]`;
  }
  const members = Object.entries(value).map(([name, member]) => {
    return name === LEFT_OUT ? `${inner}${LEFT_OUT}` : `${inner}${JSON.stringify(name)}: ${shownJson(member, inner)}`;
  });
  return `{\n${members.join(',\n')}\n${indent}}`;
}

function onOneLine(value: Json): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(', ')}]`;
  const members = Object.entries(value).map(([name, member]) => {
    return name === LEFT_OUT ? LEFT_OUT : `${JSON.stringify(name)}: ${onOneLine(member)}`;
  });
  return members.length === 0 ? '{}' : `{ ${members.join(', ')} }`;
}

/** Keeps only the members at these paths, such as `info.title`, in their places. A mark stands for the other members. */
export function onlyShown(value: Json, paths: readonly string[]): Json {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || paths.includes('')) return value;
  const members = Object.entries(value).flatMap(([name, member]) => {
    const inside = paths.filter((path) => path === name || path.startsWith(`${name}.`));
    const rests = inside.map((path) => path.slice(name.length + 1));
    return inside.length === 0 ? [] : [[name, onlyShown(member, rests)] as const];
  });
  const isWhole = members.length === Object.keys(value).length;
  return Object.fromEntries(isWhole ? members : [...members, [LEFT_OUT, null]]);
}
