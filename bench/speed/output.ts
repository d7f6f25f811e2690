/**
 * A flood of output: the service reads it to the end and stores the beginning. It is compared with a bare program that writes
 * into the same kind of pipe.
 */
import type { JobSubmission } from '@vouchbox/protocol';
import { residentMib, type Served } from '../http/processes.ts';
import { type Measurement, median } from '../measurement.ts';
import type { BarePrograms } from './bare-programs.ts';
import { type Figures, KEY } from './bench-service.ts';
import { openJobClient } from './job-client.ts';

const MIB = 2 ** 20;

export const drainedOutput: Figures = { what: '64 MiB of output drained', measure: drained };

/** Measures a flood beyond every cap. The service reads all of it and stores the beginning. */
async function drained(service: Served, bare: BarePrograms): Promise<Measurement[]> {
  using client = openJobClient({ port: service.port, key: KEY });
  const bytes = 64 * MIB;
  const submission: JobSubmission = {
    language: 'bash',
    code: `head -c ${bytes} /dev/zero`,
    limits: { wall_seconds: 60, cpu_seconds: 60 },
  };
  const before = residentMib(service.pid);
  let peak = before;
  const look = setInterval(() => {
    peak = Math.max(peak, residentMib(service.pid));
  }, 20);
  const [ours, theirs]: [number[], number[]] = [[], []];
  for (let round = 0; round <= 5; round++) {
    const { durations } = await bare.order({ run: { bare: 'flood' }, times: 1, workers: 1 });
    const { result } = await client.timed(submission);
    if (!result.truncated || result.status !== 'succeeded') throw new Error(`the flood ended ${result.status}`);
    if (round === 0) continue;
    theirs.push(bytes / MIB / ((durations[0] ?? Number.NaN) / 1000));
    ours.push(bytes / MIB / ((result.duration_ms ?? Number.NaN) / 1000));
  }
  clearInterval(look);
  return [
    {
      what: '64 MiB of output drained',
      value: median(ours),
      unit: 'MiB/s',
      baseline: { what: 'head into a pipe', value: median(theirs) },
      spread: [Math.min(...ours), Math.max(...ours)],
      target: { ratio: 0.5, is: 'at least' },
    },
    {
      what: '  memory of the service meanwhile, over before',
      value: peak - before,
      unit: 'MiB',
      baseline: { what: 'allowed', value: 64 },
      target: { ratio: 1, is: 'at most' },
    },
  ];
}
