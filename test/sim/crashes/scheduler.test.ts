/**
 * The scheduler is killed before and after each of its writes: every pod must end the same way, without a needless preemption.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  DeviceClasses,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  PriorityClasses,
  ResourceClaims,
  ResourceClaimTemplates,
  ResourceSlices,
  StorageClasses,
} from '../../../src/api/gen/resources.ts';
import { localPathStorageClass } from '../../../src/apiserver/bootstrap/local-path-class.ts';
import type { SeriesEventRecorder } from '../../../src/client/event-series-recorder.ts';
import type { Controller, ControllerDeps } from '../../../src/controllers/controller.ts';
import { defaultSchedulerConfig } from '../../../src/scheduler/config/scheduler-config.ts';
import { createScheduler } from '../../../src/scheduler/scheduler.ts';
import { survives, type CrashWorld, type Program, type Step } from './run-world-fixture.ts';
import { addNodes, all, change, create } from './workloads-fixture.ts';

const MOST_POINTS = 20;

/** The scheduler as a controller among others. */
function schedulerOf(deps: ControllerDeps): Controller {
  const recorderFor = (): SeriesEventRecorder => ({ eventf: () => undefined });
  const scheduler = createScheduler({ ...deps, recorderFor }, defaultSchedulerConfig());
  return {
    name: 'scheduler',
    async start(signal) {
      try {
        await scheduler.start(signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    },
  };
}

const program: Program = { factories: [schedulerOf], user: 'kube-scheduler' };

const machine = (name: string, cpu: string): Step =>
  all(
    addNodes(name),
    change(
      Nodes,
      name,
      (draft) => {
        const size = { cpu, memory: '8Gi', pods: '110' };
        draft.status = { allocatable: size, capacity: size, conditions: [{ type: 'Ready', status: 'True' }] };
      },
      'status',
    ),
  );

const pod = (name: string, cpu: string, spec: object = {}): Step =>
  create(Pods, name, {
    spec: { containers: [{ name: 'c', image: 'i', resources: { requests: { cpu } } }], ...spec },
  });

const claim = (name: string, storageClassName: string): Step =>
  create(PersistentVolumeClaims, name, {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName },
  });
const on = (...claims: string[]): object => ({
  volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
});

const localVolume = (name: string): Step =>
  create(PersistentVolumes, name, {
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      storageClassName: 'local',
      persistentVolumeReclaimPolicy: 'Retain',
      local: { path: `/data/${name}` },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['n1'] }] },
          ],
        },
      },
    },
  });

const requests = [{ name: 'r', exactly: { deviceClassName: 'cards' } }];
const cards = (...names: string[]): object => ({
  driver: 'cards.example.com',
  nodeName: 'n1',
  pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
  devices: names.map((name) => ({ name })),
});

const withCards = (name: string, resource: string): Step =>
  create(Pods, name, {
    spec: {
      containers: [
        { name: 'c', image: 'i', resources: { limits: { [resource]: '1' }, requests: { [resource]: '1' } } },
      ],
    },
  });

const runs: CrashWorld['runs'] = ({ spec }) => (spec?.nodeName ?? '') !== '';

