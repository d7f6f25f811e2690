/** Runs one host in QEMU's own emulation until the host powers itself off or its time is over. qemu(1). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Host } from './host.ts';
import type { BuiltRoot } from './root.ts';

/**
 * `cx16` is off, because QEMU 7.2 sets wrong flags after `cmpxchg16b`, and newer kernels then stop with a double fault.
 * `erms` and `fsrm` are off, so that the kernel clears and copies memory in words. An emulated `rep` handles one byte
 * at a time.
 */
const MACHINES = {
  amd64: { program: 'qemu-system-x86_64', words: ['-cpu', 'max,-cx16,-la57,-erms,-fsrm'], console: 'ttyS0' },
  arm64: { program: 'qemu-system-aarch64', words: ['-machine', 'virt', '-cpu', 'neoverse-n1'], console: 'ttyAMA0' },
} as const;

/**
 * Protections that an emulated processor does not need are off, because they take much time. Two clock checks are also
 * off, because they fail on a busy machine. If the check of the timer fails, the kernel does not start. If the check of
 * the time stamp counter fails, each program that reads the time waits for an emulated device.
 */
const PATIENT = ['mitigations=off', 'no_timer_check', 'tsc=reliable'];

export interface MachineOptions {
  readonly host: Host;
  readonly root: BuiltRoot;
  /** The image with the checkout. Both images stay unchanged, because the host's writes go to temporary files. */
  readonly checkout: string;
  /** A directory for the temporary files. */
  readonly work: string;
  readonly secondsMax: number;
  /** Called with each line that the trials write. */
  readonly onLine: (line: string) => void;
}

/** Resolves with what the host wrote to its console. Kills QEMU and rejects if the host does not end in time. */
export async function runMachine(options: MachineOptions): Promise<string> {
  const directory = mkdtempSync(join(options.work, 'machine-'));
  const lines = join(directory, 'lines');
  writeFileSync(lines, '');
  const follower = follow(lines, options.onLine);
  try {
    const child = spawn('setpriv', ['--pdeathsig=KILL', 'nice', '-n', '10', ...commandOf(options, lines)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, TMPDIR: directory },
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
    }
    // `setpriv` and `nice` become QEMU and keep the process id. QEMU ends when this process ends.
    const timer = setTimeout(() => child.kill('SIGKILL'), options.secondsMax * 1000);
    const [code, signal] = await once(child, 'close');
    clearTimeout(timer);
    if (code !== 0) throw new Error(`the machine ended with ${signal ?? code}: ${said.slice(-2000)}`);
    return said;
  } finally {
    follower[Symbol.dispose]();
    rmSync(directory, { recursive: true });
  }
}

/** A machine's processors share one thread, so two machines have two threads. Two wait for each other less than four would. */
function commandOf({ host, root, checkout }: MachineOptions, lines: string): string[] {
  const { program, words, console } = MACHINES[host.root.architecture];
  const disk = (file: string) => ['-drive', `file=${file},if=virtio,format=raw,cache=unsafe,snapshot=on`];
  const kernelWords = [
    ...[
      `console=${console}`,
      'root=/dev/vda',
      'rw',
      'cgroup_no_v1=all',
      'quiet',
      'panic=-1',
      ...PATIENT,
      ...host.kernelWords,
    ],
    ...[`vouchbox.rights=${host.rights}`, `vouchbox.trials=${host.trials.join(',')}`],
  ];
  return [
    ...[program, ...words, '-accel', 'tcg,thread=single', '-smp', String(host.cores), '-m', String(host.memoryMb)],
    ...['-nodefaults', '-display', 'none', '-serial', 'stdio', '-no-reboot', '-nic', 'none'],
    ...['-kernel', root.kernel, '-initrd', root.initialFiles, '-append', kernelWords.join(' ')],
    ...[...disk(root.image), ...disk(checkout)],
    ...['-device', 'virtio-serial-pci', '-chardev', `file,id=lines,path=${lines}`],
    ...['-device', 'virtserialport,chardev=lines,name=lines'],
  ];
}

/** Reads whole lines of a growing file until it is disposed. */
function follow(file: string, onLine: (line: string) => void): Disposable {
  let taken = 0;
  const read = (): void => {
    const lines = readFileSync(file, 'utf8').split('\n');
    for (const line of lines.slice(taken, -1)) onLine(line);
    taken = Math.max(taken, lines.length - 1);
  };
  const watcher = watch(file, read);
  return {
    [Symbol.dispose]() {
      watcher.close();
      read();
    },
  };
}
