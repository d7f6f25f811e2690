/** The table in docs/THREATS.md, made from the cases: what is tried, what protects, and where a class protects less. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hostileCases } from './cases.ts';
import { appliesTo, type HostileCase, type HostileClass } from './hostile-case.ts';

export const THREATS = join(import.meta.dirname, '../../docs/THREATS.md');

const BEGIN = '<!-- The table is written by test/hostile/write-threats.ts. -->\n';
const END = '<!-- End of the table. -->';

const SECTIONS: Readonly<Record<string, string>> = {
  ESC: 'Escapes and abuse',
  RES: 'Exhaustion',
  ART: 'Files and artifacts',
  NEXT: 'Two jobs side by side',
};

/** The whole document: the handwritten text, and the table between its marks. */
export function threatsDocument(): string {
  const text = readFileSync(THREATS, 'utf8');
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error('docs/THREATS.md has no place for the table');
  return text.slice(0, begin + BEGIN.length) + threatsTable() + text.slice(end);
}

function threatsTable(): string {
  return Object.entries(SECTIONS)
    .map(([section, title]) => {
      const rows = hostileCases.filter(({ id }) => id.startsWith(`${section}-`)).map(rowOf);
      return `\n### ${title}\n\n| row | required result | protection | namespace | gVisor |\n|---|---|---|---|---|\n${rows.join('')}\n`;
    })
    .join('');
}

function rowOf(hostileCase: HostileCase): string {
  const { id, title, holds } = hostileCase;
  const cells = [id, title, holds, cellOf(hostileCase, 'namespace'), cellOf(hostileCase, 'gvisor')];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |\n`;
}

function cellOf(hostileCase: HostileCase, hostileClass: HostileClass): string {
  if (!appliesTo(hostileCase, hostileClass)) return '–';
  const accepted = hostileCase.accepted?.[hostileClass];
  const ofClass = accepted === undefined ? 'held' : `accepted: ${accepted}`;
  const { ofOneUser } = hostileCase;
  return ofOneUser === undefined || hostileClass !== 'namespace' ? ofClass : `${ofClass}; with one user: ${ofOneUser}`;
}
