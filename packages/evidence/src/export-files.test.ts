import { describe, expect, test } from 'vitest';
import { canonicalJson } from './canonical-json.ts';
import { digestOf, type ExportContent } from './export-content.ts';
import { ExportFailure, type ExportSource, exportFiles } from './export-files.ts';
import { EXPORT_FILES, EXPORT_MANIFEST, readExportManifest } from './job-export.ts';
import { sha256Hex } from './sha256-portable.ts';
import { policyText } from './spec-texts.ts';

const bytes = (text: string) => new TextEncoder().encode(text);
const whole = (content: ExportContent | undefined) => (content instanceof Uint8Array ? content : bytes(''));
const text = (content: ExportContent | undefined) => new TextDecoder().decode(whole(content));

const spec = {
  language: 'bash',
  code: 'echo',
  stdin: 'in',
  args: ['a'],
  env: { B: '1' },
  files: [
    { path: 'input/a', content_base64: 'YQ==' },
    { path: 'input/unlisted', content_base64: 'YQ==' },
  ],
  outputs: ['output/b'],
  runtime: null,
  requirements: { minimum_isolation: 'none' },
  limits: { wall_seconds: 10, cpu_seconds: 5, mem_mb: 256, max_pids: 64, max_file_mb: 16 },
} as const;

const digest = 'a'.repeat(64);
const receipt = {
  code_sha256: digest,
  stdin_sha256: digest,
  args_sha256: digest,
  env_sha256: digest,
  policy_sha256: sha256Hex(policyText(spec as never)),
  input_artifacts: [{ path: 'input/a' }],
  output_artifacts: [{ path: 'output/b' }],
};

function sourceOf(changes: object = {}): ExportSource {
  return {
    tenant: 'acme',
    job_id: 'job_1',
    envelope: bytes('envelope'),
    result_artifact: bytes('result'),
    receipt_json: canonicalJson(receipt),
    events: [{ seq: 1 }, { seq: 2 }],
    public_key_pem: 'pem',
    requested_spec: spec,
    artifacts: [
      { path: 'output/b', content: bytes('b') },
      { path: 'output/unlisted', content: bytes('c') },
    ],
    ...changes,
  } as unknown as ExportSource;
}

const evidence = [EXPORT_MANIFEST, ...Object.values(EXPORT_FILES)];
const pathsOf = (source: ExportSource) => [...exportFiles(source, { program: 'kept' }).keys()];
const withReceipt = (changes: object) => sourceOf({ receipt_json: canonicalJson({ ...receipt, ...changes }) });
const withSpec = (changes: object) => sourceOf({ requested_spec: { ...spec, ...changes } });

describe('the export of a job', () => {
  test('has its evidence, and the texts and files that the receipt covers', () => {
    const files = exportFiles(sourceOf(), { program: 'kept' });
    const program = ['code', 'stdin', 'args.json', 'env.json', 'policy.json', 'input/a', 'output/b'];
    expect([...files.keys()]).toEqual([...evidence, ...program]);
    expect(text(files.get(EXPORT_FILES.events))).toBe('{"seq":1}\n{"seq":2}\n');
    expect(program.map((path) => text(files.get(path)))).toEqual([
      'echo',
      'in',
      '["a"]',
      '{"B":"1"}',
      policyText(spec as never),
      'a',
      'b',
    ]);
  });

  test('has a manifest that lists all other files', () => {
    const files = exportFiles(sourceOf(), { program: 'kept' });
    const result = readExportManifest(whole(files.get(EXPORT_MANIFEST)));
    if (result.kind === 'refused') throw new Error(result.reason);
    const listed = result.manifest.files.map(({ path, size_bytes }) => [path, size_bytes]);
    expect(listed).toEqual([...files].slice(1).map(([path, content]) => [path, digestOf(content).size_bytes]));
  });

  test('lists the size and digest of an uploaded file, and leaves out a file that is no longer stored', () => {
    const files = [
      { path: 'input/a', blob: 'sha256:stored' },
      { path: 'input/b', blob: 'sha256:gone' },
    ];
    const known = { size_bytes: 67_108_864, sha256: digest };
    const input_artifacts = files.map(({ path }) => ({ path }));
    const exported = exportFiles(
      sourceOf({
        requested_spec: { ...spec, files },
        receipt_json: canonicalJson({ ...receipt, input_artifacts }),
        blobs: new Map([['sha256:stored', known]]),
      }),
      { program: 'kept' },
    );
    expect([exported.get('input/a'), exported.has('input/b')]).toEqual([known, false]);
    const result = readExportManifest(whole(exported.get(EXPORT_MANIFEST)));
    if (result.kind === 'refused') throw new Error(result.reason);
    expect(result.manifest.files).toContainEqual({ path: 'input/a', ...known });
  });

  test('leaves out the program on request', () => {
    expect([...exportFiles(sourceOf(), { program: 'left_out' }).keys()]).toEqual(evidence);
  });

  test('leaves out all texts and files that a recovery receipt does not cover', () => {
    expect(pathsOf(sourceOf({ receipt_json: '{}' }))).toEqual(evidence);
  });

  test.each([
    ['code', 'code_sha256'],
    ['stdin', 'stdin_sha256'],
    ['args.json', 'args_sha256'],
    ['env.json', 'env_sha256'],
    ['policy.json', 'policy_sha256'],
  ])('has %s only if the receipt states %s', (path, member) => {
    expect(pathsOf(sourceOf())).toContain(path);
    expect(pathsOf(withReceipt({ [member]: null }))).not.toContain(path);
  });

  test.each([
    ['code', { code: undefined }],
    ['stdin', { stdin: null }],
    ['args.json', { args: [] }],
    ['env.json', { env: {} }],
    ['input/a', { files: undefined }],
  ])('has no %s if the job was given none', (path, changes) => {
    expect(pathsOf(withSpec(changes))).not.toContain(path);
  });

  test.each([
    ['the job has no receipt', sourceOf({ receipt_json: 'null' })],
    ['an input file input/a that is not base64', withSpec({ files: [{ path: 'input/a', content_base64: '%' }] })],
    ['an input file output/b', withSpec({ files: [{ path: 'output/b', content_base64: '' }] })],
    ['an output file input/a', sourceOf({ artifacts: [{ path: 'input/a', content: bytes('') }] })],
    ['an output file output/../x', sourceOf({ artifacts: [{ path: 'output/../x', content: bytes('') }] })],
  ])('fails with the reason: %s', (says, source) => {
    expect(() => exportFiles(source, { program: 'kept' })).toThrow(ExportFailure);
    expect(() => exportFiles(source, { program: 'kept' })).toThrow(says);
  });
});
