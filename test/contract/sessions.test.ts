/** Spec § Sessions: each step begins with the variables and files that the previous step left. */

import { sha256Hex } from '@vouchbox/evidence';
import type { JobSubmission } from '@vouchbox/protocol';
import { openCredentials } from '@vouchbox/server';
import { describe, expect } from 'vitest';
import { slowTest, quickTest as test } from '../rig/form.ts';
import { type Answer, Rig, useRig } from '../rig/rig.ts';

const rig = useRig();

const refusalOf = ({ status, json }: Answer): [number, string] => [status, json.error.code as string];
const step = (name: string, after: string | null, code = 'x = 1', more: object = {}) =>
  ({ language: 'python', code, session: { name, after }, ...more }) as JobSubmission;
let count = 0;
const fresh = () => `session.${++count}`;

/** Runs steps in one session, and returns the state that they left. */
async function steps(codes: readonly string[], language = 'python', to: Rig = rig()) {
  const session = await to.alpha.client.session(fresh(), { language });
  const results = [];
  for (const code of codes) results.push(await session.run(code));
  return { session, results, last: results.at(-1) as (typeof results)[number] };
}

const PYTHON = [
  'import math, collections, dataclasses, enum, functools, typing\nvalues = []\nalias = values',
  'class Point:\n    made = 0\n    def __init__(self, x): self.x = x; Point.made += 1\n    def double(self): return Point(self.x * 2)',
  'def area(radius, *, scale=1): return math.floor(math.pi * radius ** 2 * scale)',
  "Pair = collections.namedtuple('Pair', 'left right')\npair = Pair(1, [2])",
  "open('notes.txt', 'a').write('a')",
  '@dataclasses.dataclass(order=True)\nclass Item:\n    size: int\n    tags: list = dataclasses.field(default_factory=list)\nitem = Item(3)',
  'class Color(enum.Enum):\n    RED = 1\n    BLUE = 2\n    def next(self): return Color(3 - self.value)\nred = Color.RED',
  'def counter():\n    count = 0\n    def more():\n        nonlocal count\n        count += 1\n        return count\n    return more\nmore = counter()\nmore()',
  "T = typing.TypeVar('T')\nclass Box(typing.Generic[T]):\n    __slots__ = ('held',)\n    def __init__(self, held): self.held = held\nbox = Box('b')",
  'class Special(Point):\n    def __init__(self, x): super().__init__(x + 100)\n    @property\n    def half(self): return self.x / 2\n    @staticmethod\n    def name(): return "special"\nspecial = Special(1)',
  '@functools.lru_cache(maxsize=None)\ndef fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)',
  'loop = []\nloop.append(loop)\nlater = lambda: area(2)',
  ...Array.from({ length: 7 }, (_, n) =>
    [
      `values.append(Point(${n}).double().x + area(${n}) + more() + fib(${n}))`,
      `open('notes.txt', 'a').write('${n}')`,
      'alias.append(pair.left); pair.right.append(len(values)); item.tags.append(red.next().name)',
    ].join('\n'),
  ),
  'print(values, alias is values, Point.made, pair, Pair(3, 4), item, Item(1) < item, red is Color.RED, Color.BLUE.next())\n' +
    "print(box.held, Box[int](1).held, special.half, Special.name(), isinstance(special, Point), loop[0] is loop, later())\nprint(open('notes.txt').read())",
];

const JAVASCRIPT = [
  'globalThis.values = []; globalThis.alias = values;',
  'globalThis.map = new Map([["a", new Date(0)]]);',
  'import fs from "node:fs"; fs.appendFileSync("notes.txt", "a");',
  'globalThis.ring = {}; ring.self = ring;',
  'globalThis.bytes = new Uint8Array([1, 2, 3]); globalThis.big = 10n ** 20n;',
  ...Array.from(
    { length: 14 },
    (_, n) =>
      `import fs from "node:fs"; values.push(await Promise.resolve(${n})); alias.push(map.size); bytes[0] += ${n}; fs.appendFileSync("notes.txt", "${n}");`,
  ),
  'import fs from "node:fs"; console.log(values.join(), alias === values, map, ring.self === ring, bytes, big, fs.readFileSync("notes.txt", "utf8"));',
];

