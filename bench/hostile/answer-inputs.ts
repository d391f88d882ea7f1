// Responses of webhooks and aggregated servers of the maximum size, in expensive forms.
import { fill, list, type HostileInput, type HostileRequest } from './bodies.ts';
import { type Answer, answerWith, peerConfig, peerPort } from './peer.ts';

const MIB = 1024 * 1024;
/** The limit of a webhook's response, without its envelope. */
const ROOM = 8 * MIB - 1000;

const admission =
  (response: string): Answer =>
  ({ uid }) =>
    `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"uid":"${uid}","allowed":true,${response}}}`;
const patching = (patch: () => string): Answer =>
  admission(`"patchType":"JSONPatch","patch":"${Buffer.from(patch()).toString('base64')}"`);

const admissions: Readonly<Record<string, () => Answer>> = {
  'empty lists': () => () => list(() => '[]', ['{"x":[', ']}'], ROOM),
  'small objects': () => () => list((i) => `{"k${i}":{}}`, ['{"x":[', ']}'], ROOM),
  keys: () => () => list((i) => `"k${i}":1`, ['{', '}'], ROOM),
  'escaped quotes': () => () => fill('\\"', ROOM, ['{"x":"', '"}']),
  'backslashes before quotes': () => () => list(() => '"\\\\"', ['{"x":[', ']}'], ROOM),
  'a text of escapes': () => () => fill('\\u0041', ROOM, ['{"x":"', '"}']),
  depth: () => () => '{"a":'.repeat(2 * MIB),
  warnings: () => admission(list((i) => `"w${i}"`, ['"warnings":[', ']'], MIB)),
  'audit annotations': () => admission(list((i) => `"k${i}":"v"`, ['"auditAnnotations":{', '}'], 300_000)),
  'a patch of keys': () =>
    patching(() => list((i) => `"k${i}":""`, ['[{"op":"add","path":"/data","value":{', '}}]'], 270_000)),
  'a patch of operations': () =>
    patching(() => list((i) => `{"op":"add","path":"/data/k${i}","value":""}`, ['[', ']'], 430_000)),
  'a patch of a long text': () =>
    patching(() => fill('a', 3 * MIB, ['[{"op":"add","path":"/data/x","value":"', '"}]'])),
};

function hookOf(): HostileRequest {
  const hook = {
    name: 'worst.halts.example',
    clientConfig: peerConfig(),
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    timeoutSeconds: 30,
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
    objectSelector: { matchLabels: { hooked: 'yes' } },
  };
  const body = JSON.stringify({ metadata: { name: 'worst' }, webhooks: [hook] });
  return { method: 'POST', path: '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations', body };
}

