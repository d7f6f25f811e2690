/** Where programs run: each class, each launcher, and a service that an ordinary user runs. */
import type { Backend, EventData } from '@vouchbox/protocol';
import type { Crossing } from '../crossing.ts';
import { OF_EVERY_JOB, type Seen } from '../facts.ts';
import { FEATURES, type Feature } from '../features.ts';
import { type Place, type ServiceName, withoutOpening } from '../place.ts';
import { playByClient } from './by-client.ts';

interface Cells {
  readonly backend: Backend;
  /** The name of the cells' launcher, as a receipt states it. */
  readonly runtime?: string;
}

/** Plays a scenario, and then makes sure that its programs ran in cells of this kind. */
async function playIn(crossing: Crossing, { backend, runtime }: Cells): Promise<Seen> {
  const seen = await playByClient(crossing);
  for (const job of await crossing.jobs()) {
    const { receipt } = await crossing.client.detail(job);
    const identity = receipt?.runtime_identity?.name;
    // If a crash ended a job, the job's history describes the cell, but the receipt does not.
    const { events } = await crossing.client.replay(job, { limit: 10 });
    const started = events.find(({ kind }) => kind === 'started');
    const used = (started?.data as EventData<'started'> | undefined)?.backend;
    if (used !== backend) throw new Error(`its cell was one of ${used}`);
    if (runtime !== undefined && identity !== undefined && identity !== runtime) {
      throw new Error(`its cell was made by ${identity}`);
    }
  }
  return seen;
}

function cells(title: string, service: ServiceName, kind: Cells): Place {
  const play = async (crossing: Crossing) => await playIn(crossing, kind);
  return { title, group: 'cells', service, shows: OF_EVERY_JOB, except: {}, open: withoutOpening({ play }) };
}

export const namespace = cells('namespace', 'usual', { backend: 'namespace' });
export const gvisor: Place = {
  ...cells('gVisor', 'gvisor', { backend: 'gvisor' }),
  unseen: {
    max_pids: {
      facts: ['violations'],
      why: 'The kernel of gVisor refuses the process and counts it nowhere, so the violation `pids` is not told.',
    },
  },
};
export const fork = cells('fork', 'usual', { backend: 'namespace', runtime: 'svc-launcher' });
export const crun = cells('crun', 'crun', { backend: 'namespace', runtime: 'crun' });

/** Why root does not try this column. An ordinary user needs cgroups of version 2, so another host tries the column. */
const ELSEWHERE =
  'This run was made by root; `npm run hosts -- debian-12-user` tries this column as an ordinary user, on a host of its own.';
const NO_PACKS = 'A pack is built by root.';

const except: Partial<Record<Feature, string>> =
  process.getuid?.() === 0
    ? Object.fromEntries(FEATURES.map((name) => [name, ELSEWHERE]))
    : { compiled_pack: NO_PACKS, built: NO_PACKS, library_pack: NO_PACKS, compile_failed: NO_PACKS };

/** The service of the user who runs this program. This user must not be root. */
export const ordinaryUser: Place = {
  ...cells('ordinary user', 'usual', { backend: 'namespace', runtime: 'svc-launcher' }),
  except,
};
