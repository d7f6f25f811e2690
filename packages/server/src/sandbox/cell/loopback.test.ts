/** A cell's own loopback: what programs can do while it is on, and which errors they get while it is off. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CellsFixture, CLASSES, type IsolatedClass } from './cells.fixture.ts';

/** A program that talks to itself over both addresses, by TCP and by UDP, and asks a server of the standard library. */
const TALK = `
import http.server, socket, threading, urllib.request
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    server = socket.create_server((address, 0), family=family)
    client = socket.create_connection(server.getsockname()[:2])
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.sendall(b"tcp")
    print(server.accept()[0].recv(16).decode(), address)
    one, other = socket.socket(family, socket.SOCK_DGRAM), socket.socket(family, socket.SOCK_DGRAM)
    one.bind((address, 0))
    other.sendto(b"udp", one.getsockname())
    print(one.recv(16).decode(), address)
web = http.server.HTTPServer(("localhost", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=web.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f"http://localhost:{web.server_port}/main.py").status)
`;
const NODE_TALK = `
const { createServer, get } = require('node:http');
const server = createServer((request, response) => response.end('answer')).listen(0, '127.0.0.1', () =>
  get({ port: server.address().port, host: '127.0.0.1' }, (response) => response.on('data', (data) => {
    console.log(String(data));
    server.close();
  })));
`;
/** Prints the kernel's answers to sockets that no cell may make, and to attempts to reach beyond the cell. */
const LEAVE = `
import errno, json, socket
def attempt(*arguments):
    try: socket.socket(*arguments); return "ok"
    except OSError as error: return errno.errorcode[error.errno]
def reach(family, address):
    try: socket.socket(family, socket.SOCK_DGRAM).connect((address, 53)); return "ok"
    except OSError as error: return errno.errorcode[error.errno]
print(json.dumps({
    "raw": attempt(socket.AF_INET, socket.SOCK_RAW, 1), "ping": attempt(socket.AF_INET, socket.SOCK_DGRAM, 1),
    "netlink": attempt(16, socket.SOCK_RAW, 0), "packet": attempt(17, socket.SOCK_RAW, 0), "mptcp": attempt(2, 1, 262),
    "vsock": attempt(40, 1, 0), "tipc": attempt(30, 2, 0), "sequenced": attempt(socket.AF_INET, 5, 132),
    "out": reach(2, "192.0.2.1"), "out 6": reach(10, "2001:db8::1"), "host": reach(2, "169.254.169.254"),
    "interfaces": [line.split(":")[0].strip() for line in open("/proc/net/dev") if ":" in line],
}))
`;
const INTERNET =
  'import socket\nfor family in (2, 10):\n  try: socket.socket(family)\n  except OSError as error: print(error.errno)';

const spoken = ['tcp 127.0.0.1', 'udp 127.0.0.1', 'tcp ::1', 'udp ::1', '200', ''];

async function expectLoopback(cells: CellsFixture, choice: IsolatedClass): Promise<void> {
  expect((await cells.run(choice, 'python', TALK)).stdout.split('\n')).toEqual(spoken);
  expect((await cells.run(choice, 'node', NODE_TALK)).stdout).toBe('answer\n');
  const answers = JSON.parse((await cells.run(choice, 'python', LEAVE)).stdout) as Record<string, string>;
  const { interfaces, ...refused } = answers;
  expect(interfaces).toEqual(['lo']);
  expect(Object.values(refused).filter((answer) => !/^(EPERM|ENOSYS|ENETUNREACH|EHOSTUNREACH)$/.test(answer))).toEqual(
    [],
  );
}

describe('with the default network settings', () => {
  let cells: CellsFixture;
  beforeAll(async () => {
    cells = await CellsFixture.open();
  });
  afterAll(() => cells[Symbol.asyncDispose]());

  it('a program in gVisor reaches itself over 127.0.0.1 and ::1, and nothing else', () =>
    expectLoopback(cells, 'gvisor'));

  it('a program in the namespace class cannot make an Internet socket', async () => {
    expect((await cells.run('namespace', 'python', INTERNET)).stdout).toBe('1\n1\n');
  });
});

describe('with the loopback on', () => {
  let cells: CellsFixture;
  beforeAll(async () => {
    cells = await CellsFixture.open('on');
  });
  afterAll(() => cells[Symbol.asyncDispose]());

  it('a program in the namespace class reaches itself over the loopback, and nothing else', () =>
    expectLoopback(cells, 'namespace'));

  it('a socket option that is not on the list fails as unknown, even an option that loads code for a protocol', async () => {
    const code = [
      'import errno, socket',
      'one = socket.socket()',
      'def attempt(*option):',
      '    try: one.setsockopt(*option); return "ok"',
      '    except OSError as error: return errno.errorcode[error.errno]',
      'print(attempt(6, 31, b"tls"), attempt(1, 26, b"x" * 16), attempt(6, 13, b"bbr"), attempt(1, 60, 1), attempt(1, 2, 1))',
    ].join('\n');
    expect((await cells.run('namespace', 'python', code)).stdout).toBe('ENOSYS ENOSYS ENOSYS ENOSYS ok\n');
  });

  it("the data that waits in a job's sockets is bounded, however many processes the job has", async () => {
    const code = [
      'import os, socket, time',
      'server = socket.socket(); server.setsockopt(1, 8, 1 << 22); server.bind(("127.0.0.1", 0)); server.listen(200); held = []',
      'for _ in range(80):',
      '    client = socket.socket(); client.setsockopt(1, 7, 1 << 22); client.connect(server.getsockname()); client.setblocking(False)',
      '    held.append((client, server.accept()[0]))',
      '    try:',
      '        while True: client.send(bytes(1 << 20))',
      '    except BlockingIOError: pass',
      'waiting = 0',
      'import fcntl, struct, termios',
      'for client, accepted in held: waiting += struct.unpack("i", fcntl.ioctl(accepted, termios.FIONREAD, bytes(4)))[0]',
      'print(waiting <= 16 << 20)',
    ].join('\n');
    expect((await cells.run('namespace', 'python', code)).stdout).toBe('True\n');
  });
});

describe('with the loopback off', () => {
  it('both classes refuse to make an Internet socket', async () => {
    await using cells = await CellsFixture.open('off');
    for (const choice of CLASSES) expect((await cells.run(choice, 'python', INTERNET)).stdout).toBe('1\n1\n');
  });
});
