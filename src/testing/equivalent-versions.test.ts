/** Admission rules that name another version than the request's: matchPolicy Equivalent for custom resources with conversion. */
import assert from 'node:assert/strict';
import { beforeEach, describe, test } from 'node:test';
import type { KubernetesObject } from '../api/object.ts';
import { Cluster } from './cluster.ts';

type Site = KubernetesObject & { spec: { replicas?: number; size?: number } };
interface Review {
  readonly request: { uid: string; object: Site; objects: Site[]; desiredAPIVersion: string };
}

const GROUP = 'sites.example.com';
const count = { type: 'integer', default: 1 };
const matchConstraints = {
  resourceRules: [{ apiGroups: [GROUP], apiVersions: ['v1'], operations: ['CREATE'], resources: ['sites'] }],
};
const ADMISSION = 'admissionregistration.k8s.io/v1';

function version(name: string, field: string): object {
  const spec = { type: 'object', properties: { [field]: count } };
  return {
    name,
    served: true,
    storage: name === 'v1',
    schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
  };
}

/** The field `replicas` of v1 is called `size` in v1beta1. */
function convert({ request }: Review): object {
  const { desiredAPIVersion: apiVersion, objects, uid } = request;
  const convertedObjects = objects.map(({ spec: { replicas, size }, ...rest }) => {
    const value = replicas ?? size;
    return { ...rest, apiVersion, spec: apiVersion.endsWith('/v1') ? { replicas: value } : { size: value } };
  });
  return {
    kind: 'ConversionReview',
    apiVersion: 'apiextensions.k8s.io/v1',
    response: { uid, result: { status: 'Success' }, convertedObjects },
  };
}

describe('a custom object in a version that admission does not name', () => {
  let cluster: Cluster;
  let seen: unknown[];
  beforeEach(async () => {
    seen = [];
    cluster = await Cluster.start({ nodes: 0, controllers: [], scheduler: false });
    const webhook = { conversionReviewVersions: ['v1'], clientConfig: { url: cluster.webhook('/convert', convert) } };
    await cluster.apply([
      {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `sites.${GROUP}` },
        spec: {
          group: GROUP,
          names: { kind: 'Site', listKind: 'SiteList', plural: 'sites', singular: 'site' },
          scope: 'Namespaced',
          versions: [version('v1', 'replicas'), version('v1beta1', 'size')],
          conversion: { strategy: 'Webhook', webhook },
        },
      },
    ] as never);
  });

  /** The size of an object created with size 3, or the error of the creation. */
  async function sizeAfter(...admission: object[]): Promise<unknown> {
    await cluster.apply(admission as never);
    const site = {
      apiVersion: `${GROUP}/v1beta1`,
      kind: 'Site',
      metadata: { name: 'a', namespace: 'default' },
      spec: { size: 3 },
    };
    try {
      const [made] = await cluster.apply([site] as never);
      return (made as Site).spec.size;
    } catch (error) {
      return (error as Error).message;
    } finally {
      await cluster.stop();
    }
  }

  function configuration(kind: 'Mutating' | 'Validating', more: object, answer: (object: Site) => object): object {
    const url = cluster.webhook('/admit', ({ request }: Review) => {
      seen.push(request.object.spec);
      return {
        kind: 'AdmissionReview',
        apiVersion: 'admission.k8s.io/v1',
        response: { uid: request.uid, ...answer(request.object) },
      };
    });
    const hook = { name: 'a.example.com', sideEffects: 'None', admissionReviewVersions: ['v1'], clientConfig: { url } };
    const webhooks = [{ ...hook, rules: matchConstraints.resourceRules, ...more }];
    return { apiVersion: ADMISSION, kind: `${kind}WebhookConfiguration`, metadata: { name: 'a' }, webhooks };
  }

  const labelled = [{ op: 'add', path: '/metadata/labels', value: { a: 'b' } }];
  const resized = [{ op: 'replace', path: '/spec/replicas', value: 9 }];
  for (const [patch, size] of [
    [labelled, 3],
    [resized, 9],
  ] as const)
    test(`is converted for a mutating webhook, and its patch of ${patch[0]!.path} is converted back`, async () => {
      const base64 = Buffer.from(JSON.stringify(patch)).toString('base64');
      const hook = configuration('Mutating', {}, () => ({ allowed: true, patchType: 'JSONPatch', patch: base64 }));
      assert.equal(await sizeAfter(hook), size);
      assert.deepEqual(seen, [{ replicas: 3 }]);
    });

  test('is converted for a validating webhook', async () => {
    const hook = configuration('Validating', {}, ({ spec }) => ({ allowed: spec.replicas !== 3 }));
    assert.match(String(await sizeAfter(hook)), /denied the request/);
    assert.deepEqual(seen, [{ replicas: 3 }]);
  });

  test('is converted for match conditions', async () => {
    const matchConditions = [{ name: 'three', expression: 'object.spec.replicas == 3' }];
    const hook = configuration('Validating', { matchConditions }, () => ({ allowed: false }));
    assert.match(String(await sizeAfter(hook)), /denied the request/);
  });

  test('is converted for a validating policy', async () => {
    const validations = [{ expression: 'object.spec.replicas != 3', message: 'three is refused' }];
    const policy = {
      apiVersion: ADMISSION,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'a' },
      spec: { matchConstraints, validations },
    };
    const spec = { policyName: 'a', validationActions: ['Deny'] };
    const binding = { apiVersion: ADMISSION, kind: 'ValidatingAdmissionPolicyBinding', metadata: { name: 'a' }, spec };
    assert.match(String(await sizeAfter(policy, binding)), /three is refused/);
  });

  test('is converted for a mutating policy and back', async () => {
    const mutations = [
      {
        patchType: 'JSONPatch',
        jsonPatch: {
          expression: '[JSONPatch{op: "replace", path: "/spec/replicas", value: object.spec.replicas == 3 ? 7 : 0}]',
        },
      },
    ];
    const spec = { matchConstraints, mutations, reinvocationPolicy: 'Never' };
    const policy = { apiVersion: ADMISSION, kind: 'MutatingAdmissionPolicy', metadata: { name: 'a' }, spec };
    const bound = { policyName: 'a' };
    const binding = {
      apiVersion: ADMISSION,
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name: 'a' },
      spec: bound,
    };
    assert.equal(await sizeAfter(policy, binding), 7);
  });
});
