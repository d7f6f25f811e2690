/** The options that several commands share, and the way in which a command sets the process's exit code. */
import { ISOLATION_CLASSES, LIMIT_NAMES, SESSION_NAME } from '@vouchbox/protocol/vocabulary';
import { type Command, InvalidArgumentError, Option } from 'commander';

/** A command's return value: its exit code, or nothing if the command can only succeed or throw. */
type Ending = number | Promise<number> | Promise<void>;

/** Sets the process's exit code to what a command returns. */
export async function ending(work: Ending): Promise<void> {
  process.exitCode = (await work) ?? 0;
}

/** A command's action: loads the command's code, and calls it with the arguments from commander. */
export function running<Given extends unknown[]>(load: () => Promise<(...given: Given) => Ending>) {
  return async (...given: Given) => {
    const work = await load();
    await ending(work(...given));
  };
}

/** Collects an option that may be given several times. */
export const collect = (value: string, earlier: readonly string[]): readonly string[] => [...earlier, value];

/** Reads an option that takes a port, where 0 means any free port. */
export function port(text: string): number {
  if (!/^\d+$/.test(text) || Number(text) > 65_535) throw new InvalidArgumentError('It is not a port.');
  return Number(text);
}

/** Reads the name of a session. */
export function sessionName(text: string): string {
  if (SESSION_NAME.test(text)) return text;
  throw new InvalidArgumentError(
    'A session has 1 to 64 letters, digits, ".", "_" and "-", and begins with a letter or a digit.',
  );
}

/** The longest delay of a timer. A timer with a longer delay fires at once. */
const timerSecondsMax = 2_147_483;

/** Reads an option that takes a whole number of seconds, at least one. */
export function seconds(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text) || Number(text) > timerSecondsMax)
    throw new InvalidArgumentError(`It is not a number of seconds from 1 to ${timerSecondsMax}.`);
  return Number(text);
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Reads an option that takes a duration such as `12h`, in seconds. */
export function duration(text: string): number {
  const [, count, unit = ''] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  const unitSeconds = UNIT_SECONDS[unit];
  if (unitSeconds !== undefined) return Number(count) * unitSeconds;
  throw new InvalidArgumentError('Write a whole number and s, m, h or d, as in 7d.');
}

/** `--limit`, `--runtime`, `--minimum-isolation` and `--enforced`, for a command that runs programs. */
export function withDemands(command: Command): Command {
  return command
    .option('--limit <name=value>', 'wall_seconds, cpu_seconds, mem_mb, max_pids or max_file_mb', collect, [])
    .option('--runtime <pack>', 'the runtime pack to run in')
    .addOption(
      new Option('--minimum-isolation <class>', 'refuse to run in a weaker isolation class').choices([
        ...ISOLATION_CLASSES,
      ]),
    )
    .addOption(
      new Option('--enforced <limit...>', 'refuse to run if a limit is not enforced').choices([...LIMIT_NAMES]),
    );
}

/** `--url`, `--key` and `--profile`, for a command that calls a service. */
export function withAccess(command: Command): Command {
  return command
    .option('--url <url>', 'the service to call (or SERVICE_URL)')
    .option('--key <key>', 'the key to call it with (or SERVICE_KEY, which other users of this host cannot read)')
    .option('--profile <name>', 'the service that `vouchbox login` keeps under this name (or SERVICE_PROFILE)');
}

/** `--data-dir`, for a command that administers a service on this host. */
export function withDataDirectory(command: Command): Command {
  return command.option('--data-dir <directory>', 'where the service keeps its data (or SERVICE_DATA_DIR)');
}

/** `--data-dir` and `--database-url`, for a command that reads or writes the store. */
export function withStore(command: Command): Command {
  return withDataDirectory(command).option(
    '--database-url <url>',
    'the store, if it is not in the data directory (or SERVICE_DATABASE_URL)',
  );
}

/** `--json`, which every command except `completion` has. With it, stdout is one JSON document. */
export function withJson(command: Command): Command {
  return command.option('--json', 'as JSON');
}
