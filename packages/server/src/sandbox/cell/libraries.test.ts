/** A job's own libraries: every kind of cell unpacks them before the program runs, and refuses a bad archive. */

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished } from 'vitest';
import { quickTest as it, slowTest } from '../../../../../test/rig/form.ts';
import { useToolCells, WAYS, type Way } from '../program/tools/tool-cells.fixture.ts';
import { type ArchiveEntry, archiveOf, changed, entryBytes } from './archive.fixture.ts';

const { run } = useToolCells();
const ALL = Object.keys(WAYS) as Way[];
const CELLS = ALL.filter((way) => way !== 'a subprocess');

type Given = 'python' | 'node';
const runWith = (way: Way, language: Given, code: string, libraries: Uint8Array, more = {}) =>
  run(way, language, code, { hasTools: false, libraries, more: { wall_seconds: 60, cpu_seconds: 60, ...more } });

/** The archive that a packer makes from a directory with these files. */
function packed(files: Readonly<Record<string, string>>, options: readonly string[] = []): Buffer {
  const directory = mkdtempSync(join(tmpdir(), 'svc-libraries-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), content);
  }
  return execFileSync('tar', ['-cz', ...options, '-C', directory, '.'], { maxBuffer: 2 ** 26 });
}

/** A path that is too long for the header of an entry, so that an archive has to state the path elsewhere. */
const LONG = `${'long'.repeat(20)}/${'name'.repeat(20)}`;
const PYTHON = {
  'tiny/__init__.py': 'from . import part\nNAME = part.NAME\n',
  'tiny/part.py': 'NAME = "tiny"\n',
  'colorsys.py': 'NAME = "first"\n',
  [`${LONG}/deep.py`]: '',
};
const NODE = {
  'tiny/package.json': '{"name":"tiny","type":"module","exports":"./main.js"}',
  'tiny/main.js': 'import { part } from "part"; export const name = "tiny " + part;',
  'part/index.js': 'exports.part = "part";',
  [`${LONG}/deep.js`]: '',
};
const SHOWN_BY_PYTHON = [
  'import colorsys, os, subprocess, sys, tiny',
  `print(tiny.NAME, colorsys.NAME, os.path.isfile(sys.path[0] + "/${LONG}/deep.py"))`,
  'print(subprocess.run([sys.executable, "-c", "import tiny; print(tiny.NAME)"], capture_output=True, text=True).stdout, end="")',
].join('\n');

describe.each(ALL)('in %s', (way) => {
  slowTest.each(['gnu', 'posix', 'ustar'])(
    'a Python program has the libraries first on its path: %s',
    async (format) => {
      const libraries = packed(PYTHON, [`--format=${format}`]);
      const { stdout, stderr } = await runWith(way, 'python', SHOWN_BY_PYTHON, libraries);
      expect([stdout, stderr]).toEqual(['tiny first True\ntiny\n', '']);
    },
  );

  slowTest(
    'a Node program finds the libraries, by import and by require, also in processes that it starts',
    async () => {
      const libraries = packed(NODE);
      const modules = 'import { name } from "tiny"; import part from "part"; console.log(name, part.part);';
      const required =
        'console.log(require("part").part, require("node:child_process").execFileSync(process.execPath, ["-p", "require(\'part\').part"], { encoding: "utf8" }).trim(), process.argv.length);';
      expect(await runWith(way, 'node', modules, libraries)).toMatchObject({ stdout: 'tiny part part\n', stderr: '' });
      expect(await runWith(way, 'node', required, libraries)).toMatchObject({ stdout: 'part part 2\n', stderr: '' });
    },
  );

  slowTest('no program begins if its libraries are a damaged archive or an empty file', async () => {
    for (const given of [changed(archiveOf([{ name: 'a' }]), -8), Buffer.alloc(0)])
      for (const language of ['python', 'node'] as const) {
        const { stdout, stderr } = await runWith(way, language, '1', given);
        expect([stdout, stderr]).toEqual(['', expect.stringMatching(/^The libraries cannot be unpacked: /)]);
      }
  });

  slowTest('a program with tools has both tools and libraries', async () => {
    const libraries = packed(PYTHON);
    const python = await run(way, 'python', 'import tiny; print(tiny.NAME, tools.f(a=1))', { libraries });
    expect(python).toMatchObject({ stdout: "tiny {'a': 1}\n", stderr: '' });
    const node = 'import { name } from "tiny"; import tools from "tools"; console.log(name, await tools.f({ a: 1 }));';
    expect(await run(way, 'node', node, { libraries: packed(NODE) })).toMatchObject({
      ...{ stdout: 'tiny part { a: 1 }\n', stderr: '' },
    });
  });
});

const TOO_MANY = Array.from({ length: 50_001 }, (_, n): ArchiveEntry => ({ name: `f${n}` }));
const LARGE = 10 * 2 ** 20;
const zeros = (count: number) =>
  Array.from({ length: count }, (_, n): ArchiveEntry => ({ name: `f${n}`, content: Buffer.alloc(LARGE) }));
const paxPath = (path: string) => {
  const record = ` path=${path}\n`;
  const length = record.length + String(record.length + 3).length;
  return { name: 'header', kind: 'x', content: `${length}${record}` };
};

const UNFIT: Readonly<Record<string, readonly [Uint8Array, RegExp]>> = {
  'a path that leads out': [
    archiveOf([{ name: '../../work/output/a' }]),
    /'?"?\.\.\/\.\.\/work\/output\/a"?'? is not below/,
  ],
  'a path that leads out in the middle': [archiveOf([{ name: 'a/../../b' }]), /is not below/],
  'an absolute path': [archiveOf([{ name: '/work/output/a' }]), /is not below/],
  'an absolute path in a header of pax': [archiveOf([paxPath('/work/output/a'), { name: 'a' }]), /is not below/],
  'a long name that leads out': [
    archiveOf([{ name: 'long', kind: 'L', content: `${'../'.repeat(60)}work/output/a\0` }, { name: 'a' }]),
    /is not below/,
  ],
  'a symbolic link': [archiveOf([{ name: 'a', kind: '2', target: '/work/output' }]), /"?'?a"?'? is neither a file nor/],
  'a hard link': [archiveOf([{ name: 'a', kind: '1', target: '/etc/passwd' }]), /is neither a file nor/],
  'a device': [archiveOf([{ name: 'a', kind: '3' }]), /is neither a file nor/],
  'a pipe': [archiveOf([{ name: 'a', kind: '6' }]), /is neither a file nor/],
  'a sparse file': [archiveOf([{ name: 'a', kind: 'S' }]), /is neither a file nor/],
  'a name twice': [archiveOf([{ name: 'a' }, { name: './a' }]), /exist/i],
  'a file that is also a directory': [archiveOf([{ name: 'a' }, { name: 'a/b' }]), /exist|not a directory/i],
  'too many entries': [archiveOf(TOO_MANY), /more than 50000 entries/],
  'a size above the bound': [archiveOf([{ name: 'a', size: 8 * 2 ** 30 - 1 }]), /more than .* 536870912 bytes/],
  'a negative size': [archiveOf([{ name: 'a', size: '-4000000000' }]), /it is no tar archive/],
  'a name of a gigabyte': [archiveOf([{ name: 'a', kind: 'L', size: 2 ** 30 }]), /a name that is too long/],
  'another size in a header of pax': [
    archiveOf([{ name: 'header', kind: 'x', content: '12 size=999\n' }, { name: 'a' }]),
    /a header that this service does not read/,
  ],
  'no archive': [Buffer.from('no archive'), /gzip|header/i],
  'gzip without an archive in it': [gzipSync(Buffer.alloc(4096, 'a')), /it is no tar archive/],
  'an archive that ends early': [
    gzipSync(entryBytes({ name: 'a', content: 'a'.repeat(1000) }).subarray(0, 600)),
    /it ends too early/,
  ],
  'a stream that ends early': [archiveOf([{ name: 'a', content: 'abc' }]).subarray(0, 60), /end/i],
};

const END = Buffer.alloc(1024);
const FIRST = entryBytes({ name: 'first', content: 'first' });
const SECOND = entryBytes({ name: 'second', content: 'second' });
/** Gzip without compression: if its bytes are changed, only the checksum shows the change. */
const SOUND = gzipSync(Buffer.concat([FIRST, SECOND, END]), { level: 0 });
const zipped = (...parts: readonly Uint8Array[]) => gzipSync(Buffer.concat(parts));

const DAMAGED: Readonly<Record<string, Uint8Array>> = {
  'content that does not have its checksum': changed(SOUND, SOUND.indexOf('second\0\0', 1200)),
  'another checksum': changed(SOUND, -8),
  'another length': changed(SOUND, -1),
  'no checksum': SOUND.subarray(0, -8),
  'half a length': SOUND.subarray(0, -2),
  'no end': zipped(FIRST, SECOND),
  'half an end': zipped(FIRST, END.subarray(512)),
  'half a header after the first entry': zipped(FIRST, SECOND.subarray(0, 100)),
  'a changed header after the first entry': zipped(FIRST, changed(SECOND, 3), END),
  'zeros in place of a header': zipped(FIRST, Buffer.alloc(512), SECOND.subarray(512), END),
  'entries after its end': zipped(FIRST, END, SECOND, END),
  'more bytes after the end of gzip': Buffer.concat([SOUND, Buffer.from('rubbish')]),
  'more bytes after zeros at the end of gzip': Buffer.concat([SOUND, END, Buffer.from('rubbish')]),
  'no bytes': Buffer.alloc(0),
  'no bytes in gzip': zipped(),
  'no entries': zipped(END),
};

describe.each(['python', 'node'] as const)('a program in %s', (language) => {
  const code = language === 'python' ? 'print("ran")' : 'console.log("ran")';

  slowTest.each(Object.entries(UNFIT))(
    'does not begin, given %s',
    { timeout: 60_000 },
    async (_, [libraries, problem]) => {
      const { stdout, stderr, ending } = await runWith('a forked cell', language, code, libraries);
      expect(stderr).toMatch(/^The libraries cannot be unpacked: /);
      expect(stderr).toMatch(problem);
      expect([stdout, ending]).toMatchObject(['', { kind: 'exited', exit_code: 1 }]);
    },
  );

  slowTest.each(Object.entries(DAMAGED))(
    'does not begin with libraries that have %s',
    { timeout: 60_000 },
    async (_, given) => {
      const { stdout, stderr, ending } = await runWith('a forked cell', language, code, given);
      expect([stdout, stderr]).toEqual(['', expect.stringMatching(/^The libraries cannot be unpacked: .+\n$/)]);
      expect(ending).toMatchObject({ kind: 'exited', exit_code: 1 });
    },
  );

  it('starts if its archive of libraries was written in several parts and padded with zeros', async () => {
    const given = Buffer.concat([zipped(FIRST), zipped(SECOND, END, END), END]);
    expect(await runWith('a forked cell', language, code, given)).toMatchObject({ stdout: 'ran\n', stderr: '' });
  });

  slowTest.each(CELLS)('ends at its memory limit if its libraries need more: %s', { timeout: 120_000 }, async (way) => {
    const { stdout, ending } = await runWith(way, language, code, archiveOf(zeros(18)), { mem_mb: 160 });
    expect([stdout, ending.kind]).toEqual(['', 'memory_limit']);
  });

  slowTest(
    'does not start with more than 512 MiB of libraries, whatever its memory',
    { timeout: 120_000 },
    async () => {
      const more = { mem_mb: 1024, wall_seconds: 100, cpu_seconds: 100 };
      const { stdout, stderr } = await runWith('a forked cell', language, code, archiveOf(zeros(52)), more);
      expect([stdout, stderr]).toEqual(['', expect.stringMatching(/more than 50000 entries or 536870912 bytes/)]);
    },
  );

  slowTest(
    'does not start if the limits leave too little time to unpack its libraries, or forbid files of their size',
    async () => {
      const { stdout, ending } = await runWith('a forked cell', language, code, archiveOf(zeros(20)), {
        ...{ cpu_seconds: 0.02, mem_mb: 512 },
      });
      expect([stdout, ending.kind]).toEqual(['', 'cpu_limit']);
      const small = await runWith('a forked cell', language, code, archiveOf(zeros(1)), { max_file_mb: 1 });
      expect(small).toMatchObject({
        stdout: '',
        stderr: expect.stringMatching(/cannot be unpacked: .*file too large/i),
      });
    },
  );

  slowTest.each(CELLS)('runs with its libraries within a limit of one process: %s', async (way) => {
    const { stdout, stderr } = await runWith(way, language, code, archiveOf([{ name: 'a' }]), { max_pids: 1 });
    expect([stdout, stderr]).toEqual(['ran\n', '']);
  });
});

slowTest('an archive of the maximum size is unpacked', { timeout: 120_000 }, async () => {
  const code = 'import os, sys; print(len(os.listdir(sys.path[0])))';
  const libraries = archiveOf(TOO_MANY.slice(1));
  expect(await runWith('a forked cell', 'python', code, libraries)).toMatchObject({ stdout: '50000\n', stderr: '' });
});

it('library code that an interpreter would run at its start does not run before the program', async () => {
  const ran = 'import sys; sys.stdout.write("ran first\\n")\n';
  const libraries = packed({
    'sitecustomize.py': ran,
    'usercustomize.py': ran,
    'a.pth': `import sys; ${ran}`,
    'gzip.py': ran,
  });
  for (const way of ALL) {
    const { stdout, stderr } = await runWith(way, 'python', 'print("ran")', libraries);
    expect([stdout, stderr]).toEqual(['ran\n', '']);
  }
});

it('a program among the libraries may be executed, but gets no more rights, whatever mode the archive states', {
  tags: ['Libraries-5'],
}, async () => {
  const libraries = archiveOf([
    { name: 'tool', content: '#!/bin/sh\nid -u\n', mode: 0o6755 },
    { name: 'data', mode: 0o7644 },
  ]);
  const code =
    'import os, subprocess, sys\nplace = sys.path[0]\nprint(subprocess.check_output([f"{place}/tool"], text=True), end="")\n' +
    'print([oct(os.stat(f"{place}/{name}").st_mode & 0o7777) for name in ("tool", "data")])';
  const { stdout, stderr } = await runWith('a forked cell', 'python', code, libraries);
  expect([stdout, stderr]).toEqual(["1000\n['0o755', '0o644']\n", '']);
});

it('a cell of a job without libraries has an empty /libraries that cannot be written', async () => {
  const code = 'import os; print(os.listdir("/libraries"), os.access("/libraries", os.W_OK))';
  for (const way of CELLS) {
    const { stdout } = await run(way, 'python', code, { hasTools: false });
    expect(stdout).toBe('[] False\n');
  }
});
