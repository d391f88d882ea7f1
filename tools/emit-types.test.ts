import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { emitTypes, TYPES_ENTRIES } from './emit-types.ts';
import { plantTree } from './planted-tree.ts';
import { repositoryRoot } from './repository.ts';

const CONSUMER = `
import { Cluster, image, Pods, type SimNodeSpec } from 'keelson/testing';

const spec: Partial<SimNodeSpec> = { cpus: 2 };
await using cluster = await Cluster.start({ nodes: [spec], images: [image('web', { start: '2s' })] });
const pods = await cluster.client.resource(Pods).list();
export const name: string | undefined = pods.items[0]?.metadata.name;
`;

test('a package that imports keelson/testing gets its types, and no others', () => {
  using tree = plantTree({
    'app/package.json': '{"type":"module"}',
    'app/tsconfig.json': JSON.stringify({
      compilerOptions: { strict: true, noEmit: true, module: 'nodenext', target: 'es2024', types: ['node'] },
      files: ['good.ts', 'bad.ts'],
    }),
    'app/good.ts': CONSUMER,
    'app/bad.ts': `${CONSUMER}\nexport const wrong: number = pods.items.length === 0 ? name : 1;\nawait Cluster.start({ nods: 1 });\n`,
    'app/node_modules/keelson/dist/testing.js': '',
  });
  const keelson = join(tree.root, 'app/node_modules/keelson');
  cpSync(join(repositoryRoot, 'package.json'), join(keelson, 'package.json'));
  const count = emitTypes(repositoryRoot, join(keelson, 'dist/types'));
  for (const entry of TYPES_ENTRIES) assert.ok(existsSync(join(keelson, 'dist/types', entry)), entry);
  assert.ok(count < 400, `${count} files`);

  const { stdout, status } = spawnSync(
    process.execPath,
    [join(repositoryRoot, 'node_modules/typescript7/bin/tsc'), '-p', join(tree.root, 'app')],
    { encoding: 'utf8', cwd: join(tree.root, 'app') },
  );
  assert.notEqual(status, 0);
  const errors = stdout.split('\n').filter((line) => line.includes('error TS'));
  assert.deepEqual(
    errors.map((line) => line.replace(/\(\d+,\d+\)/, '').replace(/^.*?(\w+\.ts)/, '$1')),
    [
      "bad.ts: error TS2322: Type 'string | 1' is not assignable to type 'number'.",
      "bad.ts: error TS2561: Object literal may only specify known properties, but 'nods' does not exist in type 'ClusterOptions'. Did you mean to write 'nodes'?",
    ],
  );
});
