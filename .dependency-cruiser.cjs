/**
 * The rules for imports, enforced by `npm run deps` and by test/architecture. Packages and folders are floors: imports only go
 * down. Each technology has one folder. docs/ARCHITECTURE.md says why.
 */

const tests = '\\.(test|fixture)\\.ts$';

/** A package may import no packages of this repository except itself and these. */
function packageFloor(name, below) {
  const allowed = [name, ...below].join('|');
  return {
    name: `floor-of-${name}`,
    comment: `${name} stands on ${below.length > 0 ? below.join(', ') : 'nothing of ours'}`,
    severity: 'error',
    from: { path: `^packages/${name}/` },
    to: { path: `^packages/(?!(${allowed})/)` },
  };
}

/** A folder of the server may import only these other folders and `ground/`, on which every floor stands. */
function serverFloor(name, below) {
  const allowed = [name, 'ground', ...below].join('|');
  return {
    name: `floor-of-server-${name}`,
    comment: `server/${name} stands on ${below.length > 0 ? below.join(', ') : 'no other folder'}`,
    severity: 'error',
    from: { path: `^packages/server/src/${name}/`, pathNot: tests },
    to: { path: `^packages/server/src/(?!(${allowed})/)` },
  };
}

/** A stage of a job may import only these other stages and the files of `job/` itself, except files that put stages together. */
function stageFloor(name, below) {
  const allowed = [name, ...below].join('|');
  return {
    name: `floor-of-stage-${name}`,
    comment: `job/${name} stands on ${below.length > 0 ? below.join(', ') : 'no other stage'}; stages meet in the store`,
    severity: 'error',
    from: { path: `^packages/server/src/job/${name}/`, pathNot: tests },
    to: { path: `^packages/server/src/job/((?!(${allowed})/)[^/]+/|create-jobs\\.ts$)` },
  };
}

/** The storeys of the store, from the lowest to the highest. Folders of the same storey do not import each other. */
const storeys = [
  ['records'],
  ['kept', 'history', 'blobs', 'objects'],
  ['jobs'],
  ['evidence'],
  ['reading', 'access'],
  ['threads', 'migrations'],
  ['sqlite', 'postgres'],
  ['copying'],
];

/**
 * A folder of the store may import only the folders of lower storeys, and the files of `store/` itself. The last storey may
 * import all others.
 */
const storeFloors = storeys.slice(0, -1).flatMap((storey, at) =>
  storey.map((name) => {
    const below = storeys.slice(0, at).flat();
    return {
      name: `floor-of-store-${name}`,
      comment: `store/${name} stands on ${below.length > 0 ? below.join(', ') : 'no other folder of the store'}`,
      severity: 'error',
      from: { path: `^packages/server/src/store/${name}/`, pathNot: tests },
      to: { path: `^packages/server/src/store/(?!(${[name, ...below].join('|')})/)[^/]+/` },
    };
  }),
);

/** Only one folder of the server may import the modules of a technology. */
function onlyKnownBy(folder, technology, modules) {
  return {
    name: `only-${folder}-knows-${technology}`,
    severity: 'error',
    from: { path: '^packages/(server|evidence|protocol)/src/', pathNot: [`^packages/server/src/${folder}/`, tests] },
    to: { path: modules },
  };
}