const HOOKED = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"hooked","labels":{"hooked":"yes"}},"data":{"a":"1"}}`;

const conversion =
  (converted: (object: Readonly<Record<string, unknown>>) => string): Answer =>
  ({ uid, objects }) =>
    `{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"${uid}","result":{"status":"Success"},"convertedObjects":[${objects.map(converted).join(',')}]}}`;
const convertedWith = (spec: () => string): Answer =>
  conversion((object) =>
    JSON.stringify({ ...object, apiVersion: 'halts.example/v1', spec: 0 }).replace(/"spec":0/, `"spec":${spec()}`),
  );

const conversions: Readonly<Record<string, () => Answer>> = {
  keys: () => convertedWith(() => list((i) => `"k${i}":1`, ['{', '}'], 500_000)),
  lists: () => convertedWith(() => list(() => '[]', ['{"a":[', ']}'], 200_000)),
  'a long text': () => convertedWith(() => fill('a', 7 * MIB, ['{"a":"', '"}'])),
};

function convertedDefinition(): HostileRequest {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const version = (name: string, storage: boolean): object => ({ name, served: true, storage, schema });
  const webhook = { clientConfig: peerConfig(), conversionReviewVersions: ['v1'] };
  const spec = {
    group: 'halts.example',
    scope: 'Namespaced',
    names: { plural: 'turned', singular: 'turn', kind: 'Turned', listKind: 'TurnedList' },
    versions: [version('v1', false), version('v2', true)],
    conversion: { strategy: 'Webhook', webhook },
  };
  const body = JSON.stringify({ metadata: { name: 'turned.halts.example' }, spec });
  return { method: 'POST', path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', body };
}

const turned = (version: string): string => `/apis/halts.example/${version}/namespaces/{}/turned`;
const stored: HostileRequest = {
  method: 'POST',
  path: turned('v2'),
  body: '{"apiVersion":"halts.example/v2","kind":"Turned","metadata":{"name":"a"},"spec":{}}',
};
/** A new revision is converted again. */
const changed = (): HostileRequest => ({
  method: 'PATCH',
  path: `${turned('v2')}/a`,
  type: 'application/merge-patch+json',
  body: `{"spec":{"at":${performance.now()}}}`,
});

const API_PATH = '/apis/worst.example/v1';
const serving =
  (documents: Readonly<Record<string, () => string>>): Answer =>
  ({ path }) =>
    documents[path]?.() ?? (path === API_PATH ? '{"resources":[]}' : undefined);
const swagger = (rest: string): string => `{"swagger":"2.0",${rest}}`;

const servers: Readonly<Record<string, () => Answer>> = {
  'a list of resources': () =>
    serving({ [API_PATH]: () => list((i) => `{"name":"a/s${i}","verbs":[]}`, ['{"resources":[', ']}'], 4 * MIB) }),
  'empty lists': () => serving({ '/openapi/v2': () => list(() => '[]', ['{"swagger":[', ']}'], 8 * MIB) }),
  definitions: () =>
    serving({
      '/openapi/v2': () =>
        swagger(
          `"paths":{"${API_PATH}":{"$ref":"#/definitions/d0"}},${list((i) => `"d${i}":{"a":{"$ref":"#/definitions/d${i + 1}"}}`, ['"definitions":{', '}'], 700_000)}`,
        ),
    }),
  paths: () =>
    serving({
      '/openapi/v2': () =>
        swagger(list((i) => `"${API_PATH}/p${i}":{"get":{"a":[1,2,3]}}`, ['"paths":{', '}'], 700_000)),
    }),
  'one large definition': () =>
    serving({
      '/openapi/v2': () =>
        swagger(
          `"paths":{"${API_PATH}":{"$ref":"#/definitions/d"}},"definitions":{"d":{"properties":{${list((i) => `"p${i}":{"type":"string"}`, ['', ''], 700_000)}}}}`,
        ),
    }),
  'long texts': () =>
    serving({
      '/openapi/v2': () =>
        swagger(`"paths":{"${API_PATH}":{"get":{"description":"${fill('\\n', 7 * MIB)}"}}},"definitions":{}`),
    }),
  'a long v3 document': () =>
    serving({ [`/openapi/v3${API_PATH}`]: () => `{"openapi":"3.0.0","x":"${fill('long ', 7 * MIB)}"}` }),
};

const aggregated = (): readonly HostileRequest[] => [
  { method: 'DELETE', path: '/apis/apiregistration.k8s.io/v1/apiservices/v1.worst.example' },
  {
    method: 'POST',
    path: 'services',
    body: `{"metadata":{"name":"worst"},"spec":{"type":"ExternalName","externalName":"127.0.0.1"}}`,
  },
  {
    method: 'POST',
    path: '/apis/apiregistration.k8s.io/v1/apiservices',
    body: JSON.stringify({
      metadata: { name: 'v1.worst.example' },
      spec: {
        group: 'worst.example',
        version: 'v1',
        groupPriorityMinimum: 1,
        versionPriority: 1,
        insecureSkipTLSVerify: true,
        service: { namespace: 'default', name: 'worst', port: peerPort() },
      },
    }),
  },
];

const PROTOBUF = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/** Requests whose cost depends on the response of a webhook or an aggregated server. */
export function answerInputs(): HostileInput[] {
  const set = (answer: () => Answer): readonly HostileRequest[] => {
    answerWith(answer());
    return [];
  };
  return [
    ...Object.entries(admissions).map(([name, answer]): HostileInput => ({
      name: `admission webhook: ${name}`,
      // The definition is created long before its turn.
      before: () => [...set(answer), hookOf(), convertedDefinition()],
      request: () => ({ method: 'POST', path: 'configmaps?dryRun=All', body: HOOKED }),
    })),
    ...Object.entries(conversions).map(([name, answer]): HostileInput => ({
      name: `conversion webhook: ${name}`,
      before: () => [...set(answer), convertedDefinition(), stored, changed()],
      request: () => ({ method: 'GET', path: turned('v1') }),
    })),
    ...Object.entries(servers).flatMap(([name, answer]): HostileInput[] => [
      {
        name: `aggregated server, looked at: ${name}`,
        before: () => [...set(answer), ...aggregated().slice(0, -1)],
        request: () => aggregated().at(-1)!,
        settleMs: 3000,
      },
      {
        name: `aggregated server, merged: ${name}`,
        request: () => ({ method: 'GET', path: '/openapi/v2', headers: { accept: PROTOBUF } }),
      },
    ]),
  ];
}
