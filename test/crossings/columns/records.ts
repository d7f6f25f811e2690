/**
 * The places where a service stores its data, and the places to which the data is carried once all jobs have ended. Another
 * service then starts from the carried data, and each job is read again there.
 */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { newSchema } from '../../../packages/server/src/store/postgres/schema.fixture.ts';
import { vouchbox } from '../../rig/command.ts';
import { startPostgres } from '../../rig/postgres-server.ts';
import type { Crossing } from '../crossing.ts';
import { OF_EVERY_JOB, type Seen } from '../facts.ts';
import { type Place, withoutOpening } from '../place.ts';
import { newDirectory } from '../service.ts';
import { playByClient, readAgain } from './by-client.ts';

async function told(words: readonly string[]): Promise<void> {
  const { code, stderr } = await vouchbox(words);
  if (code !== 0) throw new Error(`vouchbox ${words[0]} ended with ${code}: ${stderr}`);
}

const FROM_ITS_START = 'A service counts from its start: what it counted is not in its data.';

export const backup: Place = {
  title: 'backup and restore',
  group: 'records',
  service: 'usual',
  shows: OF_EVERY_JOB,
  except: { counted: FROM_ITS_START },
  open: withoutOpening({
    play: playByClient,
    carry: async (service, start) => {
      const directory = newDirectory();
      const [file, keys, dataDir] = ['store.db', 'keys', 'data'].map((name) => join(directory, name)) as [
        string,
        string,
        string,
      ];
      await told(['backup', file, '--data-dir', service.dataDir]);
      cpSync(join(service.dataDir, 'attestation-keys'), keys, { recursive: true });
      await told(['restore', file, '--data-dir', dataDir, '--attestation-keys', keys]);
      return await start({ 'store-check': 'full' }, dataDir);
    },
    again: readAgain,
  }),
};

export const copy: Place = {
  title: 'copy to PostgreSQL',
  group: 'records',
  service: 'usual',
  shows: OF_EVERY_JOB,
  except: { counted: FROM_ITS_START },
  open: async () => {
    const server = await startPostgres();
    return {
      play: playByClient,
      carry: async (service, start) => {
        const url = await newSchema(server.url);
        await service.stop();
        await told(['copy-store', url, '--data-dir', service.dataDir]);
        const dataDir = newDirectory();
        cpSync(join(service.dataDir, 'attestation-keys'), join(dataDir, 'attestation-keys'), { recursive: true });
        return await start({ 'database-url': url, 'store-check': 'full' }, dataDir);
      },
      again: readAgain,
      [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
    };
  },
};

/** One node accepts jobs, and the other reads and cancels them. */
export const nodes: Place = {
  title: 'two nodes',
  group: 'records',
  service: 'nodes',
  shows: OF_EVERY_JOB,
  except: {},
  open: withoutOpening({ play: playByClient }),
};

/** Reads the job again once all its large contents have moved to the object store. */
async function moved(crossing: Crossing): Promise<Seen> {
  const seen = await playByClient(crossing);
  if (crossing.service.signs) for (const job of await crossing.jobs()) await crossing.signed(job);
  await crossing.until('contents did not move to the object store', async () => {
    const { object_store } = await crossing.client.status();
    if (object_store === null || object_store === undefined) throw new Error('the service has no object store');
    return object_store.to_move === 0 ? true : null;
  });
  return { ...seen, ...(await readAgain(crossing)) };
}

export const objects: Place = {
  title: 'object store',
  group: 'records',
  service: 'objects',
  shows: OF_EVERY_JOB,
  except: {},
  open: withoutOpening({ play: moved }),
};
