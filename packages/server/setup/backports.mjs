/**
 * Plans how the set-up gets a newer version of a package than the release has. The package comes from the release's
 * backports suite, from the mirror and with the key in the host's apt sources; apt takes only this package from there.
 * This file only plans; the set-up writes. sources.list(5), apt_preferences(5).
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Names of the set-up's two files in the directories of apt. */
export const BACKPORTS_FILES = {
  sources: 'apt/sources.list.d/svc-backports.sources',
  preferences: 'apt/preferences.d/svc-backports',
};

/**
 * What to write so that `name` can come from backports, or null if this host is no Debian or names no source of its own
 * release. `sources` is null if the host has the suite already: then only the package is pinned.
 * @param {string} name
 * @param {string} [etc] the host's /etc
 * @returns {{ suite: string, sources: string | null, preferences: string } | null}
 */
export function planBackport(name, etc = '/etc') {
  const codename = debianCodename(etc);
  if (codename === null) return null;
  const suite = `${codename}-backports`;
  const sources = hostSources(etc);
  const own = sources.find((source) => serves(source, codename));
  if (own === undefined) return null;
  const isThere = sources.some((source) => serves(source, suite));
  return {
    suite,
    sources: isThere ? null : stanza(own, suite),
    preferences: [...(isThere ? [] : [pin('*', suite, -1)]), pin(name, suite, 990)].join('\n'),
  };
}

function debianCodename(etc) {
  const file = join(etc, 'os-release');
  const text = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const value = (key) => new RegExp(`^${key}="?([^"\\n]*)"?$`, 'm').exec(text)?.[1];
  return value('ID') === 'debian' ? value('VERSION_CODENAME') || null : null;
}

function serves({ suites, components }, suite) {
  return suites.includes(suite) && components.includes('main');
}

/** Every enabled source of binary packages, except the set-up's own. */
function hostSources(etc) {
  const parts = join(etc, 'apt/sources.list.d');
  const names = existsSync(parts) ? readdirSync(parts).sort() : [];
  const files = ['apt/sources.list', ...names.map((name) => `apt/sources.list.d/${name}`)];
  return files.flatMap((name) => {
    const file = join(etc, name);
    if (name === BACKPORTS_FILES.sources || !existsSync(file)) return [];
    const text = readFileSync(file, 'utf8');
    return name.endsWith('.sources') ? readStanzas(text) : name.endsWith('.list') ? readLines(text) : [];
  });
}

/** `deb [OPTION=VALUE ...] URI SUITE COMPONENT...` */
function readLines(text) {
  return text.split('\n').flatMap((line) => {
    const [, options = '', uris, suite, components] =
      /^\s*deb\s+(?:\[([^\]]*)\]\s+)?(\S+)\s+(\S+)\s+([^#]+)/.exec(line) ?? [];
    if (uris === undefined) return [];
    const [, key] = /\bsigned-by=(\S+)/i.exec(options) ?? [];
    return [{ uris, suites: [suite], components: words(components), signedBy: key === undefined ? null : ` ${key}` }];
  });
}

/** Paragraphs of `Name: value`; lines that start with a space continue a value. */
function readStanzas(text) {
  return text
    .replace(/^#.*\n?/gm, '')
    .split(/\n\s*\n/)
    .flatMap((paragraph) => {
      const fields = new Map(
        paragraph.split(/\n(?![ \t])/).flatMap((field) => {
          const colon = field.indexOf(':');
          return colon < 1 ? [] : [[field.slice(0, colon).trim().toLowerCase(), field.slice(colon + 1).trimEnd()]];
        }),
      );
      const list = (key) => words(fields.get(key) ?? '');
      if (!list('types').includes('deb') || list('enabled')[0]?.toLowerCase() === 'no') return [];
      const signedBy = fields.get('signed-by') ?? null;
      return [{ uris: list('uris').join(' '), suites: list('suites'), components: list('components'), signedBy }];
    });
}

function words(text) {
  return text.split(/\s+/).filter(Boolean);
}

function stanza({ uris, signedBy }, suite) {
  const key = signedBy === null ? '' : `Signed-By:${signedBy}\n`;
  return `# Written by the set-up of Vouchbox, for what ${BACKPORTS_FILES.preferences} names alone.\nTypes: deb\nURIs: ${uris}\nSuites: ${suite}\nComponents: main\n${key}`;
}

function pin(name, suite, priority) {
  return `Package: ${name}\nPin: release n=${suite}\nPin-Priority: ${priority}\n`;
}
