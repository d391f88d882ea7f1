/** An operator on a framework of npm, in a process of its own, as it is deployed: a status it keeps, and a finalizer. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Cluster } from 'keelson/testing';

const DEFINITION = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: greetings.example.com }
spec:
  group: example.com
  names: { kind: Greeting, plural: greetings }
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      subresources: { status: {} }
      schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
`;

test('an operator keeps a status and says farewell before its object goes', async () => {
  // The operator has timers of its own: the cluster's time is real.
  await using cluster = await Cluster.start({ nodes: 0, clock: 'real' });
  await cluster.apply(DEFINITION);
  const folder = mkdtempSync(join(tmpdir(), 'keelson-recipe-'));
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, await cluster.kubeconfig());
  const operator = spawn(process.execPath, [join(import.meta.dirname, 'greeter.mjs')], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  operator.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(operator, 'exit');
  try {
    await cluster.apply({
      apiVersion: 'example.com/v1',
      kind: 'Greeting',
      metadata: { name: 'ann' },
      spec: { name: 'Ann' },
    });
    await cluster.waitFor('greeting/ann', '.status.text=hello Ann');
    const { info } = cluster.resolve('greeting/ann');
    await cluster.client.resource(info).delete({ namespace: 'default', name: 'ann' });
    await cluster.waitFor('greeting/ann', 'deleted');
    await expect.poll(() => output).toContain('farewell ann');
  } finally {
    operator.kill();
    await ended;
    rmSync(folder, { recursive: true });
  }
});
