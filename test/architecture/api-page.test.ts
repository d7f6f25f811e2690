/** docs/API.md agrees with the contract. These tests compare the page's examples, made by a service, with the page's tables. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ErrorEnvelope, OPERATION_IDS, type OperationId, operationOf, type TSchema } from '@vouchbox/protocol';
import Schema from 'typebox/schema';
import { describe, expect, test } from 'vitest';
import { REFUSED, SECTIONS } from '../../tools/api-page/examples.ts';
import { exchangesIn } from '../../tools/api-page/exchange.ts';
import { apiPage } from '../../tools/api-page/page.ts';

const page = readFileSync(join(import.meta.dirname, '../../docs/API.md'), 'utf8');
const exchanges = exchangesIn(page);
const examples = SECTIONS.flatMap(({ operations }) => Object.entries(operations)) as [
  OperationId,
  { command: string },
][];

test('docs/API.md says what the contract says; `npm run openapi` writes it', () => {
  expect(page).toBe(apiPage(exchanges));
});

test('docs/API.md shows every operation once, and every command as it was run; `npm run api-docs` writes both', () => {
  expect(examples.map(([id]) => id).toSorted()).toEqual([...OPERATION_IDS].toSorted());
  for (const [id, { command }] of examples) expect(exchanges[id]?.command).toBe(command);
  expect(exchanges.refusal?.command).toBe(REFUSED);
});

test('docs/API.md has the whole text of each section', () => {
  const words = (text: string) => text.split(/\s+/).join(' ');
  for (const { title, text } of SECTIONS)
    expect([title, words(page)]).toEqual([title, expect.stringContaining(words(text))]);
});

test('docs/API.md lists every meaning of a member that has several meanings', () => {
  const [row] = page.split('\n').filter((line) => line.startsWith('| `files[].blob` |'));
  expect(row).toContain('an upload, or an output of a job');
  expect(row).toContain('the digest of that output');
});

/** An answer on the page, with its headers keyed by their names in lower case. */
function takenApart(answer: string) {
  const [head = '', ...rest] = answer.split('\n\n');
  const [statusLine = '', ...lines] = head.split('\n');
  const headers = new Map(lines.map((line) => line.split(': ', 2) as [string, string]));
  return {
    status: Number(statusLine.split(' ')[1]),
    mediaType: headers.get('Content-Type') ?? '',
    headers: [...headers.keys()],
    body: rest.join('\n\n'),
  };
}

/** Whether a body fits its schema. Where the page has `…`, members may be missing. */
function fitsShown(schema: TSchema | undefined, text: string): boolean {
  const marked = text.replace(/,?\s*…(?=\s*\})/g, '');
  const whole = JSON.stringify(schema);
  const asked = marked === text ? whole : whole.replace(/"required":\[[^\]]*\],?/g, '');
  return Schema.Compile(JSON.parse(asked) as object).Check(JSON.parse(marked));
}

/** The media type of a body that is JSON with a schema. Other bodies are exact bytes or lines of metrics. */
const JSON_TYPE = 'application/json';
const overHttp = OPERATION_IDS.filter((id) => !(101 in operationOf(id).answers));
const exampleOf = (id: OperationId) => exchanges[id] ?? { command: '', answer: '' };

describe('the example in docs/API.md', () => {
  test.each(overHttp)('the example for %s calls the operation', (id) => {
    const { command } = exampleOf(id);
    const [, called = ''] = /\$url([^"?]*)/.exec(command) ?? [];
    const [, method = command.includes(' -d ') ? 'POST' : 'GET'] = / -X (\w+)/.exec(command) ?? [];
    expect([
      method,
      called
        .replace('$job', '{id}')
        .replace('$seq', '{seq}')
        .replace('$digest', '{sha256}')
        .replace('$session', '{session}')
        .replace('$link', '{link}')
        .replace('$grading', '{grading}'),
    ]).toEqual([operationOf(id).method, operationOf(id).path]);
  });

  test.each(overHttp)("the example for %s has an answer that the operation lists, with the answer's headers", (id) => {
    const { status, mediaType, headers, body } = takenApart(exampleOf(id).answer);
    const listed = operationOf(id).answers[status];
    expect(Object.keys(listed?.content ?? {})).toContain(mediaType);
    expect(headers).toEqual(expect.arrayContaining([...(listed?.headers ?? [])]));
    expect(mediaType !== JSON_TYPE || fitsShown(listed?.content[JSON_TYPE], body)).toBe(true);
    expect(body).not.toBe('');
  });

  test('the example of the event stream reads all events of a job, up to the last', () => {
    const { command, answer } = exampleOf('streamEvents');
    expect(command).toContain('new WebSocket(');
    expect(answer).toMatch(/^1 queued\n[\s\S]*\d finished\nclosed with 1000$/);
  });

  test('the example of a refusal is an error envelope', () => {
    const { status, body } = takenApart(exchanges.refusal?.answer ?? '');
    expect(status).toBe(400);
    expect(fitsShown(ErrorEnvelope, body)).toBe(true);
  });
});
