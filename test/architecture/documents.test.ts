/** Some documents repeat what the code says. These tests compare them with the code. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SETTINGS } from '@vouchbox/server';
import { describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const settings = readFileSync(join(root, 'docs/operating/settings.md'), 'utf8');
const architecture = readFileSync(join(root, 'docs/ARCHITECTURE.md'), 'utf8');

test('docs/operating/settings.md lists every setting with its flag, default and values, and no other setting', () => {
  const rows = SETTINGS.map(({ name, flag, defaultText, description, allowed }) => {
    const fallback = defaultText === null ? 'off' : `\`${defaultText}\``;
    // An unescaped bar would start another column.
    const takes = allowed.replaceAll('|', '\\|');
    return `| \`${name}\` | \`--${flag}\` | ${fallback} | ${description} Takes ${takes}. |`;
  });
  expect(settings.split('\n').filter((line) => line.startsWith('| `SERVICE_'))).toEqual(rows);
});

describe('the code map of docs/ARCHITECTURE.md', () => {
  const codeMap = architecture.slice(
    architecture.indexOf('## Code map'),
    architecture.indexOf('## What never happens'),
  );
  const [, ofPackages = '', ofServer = '', ofSandbox = ''] = codeMap.split(/^\|[- |]+\|$/m);
  const named = (rows: string) => [...rows.matchAll(/^\| `([^`]+?)\/?` \|/gm)].map(([, name = '']) => name);
  const foldersOf = (path: string) =>
    readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));

  test('names every package, and nothing else', () => {
    expect(named(ofPackages).toSorted()).toEqual(
      foldersOf('packages')
        .map((name) => `packages/${name}`)
        .toSorted(),
    );
  });

  test('names every server folder beside service.ts, and no other', () => {
    expect(named(ofServer).toSorted()).toEqual([...foldersOf('packages/server/src'), 'service.ts'].toSorted());
  });

  test('names every folder in sandbox/, and every folder inside those folders', () => {
    const at = 'packages/server/src/sandbox';
    expect(named(ofSandbox)).toHaveLength(foldersOf(at).length);
    for (const folder of foldersOf(at)) {
      const row = ofSandbox.split('\n').find((line) => line.startsWith(`| \`${folder}/\``)) ?? '';
      expect(foldersOf(join(at, folder)).filter((name) => !row.includes(`\`${name}/\``))).toEqual([]);
    }
  });

  test('names every folder in http/ and store/, and job/ has a folder for each stage in the table above', () => {
    const rowOf = (folder: string) => ofServer.split('\n').find((row) => row.startsWith(`| \`${folder}/\``)) ?? '';
    for (const folder of ['http', 'store']) {
      const unnamed = foldersOf(`packages/server/src/${folder}`).filter(
        (name) => !rowOf(folder).includes(`\`${name}/\``),
      );
      expect(unnamed).toEqual([]);
    }
    const stages = [...architecture.matchAll(/^\| (admit|grade|dispatch|execute|finish|sign|log|view) \|/gm)].map(
      ([, name = '']) => name,
    );
    expect([...stages, 'blobs', 'canary', 'objects', 'remove', 'tools'].toSorted()).toEqual(
      foldersOf('packages/server/src/job').toSorted(),
    );
  });
});

test('the plot in docs/BENCHMARKS.md has the figures from the page’s tables, and the page has under 1200 words', () => {
  const page = readFileSync(join(root, 'docs/BENCHMARKS.md'), 'utf8');
  const plot = readFileSync(join(root, 'docs/images/beside.svg'), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('| '));
  const pairs = [
    ...plot.matchAll(/class="num">([\d.]+)<[\s\S]*?class="num">([\d.]+)<\/tspan><tspan class="soft" dx="6">([^<]*)</g),
  ];
  expect(pairs.length).toBe(5);
  for (const [, own = '', other = '', peer = ''] of pairs)
    expect([own, peer, rows.some((row) => row.includes(`| ${own} `) && row.includes(`${peer}: ${other} `))]).toEqual([
      own,
      peer,
      true,
    ]);
  // The lines that draw a table do not count as words.
  expect(page.split(/\s+/).filter((word) => /\w/.test(word)).length).toBeLessThan(1200);
});
