/** The rights for streams into pods. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Nodes, Pods } from '../../api/gen/resources.ts';
import type { ApiRequest, ApiResponse } from '../../api/transport.ts';
import type { RequestContext } from '../request-context.ts';
import { setUp } from './definitions-fixture.ts';
import { parseRequestInfo } from '../request-info.ts';
import { nodeProxySubresource, podConnectSubresources } from './kubelet-connect.ts';
import type { KubeletConnector } from './services.ts';

/** Status of the response, and the questions to the authorizer. */
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

/** Whether a node's proxy forwards a GET for a user with only the right to get. */
async function readsThroughProxy(path: string): Promise<boolean> {
  const { objects } = setUp();
  objects.put(Nodes, { metadata: { name: 'n' } });
  const passed: string[] = [];
  const kubelets: Partial<KubeletConnector> = {
    proxyNode: async () => {
      passed.push(path);
      return { kind: 'bytes', status: 200, headers: {}, chunks: [] };
    },
  };
  const authorizer = {
    authorize: ({ verb }: { verb: string }) => ({
      decision: verb === 'get' ? ('allow' as const) : ('noOpinion' as const),
      reason: '',
    }),
  };
  const info = parseRequestInfo({ method: 'GET', path: `/api/v1/nodes/n/proxy${path}`, params: new URLSearchParams() });
  const context = { user: { name: 'ann', groups: [] }, info } as unknown as RequestContext;
  const proxy = nodeProxySubresource(objects, kubelets as KubeletConnector, authorizer);
  await proxy.serve({} as ApiRequest, context).catch((error: Error) => assert.match(error.message, /is forbidden/));
  return passed.length > 0;
}

test('the right to get the proxy of a node does not permit commands there', async () => {
  for (const path of ['', '/pods', '/metrics', '/containerLogs/a/b/c', '/stats/summary'])
    assert.equal(await readsThroughProxy(path), true, path);
  for (const what of ['exec', 'attach', 'portForward', 'run', '%65xec'])
    for (const path of [`/${what}/a/b/c`, `//${what}/a/b`, `/x/../${what}/a`, `/x%2F..%2F${what}/a`, `/./${what}`])
      assert.equal(await readsThroughProxy(path), false, path);
});
