/**
 * Which kinds' status sub-resource writes labels and annotations, too. Upstream: PrepareForUpdate of the status strategies,
 * ResetObjectMetaForStatus.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startWithAll } from '../all-resources-fixture.ts';
import { readSamples } from './samples-fixture.ts';

const KEEPS_METADATA = new Set([
  'APIService',
  'DeviceTaintRule',
  'FlowSchema',
  'PodGroup',
  'PriorityLevelConfiguration',
  'ResourceClaim',
  'ResourcePoolStatusRequest',
  'ServiceCIDR',
  'StorageVersion',
  'StorageVersionMigration',
  'ValidatingAdmissionPolicy',
  'VolumeAttachment',
]);
/** An update of its status keeps the labels, and changes annotations. */
const KEEPS_LABELS = 'Deployment';

const JSON_BODY = { 'content-type': 'application/json' };
const MERGE_PATCH = { 'content-type': 'application/merge-patch+json' };

test('metadata written through status', async (t) => {
  const server = await startWithAll([], 'api/all=true');
  const infos = [...server.storage.registry.served].map((store) => store.info);
  const kinds = Map.groupBy(readSamples(), ({ group, version, kind }) => `${group}/${version} ${kind}`);
  let checked = 0;
  for (const [name, [sample]] of kinds) {
    const { group, version, kind, object, status } = sample!;
    const info = infos.find((known) => known.group === group && known.version === version && known.kind === kind)!;
    if (!info.subresources.some((subresource) => subresource.name === 'status')) continue;
    checked++;
    await t.test(name, async () => {
      const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
      const path = `${root}${info.namespaced ? '/namespaces/default' : ''}/${info.resource}`;
      const made = await server.send('POST', path, object, JSON_BODY);
      assert.equal(made.status, 201, made.text);
      // A patch: controllers of the server write some of these meanwhile.
      const patch = {
        metadata: { labels: { a: 'b' }, annotations: { c: 'd' }, finalizers: ['e.f/g'] },
        status: status ?? made.body.status,
      };
      const answer = await server.send(
        'PATCH',
        `${path}/${object.metadata.name}/status?dryRun=All`,
        patch,
        MERGE_PATCH,
      );
      assert.equal(answer.status, 200, answer.text);
      const { labels, annotations, finalizers } = answer.body.metadata;
      if (KEEPS_METADATA.has(kind)) {
        const kept = made.body.metadata;
        assert.deepEqual([labels, annotations, finalizers], [kept.labels, kept.annotations, kept.finalizers]);
        return;
      }
      assert.equal(labels?.a, kind === KEEPS_LABELS ? undefined : 'b');
      assert.equal(annotations.c, 'd');
      assert.deepEqual(finalizers.at(-1), 'e.f/g');
    });
  }
  assert.ok(checked > 20, `${checked} kinds have a status`);
});
