/**
 * Installs what the tests need beyond what the service needs: a browser, a database server and a few commands. It runs on
 * any Node from 18 on, and says what to install where this process may not.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installSystemPackages } from '../packages/server/setup/host.mjs';
import { attempt, mayInstall } from '../packages/server/setup/system-packages.mjs';

/** The versions that Debian and Ubuntu have had, from the oldest that a store can use. */
const POSTGRES_VERSIONS = Array.from({ length: 12 }, (_, later) => 13 + later);
const POSTGRES_FILES = POSTGRES_VERSIONS.map((version) => `/usr/lib/postgresql/${version}/bin/postgres`);

/** Each with a file that shows that it is installed. */
const TEST_PACKAGES = [
  { name: 'strace', files: ['/usr/bin/strace'] },
  { name: 'openssl', files: ['/usr/bin/openssl'] },
  { name: 'chromium', files: ['/usr/bin/chromium'] },
  // The letters of the pictures in the documents.
  { name: 'fonts-dejavu-core', files: ['/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf'] },
  { name: 'postgresql', files: POSTGRES_FILES },
  // Helm itself is in no registry that the set-up uses: these render its templates.
  { name: 'golang-go', files: ['/usr/bin/go'] },
  {
    name: 'golang-github-masterminds-sprig-dev',
    files: ['/usr/share/gocode/src/github.com/Masterminds/sprig/functions.go'],
  },
  { name: 'golang-gopkg-yaml.v3-dev', files: ['/usr/share/gocode/src/gopkg.in/yaml.v3/yaml.go'] },
  { name: 'golang-golang-x-mod-dev', files: ['/usr/share/gocode/src/golang.org/x/mod/sumdb/note/note.go'] },
  // An object store with an S3 interface. Nothing of it is started: the tests run it from here.
  { name: 'python3-swift', files: ['/usr/lib/python3/dist-packages/swift/__init__.py'] },
  { name: 'python3-cryptography', files: ['/usr/lib/python3/dist-packages/cryptography/__init__.py'] },
  // The Python client stands on it, and the matrix of crossings plays that client, too.
  { name: 'python3-httpx', files: ['/usr/lib/python3/dist-packages/httpx/__init__.py'] },
];

/** Debian's scripts read this directory when they decide whether a new server gets a first database. */
const CLUSTER_SETTINGS = '/etc/postgresql-common/createcluster.d';

/** Installs what is missing of all that the service and its tests need. */
export function installTestPackages() {
  const install = () => installSystemPackages(TEST_PACKAGES, 'isolation, all languages and every test');
  if (!mayInstall() || POSTGRES_FILES.some((file) => existsSync(file))) return install();
  withoutDebianDatabase(install);
}

/** Tests start a server of their own. Without this setting Debian would start another one, on the usual port. */
function withoutDebianDatabase(install) {
  const setting = join(CLUSTER_SETTINGS, 'vouchbox-tests.conf');
  attempt('be told to make no database', () => {
    mkdirSync(CLUSTER_SETTINGS, { recursive: true });
    writeFileSync(setting, 'create_main_cluster = false\n');
  });
  try {
    install();
  } finally {
    rmSync(setting, { force: true });
  }
}
