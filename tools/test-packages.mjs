/**
 * Installs what the tests need and the service does not: a browser, a database server and a few commands. It runs on any Node
 * from 18 on. If this process may not install packages, it says what to install.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { installSystemPackages } from '../packages/server/setup/host.mjs';
import { attempt, mayInstall } from '../packages/server/setup/system-packages.mjs';

/** The versions of PostgreSQL in Debian and Ubuntu, from the oldest that a store can use. */
const POSTGRES_VERSIONS = Array.from({ length: 12 }, (_, later) => 13 + later);
const POSTGRES_FILES = POSTGRES_VERSIONS.map((version) => `/usr/lib/postgresql/${version}/bin/postgres`);

/** The packages, each with a file that shows that the package is installed. */
const TEST_PACKAGES = [
  { name: 'strace', files: ['/usr/bin/strace'] },
  { name: 'openssl', files: ['/usr/bin/openssl'] },
  { name: 'chromium', files: ['/usr/bin/chromium'] },
  // The fonts for the pictures in the documents.
  { name: 'fonts-dejavu-core', files: ['/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf'] },
  { name: 'postgresql', files: POSTGRES_FILES },
  // No registry that the set-up uses has Helm itself. These packages render its templates.
  { name: 'golang-go', files: ['/usr/bin/go'] },
  {
    name: 'golang-github-masterminds-sprig-dev',
    files: ['/usr/share/gocode/src/github.com/Masterminds/sprig/functions.go'],
  },
  { name: 'golang-gopkg-yaml.v3-dev', files: ['/usr/share/gocode/src/gopkg.in/yaml.v3/yaml.go'] },
  { name: 'golang-golang-x-mod-dev', files: ['/usr/share/gocode/src/golang.org/x/mod/sumdb/note/note.go'] },
  // An object store with an S3 interface. The tests themselves start its servers.
  { name: 'python3-swift', files: ['/usr/lib/python3/dist-packages/swift/__init__.py'] },
  { name: 'python3-cryptography', files: ['/usr/lib/python3/dist-packages/cryptography/__init__.py'] },
  // The Python client needs this package, and the matrix of crossings also runs that client.
  { name: 'python3-httpx', files: ['/usr/lib/python3/dist-packages/httpx/__init__.py'] },
];

/** Debian's scripts read this directory to decide whether a new server gets a first database. */
const CLUSTER_SETTINGS = '/etc/postgresql-common/createcluster.d';

/** Installs everything that the service and its tests need and that is missing. */
export function installTestPackages() {
  const install = () => installSystemPackages(TEST_PACKAGES, 'isolation, all languages and every test');
  if (!mayInstall() || POSTGRES_FILES.some((file) => existsSync(file))) return install();
  withoutDebianDatabase(install);
}

/** Keeps Debian from starting a database server on the usual port. The tests start their own server. */
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
