/** Where a host's packages come from: this machine's mirror, even if the host has another release of Debian. */
import { execFileSync } from 'node:child_process';

/** Settings for mmdebstrap's apt, which does not read this machine's settings. They allow an archive from a past date. */
export const ARCHIVE_OPTIONS = ['Acquire::Check-Valid-Until "false"', 'Acquire::Retries "3"'];

/** Lines of sources.list(5) for a release, its updates and its backports. */
export function archiveLines(suite: string): readonly string[] {
  const mirror = ownMirror();
  return [suite, `${suite}-updates`, `${suite}-backports`].map((name) => `deb ${mirror} ${name} main`);
}

/** The first mirror among this machine's sources that has Debian's own releases. apt-get(8), `indextargets`. */
export function ownMirror(): string {
  const format = ['--format', '$(ORIGIN)\t$(SITE)\t$(REPO_URI)\t$(SUITE)'];
  const lines = execFileSync('apt-get', ['indextargets', ...format, 'Created-By: Packages'], { encoding: 'utf8' });
  for (const line of lines.split('\n')) {
    const [origin, , uri = '', suite = ''] = line.split('\t');
    if (origin === 'Debian' && !/security|backports|updates/.test(suite)) return uri;
  }
  throw new Error('this machine has no sources of Debian');
}
