/** The tools through the protocol's own client, over a cluster of the same process. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/server';
import { image } from '../../cri/sim/sim-image.ts';
import { Cluster } from '../../testing/cluster.ts';
import { createMcpServer } from './server.ts';

const OBJECTS = `
apiVersion: v1
kind: Secret
metadata: { name: keys }
stringData: { password: hunter2 }
---
apiVersion: v1
kind: Pod
metadata: { name: web, labels: { app: web } }
spec: { containers: [{ name: web, image: 'web:1' }] }
---
apiVersion: v1
kind: Pod
metadata: { name: crashes }
spec: { containers: [{ name: main, image: 'crashes:1' }] }
---
apiVersion: v1
kind: Pod
metadata: { name: talks }
spec: { containers: [{ name: main, image: 'talks:1' }] }
---
apiVersion: v1
kind: Pod
metadata: { name: lacks }
spec: { containers: [{ name: main, image: 'web:1', envFrom: [{ configMapRef: { name: absent } }] }] }
`;

interface Session {
  readonly cluster: Cluster;
  readonly names: readonly string[];
  /** The text of the response, with `error: ` before refusals. */
  ask(name: string, args?: Record<string, unknown>): Promise<string>;
}

async function withSession(showsSecrets: boolean, act: (session: Session) => Promise<void>): Promise<void> {
  const images = [
    image('web:1', { logs: ['serving'] }),
    image('crashes:1', { exits: { code: 3, after: '1s' } }),
    image('talks:1', { logs: Array<string>(200).fill('x'.repeat(15_000)) }),
  ];
  await using cluster = await Cluster.start({ nodes: 1, images });
  await cluster.apply(OBJECTS);
  await cluster.advance('1m');
  const server = createMcpServer({
    client: cluster.client,
    namespace: 'default',
    nowMs: () => cluster.nowMs,
    showsSecrets,
  });
  const [here, there] = InMemoryTransport.createLinkedPair();
  const client = new Client({ name: 'test', version: '1' });
  await Promise.all([server.connect(there), client.connect(here)]);
  try {
    const { tools } = await client.listTools();
    await act({
      cluster,
      names: tools.map(({ name }) => name),
      async ask(name, args = {}) {
        const { content, isError } = await client.callTool({ name, arguments: args });
        const [first] = content;
        assert.equal(first?.type, 'text');
        return `${isError === true ? 'error: ' : ''}${first.text}`;
      },
    });
  } finally {
    await client.close();
  }
}

test('an assistant finds failing objects, the reason, and their logs', async () => {
  await withSession(false, async ({ ask, names }) => {
    assert.deepEqual(names, ['trouble', 'why', 'kinds', 'list', 'get', 'events', 'logs', 'history', 'trace']);
    const trouble = await ask('trouble');
    assert.match(trouble, /pod\/default\/crashes .*\[CrashLoop/s);
    assert.match(trouble, /pod\/default\/lacks .*\[ConfigMapMissing, configmap\/default\/absent\]/s);
    assert.match(await ask('why', { kind: 'po', name: 'lacks' }), /cure: create config map absent/i);
    assert.match(
      await ask('list', { kind: 'pods', labelSelector: 'app=web' }),
      /^NAME\tREADY\tSTATUS.*\nweb\t1\/1\tRunning/,
    );
    assert.match(await ask('list', { kind: 'pods', allNamespaces: true }), /^NAMESPACE\tNAME.*\ndefault\tcrashes/);
    assert.match(await ask('list', { kind: 'nodes' }), /^NAME\tSTATUS.*\tReady/s);
    assert.match(
      await ask('events', { kind: 'pod', name: 'crashes', warningsOnly: true }),
      /Warning BackOff pod\/default\/crashes/,
    );
    assert.match(await ask('logs', { pod: 'web' }), /serving/);
    assert.match(await ask('kinds'), /^pods \(Pod\)$/m);
    assert.match(await ask('trace', { pod: 'web' }), /^pod default\/web on node-1: ready .*syncPod \(create\)/s);
  });
});

test('a question about a name is sent for that name only', async () => {
  await withSession(false, async ({ ask }) => {
    for (const name of ['crashes,type!=x', 'a\\', 'a=b']) assert.equal(await ask('events', { name }), 'no events');
  });
});

test('a log with lines of any length is truncated', async () => {
  await withSession(false, async ({ ask }) => {
    const [, left] = /\(cut: (\d+) more characters/.exec(await ask('logs', { pod: 'talks' })) ?? [];
    assert.ok(Number(left) < 1024 * 1024, left);
  });
});

test('values of secrets are left out unless they are enabled at the start', async () => {
  const encoded = Buffer.from('hunter2').toString('base64');
  await withSession(false, async ({ ask }) => {
    const shown = await ask('get', { kind: 'secret', name: 'keys' });
    assert.ok(!shown.includes(encoded) && !shown.includes('hunter2') && !shown.includes('managedFields'), shown);
    assert.match(shown, /7 bytes, not shown/);
  });
  await withSession(true, async ({ ask }) => {
    assert.ok((await ask('get', { kind: 'secret', name: 'keys' })).includes(encoded));
  });
});

test('refusals of the server and invalid questions are answers', async () => {
  await withSession(false, async ({ ask }) => {
    assert.equal(await ask('get', { kind: 'pod', name: 'none' }), 'error: pods "none" not found');
    assert.match(await ask('get', { kind: 'nothing', name: 'x' }), /^error: the server has no kind nothing/);
    assert.match(await ask('logs', { pod: 'web', container: 'x' }), /^error: container x is not valid for pod web/);
    assert.match(await ask('get', { kind: 'pod' }), /^error: .*name/s);
  });
});
