import { expect, test } from 'vitest';
import { reportedIn } from './here.ts';

const host = { name: 'wsl2', title: 'WSL2', trials: ['facts'] };
const line = { trial: 'facts', held: true, observed: 'Linux', seconds: 2.5, when: '2026-01-01' };

test('a line of a report from another machine is kept unchanged', () => {
  expect(reportedIn(`${JSON.stringify(line)}\n`, host)).toEqual([line]);
});

test('markup and further lines in a report stay inside their cell of the table', () => {
  const [kept] = reportedIn(JSON.stringify({ ...line, observed: 'a\n| b | <script>' }), host);
  expect(kept?.observed).toBe('a | b |  script ');
});

test.each([{ trial: 'doctor' }, { held: 'yes' }, { when: 'today' }, { seconds: '2' }, { observed: 3 }])(
  'a report that has a line with %j is refused',
  (wrong) => {
    expect(() => reportedIn(JSON.stringify({ ...line, ...wrong }), host)).toThrow('this is no line of a report');
  },
);
