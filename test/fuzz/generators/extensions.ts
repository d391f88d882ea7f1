// Extensions that a cluster calls or evaluates: webhooks, policies with expressions, reviews, aggregated APIs.
import type { JsonObject } from '../../../src/api/codec/own-property.ts';
import { chance, pick, type Random, weighted } from '../draw.ts';
import type { HttpExchange } from '../exchange.ts';
import { hostilePeer } from '../targets/hostile-peer-address.ts';
import { exchangeOf, type Request } from './api-requests.ts';
import { mutatedJson } from './bodies.ts';
import { names } from './objects.ts';

const REGISTRATION = '/apis/admissionregistration.k8s.io/v1';

const expressions: readonly string[] = [
  'true',
  'false',
  'object.data.a == "b"',
  'object.metadata.name.matches("(a+)+$")',
  'object.data.all(k, object.data.all(l, object.data.all(m, k + l + m != "")))',
  'params.data.a == oldObject.data.a',
  'authorizer.group("").resource("pods").check("get").allowed()',
  'request.userInfo.username + string(1 / 0)',
  'dyn(object).constructor.prototype',
  'object.__proto__ == null',
  '[1,2,3].map(x, [1,2,3].map(y, [1,2,3].map(z, x * y * z)))',
  '"a".replace("", "b", 1000000)',
  '9223372036854775807 + 1',
  'timestamp("9999-12-31T23:59:59Z") + duration("1h")',
  'quantity("1e400").add(quantity("1"))',
  'url("http://[::1").getHost()',
  'cidr("::/0").containsIP("0.0.0.0")',
  `${'('.repeat(300)}true${')'.repeat(300)}`,
  `object.data.a == "${'a'.repeat(3000)}"`,
  `${'!'.repeat(2000)}true`,
  `true${' || true'.repeat(1500)}`,
  'a.b(',
  '"\\ud800"',
  'optional.of(object).orValue(1)',
  'variables.v.v.v',
  'has(object.data.a) ? object.data : {}',
];

const rules = [
  { apiGroups: ['', 'fuzz.io'], apiVersions: ['*'], operations: ['*'], resources: ['configmaps', 'as', 'bs'] },
];

const policy = (random: Random, name: string): JsonObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicy',
  metadata: { name },
  spec: {
    failurePolicy: pick(random, ['Fail', 'Ignore']),
    matchConstraints: {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'fuzz' } },
      resourceRules: rules,
    },
    variables: [{ name: 'v', expression: pick(random, expressions) }],
    matchConditions: chance(random, 0.3) ? [{ name: 'm', expression: pick(random, expressions) }] : [],
    validations: [
      {
        expression: pick(random, expressions),
        messageExpression: pick(random, expressions),
        reason: pick(random, ['Invalid', 'x']),
      },
    ],
    auditAnnotations: [{ key: 'k', valueExpression: pick(random, expressions) }],
    ...(chance(random, 0.3) && { paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } }),
  },
});

const mutatingPolicy = (random: Random, name: string): JsonObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingAdmissionPolicy',
  metadata: { name },
  spec: {
    failurePolicy: 'Fail',
    reinvocationPolicy: 'IfNeeded',
    matchConstraints: {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'fuzz' } },
      resourceRules: rules,
    },
    mutations: [
      chance(random, 0.5)
        ? {
            patchType: 'JSONPatch',
            jsonPatch: {
              expression: pick(random, [
                '[JSONPatch{op: "add", path: "/metadata/__proto__", value: "a"}]',
                '[JSONPatch{op: "copy", from: "", path: "/data/a"}]',
                '[]',
                ...expressions,
              ]),
            },
          }
        : {
            patchType: 'ApplyConfiguration',
            applyConfiguration: {
              expression: pick(random, [
                'Object{metadata: Object.metadata{labels: {"a": "b"}}}',
                'Object{data: {"a": 1}}',
                'Object{x: 1}',
                ...expressions,
              ]),
            },
          },
    ],
  },
});

const binding = (random: Random, kind: string, name: string): JsonObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind,
  metadata: { name },
  spec: {
    policyName: pick(random, names),
    ...(kind.startsWith('Validating') && {
      validationActions: pick(random, [['Deny'], ['Warn', 'Audit'], ['Deny', 'Audit']]),
    }),
    ...(chance(random, 0.3) && { paramRef: { selector: {}, parameterNotFoundAction: 'Allow' } }),
  },
});

const webhooks = (random: Random, kind: string, name: string): JsonObject => ({
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind,
  metadata: { name },
  webhooks: [
    {
      name: 'peer.fuzz.io',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      timeoutSeconds: 1,
      failurePolicy: pick(random, ['Fail', 'Ignore']),
      clientConfig: hostilePeer(random),
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'fuzz' } },
      matchConditions: chance(random, 0.2) ? [{ name: 'm', expression: pick(random, expressions) }] : [],
      rules,
    },
  ],
});

const conversionPatch = (random: Random): JsonObject => ({
  spec: {
    conversion: {
      strategy: 'Webhook',
      webhook: { conversionReviewVersions: ['v1'], clientConfig: hostilePeer(random) },
    },
  },
});

function request(random: Random): Request {
  const name = pick(random, names);
  const side = pick(random, ['Validating', 'Mutating'] as const);
  const json = (value: unknown) => ({ contentType: 'application/json', text: mutatedJson(random, value) });
  const merge = (value: unknown) => ({ contentType: 'application/merge-patch+json', text: mutatedJson(random, value) });
  const low = side.toLowerCase();
  const own = side === 'Validating' ? policy : mutatingPolicy;
  const configMap = { metadata: { name }, data: { a: pick(random, ['b', 'a'.repeat(40)]) } };
  const crd = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${pick(random, ['as', 'bs', 'cs'])}.fuzz.io`;
  return weighted<() => Request>(random, [
    [6, () => ({ method: 'POST', path: `${REGISTRATION}/${low}admissionpolicies`, body: json(own(random, name)) })],
    [
      4,
      () => ({
        method: 'POST',
        path: `${REGISTRATION}/${low}admissionpolicybindings`,
        body: json(binding(random, `${side}AdmissionPolicyBinding`, name)),
      }),
    ],
    [
      3,
      () => ({
        method: 'POST',
        path: `${REGISTRATION}/${low}webhookconfigurations`,
        body: json(webhooks(random, `${side}WebhookConfiguration`, name)),
      }),
    ],
    [
      3,
      () => ({
        method: 'DELETE',
        path: `${REGISTRATION}/${low}${pick(random, ['webhookconfigurations', 'admissionpolicies', 'admissionpolicybindings'])}/${name}`,
      }),
    ],
    [2, () => ({ method: 'PATCH', path: crd, body: merge(conversionPatch(random)) })],
    [
      8,
      () => ({
        method: pick(random, ['POST', 'PUT']),
        path: `/api/v1/namespaces/fuzz/configmaps`,
        body: json(configMap),
      }),
    ],
    [
      2,
      () => ({
        method: 'GET',
        path: pick(random, ['/apis/peer.fuzz.io', '/apis/peer.fuzz.io/v1', '/apis/peer.fuzz.io/v1/as', '/apis']),
      }),
    ],
  ])();
}

export function extensionRequest(random: Random): HttpExchange {
  return exchangeOf(random, request(random));
}
