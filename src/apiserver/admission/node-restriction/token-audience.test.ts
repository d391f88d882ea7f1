/** Audiences that nodes may ask tokens for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume } from '../../../api/gen/core-v1.ts';
import { CSIDrivers, PersistentVolumeClaims, PersistentVolumes } from '../../../api/gen/resources.ts';
import type { AuthorizationAttributes } from '../../authz/contract.ts';
import { createTestObjects } from '../../authz/objects-fixture.ts';
import type { AdmissionAttributes } from '../contract.ts';
import { audienceProblem } from './token-audience.ts';

/** The error, and the questions to the authorizer. */
async function ask(
  audiences: readonly string[],
  volume: Partial<Volume>,
  allowed = false,
): Promise<{ problem: string | undefined; asked: AuthorizationAttributes[] }> {
  const objects = createTestObjects();
  objects.put(CSIDrivers, { metadata: { name: 'd' }, spec: { tokenRequests: [{ audience: 'vault' }] } });
  objects.put(PersistentVolumeClaims, { metadata: { name: 'c', namespace: 'ns' }, spec: { volumeName: 'pv' } });
  objects.put(PersistentVolumeClaims, { metadata: { name: 'p-v', namespace: 'ns' }, spec: { volumeName: 'pv' } });
  objects.put(PersistentVolumes, { metadata: { name: 'pv' }, spec: { csi: { driver: 'd', volumeHandle: 'h' } } });
  const asked: AuthorizationAttributes[] = [];
  const pod = {
    metadata: { name: 'p', namespace: 'ns' },
    spec: { containers: [], volumes: [{ name: 'v', ...volume }] },
  };
  const user = { name: 'system:node:n1', groups: ['system:nodes'] };
  const attributes = { namespace: 'ns', name: 'bot', context: { user } } as unknown as AdmissionAttributes;
  const problem = await audienceProblem(
    { attributes, audiences, pod, objects: objects.store },
    {
      authorize(of) {
        asked.push(of);
        return { decision: allowed ? 'allow' : 'noOpinion', reason: '' };
      },
    },
  );
  return { problem, asked };
}

const tokenOf = (audience?: string): Partial<Volume> => ({
  projected: {
    sources: [
      { configMap: { name: 'kube-root-ca.crt' } },
      { serviceAccountToken: { path: 't', ...(audience !== undefined && { audience }) } },
    ],
  },
});
const cases: readonly (readonly [
  what: string,
  audiences: readonly string[],
  volume: Partial<Volume>,
  well: boolean,
])[] = [
  ["the server's, by a volume", [], tokenOf(), true],
  ["the server's, named as none", [''], tokenOf(), true],
  ["the server's, without such a volume", [], { emptyDir: {} }, false],
  ["a volume's own", ['vault'], tokenOf('vault'), true],
  ['another than the volume names', ['vault'], tokenOf('bank'), false],
  ['what an inline driver wants', ['vault'], { csi: { driver: 'd' } }, true],
  ['what a driver does not want', ['bank'], { csi: { driver: 'd' } }, false],
  ['what an unknown driver may want', ['vault'], { csi: { driver: 'x' } }, false],
  ["what a claim's driver wants", ['vault'], { persistentVolumeClaim: { claimName: 'c' } }, true],
  ['what the driver of no claim wants', ['vault'], { persistentVolumeClaim: { claimName: 'x' } }, false],
  ["what an ephemeral claim's driver wants", ['vault'], { ephemeral: {} }, true],
];
for (const [what, audiences, volume, well] of cases)
  test(`a node ${well ? 'gets' : 'is refused'} ${what}`, async () => {
    const { problem, asked } = await ask(audiences, volume);
    const expected = `audience "${audiences[0] ?? ''}" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience`;
    assert.deepEqual([problem, asked.length], well ? [undefined, 0] : [expected, 1]);
  });

test('a node gets tokens for permitted audiences', async () => {
  const { problem, asked } = await ask(['vault'], { emptyDir: {} }, true);
  assert.equal(problem, undefined);
  const [{ verb, apiGroup, resource, namespace, name } = {} as AuthorizationAttributes] = asked;
  assert.deepEqual(
    { verb, apiGroup, resource, namespace, name },
    { verb: 'request-serviceaccounts-token-audience', apiGroup: '', resource: 'vault', namespace: 'ns', name: 'bot' },
  );
});

test('a node requests one audience at most', async () => {
  const { problem } = await ask(['a', 'b'], tokenOf('a'), true);
  assert.equal(problem, 'node may only request 0 or 1 audiences');
});
