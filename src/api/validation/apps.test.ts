import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setDeploymentDefaults } from '../defaults/apps.ts';
import type { Deployment } from '../gen/apps-v1.ts';
import { validateDeployment, validateDeploymentUpdate } from './apps.ts';
import { complaints } from './complaints-fixture.ts';

const container = { name: 'c', image: 'nginx:1.25' };

function deployment(edit: (deployment: Deployment) => void = () => undefined): Deployment {
  const made: Deployment = {
    metadata: { name: 'web' },
    spec: {
      selector: { matchLabels: { a: 'b' } },
      template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ ...container }] } },
    },
  };
  edit(made);
  setDeploymentDefaults(made);
  return made;
}

test("invalid deployments and updates of deployments have upstream's errors", () => {
  const check = (edit?: (deployment: Deployment) => void) =>
    complaints((field) => validateDeployment(deployment(edit), field));
  assert.deepEqual(check(), []);
  assert.deepEqual(
    check((d) => void (d.spec!.template.metadata!.labels = { a: 'c' })),
    ['spec.template.metadata.labels: Invalid value: {"a":"c"}: `selector` does not match template `labels`'],
  );
  assert.deepEqual(
    check((d) => void (d.spec!.replicas = -1)),
    ['spec.replicas: Invalid value: -1: must be greater than or equal to 0'],
  );
  assert.deepEqual(
    check((d) => void (d.spec!.strategy = { rollingUpdate: { maxSurge: 0, maxUnavailable: '0%' } })),
    ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0'],
  );
  const changed = deployment((d) => {
    d.spec!.selector = { matchLabels: { a: 'b', c: 'd' } };
    d.spec!.template.metadata!.labels = { a: 'b', c: 'd' };
  });
  assert.deepEqual(
    complaints((field) => validateDeploymentUpdate(changed, deployment(), field)),
    ['spec.selector: Invalid value: {"matchLabels":{"a":"b","c":"d"}}: field is immutable'],
  );
});
