/** A program's arguments and environment variables, and outputs that a pattern names. All are additions to the contract. */
import { canonicalJson, sha256Hex } from '@vouchbox/evidence';
import type { JobSubmission } from '@vouchbox/protocol';
import { describe, expect, test } from 'vitest';
import { useRig } from '../rig/rig.ts';

const SHOW: Readonly<Record<string, string>> = {
  python: 'import os, sys, time\nprint([sys.argv[1:], os.environ["A"], time.tzname[0]])',
  node: 'console.log(process.argv.slice(2), process.env.A, new Date(0).getHours())',
  typescript:
    'const words: string[] = process.argv.slice(2); console.log(words, process.env.A, new Date(0).getHours())',
  bash: 'printf "[%s] " "$#" "$@" "$A" "$(date -d @0 +%H)"',
};
const SHOWN: Readonly<Record<string, string>> = {
  python: "[['-x', '', 'é\\n'], 'b=c', 'JST']\n",
  node: "[ '-x', '', 'é\\n' ] b=c 9\n",
  typescript: "[ '-x', '', 'é\\n' ] b=c 9\n",
  bash: '[3] [-x] [] [é\n] [b=c] [09] ',
};
const words = { args: ['-x', '', 'é\n'], env: { A: 'b=c', TZ: 'Asia/Tokyo' } };

describe.each(['namespace', 'gvisor', 'subprocess'])('in the class of %s', (provider) => {
  const rig = useRig({ provider });

  test.each(Object.keys(SHOW))(
    'a program in %s gets its arguments and its environment variables',
    { tags: ['Submission-43', 'Submission-44'] },
    async (language) => {
      const { result } = await rig().run({ language, code: SHOW[language] ?? '', ...words });
      expect([result.stdout, result.stderr, result.status]).toEqual([SHOWN[language], '', 'succeeded']);
    },
  );

  test.each(['node', 'typescript'])(
    'a program in %s gets its arguments and variables even if Node restarts with another heap size',
    async (language) => {
      const { result } = await rig().run({ language, code: SHOW[language] ?? '', ...words, limits: { mem_mb: 200 } });
      expect([result.stdout, result.stderr]).toEqual([SHOWN[language], '']);
    },
  );

  test('a program gets the largest allowed arguments and variables whole, together with its stdin', {
    tags: ['Submission-45'],
  }, async () => {
    const args = Array.from({ length: 64 }, (_, at) => String(at % 10).repeat(512));
    const env = Object.fromEntries(Array.from({ length: 64 }, (_, at) => [`V${at}`, 'v'.repeat(512)]));
    const code = 'import os, sys\nprint(sum(map(len, sys.argv[1:])), len(os.environ["V63"]), sys.stdin.read())';
    const { result } = await rig().run({ language: 'python', code, args, env, stdin: 'all of it' });
    expect(result.stdout).toBe('32768 512 all of it\n');
  });

  test('the pattern output/** returns every file below output/', {
    tags: ['Submission-46'],
  }, async () => {
    const code =
      'mkdir -p output/plots; for at in b a; do echo $at > output/plots/$at; done; echo c > output/c; ln -s /etc output/l';
    const { result, detail } = await rig().run({ language: 'bash', code, outputs: ['output/**'] });
    expect(result.artifacts.map(({ path }) => path)).toEqual(['output/c', 'output/plots/a', 'output/plots/b']);
    expect(result.violations).toMatchObject([{ type: 'output_path', path: 'output/l' }]);
    expect(detail.receipt?.output_artifacts?.map(({ path }) => path)).toHaveLength(3);
  });
});

describe('the record of a job', () => {
  const rig = useRig();
  const job: JobSubmission = { language: 'bash', code: 'true', args: ['a', 'b'], env: { B: '2', A: '1' } };

  test('has the arguments and variables as submitted, and has their digests in the receipt', {
    tags: ['Receipt-25'],
  }, async () => {
    const { detail } = await rig().run(job);
    expect(detail.requested_spec).toMatchObject({ args: job.args, env: job.env });
    expect(detail.receipt).toMatchObject({
      args_sha256: sha256Hex('["a","b"]'),
      env_sha256: sha256Hex(canonicalJson({ A: '1', B: '2' })),
    });
  });

  test('has empty arguments and variables, with null as their digests, if none were given', {
    tags: ['Receipt-25'],
  }, async () => {
    const { detail } = await rig().run({ language: 'bash', code: 'true' });
    expect(detail.requested_spec).toMatchObject({ args: [], env: {} });
    expect(detail.receipt).toMatchObject({ args_sha256: null, env_sha256: null });
  });

  test('is returned under its idempotency key only to a submission with the same arguments and variables', async () => {
    const post = async (change: object) => {
      const answer = await rig().post({ ...job, ...change }, { headers: { 'idempotency-key': 'words' } });
      return [answer.status, answer.headers.get('idempotency-replayed') ?? answer.json.error.code] as const;
    };
    expect(await post({})).toEqual([201, 'false']);
    expect(await post({ env: { A: '1', B: '2' } })).toEqual([201, 'true']);
    expect(await post({ args: ['b', 'a'] })).toEqual([422, 'idempotency_key_reused']);
    expect(await post({ env: { A: '1' } })).toEqual([422, 'idempotency_key_reused']);
  });
});
