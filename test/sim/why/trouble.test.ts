/** The part of `keelson status` about a whole cluster: each trouble once, with its first cause. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { image } from '../../../src/cri/sim/sim-image.ts';
import { Cluster } from '../../../src/testing/cluster.ts';
import { objectText } from '../../../src/why/explanation.ts';
import { findTroubles } from '../../../src/why/trouble.ts';

const deployment = (name: string, containers: object[]): object => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas: 3,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers } },
  },
});
const crashes = image('crashes:1', { exits: { code: 3, after: '1s' } });

test('each trouble is listed once with its first cause: pods of one owner together, and the owner not again', async () => {
  await using cluster = await Cluster.start({ nodes: 1, images: [image('web:1'), crashes] });
  await cluster.apply([
    deployment('fine', [{ name: 'web', image: 'web:1' }]),
    deployment('crashing', [{ name: 'web', image: 'crashes:1' }]),
    deployment('waiting', [{ name: 'web', image: 'web:1', envFrom: [{ secretRef: { name: 'keys' } }] }]),
  ]);
  await cluster.advance('3m');
  const options = { client: cluster.client, nowMs: cluster.nowMs, signal: new AbortController().signal };
  const { found, notShown, notReadable } = await findTroubles(options);
  const lines = found.map(({ object, more, causes }) => {
    const [name = ''] = objectText(object).split('-');
    return `${name} +${more} ${causes[0]?.code} ${causes[0]?.because[0]?.code ?? ''}`.trim();
  });
  assert.deepEqual(lines.toSorted(), [
    'pod/default/crashing +2 CrashLoop ContainerExited',
    'pod/default/waiting +2 SecretMissing',
  ]);
  assert.deepEqual([notShown, notReadable], [0, []]);
  const short = await findTroubles(options, 1);
  assert.deepEqual([short.found.length, short.notShown], [1, 3]);
});