/** Only the file that picks one of several implementations may import them. So may the doctor, because it tries them all. */
function pickedBy(picker, implementations) {
  return {
    name: `picked-by-${picker.split('/').at(-1)}`,
    severity: 'error',
    from: {
      path: '^packages/[^/]+/src/',
      pathNot: [`^packages/server/src/(${picker}\\.ts$|sandbox/prove/doctor/)`, tests],
    },
    to: { path: `^packages/server/src/(${implementations.join('|')})\\.ts$` },
  };
}

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-circular',
      comment: 'no file of a package leads back to itself, by a value or by a type; tests may share their types',
      severity: 'error',
      from: { path: '^packages/' },
      to: { circular: true },
    },
    {
      name: 'no-circular-tests',
      severity: 'error',
      from: { path: '^test/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'resolvable',
      comment: 'an import that resolves to nothing would be a floor nobody checked',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'packages-meet-at-their-index',
      comment: 'a package is imported by its name, through its public face',
      severity: 'error',
      from: { path: '^packages/([^/]+)/' },
      to: {
        path: '^packages/',
        pathNot: [
          '^packages/$1/',
          '^packages/[^/]+/src/(index|grading|grading-exports|vocabulary|words|administration|service|vouchbox|service-verify|ground/make-directories|ground/near-imports)\\.ts$',
          '\\.json$',
        ],
      },
    },
    packageFloor('protocol', []),
    packageFloor('evidence', ['protocol']),
    packageFloor('server', ['evidence', 'protocol']),
    packageFloor('client', ['protocol']),
    packageFloor('verifier', ['evidence', 'protocol']),
    packageFloor('adapters', ['client', 'protocol']),
    packageFloor('verify-page', ['verifier', 'evidence', 'protocol']),
    packageFloor('link-page', ['verify-page', 'verifier', 'evidence', 'protocol']),
    packageFloor('docs-site', []),
    packageFloor('dashboard', ['client', 'verifier', 'evidence', 'protocol']),
    packageFloor('cli', ['server', 'adapters', 'client', 'verifier', 'evidence', 'protocol']),
    {
      name: 'only-pages-know-the-words',
      comment: 'sentences for people are in pages, and make no client larger',
      severity: 'error',
      from: { path: '^packages/', pathNot: '^packages/(protocol|dashboard|verify-page|link-page)/' },
      to: { path: '^packages/protocol/src/words' },
    },
    {
      name: 'runs-in-a-browser',
      comment: 'protocol, evidence and client use nothing that only Node has',
      severity: 'error',
      from: { path: '^packages/(protocol|evidence|client)/src/', pathNot: [tests, '-native\\.ts$'] },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'verifier-runs-in-a-browser',
      comment: "what the verifier's index leads to uses nothing that only Node has",
      severity: 'error',
      from: { path: '^packages/verifier/src/index\\.ts$' },
      to: {
        reachable: true,
        path: '^(node:|fs$|buffer$)|^packages/verifier/src/(read-file|verify|export-directory)\\.ts$',
      },
    },
    {
      name: 'only-mcp-knows-its-protocol',
      severity: 'error',
      from: { path: '^packages/', pathNot: '^packages/cli/src/mcp/' },
      to: { path: 'node_modules/@modelcontextprotocol/' },
    },
    {
      name: 'only-the-rig-knows-the-browser',
      severity: 'error',
      from: { path: '^(packages|test|tools)/', pathNot: '^test/rig/browser\\.ts$' },
      to: { path: 'node_modules/(playwright|@axe-core)' },
    },
    serverFloor('facts', [
      'access',
      'capacity',
      'http',
      'job',
      'objects',
      'sandbox',
      'settings',
      'start',
      'store',
      'telemetry',
    ]),
    serverFloor('start', [
      'access',
      'capacity',
      'http',
      'job',
      'objects',
      'operator',
      'sandbox',
      'settings',
      'store',
      'telemetry',
    ]),
    serverFloor('http', ['job', 'access', 'capacity', 'telemetry']),
    serverFloor('job', ['capacity', 'objects', 'sandbox', 'store', 'telemetry']),
    serverFloor('operator', ['access', 'job', 'objects', 'sandbox', 'settings', 'store', 'telemetry']),
    serverFloor('access', ['store']),
    serverFloor('capacity', []),
    serverFloor('objects', []),
    serverFloor('sandbox', []),
    serverFloor('store', []),
    serverFloor('telemetry', []),
    serverFloor('settings', ['access']),
    serverFloor('ground', []),
    ...storeFloors,
    stageFloor('admit', ['dispatch', 'execute', 'tools']),
    stageFloor('dispatch', ['execute', 'finish', 'tools']),
    stageFloor('execute', ['finish', 'tools']),
    stageFloor('tools', []),
    stageFloor('finish', []),
    stageFloor('sign', []),
    stageFloor('view', ['sign']),
    stageFloor('remove', []),
    stageFloor('blobs', []),
    stageFloor('objects', []),
    pickedBy('membership', ['job/dispatch/fleet-work', 'capacity/shared-rate']),
    pickedBy('store/open-store', ['store/sqlite/open', 'store/postgres/open']),
    pickedBy('sandbox/prove/preflight', ['sandbox/classes/subprocess/host-cells', 'sandbox/classes/open-cells']),
    onlyKnownBy('http', 'http', '^(node:)?(http|https|http2)$|node_modules/(fastify|@fastify/|ws/)'),
    onlyKnownBy('objects', 's3', '(^|node_modules/)aws4fetch(/|$)'),
    onlyKnownBy('store', 'sql', '^(node:)?sqlite$|node_modules/(kysely|pg)/'),
    onlyKnownBy('sandbox', 'processes', '^(node:)?child_process$'),
    {
      name: 'no-tests-in-the-house',
      comment: 'what runs in production imports no test, and nothing that is installed for development only',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/', pathNot: tests },
      to: { path: [tests, '^test/'] },
    },
    {
      name: 'no-development-dependency',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/', pathNot: tests },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // These are the built pages. Their sources are checked in their own packages.
    exclude: { path: '^packages/server/pages/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
