/**
 * The floors on which packages and folders stand: imports only go down, and each technology has one folder.
 * docs/ARCHITECTURE.md.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cruise, type ICruiseOptions, type ICruiseResult } from 'dependency-cruiser';
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { floorFaults, importsIn } from '../../tools/lint-floors.ts';

const root = join(import.meta.dirname, '../..');
const packages = [
  'protocol',
  'evidence',
  'server',
  'client',
  'cli',
  'verifier',
  'adapters',
  'verify-page',
  'link-page',
  'dashboard',
  'docs-site',
];
let rules: ICruiseOptions;

beforeAll(async () => {
  rules = await extractOptions(join(root, '.dependency-cruiser.cjs'));
});

async function read(baseDir: string, folders = ['packages']): Promise<ICruiseResult> {
  const { output } = await cruise(folders, { ...rules, baseDir });
  if (typeof output === 'string') throw new Error('the cruise gave a report where its result was wanted');
  return output;
}

describe('the sources', () => {
  let result: ICruiseResult;
  beforeAll(async () => {
    result = await read(root);
  });

  test.each(packages)('the sources of %s were read', (name) => {
    const modules = result.modules.filter(({ source }) => source.startsWith(`packages/${name}/src/`));
    expect(modules.length).toBeGreaterThan(0);
  });

  test.each(['http', 'job', 'sandbox', 'store'])('the sources of the server folder %s were read', (folder) => {
    const modules = result.modules.filter(({ source }) => source.startsWith(`packages/server/src/${folder}/`));
    expect(modules.length).toBeGreaterThan(0);
  });

  test('follow every rule about the floors', () => {
    expect(result.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).toEqual([]);
  });
});

/** A folder in the store, and another folder that it must not import. */
const storeArrowsUp = [
  ['records', 'history'],
  ['kept', 'jobs'],
  ['history', 'objects'],
  ['blobs', 'jobs'],
  ['objects', 'history'],
  ['jobs', 'evidence'],
  ['evidence', 'reading'],
  ['reading', 'access'],
  ['access', 'reading'],
  ['threads', 'sqlite'],
  ['migrations', 'sqlite'],
  ['sqlite', 'postgres'],
  ['postgres', 'sqlite'],
] as const;

/** A file that chooses an implementation, and that implementation. No other file may import it. */
const implementations = [
  ['membership', 'job/dispatch/fleet-work'],
  ['open-store', 'store/sqlite/open'],
  ['preflight', 'sandbox/classes/open-cells'],
] as const;

test.each(implementations)('the source %s chooses the implementation %s, and that file exists', (_picker, at) => {
  expect(existsSync(join(root, `packages/server/src/${at}.ts`))).toBe(true);
});

