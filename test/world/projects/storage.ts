/** A storage operator: sections of custom resources that hold only comments, which YAML reads as null, and CSI parts. */
import { arrayOf, definitionOf, largeSpec, objectOf, textOf } from '../definition.ts';
import { accountWithRole, manifest, namespaceOf, type Project, workload } from '../manifest.ts';

const NAMESPACE = 'storage';
const GROUP = 'storage.world.example';
const cluster = objectOf({
  image: textOf(512),
  network: objectOf({
    provider: textOf(63),
    selectors: { type: 'object', nullable: true, additionalProperties: { type: 'string' } },
  }),
  fileSystem: { type: 'object', properties: { pools: arrayOf(objectOf({ name: textOf(63) }), 16) } },
  placement: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, nullable: true },
  devices: arrayOf(
    objectOf({ name: textOf(63), config: { type: 'object', additionalProperties: { type: 'string' } } }),
    64,
  ),
  template: largeSpec(2, 2),
});

export const storage: Project = {
  name: 'storage',
  namespace: NAMESPACE,
  definitions: ['StorageCluster', 'BlockPool', 'ObjectStore', 'Client', 'Mirror'].map((kind) =>
    definitionOf({ group: GROUP, kind, versions: [{ name: 'v1', spec: cluster }] }),
  ),
  objects: [
    namespaceOf(NAMESPACE),
    ...accountWithRole('storage-operator', NAMESPACE, GROUP),
    workload('Deployment', { name: 'storage-operator', namespace: NAMESPACE }),
    manifest(
      'scheduling.k8s.io/v1',
      'PriorityClass',
      { name: 'storage-critical' },
      { value: 1_000_000, description: 'Storage goes before what uses it.' },
    ),
    manifest(
      'storage.k8s.io/v1',
      'CSIDriver',
      { name: `block.${GROUP}` },
      { spec: { attachRequired: true, podInfoOnMount: false, fsGroupPolicy: 'File' } },
    ),
    manifest(
      'storage.k8s.io/v1',
      'StorageClass',
      { name: 'world-block' },
      {
        provisioner: `block.${GROUP}`,
        parameters: { pool: 'replicated' },
        reclaimPolicy: 'Delete',
        allowVolumeExpansion: true,
      },
    ),
  ],
  samples: [
    manifest(
      `${GROUP}/v1`,
      'StorageCluster',
      { name: 'main', namespace: NAMESPACE },
      {
        spec: {
          image: 'registry.example/storage:v1',
          fileSystem: null,
          network: { provider: 'host', selectors: null },
          placement: null,
          devices: [{ name: 'sda', config: { mode: 'raw' } }],
          template: null,
        },
      },
    ),
    ...['BlockPool', 'ObjectStore'].map((kind) =>
      manifest(
        `${GROUP}/v1`,
        kind,
        { name: 'replicated', namespace: NAMESPACE },
        { spec: { image: 'a:1', devices: null, template: { group0: { command: null } } } },
      ),
    ),
  ],
};
