// The layer rules of ARCHITECTURE.md as dependency-cruiser rules. One table says which layer may import which; what
// the table does not allow is forbidden, for types as well as for values. `npm run layers` checks it.
'use strict';

const base = ['base'];
const api = ['api', 'platform', ...base];
const component = ['client', 'component-helpers', ...api];
const cluster = [
  'apiserver',
  'controllers',
  'scheduler',
  'kubelet',
  'proxy',
  'dns',
  'gateway',
  'why',
  'storage',
  'cri',
  'grpc',
  ...component,
];

/** What each folder of src/ may import besides itself. */
const layers = {
  base: [],
  platform: base,
  // Ports' types alone: a request on its way through a process (transport.ts) carries streams and peer certificates.
  api: ['platform', ...base],
  // gRPC's client side: calls, framing, the wire format of message tables.
  grpc: api,
  storage: ['grpc', ...api],
  client: api,
  cri: ['grpc', ...api],
  'component-helpers': api,
  apiserver: ['storage', 'component-helpers', ...api],
  // Runs in browsers.
  console: ['api'],
  // Explanations of objects, over any client.
  why: component,
  controllers: component,
  scheduler: component,
  kubelet: ['cri', 'grpc', ...component],
  proxy: component,
  dns: component,
  gateway: component,
  cluster,
  testing: ['cluster', ...cluster],
  cli: ['cluster', 'testing', ...cluster],
};

// Layers whose tests may run against the API server of the same process: it is stricter than any fake.
const testedAgainstTheServer = ['controllers', 'scheduler'];
const server = ['apiserver', 'storage'];

// Tests, and the suites and fixtures tests share, may use the simulated platform and Node itself.
const testCode = '(\\.test|-suite|-fixture)\\.ts$';
const either = (names) => `(${names.join('|')})`;

// Where the product begins (the command line, the programs it starts, the library), and the tables about the code
// which tools and tests hold against it.
const beginnings = [
  'cli/main',
  'console/main',
  'cli/sim-worker',
  'cluster/yaml/yaml-worker',
  'platform/node/change-group-program',
  'platform/node/spawner',
  'storage/sqlite/worker',
  'storage/sqlite/history/history-worker',
  'testing/index',
  'testing/runners/jest',
  'testing/runners/vitest',
];
// What views of the console find ready.
const forViews = ['console/api/streams'];
const tables = ['kubelet/(configuration|pod-fields)/document', 'controllers/exclusive-writes'];
const entries = `^src/${either([...beginnings, ...tables, ...forViews])}\\.tsx?$`;

const layerRule = (layer, allowed) => ({
  name: `layer-${layer}`,
  comment: `${layer}/ may import ${allowed.length > 0 ? [...new Set(allowed)].join(', ') : 'nothing'} and itself`,
  severity: 'error',
  from: { path: `^src/${layer}/` },
  to: { path: '^src/', pathNot: `^src/${either([layer, ...allowed])}/` },
});

const layerRules = Object.entries(layers).flatMap(([layer, allowed]) => {
  const rule = layerRule(layer, allowed);
  if (!testedAgainstTheServer.includes(layer)) return [rule];
  const ofTests = layerRule(layer, [...allowed, ...server]);
  return [
    { ...rule, from: { ...rule.from, pathNot: testCode } },
    { ...ofTests, name: `${rule.name}-tests`, from: { path: `^src/${layer}/.*${testCode}` } },
  ];
});

// In a folder of alternatives, what stands in one folder knows nothing of its neighbours.
const sibling = (name, folder, depth) => {
  const one = Array(depth).fill('[^/]+').join('/');
  return {
    name: `siblings-${name}`,
    comment: 'siblings never import each other; what they share moves up or to component-helpers/',
    severity: 'error',
    from: { path: `(${folder})/(${one})/` },
    to: { path: `^$1/${one}/`, pathNot: '^$1/$2/' },
  };
};

module.exports = {
  forbidden: [
    ...layerRules,
    {
      name: 'unknown-layer',
      comment: 'a folder of src/ has its line in the table of layers',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/${either(Object.keys(layers))}/` },
      to: {},
    },
    {
      name: 'ports-know-no-adapter',
      comment: 'the ports of platform/ import neither the real nor the simulated adapters, and these not each other',
      severity: 'error',
      from: { path: '^src/platform/[^/]+\\.ts$', pathNot: testCode },
      to: { path: '^src/platform/(node|sim)/' },
    },
    {
      name: 'adapters-know-not-each-other',
      severity: 'error',
      from: { path: '^src/platform/(node|sim)/', pathNot: testCode },
      to: { path: '^src/platform/(node|sim)/', pathNot: '^src/platform/$1/' },
    },
    {
      name: 'sim-only-for-tests',
      comment: 'the simulated platform is for testing/, cli/ and tests',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/(testing|cli|platform/sim)/|${testCode}` },
      to: { path: '^src/platform/sim/' },
    },
    {
      name: 'real-platform-only-at-the-top',
      comment: 'the real adapters are handed in by cluster/, cli/ and testing/; the data plane is a program of its own',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/(testing|cli|cluster|gateway/data-plane|platform/node)/|${testCode}` },
      to: { path: '^src/platform/node/' },
    },
    {
      name: 'node-modules-only-in-adapters',
      comment: 'node:* comes in through the ports of platform/',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: `^src/(platform/node|storage/sqlite|gateway/data-plane|cluster|cli)/|${testCode}`,
      },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'base-is-pure',
      comment: 'base/ imports nothing, from npm neither',
      severity: 'error',
      from: { path: '^src/base/', pathNot: testCode },
      to: { pathNot: '^src/base/' },
    },
    {
      name: 'no-test-code-in-the-product',
      severity: 'error',
      from: { path: '^src/', pathNot: `^src/testing/|${testCode}` },
      to: { path: `^src/.*${testCode}` },
    },
    {
      name: 'test-code-says-so',
      comment: 'what no part of the product needs is a test, a *-suite.ts or a *-fixture.ts, or nothing at all',
      severity: 'error',
      from: { path: entries },
      to: { path: '^src/', pathNot: `${entries}|${testCode}|/gen/|\\.d\\.ts$`, reachable: false },
    },
    {
      name: 'src-stands-alone',
      comment: 'src/ imports nothing of tools/, test/ or bench/',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(tools|test|bench|examples|bin)/' },
    },
    {
      name: 'console-takes-types',
      comment: 'browser code takes types of api/, and what computes from texts alone',
      severity: 'error',
      from: { path: '^src/console/', pathNot: testCode },
      to: {
        path: '^src/api/',
        pathNot: '^src/api/(age|quantity|time|warning-header)\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    sibling('registry', '^src/apiserver/registry', 2),
    sibling('admission', '^src/apiserver/admission', 1),
    sibling('controllers', '^src/controllers', 1),
    sibling('plugins', '^src/.+/plugins', 1),
    sibling('views', '^src/console/views', 1),
    {
      name: 'no-cycles',
      severity: 'error',
      from: { path: '^src/', pathNot: '/gen/' },
      to: { circular: true },
    },
    {
      name: 'not-resolvable',
      severity: 'error',
      from: { path: '^src/' },
      to: { couldNotResolve: true },
    },
    {
      name: 'no-development-dependencies',
      comment: 'what src/ imports is in "dependencies"',
      severity: 'error',
      // The browser's packages are bundled.
      from: { path: '^src/', pathNot: `^src/console/|${testCode}` },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    combinedDependencies: false,
    moduleSystems: ['es6', 'cjs'],
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
