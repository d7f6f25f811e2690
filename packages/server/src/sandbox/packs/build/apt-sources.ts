/**
 * The apt sources for a pack: the host's own, narrowed to a release and to the parts of the archive that a recipe
 * names. So a pack comes from sources that the operator already trusts. sources.list(5).
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The parts of the archive that a pack needs. */
export interface Wanted {
  readonly suite: string;
  readonly components: readonly string[];
}

/** Sources in the two formats of apt. A text is empty if the host has no matching source. */
export interface AptSources {
  readonly oneLine: string;
  readonly deb822: string;
}

/** Reads `directory`, as apt does. Sources of other releases and other parts are left out. */
export function readAptSources(wanted: Wanted, directory = '/etc/apt'): AptSources {
  const parts = join(directory, 'sources.list.d');
  const lists = [join(directory, 'sources.list'), ...globSync(join(parts, '*.list')).sort()].filter(existsSync);
  const deb822 = globSync(join(parts, '*.sources')).sort();
  return {
    oneLine: lists.flatMap((file) => narrowLines(readFileSync(file, 'utf8'), wanted)).join('\n'),
    deb822: deb822.flatMap((file) => narrowStanzas(readFileSync(file, 'utf8'), wanted)).join('\n\n'),
  };
}

/** `deb [OPTION=VALUE ...] URI SUITE COMPONENT...` */
function narrowLines(text: string, wanted: Wanted): string[] {
  return text.split('\n').flatMap((line) => {
    const [, head, suite, components] = /^\s*(deb\s+(?:\[[^\]]*\]\s+)?\S+)\s+(\S+)\s+([^#]+)/.exec(line) ?? [];
    if (head === undefined || suite === undefined || !serves(suite, wanted)) return [];
    const kept = keptComponents(components?.trim() ?? '', wanted);
    return kept === null ? [] : [`${head} ${suite} ${kept}`];
  });
}

/** Paragraphs of `Name: value`. A value continues on lines that start with a space. */
function narrowStanzas(text: string, wanted: Wanted): string[] {
  const plain = text.replaceAll(/^#.*\n?/gm, '');
  return plain.split(/\n\s*\n/).flatMap((stanza) => {
    const fields = new Map(stanza.split(/\n(?![ \t])/).flatMap(parseField));
    const value = (name: string) => fields.get(name)?.value.trim() ?? '';
    const suites = value('suites')
      .split(/\s+/)
      .filter((suite) => serves(suite, wanted));
    const components = keptComponents(value('components'), wanted);
    const isOn = value('enabled').toLowerCase() !== 'no' && value('types').split(/\s+/).includes('deb');
    if (!isOn || suites.length === 0 || components === null) return [];
    fields.set('types', { name: 'Types', value: ' deb' });
    fields.set('suites', { name: 'Suites', value: ` ${suites.join(' ')}` });
    fields.set('components', { name: 'Components', value: ` ${components}` });
    return [[...fields.values()].map((field) => `${field.name}:${field.value}`).join('\n')];
  });
}

function parseField(line: string): [string, { name: string; value: string }][] {
  const colon = line.indexOf(':');
  if (colon < 1) return [];
  const name = line.slice(0, colon);
  return [[name.toLowerCase(), { name, value: line.slice(colon + 1).trimEnd() }]];
}

/**
 * Whether a suite is the release itself, its updates or its security fixes, and not backports or another archive's suite with a
 * similar name.
 */
function serves(suite: string, wanted: Wanted): boolean {
  return [wanted.suite, `${wanted.suite}-updates`, `${wanted.suite}-security`].includes(suite);
}

function keptComponents(components: string, wanted: Wanted): string | null {
  const kept = components.split(/\s+/).filter((component) => wanted.components.includes(component));
  return kept.length === 0 ? null : kept.join(' ');
}
