/** Fixtures of the NodeRestriction tests: the user of a node, its pods, and a check of consecutive requests. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/gen/core-v1.ts';
import { Nodes, PersistentVolumes, Pods } from '../../../api/gen/resources.ts';
import type { ResourceInfo } from '../../../api/resource-info.ts';
import type { Authorizer } from '../../authz/contract.ts';
import { createTestObjects } from '../../authz/objects-fixture.ts';
import { wireguardAnnotations } from '../../../component-helpers/wireguard-annotations.ts';
import { createSimCrypto } from '../../../platform/sim/crypto.ts';
import { VirtualClock } from '../../../platform/sim/virtual-clock.ts';
import { admit, type TestRequest } from '../admission-fixture.ts';
import { createNodeRestriction } from './node-restriction.ts';

export const nobody: Authorizer = { authorize: () => ({ decision: 'noOpinion', reason: '' }) };
export const owner = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-uid', controller: true };
export const user = { name: 'system:node:n1', groups: ['system:nodes'] };

/** Metadata of a node that publishes a WireGuard key, which stands for this name. */
export const withKey = (name: string): object => ({
  annotations: wireguardAnnotations(Buffer.alloc(32, name).toString('base64')),
});

export const pod = (nodeName: string, more: object = {}): Pod => ({
  metadata: { name: 'p', namespace: 'ns', uid: 'pod-uid', ...more },
  spec: {
    nodeName,
    containers: [],
    volumes: [{ name: 'kube-api-access', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }],
  },
});

const userOfClaim: Pod = {
  metadata: { name: 'user', namespace: 'ns', uid: 'user' },
  spec: { nodeName: 'n1', containers: [], volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] },
};

export type Case = readonly [name: string, resource: ResourceInfo, request: TestRequest, problem: string | undefined];

/** A test for each case: the message of the rejection, or undefined for a request that is admitted. */
export function testRequests(cases: readonly Case[]): void {
  for (const [name, resource, request, problem] of cases) {
    test(`a node and ${name}`, async () => {
      const objects = createTestObjects();
      objects.put(Nodes, { metadata: { name: 'n1', uid: 'node-uid' } });
      objects.put(Nodes, { metadata: { name: 'n2', ...withKey('n2') } });
      objects.put(Pods, pod('n1'), { ...pod('n2'), metadata: { name: 'q', namespace: 'ns', uid: 'q-uid' } });
      objects.put(Pods, userOfClaim);
      objects.put(PersistentVolumes, { metadata: { name: 'pv' }, spec: { claimRef: { namespace: 'ns', name: 'c' } } });
      const done = admit(
        createNodeRestriction(() => objects.store, nobody, createSimCrypto(new VirtualClock())),
        resource,
        { user, ...request },
      );
      if (problem === undefined) await done;
      else
        await assert.rejects(
          done,
          (error: Error) =>
            error.message.endsWith(`is forbidden: ${problem}`) || assert.equal(error.message, problem) === undefined,
        );
    });
  }
}
