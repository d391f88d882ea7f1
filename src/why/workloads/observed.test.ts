import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Deployments } from '../../api/gen/resources.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { parseTime } from '../../api/time.ts';
import { diagnoseUnobserved } from './observed.ts';

const CHANGED_AT = '2026-01-01T12:00:00Z';

function deployment(observedGeneration: number): KubernetesObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: 'web',
      namespace: 'default',
      generation: 2,
      creationTimestamp: '2026-01-01T00:00:00Z',
      managedFields: [
        { manager: 'kubectl-set', operation: 'Update', time: CHANGED_AT },
        { manager: 'controller', operation: 'Update', subresource: 'status', time: '2026-01-01T12:10:00Z' },
      ],
    },
    status: { observedGeneration },
  } as KubernetesObject;
}

function stateAfter(seconds: number, observedGeneration = 1): string | undefined {
  return diagnoseUnobserved(Deployments, deployment(observedGeneration), parseTime(CHANGED_AT) + seconds * 1000)?.state;
}

test('a controller has some seconds to observe a change; after that it is the cause', () => {
  assert.equal(stateAfter(1), 'Progressing');
  assert.equal(stateAfter(19), 'Progressing');
  assert.equal(stateAfter(21), 'Trouble');
});

test('a status of the current generation is no cause, however old the change is', () => {
  assert.equal(stateAfter(1, 2), undefined);
  assert.equal(stateAfter(3600, 2), undefined);
});
