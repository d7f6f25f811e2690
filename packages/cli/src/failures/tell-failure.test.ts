import { TransportFailure } from '@vouchbox/client';
import { expect, test, vi } from 'vitest';
import { tellFailure } from './tell-failure.ts';

test('a grading that was accepted before the service was lost is named, with the way to look at it', () => {
  const lost = Object.assign(new TransportFailure('network', 'no answer to GET /v1/gradings/grd_1/events'), {
    grading_id: 'grd_1',
  });
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    expect(tellFailure(lost, 125)).toBe(125);
    expect(said.mock.calls.join('')).toBe(
      'vouchbox: no answer to GET /v1/gradings/grd_1/events; grading grd_1 goes on in the service unless it has ended: ' +
        'GET /v1/gradings/grd_1 shows it\n',
    );
  } finally {
    said.mockRestore();
  }
});
