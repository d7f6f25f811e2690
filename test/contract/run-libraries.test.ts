/** `vouchbox libraries` and `run --libraries`: locked pip and npm packages for a program that has no network. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { sha256Hex } from '@vouchbox/evidence';
import { LIBRARIES_FILE } from '@vouchbox/protocol';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { archiveOf, changed } from '../../packages/server/src/sandbox/cell/archive.fixture.ts';
import { vouchbox } from '../rig/command.ts';
import { Rig, useRig } from '../rig/rig.ts';

const rig = useRig({ 'attestation-mode': 'on' });
let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'svc-run-libraries-'));
});
afterAll(() => rmSync(scratch, { recursive: true }));

/** With these settings, pip and npm find only the packages that the tests made. */
const settings = () => ({
  ...{ PIP_NO_INDEX: '1', PIP_FIND_LINKS: scratch, PIP_DISABLE_PIP_VERSION_CHECK: '1' },
  ...{ npm_config_cache: join(scratch, 'cache'), npm_config_offline: 'true', npm_config_update_notifier: 'false' },
});
const command = (...words: string[]) =>
  vouchbox(words, {
    cwd: scratch,
    env: { SERVICE_URL: rig().service.url, SERVICE_KEY: rig().alpha.key, ...settings() },
  });
const plant = (name: string, text: string) => writeFileSync(join(scratch, name), text);

/** The smallest wheel. */
const MAKE_WHEEL = `
import hashlib, zipfile
info = 'tiny-1.0.dist-info'
files = {
    'tiny.py': 'NAME = "tiny"\\n',
    f'{info}/METADATA': 'Metadata-Version: 2.1\\nName: tiny\\nVersion: 1.0\\n',
    f'{info}/WHEEL': 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n',
}
files[f'{info}/RECORD'] = ''.join(f'{name},,\\n' for name in [*files, f'{info}/RECORD'])
with zipfile.ZipFile('tiny-1.0-py3-none-any.whl', 'w') as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
print(hashlib.sha256(open('tiny-1.0-py3-none-any.whl', 'rb').read()).hexdigest(), end='')
`;

describe('Python wheels', () => {
  let digest: string;
  beforeAll(() => {
    digest = execFileSync('python3', ['-c', MAKE_WHEEL], { cwd: scratch, encoding: 'utf8' });
  });

  test('are packed as requirements.txt says, and a program gets them from a file or by digest', async () => {
    plant('requirements.txt', `tiny==1.0 --hash=sha256:${digest}\n`);
    plant('a.py', 'import tiny; print(tiny.NAME)');
    const packed = await command('libraries', 'pack', '--python', 'requirements.txt', '--output', 'python.tar.gz');
    const blob = `sha256:${sha256Hex(readFileSync(join(scratch, 'python.tar.gz')))}`;
    expect(packed).toMatchObject({ code: 0, stdout: `${blob}\n` });
    const early = await command('run', 'a.py', '--libraries', blob);
    expect([early.code, early.stderr]).toEqual([125, expect.stringContaining('--libraries is not a blob')]);
    const ran = await command('run', 'a.py', '--libraries', 'python.tar.gz');
    expect(ran).toMatchObject({ code: 0, stdout: 'tiny\n', stderr: '' });
    expect(await command('libraries', 'upload', 'python.tar.gz')).toMatchObject({ code: 0, stdout: `${blob}\n` });
    expect(await command('run', 'a.py', '--libraries', blob)).toMatchObject({ code: 0, stdout: 'tiny\n', stderr: '' });
    const again = await command('libraries', 'pack', '--python', 'requirements.txt', '--output', 'python.tar.gz');
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('python.tar.gz exists already')]);
  });

  test.each([
    ['with another digest', `tiny==1.0 --hash=sha256:${'a'.repeat(64)}\n`, '(from -r ./wrong.txt (line 1))'],
    ['without a digest', 'tiny==1.0\n', '"tiny==1.0" is not NAME==VERSION with --hash'],
    ['with an option that would build a wheel', '--no-binary=:all:\n', 'is not NAME==VERSION with --hash'],
  ])('%s are refused by vouchbox libraries pack', async (_, text, problem) => {
    plant('wrong.txt', text);
    const { code, stderr, stdout } = await command(
      'libraries',
      'pack',
      '--python',
      'wrong.txt',
      '--output',
      'wrong.tar.gz',
    );
    expect([code === 0, stdout, stderr]).toEqual([false, '', expect.stringContaining(problem)]);
    expect(readdirSync(scratch)).not.toContain('wrong.tar.gz');
  });
});

