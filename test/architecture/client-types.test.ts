/** The generated parts of the clients agree with the contract. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { answerForms, answerFormsModule, formOf } from '../../tools/answer-forms.ts';
import { clientTypes } from '../../tools/client-types.ts';

const root = join(import.meta.dirname, '../..');

test.each([
  ['types', 'contract-types.ts', clientTypes],
  ['forms of answers', 'answer-forms.ts', answerFormsModule],
])("the client's %s equal the contract's; `npm run openapi` writes them", (_what, name, made) => {
  const file = `packages/client/src/${name}`;
  const words = ['check', '--write', `--stdin-file-path=${file}`];
  const biome = join(root, 'node_modules/.bin/biome');
  const formatted = execFileSync(biome, words, { cwd: root, encoding: 'utf8', input: made() });
  expect(readFileSync(join(root, file), 'utf8')).toBe(formatted);
});

test('the Python client’s forms equal the contract’s forms', () => {
  const text = readFileSync(join(root, 'clients/python/src/vouchbox/answer_forms.json'), 'utf8');
  expect(JSON.parse(text)).toEqual(answerForms());
});

test('formOf refuses a schema if one form cannot express all its alternatives', () => {
  const text = { type: 'string' };
  const object = { type: 'object', properties: { name: text } };
  expect(formOf({ anyOf: [text, { type: 'integer' }, { type: 'null' }] })).toBe('siz');
  expect(formOf({ anyOf: [object, { type: 'null' }] })).toEqual([{ 'name?': 's' }, null]);
  expect(() => formOf({ anyOf: [text, object] })).toThrow('no form says all of these alternatives');
  expect(() => formOf({ anyOf: [text, { items: text }] })).toThrow('no form says all of these alternatives');
});
