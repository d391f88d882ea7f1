import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Deployment } from '../../api/gen/apps-v1.ts';
import type { Job } from '../../api/gen/batch-v1.ts';
import type { Node, PersistentVolumeClaim, Service } from '../../api/gen/core-v1.ts';
import { formatTime } from '../../api/time.ts';
import { deploymentPrinter } from './apps/tables.ts';
import { jobPrinter } from './batch/tables.ts';
import { persistentVolumeClaimPrinter } from './core/volume-tables.ts';
import { servicePrinter } from './core/services/tables.ts';
import { nodePrinter } from './core/nodes/table.ts';

const NOW_MS = 1_767_225_600_000;
const metadata = { name: 'x', creationTimestamp: formatTime(NOW_MS - 3_600_000) };

test('rows of services', () => {
  const cases: readonly (readonly [Partial<Service>, readonly unknown[]])[] = [
    [
      {
        spec: {
          type: 'NodePort',
          clusterIPs: ['10.0.0.1'],
          ports: [
            { port: 80, nodePort: 30080, protocol: 'TCP' },
            { port: 53, protocol: 'UDP' },
          ],
          selector: { b: '2', a: '1' },
        },
      },
      ['x', 'NodePort', '10.0.0.1', '<none>', '80:30080/TCP,53/UDP', '60m', 'a=1,b=2'],
    ],
    [
      { spec: { type: 'LoadBalancer', clusterIPs: ['10.0.0.1'] } },
      ['x', 'LoadBalancer', '10.0.0.1', '<pending>', '<none>', '60m', '<none>'],
    ],
    [
      { spec: { type: 'ExternalName', externalName: 'a.example' } },
      ['x', 'ExternalName', '<none>', 'a.example', '<none>', '60m', '<none>'],
    ],
  ];
  for (const [service, want] of cases) assert.deepEqual(servicePrinter.cells({ metadata, ...service }, NOW_MS), want);
});

test('rows of nodes', () => {
  const node: Node = {
    metadata: { ...metadata, labels: { 'node-role.kubernetes.io/control-plane': '', 'kubernetes.io/role': 'edge' } },
    spec: { unschedulable: true },
    status: {
      conditions: [{ type: 'Ready', status: 'True' }],
      addresses: [{ type: 'InternalIP', address: '10.1.1.1' }],
    },
  };
  assert.deepEqual(nodePrinter.cells(node, NOW_MS), [
    'x',
    'Ready,SchedulingDisabled',
    'control-plane,edge',
    '60m',
    '',
    '10.1.1.1',
    '<none>',
    '<unknown>',
    '<unknown>',
    '<unknown>',
  ]);
});

test('rows of workloads', () => {
  const template = {
    spec: {
      containers: [
        { name: 'c', image: 'i' },
        { name: 'd', image: 'j' },
      ],
    },
  };
  const deployment: Deployment = {
    metadata,
    spec: { replicas: 3, selector: { matchLabels: { a: 'b' } }, template },
    status: { readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1 },
  };
  assert.deepEqual(deploymentPrinter.cells(deployment, NOW_MS), ['x', '1/3', 2, 1, '60m', 'c,d', 'i,j', 'a=b']);
  const job: Job = {
    metadata,
    spec: { completions: 2, template },
    status: { succeeded: 1, startTime: formatTime(NOW_MS - 90_000), completionTime: formatTime(NOW_MS - 60_000) },
  };
  assert.deepEqual(jobPrinter.cells(job, NOW_MS).slice(0, 5), ['x', 'Running', '1/2', '30s', '60m']);
});

test('rows of claims', () => {
  const claim: PersistentVolumeClaim = {
    metadata,
    spec: { volumeName: 'v', storageClassName: 's', volumeMode: 'Filesystem' },
    status: { phase: 'Bound', capacity: { storage: '1Gi' }, accessModes: ['ReadWriteMany', 'ReadWriteOnce'] },
  };
  assert.deepEqual(persistentVolumeClaimPrinter.cells(claim, NOW_MS), [
    'x',
    'Bound',
    'v',
    '1Gi',
    'RWO,RWX',
    's',
    '<unset>',
    '60m',
    'Filesystem',
  ]);
});

test('claims show the storage class that an annotation names', () => {
  const claim = {
    metadata: { name: 'c', annotations: { 'volume.beta.kubernetes.io/storage-class': 'slow' } },
    spec: { storageClassName: 'fast' },
  };
  const at = persistentVolumeClaimPrinter.columns.findIndex(({ name }) => name === 'StorageClass');
  assert.equal(persistentVolumeClaimPrinter.cells(claim, 0)[at], 'slow');
});
