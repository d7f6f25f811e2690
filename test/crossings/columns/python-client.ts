/** The Python client. Each call is one process that reads its task from stdin and prints what it saw. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Caller, playCaller } from '../caller.ts';
import type { Crossing } from '../crossing.ts';
import { OF_EVERY_JOB, type Seen } from '../facts.ts';
import { idOf } from '../links.ts';
import { NO_STATUS, type Place, withoutOpening } from '../place.ts';
import { READ_BY_THE_COMMAND } from './grade-package.ts';

const PYTHON = '/usr/bin/python3';
const PROGRAM = join(import.meta.dirname, 'python_client.py');
const LIBRARY = join(import.meta.dirname, '../../../clients/python/src');
const bytesMax = 16 * 2 ** 20;

function call<Told = Seen>(crossing: Crossing, asked: Readonly<Record<string, unknown>>): Promise<Told> {
  const { promise, resolve, reject } = Promise.withResolvers<Told>();
  const env = { PATH: process.env['PATH'], PYTHONPATH: LIBRARY, PYTHONDONTWRITEBYTECODE: '1' };
  const child = execFile(PYTHON, [PROGRAM], { env, maxBuffer: bytesMax }, (error, stdout, stderr) => {
    if (error === null) resolve(JSON.parse(stdout) as Told);
    else reject(new Error(`the Python client ended with ${error.code}: ${stderr.slice(-600)}`));
  });
  child.stdin?.on('error', () => {});
  child.stdin?.end(JSON.stringify({ url: crossing.service.url, key: crossing.key, ...asked }));
  return promise;
}

const caller: Caller = {
  run: async (crossing, idempotency_key) => {
    const { uploads = {} } = crossing.scenario.program;
    const program = await crossing.submission();
    const outputs = await crossing.outputsOfJobs();
    const paths = Object.entries(uploads).map(([path, content], index) => {
      const file = join(crossing.directory, `upload-${index}`);
      writeFileSync(file, content);
      return [path, file];
    });
    const files = { uploads: Object.fromEntries(paths), outputs };
    return await call(crossing, { call: 'run', program, ...files, idempotency_key });
  },
  read: async (crossing, job_id) => await call(crossing, { call: 'read', job_id }),
  cancel: async (crossing, job_id) => {
    await call(crossing, { call: 'cancel', job_id });
  },
  grade: async (crossing) => {
    const { program, tests, interactor } = crossing.scenario;
    return await call(crossing, { call: 'grade', program, tests, interactor });
  },
  readings: {
    listed: async (crossing, job_id) => (await call<{ line: string }>(crossing, { call: 'listed', job_id })).line,
  },
  links: {
    make: async (crossing, job_id) => (await call<{ address: string }>(crossing, { call: 'link', job_id })).address,
    revoke: async (crossing, job_id, address) => {
      await call(crossing, { call: 'unlink', job_id, link_id: idOf(address) });
    },
  },
};

export const pythonClient: Place = {
  title: 'Python client',
  group: 'callers',
  service: 'usual',
  shows: OF_EVERY_JOB,
  except: { packaged: READ_BY_THE_COMMAND },
  unseen: { counted: NO_STATUS },
  open: withoutOpening({ play: async (crossing) => await playCaller(caller, crossing) }),
};
