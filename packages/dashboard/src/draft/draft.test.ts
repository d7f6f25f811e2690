import { afterAll, beforeAll, expect, test, vi } from 'vitest';

const page = new EventTarget();
let draft: typeof import('./draft.ts');

beforeAll(async () => {
  vi.stubGlobal('window', page);
  vi.resetModules();
  draft = await import('./draft.ts');
});
afterAll(() => vi.unstubAllGlobals());

/** Whether the browser asks before a reload. */
const asks = () => !page.dispatchEvent(new Event('beforeunload', { cancelable: true }));

test.each([
  ['a program', { code: 'print(1)' }],
  ['stdin', { stdin: 'a' }],
  ['arguments', { args: 'a' }],
  ['variables', { env: 'A=b' }],
  ['outputs', { outputs: 'output/a' }],
  ['files', { files: [{ path: 'input/a', content_base64: 'YQ==' }] }],
  ['tools', { tools: [{ name: 'search', description: '', arguments: '', result: '' }] }],
  ['labels', { labels: 'a' }],
])('the browser asks before a reload loses %s, until the draft is discarded', (_name, typed) => {
  draft.forgetDraft();
  expect(asks()).toBe(false);
  draft.editDraft(typed);
  expect(asks()).toBe(true);
  draft.forgetDraft();
  expect(asks()).toBe(false);
});

test('the browser does not ask if only the language was changed, or if a limit was set and then reset', () => {
  draft.chooseLanguage('bash');
  draft.editDraft(({ limits }) => ({ limits: { ...limits, mem_mb: 100 } }));
  expect(asks()).toBe(true);
  draft.editDraft(({ limits }) => ({ limits: { ...limits, mem_mb: null } }));
  expect(asks()).toBe(false);
});
