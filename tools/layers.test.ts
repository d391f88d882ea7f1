import assert from 'node:assert/strict';
import { test } from 'node:test';

import { checkLayers } from './layers.ts';
import { plantTree, type PlantedTree } from './planted-tree.ts';

const plant = (files: Record<string, string>): PlantedTree =>
  plantTree({
    'tsconfig.json': '{"compilerOptions":{"module":"nodenext","target":"es2024"}}',
    'package.json': '{"name":"planted","type":"module","dependencies":{"yaml":"*","@bufbuild/protobuf":"*"}}',
    ...files,
  });

const LEAF = 'export const x = 1;\nexport interface X { x: number }\n';

test('the allowed imports pass, and every module is seen', async () => {
  using planted = plant({
    'src/base/heap.ts': LEAF,
    'src/platform/clock.ts': "export { x } from '../base/heap.ts';\n",
    'src/platform/node/clock.ts': "import 'node:timers';\nexport { x } from '../clock.ts';\n",
    'src/platform/sim/clock.ts': "export { x } from '../clock.ts';\n",
    'src/api/long.ts': "export type { Timestamp } from '@bufbuild/protobuf/wkt';\n",
    'src/api/meta.ts':
      "import { parse } from 'yaml';\nexport { x } from '../base/heap.ts';\nexport { parse };\nimport './long.ts';\n",
    'src/apiserver/registry/core/pod/strategy.ts': "export { x } from '../../../../api/meta.ts';\n",
    'src/apiserver/registry/core/pod/table.ts': "export { x } from './strategy.ts';\n",
    'src/apiserver/registry/list.ts': "export { x } from './core/pod/table.ts';\n",
    'src/kubelet/sync.ts': "export { x } from '../cri/client.ts';\n",
    'src/cri/client.ts': LEAF,
    'src/cri/client.test.ts':
      "import 'node:test';\nimport '../platform/sim/clock.ts';\nimport './client.ts';\nimport './runtime-suite.ts';\n",
    'src/cri/runtime-suite.ts': "export { x } from './daemon-fixture.ts';\n",
    'src/cri/daemon-fixture.ts': LEAF,
    'src/cluster/compose.ts':
      "import 'node:fs';\nexport { x } from '../kubelet/sync.ts';\nimport '../apiserver/registry/list.ts';\n",
    'src/testing/cluster.ts': "import '../platform/sim/clock.ts';\nimport '../cluster/compose.ts';\n",
    'src/cli/main.ts': "import '../testing/cluster.ts';\nimport '../platform/node/clock.ts';\n",
  });
  assert.deepEqual(await checkLayers(planted.root), { modules: 17, violations: [] });
});

