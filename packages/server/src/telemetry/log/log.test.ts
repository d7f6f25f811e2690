import { Writable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { createLog, type Log, type LogLevel, logAtAnyLevel } from './log.ts';

function logLines(write: (log: Log) => void, level: LogLevel = 'debug'): Record<string, unknown>[] {
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString());
      done();
    },
  });
  write(createLog(level, sink));
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('the diagnostic log', () => {
  test('has one JSON object on each line, with a time and a named level', () => {
    const [line] = logLines((log) => log.warn({ job_id: 'job_1' }, 'slow'));
    expect(line).toMatchObject({ level: 'warn', msg: 'slow', job_id: 'job_1' });
    expect(line?.['time']).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  test.each(['fatal', 'error', 'warn', 'info', 'trace'] as const)(
    'the level %s shows the lines of its level and above',
    { tags: ['Limits-26'] },
    (level) => {
      const lines = logLines((log) => logAtAnyLevel(log, { bounds: { connections: 1 } }, 'transport bounds'), level);
      expect(lines).toMatchObject([{ level: 'info', msg: 'transport bounds', bounds: { connections: 1 } }]);
    },
  );

  test('shows nothing at level silent', () => {
    expect(logLines((log) => logAtAnyLevel(log, {}, 'transport bounds'), 'silent')).toEqual([]);
  });

  test('redacts members that are named key, ticket, code or stdin', () => {
    const canary = 'canary-7f3a';
    const secrets = { key: canary, ticket: canary, code: canary, stdin: canary, requested_spec: { code: canary } };
    const [top, nested] = logLines((log) => {
      log.info(secrets, 'top');
      log.info({ request: { authorization: canary, body: canary, headers: { cookie: canary } } }, 'nested');
    });
    expect(JSON.stringify([top, nested])).not.toContain(canary);
    expect(top).toMatchObject({ code: '[redacted]', stdin: '[redacted]' });
  });

  test.each([
    'GET /v1/jobs/job_1/stream?ticket=CANARY1234567890&after=3',
    'authorization: Bearer CANARY1234567890',
    'refused svc_a1b2_CANARY1234567890',
    'refused eyJhbGciOi.CANARY1234567890.c2ln',
  ])('removes what looks like a credential from any text: %s', (text) => {
    const lines = logLines((log) => {
      log.info(text);
      log.error({ err: new Error(text) }, 'failed');
      log.info({ deep: { er: { still: text } } }, 'deep');
    });
    expect(JSON.stringify(lines)).not.toContain('CANARY');
    expect(lines).toHaveLength(3);
  });

  test('keeps the `code` of an error, although it hides members named code', () => {
    const [line] = logLines((log) => log.error({ err: Object.assign(new Error('no space'), { code: 'ENOSPC' }) }));
    expect(line).toMatchObject({ err: { code: 'ENOSPC' } });
  });
});
