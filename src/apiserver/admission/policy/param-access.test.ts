import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ParamRef, ValidatingAdmissionPolicy } from '../../../api/gen/admissionregistration-v1.ts';
import {
  ConfigMaps,
  MutatingAdmissionPolicies,
  MutatingAdmissionPolicyBindings,
  Secrets,
  ValidatingAdmissionPolicies,
  ValidatingAdmissionPolicyBindings,
} from '../../../api/gen/resources.ts';
import type { KubernetesObject } from '../../../api/object.ts';
import type { ResourceInfo } from '../../../api/resource-info.ts';
import type { StatusError } from '../../../api/status-error.ts';
import { createTestObjects } from '../../authz/objects-fixture.ts';
import { admit, testingRegistry } from '../admission-fixture.ts';
import { createPolicyParamAccess } from './param-access.ts';

const secrets = { apiVersion: 'v1', kind: 'Secret' };
const policy = (paramKind?: object): KubernetesObject =>
  ({ metadata: { name: 'leak' }, spec: { paramKind } }) as KubernetesObject;
const binding = (paramRef?: ParamRef, policyName = 'leak'): KubernetesObject =>
  ({ metadata: { name: 'leak' }, spec: { policyName, paramRef } }) as KubernetesObject;

interface Write {
  readonly object: KubernetesObject;
  readonly old?: KubernetesObject;
  readonly groups?: string[];
  readonly allows?: boolean;
}

/** The questions to the authorizer, and the refusal. */
async function write(resource: ResourceInfo<never>, { object, old, groups = [], allows = false }: Write) {
  const known = createTestObjects();
  for (const policies of [ValidatingAdmissionPolicies, MutatingAdmissionPolicies])
    known.put(policies as typeof ValidatingAdmissionPolicies, policy(secrets) as ValidatingAdmissionPolicy);
  const asked: string[] = [];
  const plugin = createPolicyParamAccess({
    objects: () => known.store,
    registry: testingRegistry(ConfigMaps, Secrets),
    authorizer: {
      authorize({ verb, apiGroup, apiVersion, resource: of, namespace, name }) {
        asked.push(`${verb} ${apiGroup}/${apiVersion}/${of} ${namespace}#${name}`);
        return { decision: allows ? 'allow' : 'noOpinion', reason: '' };
      },
    },
  });
  const operation = old === undefined ? 'CREATE' : 'UPDATE';
  const about = { operation, object, ...(old && { oldObject: old }), user: { name: 'pol', groups } } as const;
  const message = await admit(plugin, resource as unknown as typeof ConfigMaps, about).then(
    () => '',
    (error: StatusError) => error.message,
  );
  return { asked, message };
}

const policyKinds = [ValidatingAdmissionPolicies, MutatingAdmissionPolicies] as unknown as ResourceInfo<never>[];
const bindingKinds = [
  ValidatingAdmissionPolicyBindings,
  MutatingAdmissionPolicyBindings,
] as unknown as ResourceInfo<never>[];

test('a policy with parameters requires the right to get all objects of their kind', async () => {
  for (const kind of policyKinds) {
    const { asked, message } = await write(kind, { object: policy(secrets) });
    assert.deepEqual(asked, ['get /v1/secrets *#*']);
    const why =
      'user "pol" must have "get" permission on all objects of the referenced paramKind (kind=Secret, apiVersion=v1)';
    assert.match(message, /is invalid: spec\.paramKind: Forbidden: /);
    assert.ok(message.endsWith(why), message);
    const changed = await write(kind, { object: policy(secrets), old: policy({ ...secrets, kind: 'ConfigMap' }) });
    assert.notEqual(changed.message, '');
    const unknown = await write(kind, { object: policy({ apiVersion: 'a.io/v2', kind: 'None' }) });
    assert.deepEqual(unknown.asked, ['get a.io/v2/* *#*']);
    assert.equal((await write(kind, { object: policy(secrets), allows: true })).message, '');
    for (const free of [
      { object: policy() },
      { object: policy(secrets), old: policy(secrets) },
      { object: policy(secrets), groups: ['system:masters'] },
    ])
      assert.deepEqual(await write(kind, free), { asked: [], message: '' });
  }
});

test('a binding with parameters requires the right to get the object it names', async () => {
  const named = { name: 's', namespace: 'victim', parameterNotFoundAction: 'Deny' };
  const selecting = { selector: {}, parameterNotFoundAction: 'Deny' };
  for (const kind of bindingKinds) {
    const { asked, message } = await write(kind, { object: binding(named) });
    assert.deepEqual(asked, ['get /v1/secrets victim#s']);
    const why = 'user "pol" does not have "get" permission on the object referenced by paramRef';
    assert.ok(message.endsWith(`spec.paramRef: Forbidden: ${why}`), message);
    const verb = kind === bindingKinds[1] ? 'list' : 'get';
    assert.deepEqual((await write(kind, { object: binding(selecting) })).asked, [`${verb} /v1/secrets #`]);
    assert.deepEqual((await write(kind, { object: binding(named, 'none') })).asked, ['get */*/* victim#s']);
    for (const old of [binding({ ...named, name: 'o' }), binding(named, 'other'), binding()])
      assert.notEqual((await write(kind, { object: binding(named), old })).message, '');
    assert.equal((await write(kind, { object: binding(named), allows: true })).message, '');
    for (const free of [
      { object: binding() },
      { object: binding(named), old: binding(named) },
      { object: binding(named), groups: ['system:masters'] },
    ])
      assert.deepEqual(await write(kind, free), { asked: [], message: '' });
  }
});