describe('npm packages', () => {
  let integrity: string;
  beforeAll(() => {
    const source = join(scratch, 'source');
    mkdirSync(source);
    const scripts = { preinstall: `touch ${join(scratch, 'ran')}`, postinstall: `touch ${join(scratch, 'ran')}` };
    writeFileSync(
      join(source, 'package.json'),
      JSON.stringify({ name: 'tiny', version: '1.0.0', main: 'main.js', bin: 'main.js', scripts }),
    );
    writeFileSync(join(source, 'main.js'), 'exports.name = "tiny";');
    const env = { ...process.env, ...settings() };
    const [made] = JSON.parse(
      execFileSync('npm', ['pack', '--json', '--ignore-scripts', source], { cwd: scratch, env, encoding: 'utf8' }),
    ) as { readonly integrity: string }[];
    integrity = made?.integrity as string;
    execFileSync('npm', ['cache', 'add', join(scratch, 'tiny-1.0.0.tgz')], { cwd: scratch, env });
  });

  const lock = (sum: string) =>
    JSON.stringify({
      ...{ name: 'a', version: '1.0.0', lockfileVersion: 3 },
      packages: {
        '': { name: 'a', version: '1.0.0', dependencies: { tiny: '1.0.0' } },
        'node_modules/tiny': {
          version: '1.0.0',
          resolved: 'https://registry.npmjs.org/tiny/-/tiny-1.0.0.tgz',
          integrity: sum,
          hasInstallScript: true,
          bin: { tiny: 'main.js' },
        },
      },
    });

  test('are packed as package-lock.json says, without running their scripts, and a program gets them', async () => {
    plant('package-lock.json', lock(integrity));
    plant('a.mjs', 'import tiny from "tiny"; console.log(tiny.name);');
    const packed = await command(
      'libraries',
      'pack',
      '--node',
      'package-lock.json',
      '--output',
      'node.tar.gz',
      '--json',
    );
    expect([packed.stderr, packed.code]).toEqual([expect.any(String), 0]);
    expect(JSON.parse(packed.stdout)).toEqual({
      blob: `sha256:${sha256Hex(readFileSync(join(scratch, 'node.tar.gz')))}`,
      size_bytes: expect.any(Number),
      output: 'node.tar.gz',
    });
    expect(readdirSync(scratch)).not.toContain('ran');
    const listed = execFileSync('tar', ['-tzf', 'node.tar.gz'], { cwd: scratch, encoding: 'utf8' });
    expect(listed).toBe('tiny/\ntiny/main.js\ntiny/package.json\n');
    const ran = await command('run', 'a.mjs', '--libraries', 'node.tar.gz');
    expect(ran).toMatchObject({ code: 0, stdout: 'tiny\n', stderr: '' });
  });

  test('are refused by vouchbox libraries pack if their digest is not the one in the lock', async () => {
    plant('package-lock.json', lock(`sha512-${'A'.repeat(86)}==`));
    const { code, stdout } = await command(
      'libraries',
      'pack',
      '--node',
      'package-lock.json',
      '--output',
      'wrong.tar.gz',
    );
    expect([code === 0, stdout]).toEqual([false, '']);
    expect(readdirSync(scratch)).not.toContain('wrong.tar.gz');
  });
});

test.each([
  ['--python', 'package-lock.json', '{}', /not NAME==VERSION .*; `pip-compile --generate-hashes` .* --node takes /],
  ['--node', 'requirements.txt', 'tiny==1.0\n', /not JSON: .*; `npm install --package-lock-only` .* --python takes /],
])(
  'vouchbox libraries pack %s says which file it needs, and which option accepts a %s',
  async (option, name, text, advice) => {
    mkdirSync(join(scratch, option));
    plant(join(option, name), text);
    const { code, stderr } = await command('libraries', 'pack', option, join(option, name), '--output', 'no.tar.gz');
    expect([code, stderr]).toEqual([2, expect.stringMatching(advice)]);
  },
);

test('vouchbox libraries pack says in one line that it cannot store its files if TMPDIR is missing', async () => {
  const words = ['libraries', 'pack', '--python', 'requirements.txt', '--output', 'no.tar.gz'];
  const { code, stderr } = await vouchbox(words, { cwd: scratch, env: { TMPDIR: join(scratch, 'absent') } });
  expect([code, stderr]).toEqual([1, expect.stringMatching(/^vouchbox: nothing can be stored in .*absent.*\n$/)]);
});

test.each(['a.py', 'a.mjs'])('vouchbox run %s names the archive of libraries that cannot be unpacked', async (name) => {
  writeFileSync(join(scratch, 'link.tar.gz'), archiveOf([{ name: 'a', kind: '2', target: '/etc' }]));
  plant(name, '1');
  const { code, stderr } = await command('run', name, '--libraries', 'link.tar.gz');
  expect([code, stderr.split('\n')]).toEqual([
    1,
    [
      expect.stringMatching(/^The libraries cannot be unpacked: /),
      'vouchbox: --libraries link.tar.gz cannot be unpacked: `vouchbox libraries pack` writes a valid archive',
      '',
    ],
  ]);
});