describe.each(['namespace', 'gvisor', 'subprocess'])('in the class of %s', (provider) => {
  const own = useRig({ provider });

  slowTest(
    '20 steps in Python leave the same state as one program with their code',
    { tags: ['Sessions-4'] },
    async () => {
      const bare = await own().run({ language: 'python', code: PYTHON.join('\n') });
      const { results, last } = await steps(PYTHON, 'python', own());
      expect(bare.result.stderr).toBe('');
      expect(results.map(({ stderr, moved }) => [stderr, moved])).toEqual(PYTHON.map(() => ['', true]));
      expect(last.stdout).toBe(bare.result.stdout);
      expect(last.kept?.not_kept).toEqual([]);
      expect(last.receipt.code_sha256).toBe(sha256Hex(PYTHON.at(-1) as string));
    },
  );

  test('20 steps in JavaScript leave the same state as one program with their code', {
    tags: ['Sessions-5'],
  }, async () => {
    const imports = /import fs from "node:fs"; /g;
    const code = `import fs from "node:fs";\n${JAVASCRIPT.map((each) => each.replace(imports, '')).join('\n')}`;
    const bare = await own().run({ language: 'node', code });
    const { results, last } = await steps(JAVASCRIPT, 'node', own());
    expect(bare.result.stderr).toBe('');
    expect(results.map(({ stderr, moved }) => [stderr, moved])).toEqual(JAVASCRIPT.map(() => ['', true]));
    expect(last.stdout).toBe(bare.result.stdout);
  });

  test('steps in bash keep files, file modes and links', { tags: ['Sessions-3'] }, async () => {
    const { last, results } = await steps(
      [
        'mkdir -p deep/er; printf "a\\0b" > "deep/er/ü %"; chmod 640 "deep/er/ü %"; ln -s deep/er link; printf x > output/o',
        'printf c >> "link/ü %"; mkfifo pipe',
        'od -An -c "deep/er/ü %"; stat -c %a "deep/er/ü %"; readlink link; cat output/o; ls',
      ],
      'bash',
      own(),
    );
    expect(last.stdout).toBe('   a  \\0   b   c\n640\ndeep/er\nxdeep\ninput\nlink\nmain.sh\noutput\n');
    const reason = 'it is no file, directory or link';
    expect(results[1]?.kept?.not_kept).toEqual([{ kind: 'file', name: 'pipe', reason }]);
  });

  test('a step has its own limits and arguments, and its traceback shows which code comes from an earlier step', async () => {
    const { session } = await steps(['globalThis.a = 1'], 'node', own());
    const code = 'console.log(a, process.argv.slice(2), require.main === module, __filename.endsWith("/main.cjs"))';
    const ran = await session.run(code, { limits: { mem_mb: 400 }, args: ['b'] });
    expect([ran.stderr, ran.stdout]).toEqual(['', "1 [ 'b' ] true true\n"]);
    const python = await steps(['def fail():\n    raise ValueError("no")'], 'python', own());
    const failed = await python.session.run('import sys\nassert __name__ == "__main__"\nfail()', { args: ['b'] });
    expect(failed.stderr).toMatch(
      /^Traceback \(most recent call last\):\n {2}File "[^"]*\/main.py", line 3, in <module>\n {4}fail\(\)\n {2}File "[^"]*\/main.py of an earlier step", line 2, in fail\nValueError: no\n$/,
    );
    expect(failed.moved).toBe(false);
  });
});