/** Violations with their files, in one tree so that one run finds them all. */
const violations: Record<string, Record<string, string>> = {
  'layer-base: src/base/up.ts → src/api/leaf.ts': { 'src/base/up.ts': "import '../api/leaf.ts';\n" },
  'base-is-pure: src/base/npm.ts → ': { 'src/base/npm.ts': "import 'yaml';\n" },
  'layer-scheduler: src/scheduler/s.ts → src/kubelet/leaf.ts': {
    'src/scheduler/s.ts': "import type { X } from '../kubelet/leaf.ts';\nexport type Y = X;\n",
    'src/kubelet/leaf.ts': LEAF,
  },
  'layer-proxy: src/proxy/p.ts → src/cri/leaf.ts': {
    'src/proxy/p.ts': "export const load = () => import('../cri/leaf.ts');\n",
    'src/cri/leaf.ts': LEAF,
  },
  'node-modules-only-in-adapters: src/kubelet/fs.ts → fs': { 'src/kubelet/fs.ts': "import 'node:fs';\n" },
  'sim-only-for-tests: src/cluster/c.ts → src/platform/sim/leaf.ts': {
    'src/cluster/c.ts': "import '../platform/sim/leaf.ts';\n",
    'src/platform/sim/leaf.ts': LEAF,
  },
  'real-platform-only-at-the-top: src/dns/d.ts → src/platform/node/leaf.ts': {
    'src/dns/d.ts': "import '../platform/node/leaf.ts';\n",
    'src/platform/node/leaf.ts': LEAF,
  },
  'ports-know-no-adapter: src/platform/p.ts → src/platform/node/leaf.ts': {
    'src/platform/p.ts': "import './node/leaf.ts';\n",
  },
  'adapters-know-not-each-other: src/platform/sim/n.ts → src/platform/node/leaf.ts': {
    'src/platform/sim/n.ts': "import '../node/leaf.ts';\n",
  },
  'siblings-registry: src/apiserver/registry/core/pod/p.ts → src/apiserver/registry/core/node/n.ts': {
    'src/apiserver/registry/core/pod/p.ts': "import '../node/n.ts';\n",
    'src/apiserver/registry/core/node/n.ts': LEAF,
  },
  'siblings-controllers: src/controllers/job/j.ts → src/controllers/cronjob/c.ts': {
    'src/controllers/job/j.ts': "import '../cronjob/c.ts';\n",
    'src/controllers/cronjob/c.ts': LEAF,
  },
  'siblings-plugins: src/scheduler/plugins/a/a.ts → src/scheduler/plugins/b/b.ts': {
    'src/scheduler/plugins/a/a.ts': "import '../b/b.ts';\n",
    'src/scheduler/plugins/b/b.ts': LEAF,
  },
  'siblings-admission: src/apiserver/admission/a/a.ts → src/apiserver/admission/b/b.ts': {
    'src/apiserver/admission/a/a.ts': "import '../b/b.ts';\n",
    'src/apiserver/admission/b/b.ts': LEAF,
  },
  'no-cycles: src/api/a.ts → src/api/b.ts → src/api/a.ts': {
    'src/api/a.ts': "import './b.ts';\n",
    'src/api/b.ts': "import './a.ts';\n",
  },
  'unknown-layer: src/misc/m.ts → src/api/leaf.ts': { 'src/misc/m.ts': "import '../api/leaf.ts';\n" },
  'not-resolvable: src/api/gone.ts → ./nowhere.ts': { 'src/api/gone.ts': "import './nowhere.ts';\n" },
  'no-development-dependencies: src/api/dev.ts → ': { 'src/api/dev.ts': "import 'fast-check';\n" },
  'no-test-code-in-the-product: src/api/prod.ts → src/api/leaf.test.ts': {
    'src/api/prod.ts': "import './leaf.test.ts';\n",
    'src/api/leaf.test.ts': LEAF,
  },
  'no-test-code-in-the-product: src/api/prod-a.ts → src/api/leaf-suite.ts': {
    'src/api/prod-a.ts': "import './leaf-suite.ts';\n",
    'src/api/leaf-suite.ts': LEAF,
  },
  'no-test-code-in-the-product: src/api/prod-b.ts → src/api/leaf-fixture.ts': {
    'src/api/prod-b.ts': "import './leaf-fixture.ts';\n",
    'src/api/leaf-fixture.ts': LEAF,
  },
  'test-code-says-so: src/api/testing/fake.ts': {
    'src/cli/main.ts': LEAF,
    'src/api/testing/fake.ts': LEAF,
    'src/api/fake.test.ts': "import './testing/fake.ts';\n",
  },
};

test('every rule finds its planted violation', async () => {
  using planted = plant({ 'src/api/leaf.ts': LEAF, ...Object.assign({}, ...Object.values(violations)) });
  const report = await checkLayers(planted.root);
  const missed = Object.keys(violations).filter((expected) => !report.violations.some((v) => v.startsWith(expected)));
  assert.deepEqual(missed, [], `found: ${report.violations.join('\n')}`);
});

test('a checkout without sources fails', async () => {
  using planted = plant({ 'src/readme.md': '' });
  await assert.rejects(checkLayers(planted.root), /no TypeScript files|dependency-cruiser failed/);
});
