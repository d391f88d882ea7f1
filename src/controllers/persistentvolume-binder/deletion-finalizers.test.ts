import assert from 'node:assert/strict';
import { it } from 'node:test';
import { wantedFinalizers } from './deletion-finalizers.ts';

const IN_TREE = 'kubernetes.io/pv-controller';
const EXTERNAL = 'external-provisioner.volume.kubernetes.io/finalizer';

interface Case {
  readonly what: string;
  readonly by?: string;
  readonly policy?: string;
  readonly going?: true;
  readonly has?: string[];
  readonly wants: string[] | undefined;
}

const cases: readonly Case[] = [
  { what: 'a volume somebody made by hand', wants: undefined },
  { what: 'a volume of another provisioner', by: 'keelson.dev/local-path', has: [EXTERNAL], wants: undefined },
  { what: 'an in-tree volume', by: 'kubernetes.io/host-path', has: ['a'], wants: ['a', IN_TREE] },
  { what: 'an in-tree volume that has it', by: 'kubernetes.io/host-path', has: [IN_TREE], wants: undefined },
  { what: 'an in-tree volume on its way', by: 'kubernetes.io/host-path', going: true, has: ['a'], wants: undefined },
  { what: 'a retained in-tree volume', by: 'kubernetes.io/host-path', policy: 'Retain', has: [IN_TREE], wants: [] },
  { what: 'no longer external', by: 'kubernetes.io/host-path', has: [EXTERNAL], wants: [IN_TREE] },
  { what: 'a migrated volume', by: 'kubernetes.io/aws-ebs', has: [EXTERNAL, IN_TREE], wants: [EXTERNAL] },
  { what: 'a migrated volume without it', by: 'kubernetes.io/aws-ebs', has: [EXTERNAL], wants: undefined },
];

for (const { what, by, policy = 'Delete', going, has, wants } of cases) {
  it(`finalizers of ${what}`, () => {
    const volume = {
      metadata: {
        name: 'v',
        ...(by !== undefined && { annotations: { 'pv.kubernetes.io/provisioned-by': by } }),
        ...(going && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
        ...(has !== undefined && { finalizers: has }),
      },
      spec: { persistentVolumeReclaimPolicy: policy },
    };
    assert.deepEqual(wantedFinalizers(volume), wants);
  });
}