describe('a step', () => {
  test('names what it could not keep, with reasons, and keeps everything else', { tags: ['Sessions-6'] }, async () => {
    const { session, results } = await steps([
      'import threading\nopened = open("main.py")\nlock = threading.Lock()\ngenerator = (n for n in ())\nkept = 1\nholder = [kept, opened]',
    ]);
    const told = results[0]?.kept;
    expect(told?.not_kept.map(({ name }) => name).toSorted()).toEqual(['generator', 'holder', 'lock', 'opened']);
    expect(told?.not_kept.every(({ reason }) => /^TypeError: cannot pickle/.test(reason))).toBe(true);
    expect((await session.run('print(kept, "opened" in globals())')).stdout).toBe('1 False\n');
    const node = await steps(['globalThis.f = () => 1; globalThis.a = { f }; globalThis.b = 1;'], 'node');
    expect(node.last.kept?.not_kept.map(({ name }) => name)).toEqual(['f', 'a']);
    expect(node.last.kept?.globals).toBe(1);
  });

  test('does not pass environment variables, arguments or standard input on to the next step', {
    tags: ['Sessions-7'],
  }, async () => {
    const { session } = await steps([]);
    await session.run('import os', { env: { SECRET: 'told' }, args: ['a'], stdin: 'in' });
    const ran = await session.run('print(os.environ.get("SECRET"), os.sys.argv[1:], input() if False else "")');
    expect(ran.stdout).toBe('None [] \n');
  });

  slowTest.each([
    ['an exception', 'a = 2\nraise ValueError'],
    ['an exit code', 'import sys\na = 2\nsys.exit(3)'],
    ['a signal', 'import os\na = 2\nos.kill(os.getpid(), 9)'],
    ['an end without any cleaning up', 'import os\na = 2\nos._exit(0)'],
    ['a limit', 'a = 2\nwhile True: pass'],
    ['a late failure', 'import atexit, os\na = 2\natexit.register(lambda: os._exit(4))'],
    ['a state that is too large', 'a = 2\nb = bytes(65 << 20)'],
    ['a state that is too large in files', 'a = 2\nopen("big", "wb").truncate(65 << 20)'],
  ])('that ends by %s leaves the session as it was before the step', { tags: ['Sessions-8'] }, async (_, code) => {
    const { session, results } = await steps(['a = 1']);
    const failed = await session.run(code, { limits: { wall_seconds: 4, mem_mb: 512, max_file_mb: 128 } });
    expect(failed.moved).toBe(false);
    expect(session.lastJob).toBe(results[0]?.job_id);
    expect((await rig().alpha.client.session(session.name)).lastJob).toBe(results[0]?.job_id);
    expect((await session.run('print(a)')).stdout).toBe('1\n');
  });

  test.each([
    ['sys.exit()', 'import sys\na = 2\nsys.exit()'],
    ['sys.exit(0)', 'import sys\na = 2\nsys.exit(0)'],
    [
      'a thread that goes on',
      'import threading, time\ndef work():\n    global a\n    time.sleep(0.2)\n    a = 2\nthreading.Thread(target=work).start()',
    ],
    [
      'a function that it registered for its end',
      'import atexit\n@atexit.register\ndef late():\n    global a\n    a = 2',
    ],
    ['a child that ends by itself', 'import os, sys\na = 2\nif os.fork() == 0:\n    a = 3\n    sys.exit()\nos.wait()'],
    ['a main that it replaced', 'import sys\na = 2\nsys.modules["__main__"] = None'],
  ])('that ends with %s keeps the state from its very end', { tags: ['Sessions-4'] }, async (_, code) => {
    const { session } = await steps(['a = 1']);
    expect(await session.run(code)).toMatchObject({ stderr: '', moved: true });
    expect((await session.run('print(a)')).stdout).toBe('2\n');
  });

  test.each([
    ['nonsense', 'b"nonsense"', 'is no state'],
    ['a broken pickle', 'b"session state 1 python\\nvalues 9\\nnonsense"', 'cannot be loaded'],
    ['a path outside', 'b"session state 1 python\\nfile 644 1 ..%2Fescape\\nx"', 'cannot be loaded'],
  ])(
    'makes the next step fail if its program wrote %s as its state',
    { tags: ['Sessions-8'] },
    async (_, bytes, told) => {
      const { session } = await steps(['a = 1']);
      const code = `import os\nos.mkdir("output/.session")\nopen("output/.session/state", "wb").write(${bytes})\nos._exit(0)`;
      expect(await session.run(code)).toMatchObject({ moved: true, kept: null });
      const next = await session.run('print(a)');
      expect(next).toMatchObject({ status: 'failed', moved: false, stderr: expect.stringContaining(told) as string });
    },
  );

  test.each(['os.symlink("/etc/passwd", state)', 'os.mkfifo(state)', 'os.mkdir(state)'])(
    'whose program replaced its state with something other than a file, by %s, changes nothing in the session',
    { tags: ['Sessions-8'] },
    async (left) => {
      const { session } = await steps(['a = 1']);
      const code = `import os\nos.mkdir("output/.session")\nstate = "output/.session/state"\n${left}\nos._exit(0)`;
      expect((await session.run(code)).moved).toBe(false);
      expect((await session.run('print(a)')).stdout).toBe('1\n');
    },
  );

  test('may name any inputs and outputs except the files that hold the session’s state', {
    tags: ['Sessions-2'],
  }, async () => {
    const named = { path: 'input/.session/step.py', content_base64: '' };
    for (const body of [
      { language: 'python', code: '0', files: [named] },
      step(fresh(), null, '0', { files: [{ ...named, path: 'input/.session' }] }),
      step(fresh(), null, '0', { outputs: ['output/.session/state'] }),
      step(fresh(), null, '0', { large_outputs: { paths: ['output/.session'] } }),
      step(fresh(), null, '0', { language: 'c' }),
      step(fresh(), null, '0', { interactor: { language: 'python', code: '0' } }),
      step('.a', null),
      step('a'.repeat(65), null),
      { ...step('a', null), session: { name: 'a' } },
    ])
      expect(refusalOf(await rig().post(body))).toEqual([400, 'invalid_request']);
    const { session } = await steps(['open("output/o", "w").write("o")']);
    const ran = await session.run('print(open("input/i").read(), open("output/o").read())', { files: { i: 'i' } });
    expect(ran.stdout).toBe('i o\n');
    expect([...ran.files.keys()]).toEqual(['output/o']);
  });
});

