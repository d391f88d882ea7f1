import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { ApiRequest } from '../../api/transport.ts';
import type { ObjectStore } from '../../apiserver/registry/object-store.ts';
import type { RequestScope } from '../../apiserver/request-scope.ts';
import { TUNNEL_PROTOCOL } from '../../apiserver/streaming/tunnels/tunnel-protocol.ts';
import { createTestAuthority, type TestCertificate } from '../../platform/node/certificates-fixture.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import type { ControlPlaneDeps, ControlPlanePki } from './control-plane-deps.ts';
import { createKubeletAccess } from './kubelet-access.ts';

let apiServer: TestCertificate;
before(async () => {
  apiServer = await (await createTestAuthority('CA')).issue('CN=kube-apiserver', ['kubernetes', 'server-1']);
});

/** Whether a node of this name may open a tunnel. */
async function mayOpen(name: string, pki: object): Promise<boolean> {
  const deps: Partial<ControlPlaneDeps> = { platform: createSimPlatform(), pki: pki as ControlPlanePki };
  const { tunnels } = createKubeletAccess(deps as ControlPlaneDeps, {} as ObjectStore);
  const request: Partial<ApiRequest> = { wantsUpgrade: true, headers: { upgrade: TUNNEL_PROTOCOL } };
  const user = { name: `system:node:${name}`, groups: ['system:nodes'] };
  const scope = { request, user, params: new URLSearchParams() };
  try {
    await tunnels.route.serve(scope as unknown as RequestScope);
    return true;
  } catch (error) {
    assert.match(String(error), /is a name of the API server/);
    return false;
  }
}

test('no node opens a tunnel under a name of the API server, nor under any name while those are unknown', async () => {
  assert.equal(await mayOpen('node-1', { apiServer }), true);
  assert.equal(await mayOpen('server-1', { apiServer }), false);
  assert.equal(await mayOpen('kubernetes', { apiServer }), false);
  assert.equal(await mayOpen('node-1', {}), false);
});
