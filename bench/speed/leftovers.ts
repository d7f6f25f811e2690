/** What a thousand cells leave on the host: control groups, directories, mounts and processes. */
import type { JobSubmission, ServiceStatus } from '@vouchbox/protocol';
import type { Measurement } from '../measurement.ts';
import { driven, type Figures, hello, KEY, type ServedCells } from './bench-service.ts';
import { type CellRemains, countRemains } from './cell-remains.ts';
import { type JobClient, openJobClient } from './job-client.ts';

export const leftovers: Figures = { what: '1,000 used cells left', measure: measureLeftovers };

const clientsCount = 8;
const quietMillisecondsMax = 10_000;

/** Counts the leftovers. Parked cells do not count. */
async function measureLeftovers({ port, pid, dataDirectory }: ServedCells): Promise<readonly Measurement[]> {
  const clients = Array.from({ length: clientsCount }, () => openJobClient({ port, key: KEY }));
  const bash: JobSubmission = hello('bash');
  const [client] = clients as [JobClient];
  await driven(clients, bash, clientsCount);
  const before = await quiet(client, () => countRemains(pid, dataDirectory));
  await driven(clients, bash, 1000);
  const after = await quiet(client, () => countRemains(pid, dataDirectory), before);
  for (const one of clients) one[Symbol.dispose]();
  return [
    {
      what: 'groups, directories, mounts, processes of 1,000 used cells left',
      value: after - before,
      unit: 'left',
      baseline: { what: 'allowed', value: 0 },
      valueMax: 0,
    },
  ];
}

/**
 * Counts what is left on the host apart from the parked cells. Waits, but not for ever, until no job runs, no cell is being made
 * and the count is at most `remainsMax`. A helper needs a moment to end after its last cell has ended.
 */
async function quiet(
  client: JobClient,
  count: () => CellRemains,
  remainsMax = Number.POSITIVE_INFINITY,
): Promise<number> {
  const deadline = performance.now() + quietMillisecondsMax;
  for (;;) {
    const { running, parked } = await client.call<ServiceStatus>('GET', '/v1/status');
    const { groups, directories, mounts, processes } = count();
    const remains = groups - parked.cells + directories + mounts + processes;
    const isQuiet = running === 0 && groups === parked.cells && remains <= remainsMax;
    if (isQuiet || performance.now() > deadline) return remains;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
