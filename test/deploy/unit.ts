/** Reads the systemd unit in deploy/. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The folder with the files. */
export const DEPLOY = join(import.meta.dirname, '../../deploy');

/** The settings in all sections of a unit, each with all its values in order. systemd.syntax(7). */
export function readUnit(text: string): ReadonlyMap<string, readonly string[]> {
  const settings = new Map<string, readonly string[]>();
  for (const line of text.split('\n')) {
    const [, name, value = ''] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
    if (name !== undefined) settings.set(name, [...(settings.get(name) ?? []), value]);
  }
  return settings;
}

/** The service's unit. */
export function serviceUnit(): ReadonlyMap<string, readonly string[]> {
  return readUnit(readFileSync(join(DEPLOY, 'vouchbox.service'), 'utf8'));
}

/** The capabilities that the unit leaves to the service, in the unit's order. */
export function unitCapabilities(): readonly string[] {
  return (serviceUnit().get('CapabilityBoundingSet') ?? []).flatMap((words) => words.split(' '));
}
