/** The history of a Deployment that three users edit, on every store, over restarts: listed, compared, read and restored. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import type { ObjectHistory } from '../../src/apiserver/history/history-view.ts';
import { createNodePlatform } from '../../src/platform/node/node-platform.ts';
import { startEtcd, withoutEtcd } from '../../src/storage/etcd/etcd-fixture.ts';
import { createEtcdStore } from '../../src/storage/etcd/etcd-store.ts';
import { createMemoryStore } from '../../src/storage/memory/memory-store.ts';
import { createSqliteHistory } from '../../src/storage/sqlite/history/sqlite-history.ts';
import { createSqliteStore } from '../../src/storage/sqlite/sqlite-store.ts';
import type { Store } from '../../src/storage/store.ts';
import { type ControlPlaneFixture, startControlPlane, surviving } from './control-plane-fixture.ts';
import { keelson } from './own-servers.ts';

const limits = { sizeBytes: 64 << 20, ageMs: 86_400_000 };
const PATH = '/apis/apps/v1/namespaces/default/deployments/web';

interface Kind {
  readonly name: string;
  readonly skip: string | false;
  /** Opens the existing data; a memory store lives for the whole test. */
  open(t: TestContext, folder: string): Promise<() => Promise<Store>>;
}

const kinds: readonly Kind[] = [
  {
    name: 'SQLite',
    skip: false,
    open: async (_, folder) => () =>
      createSqliteStore({ path: join(folder, 'state.db'), platform: createNodePlatform({ startSpawner: false }) }),
  },
  {
    name: 'memory',
    skip: false,
    async open(t) {
      const platform = createNodePlatform({ startSpawner: false });
      const store = createMemoryStore(platform);
      t.after(() => store.close().then(() => platform.close()));
      return async () => surviving(store);
    },
  },
  {
    name: 'etcd',
    skip: withoutEtcd,
    async open(t) {
      const etcd = await startEtcd();
      t.after(() => etcd.stop());
      return () => createEtcdStore({ endpoints: [etcd.url], platform: createNodePlatform({ startSpawner: false }) });
    },
  },
];

const manifest = (image: string): string =>
  JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image }] } },
    },
  });

