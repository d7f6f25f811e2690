import { ServiceFailure, TransportFailure } from '@vouchbox/client';
import { expect, test, vi } from 'vitest';
import { tellFailure } from './tell-failure.ts';

const refusal = { requestId: 'req_1', retryable: false, retryAfterSeconds: null };
const goesOn = 'grading grd_1 goes on in the service unless it has ended: GET /v1/gradings/grd_1 shows it';

test.each([
  [new TransportFailure('network', 'no answer'), `no answer; ${goesOn}`],
  [
    new ServiceFailure('It stops', { ...refusal, code: 'shutting_down', status: 503 }),
    `It stops (shutting_down, request req_1); ${goesOn}`,
  ],
  [
    new ServiceFailure('It is spent', { ...refusal, code: 'rate_limited', status: 429 }),
    'It is spent (rate_limited, request req_1); this was grading grd_1',
  ],
  [new TransportFailure('undecodable', 'no verdict'), 'no verdict; this was grading grd_1'],
])('a failure names the accepted grading, which goes on only if the service was away: %s', (failure, line) => {
  failure.grading_id = 'grd_1';
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    expect(tellFailure(failure, 125)).toBe(125);
    expect(said.mock.calls.join('')).toBe(`vouchbox: ${line}\n`);
  } finally {
    said.mockRestore();
  }
});