describe('a session', () => {
  test('accepts one of several concurrent steps, and names its last step when it refuses the others', {
    tags: ['Errors-11b', 'Sessions-9'],
  }, async () => {
    const name = fresh();
    const first = await rig().run(step(name, null));
    const many = await Promise.all(
      Array.from({ length: 5 }, () => rig().post(step(name, first.job_id, 'import time; time.sleep(1)'))),
    );
    const accepted = many.filter(({ status }) => status === 201);
    expect(accepted).toHaveLength(1);
    const others = many.filter((answer) => !accepted.includes(answer));
    expect(others.map(refusalOf)).toEqual(others.map(() => [409, 'session_conflict']));
    const job_id = String(accepted[0]?.json.job_id);
    expect(others[0]?.json.error.message).toContain(`step ${job_id} still runs`);
    await rig().alpha.client.waitForResult(job_id);
    const late = await rig().post(step(name, first.job_id));
    expect([...refusalOf(late), late.json.error.message]).toEqual([
      409,
      'session_conflict',
      expect.stringContaining(`the last step is ${job_id}`),
    ]);
    const another = await rig().post(step(name, job_id, ':', { language: 'bash' }));
    expect(refusalOf(another)).toEqual([409, 'session_conflict']);
    const unknown = await rig().post(step(fresh(), first.job_id));
    expect(refusalOf(unknown)).toEqual([409, 'session_conflict']);
    const stateless = await rig().post(step(name, 'job_none'));
    expect([...refusalOf(stateless), stateless.json.error.message]).toEqual([
      422,
      'input_unavailable',
      '/session/after names no job whose state is kept; GET /v1/sessions/NAME says where the session stands',
    ]);
  });

  test('makes only one step if the same submission is sent twice', { tags: ['Sessions-9'] }, async () => {
    const body = step(fresh(), null);
    const send = () => rig().post(body, { headers: { 'Idempotency-Key': body.session?.name ?? '' } });
    const [one, two] = [await send(), await send()];
    expect([one.status, two.status, two.json.job_id]).toEqual([201, 201, one.json.job_id]);
  });

  test('belongs only to its principal, and can be listed and removed', {
    tags: ['Sessions-1', 'Sessions-10'],
  }, async () => {
    await using operator = await openCredentials({ dataDir: rig().dataDir });
    const scopes = ['jobs:submit', 'jobs:read'] as const;
    const other = await operator.create({ tenant: 'alpha', principal: 'other', scopes: [...scopes], expires_at: null });
    const { session, last } = await steps(['a = 1']);
    const path = `/v1/sessions/${session.name}`;
    expect(refusalOf(await rig().request(path, { key: other.key }))).toEqual([404, 'session_not_found']);
    expect(refusalOf(await rig().post(step(session.name, last.job_id), { key: other.key }))).toEqual([
      409,
      'session_conflict',
    ]);
    expect((await rig().request('/v1/sessions', { key: other.key })).json).toEqual({ items: [] });
    const { items } = await rig().alpha.client.sessions();
    expect(items).toContainEqual({
      name: session.name,
      language: 'python',
      last_job_id: last.job_id,
      running_job_id: null,
      created_at: expect.any(String),
      changed_at: expect.any(String),
    });
    expect(items.map(({ name }) => name)).toEqual(items.map(({ name }) => name).toSorted());
    await session.remove();
    await expect(session.remove()).rejects.toMatchObject({ code: 'session_not_found' });
    expect((await rig().alpha.client.detail(last.job_id)).status).toBe('succeeded');
    expect((await session.run('print("a" in globals())')).stdout).toBe('False\n');
  });

  test('is reported in a step’s result if it was removed or began anew during that step', async () => {
    const { session, last } = await steps(['a = 1']);
    const { name } = session;
    const remove = async () => void (await rig().alpha.client.removeSession(name));
    const removed = await session.run('a = 2\ntools.remove()', { tools: { remove } });
    expect(removed).toMatchObject({
      status: 'succeeded',
      moved: false,
      problem: expect.stringContaining('was removed'),
    });
    expect(session.lastJob).toBe(last.job_id);
    const again = await rig().alpha.client.session(name);
    const anew = async () => {
      await remove();
      await (await rig().alpha.client.session(name)).run('b = 1');
    };
    const other = await again.run('tools.anew()', { tools: { anew } });
    expect(other).toMatchObject({ status: 'succeeded', moved: false, problem: expect.stringContaining('begun anew') });
    expect((await (await rig().alpha.client.session(name)).run('print(b)')).stdout).toBe('1\n');
  });

  slowTest('is unchanged after the service has stopped during a step', { tags: ['Sessions-8'] }, async () => {
    const first = await Rig.start({ provider: 'namespace', 'drain-seconds': '0' });
    const { session } = await steps(['a = 1'], 'python', first);
    const { json } = await first.post(step(session.name, session.lastJob, 'a = 2\nimport time; time.sleep(60)'));
    await expect.poll(async () => (await first.alpha.client.detail(json.job_id as string)).status).toBe('running');
    expect(await first.stop('kept')).toEqual([]);
    const again = await Rig.start({ provider: 'namespace' }, first.dataDir);
    const found = await again.alpha.client.session(session.name);
    expect(found.lastJob).toBe(session.lastJob);
    expect((await found.run('print(a)')).stdout).toBe('1\n');
    expect(await again.stop()).toEqual([]);
  });
});