test.each([
  ['a file that is no archive', Buffer.from('no archive')],
  ['an archive with another checksum', changed(archiveOf([{ name: 'a' }]), -8)],
  ['an archive that was cut', archiveOf([{ name: 'a' }]).subarray(0, -4)],
  ['an empty file', Buffer.alloc(0)],
])('%s is refused as libraries before it is uploaded', async (_, bytes) => {
  writeFileSync(join(scratch, 'spoilt.tar.gz'), bytes);
  plant('a.py', '1');
  for (const words of [
    ['run', 'a.py', '--libraries'],
    ['libraries', 'upload'],
  ]) {
    const { code, stdout, stderr } = await command(...words, 'spoilt.tar.gz');
    const told = expect.stringMatching(/^vouchbox: spoilt\.tar\.gz is damaged, or is not a tar archive in gzip: .*\n$/);
    expect([code, stdout, stderr]).toEqual([2, '', told]);
  }
});

test.each([
  ['c.py', 'import tiny', 'pip'],
  ['c.cjs', 'require("tiny")', 'npm'],
])(
  'vouchbox run %s says that the imported library is not at the root of the archive',
  async (name, code, installer) => {
    writeFileSync(join(scratch, 'other.tar.gz'), archiveOf([{ name: 'level/tiny/a' }]));
    plant(name, code);
    const { stderr } = await command('run', name, '--libraries', 'other.tar.gz');
    expect(stderr.split('\n').slice(-3)).toEqual([
      expect.any(String),
      `vouchbox: the program did not find tiny in --libraries other.tar.gz: its root must have tiny, as ${installer} installs it`,
      '',
    ]);
  },
);

test.each(['--python', '--node'])(
  'vouchbox libraries pack %s says in one line that its file cannot be read',
  async (option) => {
    const { code, stderr } = await command('libraries', 'pack', option, 'absent.txt', '--output', 'no.tar.gz');
    expect([code, stderr]).toEqual([2, expect.stringMatching(/^vouchbox: absent\.txt cannot be read: ENOENT[^;]*\n$/)]);
  },
);

test.each([
  [
    'wheels',
    'tiny-1.0-py3-none-any.whl',
    /tiny-1\.0-py3-none-any\.whl is not installed: give --directory what pip or npm/,
  ],
  ['packages one level down', 'node_modules/tiny.js', /one level down: give --directory level.*\/node_modules\n/],
])('vouchbox libraries pack --directory refuses a directory with %s', async (_, file, problem) => {
  const directory = mkdtempSync(join(scratch, 'level-'));
  mkdirSync(dirname(join(directory, file)), { recursive: true });
  writeFileSync(join(directory, file), '');
  const words = ['--directory', basename(directory), '--output', 'no.tar.gz'];
  const { code, stderr } = await command('libraries', 'pack', ...words);
  expect([code, stderr]).toEqual([2, expect.stringMatching(problem)]);
});

test('vouchbox libraries pack --directory packs a directory unchanged', async () => {
  mkdirSync(join(scratch, 'own'));
  plant('own/own.py', 'NAME = "own"\n');
  plant('own.py', 'import own; print(own.NAME)');
  expect(await command('libraries', 'pack', '--directory', 'own', '--output', 'own.tar.gz')).toMatchObject({
    code: 0,
  });
  expect(await command('run', 'own.py', '--libraries', 'own.tar.gz')).toMatchObject({ code: 0, stdout: 'own\n' });
  const both = await command('libraries', 'pack', '--directory', 'a', '--node', 'b', '--output', 'c');
  expect([both.code, both.stderr]).toEqual([
    2,
    expect.stringContaining('give one of --python, --node and --directory'),
  ]);
  const missing = await command('run', 'own.py', '--libraries', 'missing.tar.gz');
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining('missing.tar.gz is neither sha256')]);
});

test('vouchbox reproduce gives another service the libraries of an exported job, and the results agree', async () => {
  const other = await Rig.start({ 'attestation-mode': 'on' });
  try {
    mkdirSync(join(scratch, 'shared'));
    plant('shared/shared.py', 'NAME = "shared"\n');
    plant('b.py', 'import shared; print(shared.NAME)');
    await command('libraries', 'pack', '--directory', 'shared', '--output', 'shared.tar.gz');
    const ran = await command('run', 'b.py', '--libraries', 'shared.tar.gz', '--json');
    const { job_id } = JSON.parse(ran.stdout) as { readonly job_id: string };
    expect(await command('export', job_id)).toMatchObject({ code: 0 });
    const words = ['reproduce', job_id, '--output', 'again', '--url', other.service.url, '--key', other.alpha.key];
    const report = await vouchbox(words, { cwd: scratch });
    expect([report.code, report.stderr]).toEqual([0, expect.any(String)]);
    expect(readFileSync(join(scratch, 'again', LIBRARIES_FILE))).toEqual(readFileSync(join(scratch, 'shared.tar.gz')));
  } finally {
    expect(await other.stop()).toEqual([]);
  }
});
