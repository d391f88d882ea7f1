/** Strategies pass the old object to validation: values from before a rule stay valid. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Pod } from '../../api/gen/core-v1.ts';
import type { NetworkPolicy } from '../../api/gen/networking-v1.ts';
import type { KubernetesObject } from '../../api/object.ts';
import { validateNetworkPolicy } from '../../api/validation/networking.ts';
import { podEphemeralContainersStrategy, podStrategy } from './core/pods/strategy.ts';
import { context } from './definitions-fixture.ts';
import { statusStrategy, kindStrategy } from './kind-strategy.ts';
import type { Strategy } from './resource-definition.ts';

const policy: NetworkPolicy = {
  metadata: { name: 'p' },
  spec: { podSelector: {}, ingress: [{ from: [{ ipBlock: { cidr: '10.0.0.1/8' } }] }] },
};
const pod: Pod = {
  metadata: { name: 'p' },
  spec: {
    containers: [{ name: 'c', image: 'i' }],
    hostAliases: [{ ip: '::ffff:10.0.0.1', hostnames: ['a'] }],
  },
};
podStrategy.applyDefaults!(pod);
const rules = { validate: validateNetworkPolicy };

function errors<T extends KubernetesObject>(strategy: Strategy<T>, object: T): [created: number, updated: number] {
  return [strategy.validate(object, context).length, strategy.validateUpdate(object, object, context).length];
}

it('of an update, also of a sub-resource', () => {
  const asStatus = statusStrategy<NetworkPolicy>(rules, {
    validateUpdate: (object, _, field) => validateNetworkPolicy(object, field),
  });
  assert.deepEqual(errors(kindStrategy(rules), policy), [1, 0]);
  assert.deepEqual(errors(asStatus, policy), [0, 0]);
  assert.deepEqual(errors(podStrategy, pod), [1, 0]);
  assert.deepEqual(errors(podEphemeralContainersStrategy, pod), [0, 0]);
});
