/** Makes development subprocesses: finds the host's interpreters and gives every program its own directory. */
import { randomUUID } from 'node:crypto';
import { accessSync, chmodSync, constants, mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Language, LIMIT_DEFAULTS } from '@vouchbox/protocol';
import { librariesWord } from '../../cell/description.ts';
import { addRootFiles } from '../../cell/rootfs.ts';
import { toolCommands, toolFiles, toolWords } from '../../cell/tool-files.ts';
import { fileStamp } from '../../kernel/host/file-stamp.ts';
import { heapOption } from '../../program/javascript-heap.ts';
import { ENVIRONMENT, FIXED_SEEDS, LANGUAGE_RUNS } from '../../program/language-runs.ts';
import { BootstrapError, unreadyPosture } from '../../sandbox.ts';
import type { Candidate, PreflightOptions } from '../candidate.ts';
import { HostCell } from './host-cell.ts';

const GUEST = fileURLToPath(new URL('../../cell/guest/', import.meta.url));
/** If the service is root, it runs programs as this user, who owns nothing. */
const NOBODY = 65534;
const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin';

/** Opens the candidate without isolation. Its cells are processes of the host. It is opened only if the operator names it. */
export async function openHostCells(_options: PreflightOptions): Promise<Candidate> {
  const root = mkdtempSync(join(tmpdir(), 'svc-subprocess-'));
  chmodSync(root, 0o711);
  const environment = environmentIn(root);
  /** The directory for cells whose programs may call tools, with the files for tools. */
  const withTools = join(root, 'tools');
  addRootFiles(withTools, toolFiles());
  const live = new Set<HostCell>();
  return {
    backend: 'subprocess',
    runtime_packs: [],
    // Programs have the host's own loopback, as well as every other interface of the host.
    hasLoopback: true,
    hasGroups: false,
    ownMemMb: 0,
    packsLeftOut: [],
    loadNewPacks: () => ({ packs: [], leftOut: [] }),
    forgetPack() {},
    runtimeDefects: null,
    async prepare({ language, reproducible, hasTools = false, hasLibraries = false }) {
      const directory = join(hasTools ? withTools : root, randomUUID());
      const uid = process.getuid?.() === 0 ? NOBODY : null;
      const options = {
        language,
        command: [
          ...commandOf(language, reproducible),
          ...(hasTools ? toolWords(LANGUAGE_RUNS[language], withTools) : []),
          ...(hasLibraries ? [librariesWord(join(directory, 'libraries'))] : []),
        ],
        directory,
        uid,
        environment: {
          ...environment,
          ...(reproducible && valuesOf(FIXED_SEEDS)),
          ...(hasTools && { PATH: `${toolCommands(withTools)}:${SEARCH_PATH}` }),
        },
        hasTools,
        hasLibraries,
      };
      const cell = await HostCell.prepare(options, () => live.delete(cell));
      live.add(cell);
      return cell;
    },
    noteAsked: () => {},
    originOf({ language, reproducible, hasTools, hasLibraries }) {
      if (hasTools === true || hasLibraries === true) return null;
      const { guest } = LANGUAGE_RUNS[language];
      const [interpreter] = commandOf(language);
      return {
        kind: reproducible ? `${language} reproducible` : language,
        madeOf: () => [interpreter as string, join(GUEST, guest)].map(fileStamp).join(' '),
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...live].map((cell) => cell[Symbol.asyncDispose]()));
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** The environment of programs: an explicit list, so that no variable of the service reaches a program. */
function environmentIn(root: string): Readonly<Record<string, string>> {
  return { ...valuesOf(ENVIRONMENT), PATH: SEARCH_PATH, HOME: root, MPLCONFIGDIR: join(root, 'matplotlib') };
}

function valuesOf(entries: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(entries.map((entry) => entry.split('=', 2) as [string, string]));
}

function commandOf(language: Language, reproducible?: true): readonly string[] {
  const { guest, command, source } = LANGUAGE_RUNS[language];
  const file = join(GUEST, guest);
  if (language === 'python') return [find('python3'), reproducible ? '-s' : '-I', '-u', file];
  if (guest === 'launch.cjs') return [process.execPath, heapOption(LIMIT_DEFAULTS.mem_mb), file, source];
  if (language === 'bash') return ['/bin/bash', '--norc', '--noprofile', file, ...command];
  throw unavailable(`${language} needs a runtime pack, and there are none without isolation`);
}

function find(name: string): string {
  for (const directory of SEARCH_PATH.split(delimiter)) {
    const path = join(directory, name);
    if (isExecutable(path)) return path;
  }
  throw unavailable(`${name} is not installed`);
}

function unavailable(message: string): BootstrapError {
  const posture = unreadyPosture('subprocess', { name: 'host', version: null, platform: null });
  return new BootstrapError('start', message, posture);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
