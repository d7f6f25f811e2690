import { describe, expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';
import {
  EXPORT_FILES,
  EXPORT_MANIFEST,
  EXPORT_OPTIONAL_FILES,
  exportedFileBytesMax,
  exportFilesMax,
  exportManifest,
  JOB_EXPORT_TYPE,
  readExportManifest,
} from './job-export.ts';

const job = { tenant: 'acme', job_id: 'job_1' };
const files = new Map(Object.values(EXPORT_FILES).map((path) => [path as string, new Uint8Array([1, 2])]));
const sha256 = 'a12871fee210fb8619291eaea194581cbd2531e4b23759d225f6806923f63222';
const good = { _type: JOB_EXPORT_TYPE, ...job, files: entriesOf(Object.values(EXPORT_FILES)) };

function entriesOf(paths: readonly string[]) {
  return paths.map((path) => ({ path, size_bytes: 2, sha256 }));
}

/** The files of a good list, with these members of the first file replaced. Everything else in the list is right. */
function changed(members: Readonly<Record<string, unknown>>) {
  const [first, ...others] = good.files;
  return [{ ...first, ...members }, ...others];
}

function read(value: unknown) {
  return readExportManifest(new TextEncoder().encode(canonicalJson(value)));
}

describe('the manifest of an exported job', () => {
  test('lists every file with its size and digest, and is read back', () => {
    expect(readExportManifest(exportManifest(job, files))).toEqual({ kind: 'manifest', manifest: good });
  });

  test('may list the texts of the submission, input files and output files', () => {
    const more = [...good.files, ...entriesOf(['code', 'stdin', 'input/a.csv', 'output/b/c.png'])];
    expect(read({ ...good, files: more })).toMatchObject({ kind: 'manifest' });
  });

  test.each([
    '../x',
    '/etc/passwd',
    'output/../../x',
    'input',
    'output/',
    'other.txt',
    'input\\a',
    EXPORT_MANIFEST,
    '',
  ])('is refused if it lists a file at %j', (path) => {
    expect(read({ ...good, files: [...good.files, ...entriesOf([path])] })).toMatchObject({ kind: 'refused' });
  });

  test.each(Object.values(EXPORT_FILES))('is refused if it does not list %s', (path) => {
    const rest = good.files.filter((file) => file.path !== path);
    expect(read({ ...good, files: rest })).toEqual({ kind: 'refused', reason: `it does not list ${path}` });
  });

  test.each([
    ['another type', { ...good, _type: 'urn:other' }],
    ['no tenant', { ...good, tenant: null }],
    ['no job', { ...good, job_id: 1 }],
    ['no files', { ...good, files: {} }],
    ['a file twice', { ...good, files: [...good.files, good.files[0]] }],
    ['a digest in capitals', { ...good, files: changed({ sha256: sha256.toUpperCase() }) }],
    ['a digest that is not a string', { ...good, files: changed({ sha256: null }) }],
    ['a malformed size', { ...good, files: changed({ size_bytes: 1.5 }) }],
    ['a file that is not an object', { ...good, files: [...good.files, null] }],
    ['an array', [good]],
    ['nothing', null],
  ])('is refused with %s', (_what, value) => {
    expect(read(value)).toMatchObject({ kind: 'refused' });
  });

  test('is refused if it is not JSON', () => {
    expect(readExportManifest(new Uint8Array([0x7b]))).toEqual({
      kind: 'refused',
      reason: 'it ends before its value does at byte 1',
    });
  });
});

describe('the files of an exported job', () => {
  test.each([
    [EXPORT_FILES.envelope, 2_097_152],
    [EXPORT_FILES.result, 16_777_216],
    [EXPORT_FILES.receipt, 2_097_152],
    [EXPORT_FILES.events, 67_108_864],
    [EXPORT_FILES.publicKey, 4096],
    [EXPORT_MANIFEST, 262_144],
    [EXPORT_OPTIONAL_FILES.code, 1_048_576],
    [EXPORT_OPTIONAL_FILES.stdin, 67_108_864],
    [EXPORT_OPTIONAL_FILES.args, 262_144],
    [EXPORT_OPTIONAL_FILES.env, 262_144],
    [EXPORT_OPTIONAL_FILES.policy, 262_144],
    ['input/a.csv', 67_108_864],
    ['output/a.png', 67_108_864],
    ['elsewhere/a.png', null],
  ])('%s has at most %s bytes (Spec § Limits)', (path, bytesMax) => {
    expect(exportedFileBytesMax(path)).toBe(bytesMax);
  });

  test('are at most 108: the manifest, eleven by name, 32 inputs, 32 outputs and 32 large outputs', () => {
    expect(exportFilesMax).toBe(108);
  });
});