async function run(plane: ControlPlaneFixture, args: readonly string[], input?: string): Promise<string> {
  const { code, stdout, stderr } = await plane.kubectl(args, input);
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** One of twenty edits: its user, its change, and its text in the history. */
async function edit(plane: ControlPlaneFixture, round: number): Promise<string> {
  if (round % 3 === 0) {
    await run(plane, ['apply', '-f', '-'], manifest(`web:${round}`));
    return `kubernetes-admin kubectl-client-side-apply patch`;
  }
  if (round % 3 === 1) {
    await run(plane, ['scale', 'deployment/web', `--replicas=${round + 1}`, '--as=alice']);
    return 'alice kubectl patch scale';
  }
  await run(plane, ['annotate', 'deployment/web', `round=${round}`, '--overwrite', '--as=bob']);
  return 'bob kubectl-annotate patch';
}

async function historyOf(plane: ControlPlaneFixture): Promise<ObjectHistory> {
  return JSON.parse(await run(plane, ['get', '--raw', `/keelson/v1/history${PATH}`])) as ObjectHistory;
}

async function stateAt(plane: ControlPlaneFixture, revision: string): Promise<unknown> {
  const path = `${PATH}?resourceVersion=${revision}&resourceVersionMatch=Exact`;
  const { metadata, spec } = JSON.parse(await run(plane, ['get', '--raw', path])) as {
    metadata: { resourceVersion: string; annotations: Record<string, string> };
    spec: { replicas: number; template: { spec: { containers: { image: string }[] } } };
  };
  return [metadata.annotations['round'], spec.replicas, spec.template.spec.containers[0]!.image];
}

// Concurrent: each has its own store, server and folder, and mostly waits for kubectl.
describe('the history of a Deployment', { concurrency: true }, () => {
  for (const kind of kinds) {
    test(
      `twenty edits by three users are listed, compared and restored: ${kind.name}`,
      { skip: kind.skip },
      async (t) => {
        const folder = await mkdtemp(join(tmpdir(), 'keelson-history-'));
        let plane: ControlPlaneFixture | undefined;
        const stop = async (): Promise<void> => {
          const running = plane;
          plane = undefined;
          await running?.stop();
        };
        t.after(() => stop().then(() => rm(folder, { recursive: true })));
        const open = await kind.open(t, folder);
        const start = (): Promise<ControlPlaneFixture> =>
          startControlPlane({
            components: false,
            pkiDir: join(folder, 'pki'),
            store: open,
            history: ({ clock, log }) => createSqliteHistory({ path: join(folder, 'history.db'), limits, clock, log }),
          });
        plane = await start();
        const expected = ['kubernetes-admin kubectl-client-side-apply create'];
        await run(plane, [
          'create',
          'clusterrolebinding',
          'both',
          '--clusterrole=cluster-admin',
          '--user=alice',
          '--user=bob',
        ]);
        await run(plane, ['apply', '-f', '-'], manifest('web:start'));
        for (let round = 0; round < 20; round++) {
          expected.push(await edit(plane, round));
          if (round !== 10) continue;
          await stop();
          plane = await start();
        }
        const { revisions, gaps } = await historyOf(plane);
        const told = revisions.map(({ user, manager, verb, subresource }) =>
          [user, manager, verb, subresource].filter((part) => part !== undefined).join(' '),
        );
        assert.deepEqual([told.toReversed(), gaps], [expected, []]);
        assert.deepEqual(await stateAt(plane, revisions.at(-1)!.revision), [undefined, 1, 'web:start']);
        assert.deepEqual(await stateAt(plane, revisions[0]!.revision), ['17', 20, 'web:18']);
        const tenth = revisions.at(-11)!;
        assert.deepEqual(await stateAt(plane, tenth.revision), ['8', 8, 'web:9']);
        await checkCommands(plane, { tenth: tenth.revision, last: revisions[0]!.revision });
        await stop();
      },
    );
  }
});

/** The list at the tenth edit contains the same object as the history. */
async function checkLists(command: (...args: string[]) => Promise<string>, tenth: string): Promise<void> {
  const list = (...args: string[]): Promise<string> => command('get', 'deploy', `--at=${tenth}`, ...args);
  assert.match(await list(), /^NAME +READY +UP-TO-DATE +AVAILABLE +AGE\nweb +0\/8 +0 +0 +\S+\n$/);
  assert.match(await list('-A', '-o', 'wide'), /^NAMESPACE +NAME .* IMAGES .*\ndefault +web .* web:9 /);
  assert.equal(await list('-o', 'name'), 'deployment.apps/web\n');
  const { kind, items } = JSON.parse(await list('-o', 'json')) as {
    kind: string;
    items: { apiVersion: string; kind: string; spec: { replicas: number } }[];
  };
  assert.deepEqual(
    [kind, items.map((item) => [item.apiVersion, item.kind, item.spec.replicas])],
    ['List', [['apps/v1', 'Deployment', 8]]],
  );
  assert.equal(await list('-l', 'app=other'), '');
}

async function checkCommands(
  plane: ControlPlaneFixture,
  { tenth, last }: { readonly tenth: string; readonly last: string },
): Promise<void> {
  const command = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await keelson([...args, `--kubeconfig=${plane.kubeconfig}`]);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const history = await command('history', 'deployment/web', '--limit=2');
  assert.match(history, /alice +kubectl +patch scale +spec\.replicas: 17 → 20/);
  const diff = await command('diff', 'deployment/web', `--from=${tenth}`, `--to=${last}`);
  assert.match(diff, /^-  replicas: 8\n\+  replicas: 20$/m);
  assert.match(diff, new RegExp(`^# spec\\.replicas: alice \\(kubectl patch scale\\), revision ${last}`, 'm'));
  assert.match(await command('get', 'deploy', 'web', '--at', tenth), /^ {4}round: "8"$/m);
  await checkLists(command, tenth);
  const dry = await command('restore', 'deployment/web', `--to=${tenth}`, '--dry-run');
  assert.match(dry, /^--- revision \d+\n\+\+\+ as restored \(dry run\)$/m);
  assert.match(dry, /^\+  replicas: 8$[\s\S]*\(dry run\)$/m);
  assert.deepEqual(await stateAt(plane, '999999999').catch(() => 'too large'), 'too large');
  await command('restore', 'deployment/web', `--to=${tenth}`);
  const now = async (): Promise<unknown> => {
    const { revisions } = await historyOf(plane);
    return [await stateAt(plane, revisions[0]!.revision), revisions[0]!.manager];
  };
  assert.deepEqual(await now(), [['8', 8, 'web:9'], 'keelson-restore']);
  await run(plane, ['delete', 'deployment', 'web']);
  assert.match(await command('history', 'deployment/web', '--limit=1'), /deleted$/m);
  await command('restore', 'deployment/web', `--to=${last}`);
  assert.deepEqual(await now(), [['17', 20, 'web:18'], 'keelson-restore']);
}