/** In each world, every pod has one possible node. */
const worlds: Readonly<Record<string, CrashWorld>> = {
  'between binding and saying why not': {
    before: all(machine('n1', '2'), machine('n2', '4')),
    steps: [all(pod('a', '3'), pod('b', '1500m'), pod('c', '1'), pod('d', '2')), machine('n3', '2')],
  },
  'while it makes room': {
    before: all(
      machine('n1', '4'),
      create(PriorityClasses, 'high', { value: 1000 }),
      create(PriorityClasses, 'higher', { value: 2000 }),
    ),
    steps: [
      all(pod('low-1', '2'), pod('low-2', '1900m')),
      pod('high', '3', { priorityClassName: 'high' }),
      pod('higher', '3', { priorityClassName: 'higher' }),
    ],
  },
  'while it binds volumes': {
    with: [
      'persistentvolume-binder-controller',
      'local-path-provisioner-controller',
      'persistentvolumeclaim-protection-controller',
    ],
    before: all(
      machine('n1', '4'),
      change(Nodes, 'n1', (draft) => void (draft.metadata.annotations = { 'keelson.dev/local-path': '/data' })),
      create(StorageClasses, 'local', {
        provisioner: 'kubernetes.io/no-provisioner',
        volumeBindingMode: 'WaitForFirstConsumer',
      }),
      (h) => h.create(StorageClasses, localPathStorageClass()),
      localVolume('v1'),
      localVolume('v2'),
    ),
    steps: [
      all(claim('c1', 'local'), claim('c2', 'local'), claim('c3', 'local-path')),
      pod('p', '1', on('c1', 'c2', 'c3')),
      all(claim('c4', 'local'), pod('waits', '1', on('c4'))),
      localVolume('v3'),
    ],
    restMs: 40_000,
  },
  'while it gives devices out': {
    needsTwoWrites: 'the controller of claims takes the finalizer off a claim that is not allocated',
    with: ['resourceclaim-controller'],
    before: all(
      machine('n1', '4'),
      create(DeviceClasses, 'cards', { spec: {} }),
      create(ResourceSlices, 's', { spec: cards('d1', 'd2', 'd3') }),
      create(ResourceClaimTemplates, 't', { spec: { spec: { devices: { requests } } } }),
      create(ResourceClaims, 'shared', { spec: { devices: { requests } } }),
    ),
    steps: [
      pod('a', '1', {
        resourceClaims: [
          { name: 'own', resourceClaimTemplateName: 't' },
          { name: 'shared', resourceClaimName: 'shared' },
        ],
      }),
      pod('b', '1', { resourceClaims: [{ name: 'shared', resourceClaimName: 'shared' }] }),
      pod('c', '1', { resourceClaims: [{ name: 'own', resourceClaimTemplateName: 't' }] }),
      pod('waits', '1', { resourceClaims: [{ name: 'own', resourceClaimTemplateName: 't' }] }),
      async (h) => await h.finish(await h.get(Pods, 'default/c'), 'Succeeded'),
    ],
    restMs: 30_000,
  },
  'while it gives out devices that stand for extended resources': {
    needsTwoWrites: 'the controller of claims takes the finalizer off a claim that is not allocated',
    with: ['resourceclaim-controller'],
    before: all(machine('n1', '4'), machine('n2', '4'), create(ResourceSlices, 's', { spec: cards('d1', 'd2') })),
    steps: [
      withCards('a', 'example.com/card'),
      create(DeviceClasses, 'cards', { spec: { extendedResourceName: 'example.com/card' } }),
      withCards('b', 'deviceclass.resource.kubernetes.io/cards'),
      withCards('waits', 'example.com/card'),
      async (h) => await h.finish(await h.get(Pods, 'default/b'), 'Succeeded'),
    ],
    restMs: 30_000,
    async holds(h) {
      for (const name of ['a', 'waits']) {
        const { spec, status } = await h.get(Pods, `default/${name}`);
        const told = status?.extendedResourceClaimStatus;
        assert.equal(spec?.nodeName, 'n1', name);
        assert.deepEqual(told?.requestMappings, [
          { containerName: 'c', resourceName: 'example.com/card', requestName: 'container-0-request-0' },
        ]);
        const claim = await h.get(ResourceClaims, `default/${told?.resourceClaimName}`);
        assert.deepEqual(
          claim.status?.reservedFor?.map((user) => user.name),
          [name],
        );
      }
    },
  },
};

describe('the scheduler killed at any of its writes', () => {
  for (const [name, shape] of Object.entries(worlds))
    it(name, async () => {
      const world = { ...shape, runs };
      const calm = await survives(program, world, { most: MOST_POINTS, seed: name, late: true });
      assert.equal(calm.writesAtResync, 0, `a resync writes:\n${calm.writes.slice(-calm.writesAtResync).join('\n')}`);
    });
});
