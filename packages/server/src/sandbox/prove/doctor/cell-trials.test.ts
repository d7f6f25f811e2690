import { describe, expect, test } from 'vitest';
import { toolsFinding } from './cell-trials.ts';

describe('the finding about ls and stat', () => {
  const fix = 'install them';

  test('passes if ls and stat printed no error and the program exited with 0', () => {
    expect(toolsFinding({ said: 'work\n', ending: { kind: 'exited', exit_code: 0 } }, fix)).toMatchObject({
      result: 'pass',
    });
  });

  test('states the exit code and the output if ls or stat fails', () => {
    const run = { said: 'ls: /usr: Function not implemented\n', ending: { kind: 'exited', exit_code: 2 } } as const;
    expect(toolsFinding(run, fix)).toMatchObject({
      result: 'warn',
      observed: 'they fail: exit code 2, ls: /usr: Function not implemented',
      fix,
    });
  });

  test('reports a timeout as a timeout, not as a failure of ls and stat', () => {
    const found = toolsFinding({ said: '', ending: { kind: 'wall_limit' } }, fix);
    expect(found).toMatchObject({ result: 'warn', observed: 'they did not end within 120 s, so nothing is known' });
    expect(found).not.toMatchObject({ fix });
  });
});
