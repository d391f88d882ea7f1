/**
 * A real cluster that a configuration file describes: its name, ports, the node's labels and taints, and a second one beside it.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { kubectlProgram } from '../../tools/kubectl.ts';
import { freePlace, keelson, type ClusterPlace } from './cluster-fixture.ts';
import { must } from './fixtures/programs.ts';

const scratch = mkdtempSync(join(tmpdir(), 'keelson-named-'));
const places: ClusterPlace[] = [];
after(async () => {
  for (const { dataDir } of places) await keelson(['down', '--delete-data', '--data-dir', dataDir]);
  rmSync(scratch, { recursive: true, force: true });
});

/** A configuration file with the flags of a place and these lines. */
function configFile(
  name: string,
  { dataDir, httpsPort, clusterCidr, serviceCidr }: ClusterPlace,
  lines: string,
): string {
  const path = join(scratch, name);
  const own = {
    'data-dir': dataDir,
    'https-listen-port': httpsPort,
    'cluster-cidr': clusterCidr,
    'service-cidr': serviceCidr,
  };
  writeFileSync(
    path,
    `${Object.entries(own)
      .map(([key, value]) => `${key}: ${value}\n`)
      .join('')}${lines}`,
  );
  return path;
}

async function up(config: string): Promise<string> {
  const { code, stderr } = await keelson(['up', '--config', config, '--detach']);
  assert.equal(code, 0, stderr);
  return stderr;
}

test('a file sets labels, taints and a name; the next start needs only the data directory', async () => {
  const place = await freePlace();
  places.push(place);
  const kubeconfig = join(scratch, 'kubeconfig');
  const lines = `name: filed\nwrite-kubeconfig: ${kubeconfig}\nnode-label: [disk=ssd, zone=a]\nnode-taint: dedicated=me:NoSchedule\n`;
  await up(configFile('one.yaml', place, lines));
  const node = JSON.parse(
    await must(kubectlProgram(), ['--kubeconfig', kubeconfig, '--context', 'filed', 'get', 'nodes', '-o', 'json']),
  ) as {
    items: [{ metadata: { labels: Record<string, string> }; spec: { taints: { key: string; effect: string }[] } }];
  };
  const [{ metadata, spec }] = node.items;
  assert.deepEqual([metadata.labels['disk'], metadata.labels['zone']], ['ssd', 'a']);
  assert.ok(
    spec.taints.some(({ key, effect }) => key === 'dedicated' && effect === 'NoSchedule'),
    JSON.stringify(spec),
  );

  assert.equal((await keelson(['down', '--name', 'filed'])).code, 0);
  const again = await keelson(['up', '--data-dir', place.dataDir, '--detach']);
  assert.equal(again.code, 0, again.stderr);
  const status = JSON.parse((await keelson(['status', '--name', 'filed', '--output', 'json'])).stdout) as {
    server: string;
    clusterCidr: string;
  };
  assert.deepEqual([new URL(status.server).port, status.clusterCidr], [String(place.httpsPort), place.clusterCidr]);
});
