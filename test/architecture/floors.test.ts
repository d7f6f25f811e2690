/**
 * The floors of the packages and folders: imports only go down, and each technology has one folder.
 * docs/ARCHITECTURE.md.
 */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cruise, type ICruiseOptions, type ICruiseResult } from 'dependency-cruiser';
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const packages = ['protocol', 'evidence', 'server', 'client', 'cli', 'verifier'];
let rules: ICruiseOptions;

beforeAll(async () => {
  rules = await extractOptions(join(root, '.dependency-cruiser.cjs'));
});

async function read(baseDir: string): Promise<ICruiseResult> {
  const { output } = await cruise(['packages'], { ...rules, baseDir });
  if (typeof output === 'string') throw new Error('the cruise gave a report where its result was wanted');
  return output;
}

describe('the sources', () => {
  let result: ICruiseResult;
  beforeAll(async () => {
    result = await read(root);
  });

  test.each(packages)('of %s were read', (name) => {
    const modules = result.modules.filter(({ source }) => source.startsWith(`packages/${name}/src/`));
    expect(modules.length).toBeGreaterThan(0);
  });

  test.each(['http', 'job', 'sandbox', 'store'])('of the server folder %s were read', (folder) => {
    const modules = result.modules.filter(({ source }) => source.startsWith(`packages/server/src/${folder}/`));
    expect(modules.length).toBeGreaterThan(0);
  });

  test('follow every rule of the floors', () => {
    expect(result.summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} → ${to}`)).toEqual([]);
  });
});

describe('a planted violation of a rule is noticed', () => {
  const planted: readonly [rule: string, file: string, source: string][] = [
    ['floor-of-protocol', 'protocol/src/a.ts', "import '@vouchbox/evidence';"],
    ['floor-of-evidence', 'evidence/src/a.ts', "import '@vouchbox/server';"],
    ['floor-of-server', 'server/src/a.ts', "import '@vouchbox/client';"],
    ['floor-of-client', 'client/src/a.ts', "import '@vouchbox/server';"],
    ['floor-of-verifier', 'verifier/src/a.ts', "import '@vouchbox/server';"],
    ['packages-meet-at-their-index', 'client/src/b.ts', "import '../../protocol/src/inner.ts';"],
    ['floor-of-server-http', 'server/src/http/a.ts', "import '../store/inner.ts';"],
    ['floor-of-server-job', 'server/src/job/a.ts', "import '../http/inner.ts';"],
    ['floor-of-server-operator', 'server/src/operator/a.ts', "import '../http/inner.ts';"],
    ['floor-of-server-access', 'server/src/access/a.ts', "import '../job/inner.ts';"],
    ['floor-of-server-capacity', 'server/src/capacity/a.ts', "import '../store/inner.ts';"],
    ['floor-of-server-sandbox', 'server/src/sandbox/a.ts', "import '../store/inner.ts';"],
    ['floor-of-server-store', 'server/src/store/a.ts', "import '../job/inner.ts';"],
    ['floor-of-server-telemetry', 'server/src/telemetry/a.ts', "import '../store/inner.ts';"],
    ['floor-of-server-facts', 'server/src/facts/a.ts', "import '../operator/inner.ts';"],
    ['floor-of-server-start', 'server/src/start/a.ts', "import '../facts/inner.ts';"],
    ['floor-of-server-settings', 'server/src/settings/a.ts', "import '../store/inner.ts';"],
    ['floor-of-server-ground', 'server/src/ground/a.ts', "import '../store/inner.ts';"],
    ['floor-of-stage-admit', 'server/src/job/admit/a.ts', "import '../finish/inner.ts';"],
    ['floor-of-stage-dispatch', 'server/src/job/dispatch/a.ts', "import '../sign/inner.ts';"],
    ['floor-of-stage-execute', 'server/src/job/execute/a.ts', "import '../sign/inner.ts';"],
    ['floor-of-stage-finish', 'server/src/job/finish/a.ts', "import '../sign/inner.ts';"],
    ['floor-of-stage-sign', 'server/src/job/sign/a.ts', "import '../finish/inner.ts';"],
    ['floor-of-stage-view', 'server/src/job/view/a.ts', "import '../create-jobs.ts';"],
    ['floor-of-stage-remove', 'server/src/job/remove/a.ts', "import '../finish/inner.ts';"],
    ['only-http-knows-http', 'server/src/job/b.ts', "import 'node:http';"],
    ['only-store-knows-sql', 'server/src/job/c.ts', "import 'node:sqlite';"],
    ['only-sandbox-knows-processes', 'server/src/job/d.ts', "import 'node:child_process';"],
    ['runs-in-a-browser', 'evidence/src/b.ts', "import 'node:fs';"],
    ['no-tests-in-the-house', 'protocol/src/b.ts', "import './inner.test.ts';"],
    ['no-circular', 'protocol/src/c.ts', "import type { D } from './d.ts';\nexport type C = D;"],
    ['resolvable', 'protocol/src/e.ts', "import './nowhere.ts';"],
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
    write('packages/server/src/job/create-jobs.ts', 'export {};');
    write('packages/protocol/src/inner.ts', 'export {};');
    write('packages/protocol/src/inner.test.ts', 'export {};');
    write('packages/protocol/src/d.ts', "import type { C } from './c.ts';\nexport type D = C;");
    for (const [, file, source] of planted) write(`packages/${file}`, source);
    const { summary } = await read(base);
    broken = new Set(summary.violations.map(({ rule, from }) => `${rule.name} ${from}`));
  });
  afterAll(() => rmSync(base, { recursive: true, force: true }));

  test.each(planted)('%s', (rule, file) => {
    expect(broken).toContain(`${rule} packages/${file}`);
  });
});
