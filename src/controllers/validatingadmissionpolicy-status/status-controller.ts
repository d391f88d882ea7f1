/**
 * Writes the results of type checking a policy's expressions into its status. Upstream:
 * pkg/controller/validatingadmissionpolicystatus.
 *
 * Watches: ValidatingAdmissionPolicies. Writes: their status.
 */
import { typeCheckPolicy } from '../../api/cel/type-check.ts';
import { ValidatingAdmissionPolicies } from '../../api/gen/resources.ts';
import { createKeyedLoop, informerList, type Controller, type ControllerDeps } from '../controller.ts';

const NAME = 'validatingadmissionpolicy-status-controller';
const WORKERS = 5;

export function createValidatingAdmissionPolicyStatusController(deps: ControllerDeps): Controller {
  const client = deps.clientFor(NAME).resource(ValidatingAdmissionPolicies);
  const policies = deps.informers.informer(ValidatingAdmissionPolicies);
  const loop = createKeyedLoop(deps, {
    name: NAME,
    queueName: 'validatingadmissionpolicy-status',
    workers: WORKERS,
    informers: informerList(policies),
    async sync(name, signal) {
      const policy = policies.get({ name });
      if (policy === undefined) return;
      const generation = policy.metadata.generation ?? 0;
      if ((policy.status?.observedGeneration ?? 0) >= generation) return;
      const expressionWarnings = typeCheckPolicy(policy);
      const typeChecking = expressionWarnings.length === 0 ? {} : { expressionWarnings };
      const status = { ...policy.status, observedGeneration: generation, typeChecking };
      await client.updateStatus({ ...policy, status }, { signal });
    },
  });
  const enqueue = (policy: { metadata: { name: string } }): void => loop.queue.add(policy.metadata.name);
  policies.addHandler({ onAdd: enqueue, onUpdate: (_old, policy) => enqueue(policy) });
  return loop;
}
