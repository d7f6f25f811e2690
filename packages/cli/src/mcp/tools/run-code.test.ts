/** The description of the tool, as a model reads it. */
import { expect, test } from 'vitest';
import { runCodeDescription } from './run-code.ts';

const pack = (name: string, libraryNames: readonly string[]) => ({
  name,
  version: '1',
  languages: ['python' as const],
  digest: '0'.repeat(64),
  libraries: libraryNames.map((library) => ({
    language: 'python' as const,
    name: library,
    version: '1',
    modules: [library],
  })),
});

test('the description of run_code lists the libraries of each pack after its fixed text', () => {
  const plain = runCodeDescription([]);
  const described = runCodeDescription([pack('data', ['numpy']), pack('web', ['flask'])]);
  expect(described).toBe(`${plain}\nlibraries of data: numpy 1\nlibraries of web: flask 1`);
});

test('the description of run_code stays bounded and without terminal sequences, whatever the packs contain', () => {
  const many = Array.from({ length: 50 }, (_, index) => pack(`p${index}`, Array(120).fill('\u001b[2J'.repeat(50))));
  const described = runCodeDescription(many);
  expect(described.length - runCodeDescription([]).length).toBeLessThan(4096 + 100);
  expect(described).toContain('characters left out');
  expect(described).not.toContain('\u001b');
});