describe('a planted violation of a rule is noticed', () => {
  const planted: readonly (readonly [rule: string, file: string, source: string])[] = [
    ['floor-of-protocol', 'packages/protocol/src/a.ts', "import '@vouchbox/evidence';"],
    ['floor-of-evidence', 'packages/evidence/src/a.ts', "import '@vouchbox/server';"],
    ['floor-of-server', 'packages/server/src/a.ts', "import '@vouchbox/client';"],
    ['floor-of-client', 'packages/client/src/a.ts', "import '@vouchbox/server';"],
    ['floor-of-verifier', 'packages/verifier/src/a.ts', "import '@vouchbox/server';"],
    ['floor-of-adapters', 'packages/adapters/src/a.ts', "import '@vouchbox/server';"],
    ['floor-of-verify-page', 'packages/verify-page/src/a.ts', "import '@vouchbox/client';"],
    ['floor-of-link-page', 'packages/link-page/src/a.ts', "import '@vouchbox/client';"],
    ['floor-of-dashboard', 'packages/dashboard/src/a.ts', "import '@vouchbox/server';"],
    ['floor-of-docs-site', 'packages/docs-site/src/a.ts', "import '@vouchbox/client';"],
    ['floor-of-cli', 'packages/cli/src/a.ts', "import '@vouchbox/dashboard';"],
    ['packages-meet-at-their-index', 'packages/client/src/b.ts', "import '../../protocol/src/inner.ts';"],
    ['only-pages-know-the-words', 'packages/client/src/c.ts', "import '../../protocol/src/words.ts';"],
    ['floor-of-server-http', 'packages/server/src/http/a.ts', "import '../store/inner.ts';"],
    ['floor-of-server-job', 'packages/server/src/job/a.ts', "import '../http/inner.ts';"],
    ['floor-of-server-operator', 'packages/server/src/operator/a.ts', "import '../http/inner.ts';"],
    ['floor-of-server-access', 'packages/server/src/access/a.ts', "import '../job/inner.ts';"],
    ['floor-of-server-capacity', 'packages/server/src/capacity/a.ts', "import '../store/inner.ts';"],
    ['floor-of-server-sandbox', 'packages/server/src/sandbox/a.ts', "import '../store/inner.ts';"],
    ['floor-of-server-objects', 'packages/server/src/objects/a.ts', "import '../store/inner.ts';"],
    ['floor-of-server-store', 'packages/server/src/store/a.ts', "import '../job/inner.ts';"],
    ['floor-of-server-telemetry', 'packages/server/src/telemetry/a.ts', "import '../store/inner.ts';"],
    ['floor-of-server-facts', 'packages/server/src/facts/a.ts', "import '../operator/inner.ts';"],
    ['floor-of-server-start', 'packages/server/src/start/a.ts', "import '../facts/inner.ts';"],
    ['floor-of-server-settings', 'packages/server/src/settings/a.ts', "import '../store/inner.ts';"],
    ['floor-of-server-ground', 'packages/server/src/ground/a.ts', "import '../store/inner.ts';"],
    ...storeArrowsUp.map(([name, above]): [string, string, string] => [
      `floor-of-store-${name}`,
      `packages/server/src/store/${name}/a.ts`,
      `import '../${above}/inner.ts';`,
    ]),
    ['floor-of-stage-admit', 'packages/server/src/job/admit/a.ts', "import '../finish/inner.ts';"],
    ['floor-of-stage-dispatch', 'packages/server/src/job/dispatch/a.ts', "import '../sign/inner.ts';"],
    ['floor-of-stage-execute', 'packages/server/src/job/execute/a.ts', "import '../sign/inner.ts';"],
    ['floor-of-stage-finish', 'packages/server/src/job/finish/a.ts', "import '../sign/inner.ts';"],
    ['floor-of-stage-tools', 'packages/server/src/job/tools/a.ts', "import '../finish/inner.ts';"],
    ['floor-of-stage-sign', 'packages/server/src/job/sign/a.ts', "import '../finish/inner.ts';"],
    ['floor-of-stage-view', 'packages/server/src/job/view/a.ts', "import '../create-jobs.ts';"],
    ['floor-of-stage-remove', 'packages/server/src/job/remove/a.ts', "import '../finish/inner.ts';"],
    ['floor-of-stage-blobs', 'packages/server/src/job/blobs/a.ts', "import '../finish/inner.ts';"],
    ['floor-of-stage-objects', 'packages/server/src/job/objects/a.ts', "import '../finish/inner.ts';"],
    ...implementations.map(([picker, at]): [string, string, string] => [
      `picked-by-${picker}`,
      `packages/server/src/start/${picker}.ts`,
      `import '../${at}.ts';`,
    ]),
    ['only-objects-knows-s3', 'packages/server/src/job/e.ts', "import 'aws4fetch';"],
    ['only-http-knows-http', 'packages/server/src/job/b.ts', "import 'node:http';"],
    ['only-store-knows-sql', 'packages/server/src/job/c.ts', "import 'node:sqlite';"],
    ['only-sandbox-knows-processes', 'packages/server/src/job/d.ts', "import 'node:child_process';"],
    ['runs-in-a-browser', 'packages/evidence/src/b.ts', "import 'node:fs';"],
    ['verifier-runs-in-a-browser', 'packages/verifier/src/index.ts', "import './b.ts';"],
    ['only-mcp-knows-its-protocol', 'packages/cli/src/b.ts', "import '@modelcontextprotocol/server';"],
    ['only-the-rig-knows-the-browser', 'test/contract/a.ts', "import 'playwright';"],
    ['no-development-dependency', 'packages/protocol/src/f.ts', "import 'playwright';"],
    ['no-circular-tests', 'test/rig/a.ts', "import './b.ts';"],
    ['no-tests-in-the-house', 'packages/protocol/src/b.ts', "import './inner.test.ts';"],
    ['no-circular', 'packages/protocol/src/c.ts', "import type { D } from './d.ts';\nexport type C = D;"],
    ['resolvable', 'packages/protocol/src/e.ts', "import './nowhere.ts';"],
  ];
  let base: string;
  let broken: Set<string>;

  beforeAll(async () => {
    base = mkdtempSync(join(tmpdir(), 'svc-floors-'));
    const write = (file: string, source: string) => {
      mkdirSync(dirname(join(base, file)), { recursive: true });
      writeFileSync(join(base, file), source);
    };
    write('package.json', '{}');
    mkdirSync(join(base, 'node_modules/@vouchbox'), { recursive: true });
    for (const name of packages) {
      write(`packages/${name}/package.json`, JSON.stringify({ name: `@vouchbox/${name}`, exports: './src/index.ts' }));
      write(`packages/${name}/src/index.ts`, 'export {};');
      symlinkSync(join(base, 'packages', name), join(base, 'node_modules/@vouchbox', name));
    }
    for (const folder of ['http', 'job', 'store', 'operator', 'facts', 'job/finish', 'job/sign']) {
      write(`packages/server/src/${folder}/inner.ts`, 'export {};');
    }
    for (const [, folder] of storeArrowsUp) write(`packages/server/src/store/${folder}/inner.ts`, 'export {};');
    for (const [, at] of implementations) write(`packages/server/src/${at}.ts`, 'export {};');
    write('packages/server/src/job/create-jobs.ts', 'export {};');
    write('packages/protocol/src/inner.ts', 'export {};');
    write('packages/protocol/src/words.ts', 'export {};');
    write('packages/protocol/src/inner.test.ts', 'export {};');
    write('packages/protocol/src/d.ts', "import type { C } from './c.ts';\nexport type D = C;");
    write('packages/verifier/src/b.ts', "import 'node:fs';");
    write('test/rig/b.ts', "import './a.ts';");
    for (const name of ['@modelcontextprotocol/server', 'playwright']) {
      write(`node_modules/${name}/package.json`, JSON.stringify({ name, main: 'index.js' }));
      write(`node_modules/${name}/index.js`, '');
    }
    for (const [, file, source] of planted) write(file, source);
    const { summary } = await read(base, ['packages', 'test']);
    broken = new Set(summary.violations.map(({ rule, from }) => `${rule.name} ${from}`));
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  test.each(planted)('%s', (rule, file) => {
    expect(broken).toContain(`${rule} ${file}`);
  });

  test('every rule has a planted violation', () => {
    const names = rules.ruleSet?.forbidden?.map(({ name }) => name);
    expect(new Set(planted.map(([rule]) => rule))).toEqual(new Set(names));
  });
});

describe('a cycle of imports in one folder', () => {
  const planted: readonly [name: string, files: Readonly<Record<string, string>>][] = [
    ...packages.map((name): [string, Record<string, string>] => [
      `between two folders of ${name}`,
      {
        [`packages/${name}/src/a/one.ts`]: "import '../b/one.ts';",
        [`packages/${name}/src/b/two.ts`]: "import '../a/two.ts';",
      },
    ]),
    [
      'of types alone',
      {
        'packages/client/src/a/one.ts': "import type { One } from '../b/one.ts';",
        'packages/client/src/b/two.ts': "export type { Two } from '../a/two.ts';",
      },
    ],
    [
      'of imports that load later',
      {
        'packages/client/src/a/one.ts': "await import('../b/one.ts');",
        'packages/client/src/b/two.tsx': "export type Two = import('../a/two.ts').Two;",
      },
    ],
    [
      'through a third folder',
      {
        'packages/client/src/deep/a/one.ts': "import '../b/one.ts';",
        'packages/client/src/deep/b/two.ts': "import '../c/below/one.ts';",
        'packages/client/src/deep/c/two.ts': "import '../a/two.ts';",
      },
    ],
    [
      'through a file beside a folder',
      {
        'packages/client/src/a/one.ts': "import '../b.ts';",
        'packages/client/src/b.ts': "import './a/two.ts';",
      },
    ],
  ];

  test.each(planted)('%s is found', (_name, files) => {
    const [first = ''] = Object.keys(files);
    const folder = dirname(dirname(first));
    expect(planting(files, floorsOf)).toEqual([expect.stringMatching(`^${folder} has a circle:\n  ${first} imports `)]);
  });

  test('is allowed if it runs through a test or a fixture', () => {
    const files = {
      'packages/client/src/a/one.ts': "import '../b/one.ts';",
      'packages/client/src/b/two.test.ts': "import '../a/two.ts';",
      'packages/client/src/b/three.fixture.ts': "import '../a/two.ts';",
    };
    expect(planting(files, floorsOf)).toEqual([]);
  });

  test('occurs nowhere in this project’s packages', () => {
    expect(importsIn(root).length).toBeGreaterThan(1000);
    expect(floorFaults(importsIn(root))).toEqual([]);
  });

  const floorsOf = (planted: string) => floorFaults(importsIn(planted));

  function planting<Result>(files: Readonly<Record<string, string>>, look: (root: string) => Result): Result {
    const base = mkdtempSync(join(tmpdir(), 'svc-floors-'));
    try {
      for (const [file, source] of Object.entries(files)) {
        mkdirSync(dirname(join(base, file)), { recursive: true });
        writeFileSync(join(base, file), source);
      }
      return look(base);
    } finally {
      rmSync(base, { recursive: true });
    }
  }
});
