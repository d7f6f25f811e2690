/** Programs find in a cell of either class what they expect of any Linux. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CellsFixture, CLASSES } from './cells.fixture.ts';

let cells: CellsFixture;
beforeAll(async () => {
  cells = await CellsFixture.open();
});
afterAll(() => cells[Symbol.asyncDispose]());

describe.each(CLASSES)('an ordinary program in the %s class', (choice) => {
  it('lists and examines files and symbolic links without an error', async () => {
    const code = 'ln -s main.sh link; ls -la / /work > /dev/null && stat /usr /bin link > /dev/null && cp -a link copy';
    expect(await cells.run(choice, 'bash', code)).toMatchObject({ stderr: '', ending: { exit_code: 0 } });
  });

  it('waits for input with a time limit', async () => {
    const bash = await cells.run(choice, 'bash', 'echo x | { read -t 5 word; echo "$word $?"; }');
    expect(bash).toMatchObject({ stdout: 'x 0\n', stderr: '' });
    const code =
      'import os, select\nr, w = os.pipe()\nos.write(w, b"x")\nprint(select.select([r], [], [], 5)[0] == [r])';
    expect(await cells.run(choice, 'python', code)).toMatchObject({ stdout: 'True\n', stderr: '' });
  });

  it('executes scripts and programs that it wrote, in the places where it may write them', async () => {
    const code = `
      for place in /work /work/output /tmp; do
        printf '#!/bin/sh\necho script in $0\n' > $place/script.sh; cp /bin/true $place/true; chmod +x $place/script.sh $place/true
        $place/script.sh && $place/true && echo $place
      done`;
    const { stdout, stderr } = await cells.run(choice, 'bash', code);
    expect(stderr).toBe('');
    expect(stdout.split('\n').filter((line) => line.startsWith('/'))).toEqual(['/work', '/work/output', '/tmp']);
  });

  it('can use terminals, files without a name, and copies made by the kernel', async () => {
    const code = [
      'import os, pty, shutil',
      'pid, terminal = pty.fork()',
      'if pid == 0: os.execvp("tty", ["tty"])',
      'print(os.read(terminal, 64).decode().strip()); os.waitpid(pid, 0)',
      'memory = os.memfd_create("memory"); os.write(memory, b"echo memory"); os.lseek(memory, 0, 0)',
      'copy = os.open("/tmp/copy", os.O_RDWR | os.O_CREAT); print(os.sendfile(copy, memory, 0, 11))',
      'print(os.system(f"sh /proc/{os.getpid()}/fd/{memory}"))',
      'shutil.copytree("/etc", "/tmp/etc", symlinks=True); print(sorted(os.listdir("/tmp/etc"))[:3])',
    ].join('\n');
    const { stdout, stderr } = await cells.run(choice, 'python', code);
    expect(stderr).toBe('');
    expect(stdout.split('\n')).toEqual([
      '/dev/pts/0',
      '11',
      'memory',
      '0',
      "['alternatives', 'group', 'hostname']",
      '',
    ]);
  });

  it('finds its name, its system, its time zone and a writable home', async () => {
    const code = `
      . /etc/os-release; [ -n "$ID" ] && cat /etc/hostname && [ ! -s /etc/resolv.conf ] && grep -c localhost /etc/hosts
      [ -e /etc/localtime ] && date +%Z; id -un; echo "$USER $LOGNAME $TMPDIR"; touch ~/.profile && mktemp > /dev/null && echo home`;
    const { stdout, stderr } = await cells.run(choice, 'bash', code);
    expect({ stdout, stderr }).toEqual({ stdout: 'sandbox\n2\nUTC\nrunner\nrunner runner /tmp\nhome\n', stderr: '' });
  });

  it("finds the files of the host's packages in /etc, and no dangling link in Python's library", async () => {
    const names = ['inputrc', 'ld.so.cache', 'locale.alias', 'mime.types', 'protocols', 'services'];
    const code = [
      'import os, sysconfig; library = sysconfig.get_path("stdlib")',
      'print([name for name in os.listdir(library) if not os.path.exists(f"{library}/{name}")])',
      `for name in ${JSON.stringify(names)}:`,
      '  if os.path.exists(f"/etc/{name}"): print(name, os.path.getsize(f"/etc/{name}"))',
    ].join('\n');
    const { stdout } = await cells.run(choice, 'python', code);
    const here = names.map((name) => [name, statSync(join('/etc', name), { throwIfNoEntry: false })?.size] as const);
    expect(stdout.trimEnd().split('\n')).toEqual([
      '[]',
      ...here.filter(([, size]) => size !== undefined).map(([name, size]) => `${name} ${size}`),
    ]);
  });

  it('shares memory, semaphores and message queues between its own processes', async () => {
    const code = [
      'from multiprocessing import Process, Queue, shared_memory',
      'def work(queue, name): mine = shared_memory.SharedMemory(name=name); queue.put(mine.buf[0]); mine.close()',
      'queue, memory = Queue(), shared_memory.SharedMemory(create=True, size=16); memory.buf[0] = 7',
      'child = Process(target=work, args=(queue, memory.name)); child.start(); print(queue.get()); child.join(); memory.unlink()',
      'import ctypes; libc = ctypes.CDLL(None)',
      'print(libc.msgget(1234, 0o1600) >= 0, libc.shmget(1234, 4096, 0o1600) >= 0, libc.semget(1234, 1, 0o1600) >= 0)',
    ].join('\n');
    const { stdout } = await cells.run(choice, 'python', code);
    expect(stdout).toBe('7\nTrue True True\n');
  });
});

it('a POSIX message queue works in the namespace class', async () => {
  const code = [
    'import ctypes; rt = ctypes.CDLL("librt.so.1")',
    'queue = rt.mq_open(b"/queue", 0o102, 0o600, None); text = ctypes.create_string_buffer(8192)',
    'print(queue >= 0, rt.mq_send(queue, b"word", 4, 0), rt.mq_receive(queue, text, 8192, None), text.value)',
  ].join('\n');
  expect((await cells.run('namespace', 'python', code)).stdout).toBe("True 0 4 b'word'\n");
});

it('two Python programs side by side in the namespace class draw different random numbers', async () => {
  const code = [
    'import os, random, secrets, tempfile, uuid',
    'print(os.urandom(8), random.random(), secrets.token_hex(8), uuid.uuid4(), uuid.uuid1().node, tempfile.mktemp(), sep="\\n")',
  ].join('\n');
  const runs = await Promise.all([1, 2, 3].map(() => cells.run('namespace', 'python', code)));
  const drawn = runs.flatMap(({ stdout }) => stdout.trim().split('\n'));
  expect(drawn).toHaveLength(18);
  expect(new Set(drawn).size).toBe(18);
});
