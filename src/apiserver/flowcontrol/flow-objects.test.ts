import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FlowSchema, PriorityLevelConfiguration } from '../../api/gen/flowcontrol-v1.ts';
import { FlowSchemas, PriorityLevelConfigurations } from '../../api/gen/resources.ts';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { MaxInFlight } from '../filters/max-in-flight.ts';
import { ensureFlowObjects, repairedFlowObject } from '../bootstrap/flow-objects.ts';
import { bootstrapFlowSchemas, bootstrapPriorityLevels } from '../bootstrap/objects.ts';
import { clusterDefinitions } from '../registry/cluster-definitions.ts';
import type { ResourceDefinition } from '../registry/resource-definition.ts';
import { startTestServer, type TestServer } from '../server-fixture.ts';
import { flowConfigurationOf } from './configuration.ts';
import { FlowController } from './flow-controller.ts';
import { followFlowObjects } from './flow-objects.ts';

const ANNOTATION = 'apf.kubernetes.io/autoupdate-spec';

test('repairs of flow schemas and priority levels', async (t) => {
  const level = (name: string): PriorityLevelConfiguration =>
    bootstrapPriorityLevels().find(({ metadata }) => metadata.name === name)!;
  const changed = (name: string, said: string | undefined, generation = 2): PriorityLevelConfiguration => ({
    ...level(name),
    metadata: { name, generation, ...(said === undefined ? {} : { annotations: { [ANNOTATION]: said } }) },
    spec: { type: 'Limited', limited: { nominalConcurrencyShares: 1, limitResponse: { type: 'Reject' } } },
  });
  const exempt: PriorityLevelConfiguration = {
    ...level('exempt'),
    spec: { type: 'Exempt', exempt: { nominalConcurrencyShares: 7 } },
  };
  const cases: readonly (readonly [string, PriorityLevelConfiguration, string])[] = [
    ['as it should be', level('system'), 'untouched'],
    ['suggested, to be kept up to date', changed('system', 'true'), 'spec 3 true'],
    ['suggested, the operator’s own', changed('system', 'false'), 'untouched'],
    ['suggested, changed before anybody said', changed('system', undefined), 'marked 2 false'],
    ['suggested, of an older version', changed('system', undefined, 1), 'spec 2 true'],
    ['mandatory, whatever it says', changed('catch-all', 'false'), 'spec 3 false'],
    ['shares of the exempt level', exempt, 'untouched'],
  ];
  for (const [name, current, expected] of cases)
    await t.test(name, () => {
      const wanted = level(current.metadata.name!);
      const next = repairedFlowObject(current, wanted);
      if (next === undefined) return assert.equal(expected, 'untouched');
      const { generation, annotations } = next.metadata;
      const what = JSON.stringify(next.spec) === JSON.stringify(wanted.spec) ? 'spec' : 'marked';
      assert.equal(`${what} ${generation} ${annotations![ANNOTATION]}`, expected);
    });
});

const kinds = new Set([FlowSchemas.resource, PriorityLevelConfigurations.resource]);

async function started(): Promise<TestServer & { controller: FlowController; stop: () => void }> {
  const definitions = clusterDefinitions.filter(({ info }) => kinds.has(info.resource)) as ResourceDefinition[];
  const server = await startTestServer({ definitions });
  const { clock } = server.platform;
  const controller = new FlowController(
    { clock, inFlight: new MaxInFlight({ readOnly: 1, mutating: 1 }), measureStored: () => undefined },
    600,
    flowConfigurationOf([], []),
  );
  const { objects } = server.storage;
  await ensureFlowObjects(objects, clock.nowMs());
  const stop = followFlowObjects({ objects, controller, clock, log: createMemoryLog() });
  return { ...server, controller, stop };
}

test('new flow schemas have their condition when they are created: nothing is written afterwards', async () => {
  const { storage, platform, stop } = await started();
  const schemas = storage.objects.list(FlowSchemas);
  for (const { status } of schemas)
    assert.deepEqual(
      status?.conditions?.map(({ type, reason, lastTransitionTime }) => [type, reason, lastTransitionTime]),
      [['Dangling', 'Found', '2026-01-01T00:00:00Z']],
    );
  await platform.clock.advance(300_000);
  assert.deepEqual(storage.objects.list(FlowSchemas), schemas);
  stop();
});

test('objects that the server created itself are never repaired', async () => {
  const { storage, platform, stop } = await started();
  await platform.clock.advance(300_000);
  const all = [...storage.objects.list(FlowSchemas), ...storage.objects.list(PriorityLevelConfigurations)];
  const repaired = all.filter(({ metadata }) => metadata.generation !== 1);
  assert.deepEqual(
    repaired.map(({ metadata }) => metadata.name),
    [],
  );
  stop();
});

test('the store is followed, conditions are written, mandatory objects are restored after a minute', async () => {
  const { storage, platform, send, controller, stop } = await started();
  const { objects } = storage;
  const path = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';
  const danglingOf = (name: string) =>
    (objects.get(FlowSchemas, '', name) as FlowSchema | undefined)?.status?.conditions?.map((one) => ({ ...one }));
  await platform.clock.advance(1000);
  assert.equal(controller.levels.length, bootstrapPriorityLevels().length);
  const [first] = danglingOf('catch-all') ?? [];
  assert.deepEqual([first?.type, first?.status, first?.reason], ['Dangling', 'False', 'Found']);
  assert.equal(
    first?.message,
    'This FlowSchema references the PriorityLevelConfiguration object named "catch-all" and it exists',
  );

  const own = {
    metadata: { name: 'own', annotations: { [ANNOTATION]: 'false' } },
    spec: {
      matchingPrecedence: 50,
      priorityLevelConfiguration: { name: 'later' },
      rules: [
        {
          subjects: [{ kind: 'Group', group: { name: '*' } }],
          nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
        },
      ],
    },
  };
  assert.equal((await send('POST', path, own)).status, 201);
  await platform.clock.advance(1000);
  const [dangling] = danglingOf('own') ?? [];
  assert.deepEqual([dangling?.status, dangling?.reason], ['True', 'NotFound']);
  const later = {
    metadata: { name: 'later' },
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
  };
  assert.equal((await send('POST', path.replace('flowschemas', 'prioritylevelconfigurations'), later)).status, 201);
  await platform.clock.advance(1000);
  const [found] = danglingOf('own') ?? [];
  assert.deepEqual([found?.status, found?.reason], ['False', 'Found']);
  assert.notEqual(found?.lastTransitionTime, dangling?.lastTransitionTime);
  assert.ok(controller.levels.some(({ name }) => name === 'later'));

  await send('DELETE', `${path}/probes`);
  await send('DELETE', `${path}/catch-all`);
  const obsolete = { ...own, metadata: { name: 'obsolete', annotations: { [ANNOTATION]: 'true' } } };
  await send('POST', path, obsolete);
  await platform.clock.advance(1000);
  assert.equal(objects.get(FlowSchemas, '', 'probes'), undefined);
  await platform.clock.advance(60_000);
  assert.deepEqual(
    objects.list(FlowSchemas).map(({ metadata }) => metadata.name),
    [...bootstrapFlowSchemas().map(({ metadata }) => metadata.name), 'own'].toSorted(),
  );
  stop();
});
