/** Who may open streams into pods. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pods } from '../../api/gen/resources.ts';
import type { ApiRequest, ApiResponse } from '../../api/transport.ts';
import type { RequestContext } from '../request-context.ts';
import { setUp } from './definitions-fixture.ts';
import { podConnectSubresources } from './kubelet-connect.ts';
import type { KubeletConnector } from './services.ts';

/** Status of the answer, and what the authorizer was asked. */
async function connect(subresource: string, verb: string, allowed: boolean): Promise<[string, string[]]> {
  const { objects } = setUp();
  objects.put(Pods, { metadata: { name: 'p', namespace: 'ns' } });
  const asked: string[] = [];
  const kubelets: Partial<KubeletConnector> = {
    connectPod: async () => ({ kind: 'bytes', status: 200, headers: {}, chunks: [] }) satisfies ApiResponse,
  };
  const authorizer = {
    authorize: (of: { verb: string; resource: string; subresource: string; name: string }) => {
      asked.push(`${of.verb} ${of.resource}/${of.subresource} ${of.name}`);
      return { decision: allowed ? ('allow' as const) : ('noOpinion' as const), reason: 'no rule' };
    },
  };
  const info = { verb, isResourceRequest: true, apiGroup: '', apiVersion: 'v1', namespace: 'ns', name: 'p', path: '' };
  const context = {
    user: { name: 'ann', groups: [] },
    info: { ...info, resource: 'pods', subresource },
  } as unknown as RequestContext;
  const served = podConnectSubresources(objects, kubelets as KubeletConnector, authorizer)[subresource]!;
  try {
    const { status } = (await served.serve({} as ApiRequest, context)) as { status: number };
    return [String(status), asked];
  } catch (error) {
    return [(error as Error).message, asked];
  }
}

for (const subresource of ['exec', 'attach', 'portforward'])
  test(`a GET of ${subresource} needs the right to create, too`, async () => {
    const question = [`create pods/${subresource} p`];
    assert.deepEqual(await connect(subresource, 'get', true), ['200', question]);
    assert.deepEqual(await connect(subresource, 'get', false), ['pods "p" is forbidden: no rule', question]);
    assert.deepEqual(await connect(subresource, 'create', false), ['200', []]);
  });

test('logs are read', async () => {
  assert.deepEqual(await connect('log', 'get', false), ['200', []]);
});
