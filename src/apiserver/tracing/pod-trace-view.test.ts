/** The rights for the recorded trace of a deleted pod. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pods } from '../../api/gen/resources.ts';
import { StatusError } from '../../api/status-error.ts';
import type { AuthorizationAttributes } from '../authz/contract.ts';
import type { GenericStore } from '../generic-registry/generic-store.ts';
import type { RequestScope } from '../request-scope.ts';
import { podTraceView, type PodTraceViewDeps } from './pod-trace-view.ts';

/** The pod's name can be read in its namespace; `everywhere`: any pod's in all of them. */
async function statusOf(everywhere: boolean): Promise<number> {
  const authorizer = {
    authorize: ({ namespace }: AuthorizationAttributes) => ({
      decision: everywhere || namespace !== '' ? 'allow' : 'deny',
      reason: '',
    }),
  };
  const store = {
    info: Pods,
    services: { authorizers: [authorizer] },
    cache: { get: () => undefined },
    keyOf: () => '',
  } as unknown as GenericStore;
  const steps = { component: 'kube-apiserver', uid: 'former', steps: [] };
  const deps = {
    objects: { get: () => undefined },
    podRequests: { stepsOf: () => steps },
    schedulerSteps: () => undefined,
  } as unknown as PodTraceViewDeps;
  const info = {
    verb: 'get',
    apiGroup: '',
    apiVersion: 'v1',
    resource: 'pods',
    namespace: 'n',
    name: 'p',
    subresource: '',
  };
  const user = { name: 'eve', groups: ['system:authenticated'] };
  const scope = { info, user, signal: new AbortController().signal } as unknown as RequestScope;
  try {
    const answer = await podTraceView(deps).serve(scope, store);
    return answer.kind === 'bytes' ? answer.status : 0;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return error.status.code ?? 0;
  }
}

test('the new owner of a name cannot read the former pod, a user who may get all pods can', async () => {
  assert.equal(await statusOf(false), 403);
  assert.equal(await statusOf(true), 200);
});
