import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ValidatingAdmissionPolicy } from '../../api/gen/admissionregistration-v1.ts';
import { ValidatingAdmissionPolicies } from '../../api/gen/resources.ts';
import { startHarness } from '../controllers-fixture.ts';
import { createValidatingAdmissionPolicyStatusController } from './status-controller.ts';

it('the status of a policy has the errors of its expressions, once per generation', async () => {
  const h = startHarness([createValidatingAdmissionPolicyStatusController]);
  const resourceRules = [{ apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['pods'] }];
  const policy = (name: string, expression: string): ValidatingAdmissionPolicy => ({
    metadata: { name, generation: 1 },
    spec: { matchConstraints: { resourceRules }, validations: [{ expression }] },
  });
  h.api.seed(ValidatingAdmissionPolicies, policy('good', 'has(object.spec)'));
  h.api.seed(ValidatingAdmissionPolicies, policy('bad', 'has(object.nope)'));
  await h.clock.advance(100);
  const statusOf = (name: string): unknown =>
    h.api.objects(ValidatingAdmissionPolicies).find(({ metadata }) => metadata.name === name)?.status;
  assert.deepEqual(statusOf('good'), { observedGeneration: 1, typeChecking: {} });
  assert.deepEqual(statusOf('bad'), {
    observedGeneration: 1,
    typeChecking: {
      expressionWarnings: [
        {
          fieldRef: 'spec.validations[0].expression',
          warning: "v1, Kind=Pod: ERROR: <input>:1:4: undefined field 'nope'\n | has(object.nope)\n | ...^\n",
        },
      ],
    },
  });
  await h.stop();
});
