// Reads of large objects and of many objects, in every form, and of the OpenAPI documents.
import { fill, list, type HostileInput, type HostileRequest } from './bodies.ts';

const TABLE = 'application/json;as=Table;g=meta.k8s.io;v=v1';
const forms: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  JSON: {},
  'JSON, compressed': { 'accept-encoding': 'gzip' },
  protobuf: { accept: 'application/vnd.kubernetes.protobuf' },
  YAML: { accept: 'application/yaml' },
  CBOR: { accept: 'application/cbor' },
  Table: { accept: TABLE },
  metadata: { accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1' },
  'Table as protobuf': { accept: `application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1` },
};

const store = (namespace: string, name: string, data: string): HostileRequest => ({
  method: 'POST',
  path: `/api/v1/namespaces/${namespace}/configmaps`,
  body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}","labels":{"a":"b"}},"data":${data}}`,
});

const inNamespace = (name: string): HostileRequest => ({
  method: 'POST',
  path: '/api/v1/namespaces',
  body: `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"${name}"}}`,
});

/** Created once: a second request would be a conflict. */
const sets: Readonly<Record<string, () => readonly HostileRequest[]>> = {
  'many-keys': () => [
    inNamespace('many-keys'),
    ...Array.from({ length: 15 }, (_, i) =>
      store(
        'many-keys',
        `c${i}`,
        `{${Array.from({ length: 20_000 }, (_key, k) => `"key-${k}":"the value ${k}"`).join(',')}}`,
      ),
    ),
  ],
  'long-texts': () => [
    inNamespace('long-texts'),
    ...Array.from({ length: 15 }, (_, i) => store('long-texts', `c${i}`, `{"a":"${fill('long ', 900_000)}"}`)),
  ],
  'many-objects': () => [
    inNamespace('many-objects'),
    ...Array.from({ length: 4000 }, (_, i) => store('many-objects', `c${i}`, `{"a":"${i}"}`)),
  ],
};

const prepared = new Set<string>();

function prepare(set: string): readonly HostileRequest[] {
  if (prepared.has(set)) return [];
  prepared.add(set);
  return sets[set]!();
}

const selector = encodeURIComponent(list((i) => `a!=v${i}`, ['', ''], 30_000));

const documents: Readonly<Record<string, readonly [path: string, accept: string]>> = {
  v2: ['/openapi/v2', 'application/json'],
  'v2 in protobuf': ['/openapi/v2', 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf'],
  'v3 of core': ['/openapi/v3/api/v1', 'application/json'],
  'v3 of the index': ['/openapi/v3', 'application/json'],
  'v3 of a custom resource': ['/openapi/v3/apis/wide.example/v1', 'application/json'],
};

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

function wideDefinition(): string {
  const properties = Array.from({ length: 15_000 }, (_, i) => `"p${i}":{"type":"string"}`).join(',');
  return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"wides.wide.example"},"spec":{"group":"wide.example","scope":"Namespaced","names":{"plural":"wides","kind":"Wide"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{${properties}}}}}]}}`;
}

/** Each created or deleted definition changes the documents. */
function changeDocuments(): readonly HostileRequest[] {
  return [
    { method: 'DELETE', path: `${DEFINITIONS}/wides.wide.example` },
    { method: 'POST', path: DEFINITIONS, body: wideDefinition() },
    { method: 'GET', path: '/apis/wide.example/v1' },
  ];
}

export function readInputs(): HostileInput[] {
  const lists = Object.keys(sets).flatMap((set) =>
    Object.entries(forms).flatMap(([form, headers]): HostileInput[] => [
      {
        name: `list of ${set}: ${form}`,
        before: () => prepare(set),
        request: () => ({ method: 'GET', path: `/api/v1/namespaces/${set}/configmaps`, headers }),
      },
      {
        name: `one of ${set}: ${form}`,
        before: () => prepare(set),
        request: () => ({ method: 'GET', path: `/api/v1/namespaces/${set}/configmaps/c1`, headers }),
      },
    ]),
  );
  return [
    ...lists,
    {
      name: 'list by many requirements',
      before: () => prepare('many-objects'),
      request: () => ({ method: 'GET', path: `/api/v1/namespaces/many-objects/configmaps?labelSelector=${selector}` }),
    },
    {
      name: 'watch of many-keys from the start',
      before: () => prepare('many-keys'),
      request: () => ({
        method: 'GET',
        path: '/api/v1/namespaces/many-keys/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1',
      }),
    },
    {
      name: 'watch of many-keys in protobuf',
      before: () => prepare('many-keys'),
      request: () => ({
        method: 'GET',
        path: '/api/v1/namespaces/many-keys/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&timeoutSeconds=1',
        headers: { accept: 'application/vnd.kubernetes.protobuf' },
      }),
    },
    ...Object.entries(documents).map(([name, [path, accept]]): HostileInput => ({
      name: `OpenAPI ${name}`,
      before: changeDocuments,
      request: () => ({ method: 'GET', path, headers: { accept } }),
    })),
    {
      name: 'delete of all of many-objects',
      before: () => prepare('many-objects'),
      request: () => ({ method: 'DELETE', path: '/api/v1/namespaces/many-objects/configmaps?dryRun=All' }),
    },
  ];
}
