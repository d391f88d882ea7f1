/** `kubernetes-fluent-client`, which Pepr is made with, talks to a simulated cluster by its kubeconfig. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Cluster } from 'keelson/testing';

test('the fluent client applies, reads and deletes', async () => {
  await using cluster = await Cluster.start({ nodes: 1 });
  const folder = mkdtempSync(join(tmpdir(), 'keelson-recipe-'));
  try {
    const file = join(folder, 'kubeconfig');
    writeFileSync(file, await cluster.kubeconfig());
    process.env['KUBECONFIG'] = file;
    const { K8s, kind } = await import('kubernetes-fluent-client');
    await K8s(kind.ConfigMap).Apply({ metadata: { name: 'settings', namespace: 'default' }, data: { color: 'red' } });
    const read = await K8s(kind.ConfigMap).InNamespace('default').Get('settings');
    expect(read.data).toEqual({ color: 'red' });
    await cluster.waitFor('configmap/settings', '.data.color=red');
    await K8s(kind.ConfigMap).InNamespace('default').Delete('settings');
    await cluster.waitFor('configmap/settings', 'deleted');
  } finally {
    rmSync(folder, { recursive: true });
  }
});
