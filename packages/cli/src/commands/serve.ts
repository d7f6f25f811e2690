/** Adds `vouchbox serve` to the table of commands. Its options are the service's settings. */
import { type Command, Option } from 'commander';
import { ending, withJson } from './options.ts';

/** The table of settings is loaded only for the commands that need it, so that the other commands start faster. */
export async function addServe(program: Command, settings: 'with_settings' | 'without_settings'): Promise<void> {
  const command = program.command('serve').description('start the service; every flag is also a SERVICE_* variable');
  if (settings === 'with_settings') {
    const { SETTINGS } = await import('@vouchbox/server/administration');
    for (const { flag, description, defaultText, allowed } of SETTINGS) {
      const shown = defaultText === null ? '' : ` (default: ${defaultText})`;
      command.addOption(new Option(`--${flag} <value>`, `${description} Takes ${allowed}.${shown}`));
    }
  }
  withJson(command).action(async ({ json }: { readonly json?: true }) =>
    ending((await import('../serve.ts')).serve(settingsOf(command), { json })),
  );
}

/** commander turns `data-dir` into `dataDir`, but a setting is named like its flag. */
function settingsOf(command: Command): Record<string, string> {
  const given = command.opts<Record<string, string>>();
  return Object.fromEntries(
    command.options.flatMap((option) => {
      const value = given[option.attributeName()];
      return value === undefined || option.isBoolean() ? [] : [[option.name(), value]];
    }),
  );
}
