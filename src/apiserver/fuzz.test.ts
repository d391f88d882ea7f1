/** Malformed requests of every sort, from a seed: each is refused or served, none is the server's fault. Counts are printed. */
import assert from 'node:assert/strict';
import { before, test, type TestContext } from 'node:test';
import fc from 'fast-check';
import { ConfigMaps, CronJobs, Deployments, Nodes, Pods, Services } from '../api/gen/resources.ts';
import { encodeProtobuf } from '../api/codec/protobuf.ts';
import type { JsonObject } from '../api/codec/own-property.ts';
import { decodeTyped } from '../api/codec/typed.ts';
import { apiVersionOf, type ResourceInfo } from '../api/resource-info.ts';
import { schemaOf } from '../api/schema/schema.ts';
import { startWithAll } from './all-resources-fixture.ts';
import { odd, oddChanges, spoiled } from './fuzz-fixture.ts';
import type { TestAnswer, TestServer } from './server-fixture.ts';

const SEED = 20_260_101;
const kinds: readonly ResourceInfo[] = [
  ConfigMaps,
  Pods,
  Deployments,
  Services,
  Nodes,
  CronJobs,
] as readonly ResourceInfo[];
const template = {
  metadata: { labels: { a: 'b' } },
  spec: {
    containers: [{ name: 'c', image: 'i', env: [{ name: 'A', value: 'b' }], ports: [{ containerPort: 80 }] }],
    volumes: [{ name: 'v', emptyDir: {} }],
  },
};
const samples: Readonly<Record<string, JsonObject>> = {
  ConfigMap: { data: { a: '1' } },
  Pod: { spec: template.spec },
  Deployment: { spec: { replicas: 1, selector: { matchLabels: { a: 'b' } }, template } },
  Service: {
    spec: {
      ports: [
        { port: 80, name: 'a' },
        { port: 81, name: 'b' },
      ],
      selector: { a: 'b' },
    },
  },
  Node: { spec: { taints: [{ key: 'a', effect: 'NoSchedule' }] } },
  CronJob: {
    spec: {
      schedule: '* * * * *',
      jobTemplate: { spec: { template: { spec: { ...template.spec, restartPolicy: 'Never' } } } },
    },
  },
};

let server: TestServer;
const live = new Map<ResourceInfo, JsonObject>();

before(async () => {
  server = await startWithAll();
  for (const info of kinds) {
    const made = await server.send('POST', pathOf(info), {
      metadata: { name: 'live', labels: { a: 'b' } },
      ...samples[info.kind],
    });
    assert.equal(made.status, 201, made.text);
    live.set(info, made.body as JsonObject);
  }
});

function pathOf(info: ResourceInfo): string {
  const root = info.group === '' ? `/api/${info.version}` : `/apis/${apiVersionOf(info)}`;
  return `${root}${info.namespaced ? '/namespaces/default' : ''}/${info.resource}`;
}

class Counts {
  readonly #counts = new Map<number, number>();

  /** Counts a response and throws when it is invalid. */
  judge(what: string, { status, text, body }: TestAnswer): void {
    this.#counts.set(status, (this.#counts.get(status) ?? 0) + 1);
    // Upstream passes this error of an apply on without a reason.
    const isUntyped = status === 500 && String(body?.message).startsWith('failed to create typed patch object ');
    if (status >= 500 && !isUntyped) throw new Error(`${what}: ${status} ${text.slice(0, 400)}`);
    // Handlers outside the APIs refuse in plain text.
    if (text.startsWith('k8s\0') || (status === 404 && text === '404 page not found\n')) return;
    if (status >= 400 && (body?.kind !== 'Status' || body.code !== status || typeof body.message !== 'string'))
      throw new Error(`${what}: no Status: ${text.slice(0, 400)}`);
  }

  tell(t: TestContext): void {
    t.diagnostic(
      [...this.#counts]
        .toSorted(([a], [b]) => a - b)
        .map(([status, count]) => `${status}: ${count}`)
        .join(', '),
    );
  }
}

/** Runs `send` for `numRuns` values of `arbitrary`. */
async function fuzz<T>(
  t: TestContext,
  arbitrary: fc.Arbitrary<T>,
  { numRuns, send }: { numRuns: number; send: (value: T) => Promise<TestAnswer> },
): Promise<void> {
  const counts = new Counts();
  await fc.assert(
    fc.asyncProperty(arbitrary, async (value) => counts.judge(fc.stringify(value).slice(0, 600), await send(value))),
    { seed: SEED, numRuns },
  );
  counts.tell(t);
}

/** One of these words; two spaces stand for the empty one. */
const oneOf = (...lines: string[]): fc.Arbitrary<string> =>
  fc.constantFrom(...lines.flatMap((line) => line.split(' ')));
const kind = fc.constantFrom(...kinds);
const verb = fc.constantFrom('POST', 'PUT');
/** A sample with one or several places replaced by something odd. */
const mutated = fc.tuple(kind, oddChanges).map(([info, changes]) => {
  const value = {
    apiVersion: apiVersionOf(info),
    kind: info.kind,
    metadata: { name: 'fuzz', labels: { a: 'b' }, annotations: {}, ownerReferences: [], finalizers: ['a.io/b'] },
    ...samples[info.kind],
    status: {},
  };
  return { info, value: spoiled(value, changes) };
});

let created = 0;

function sendObject(info: ResourceInfo, value: unknown, method: string): Promise<TestAnswer> {
  const text = JSON.stringify(value) ?? 'null';
  if (method === 'POST') return server.send('POST', pathOf(info), text.replace('"fuzz"', `"fuzz${created++}"`));
  return server.send('PUT', `${pathOf(info)}/live`, text.replace('"fuzz"', '"live"'));
}

test('objects with something odd inside', (t) =>
  fuzz(t, fc.tuple(mutated, verb), {
    numRuns: 1000,
    send: ([{ info, value }, method]) => sendObject(info, value, method),
  }));

test('bodies that are no JSON, no YAML, no UTF-8', (t) => {
  const type = fc.constantFrom(
    'application/json',
    'application/yaml',
    'application/json; charset=utf-8',
    'application/vnd.kubernetes.protobuf',
  );
  const cut = fc.tuple(mutated, fc.nat(), fc.nat({ max: 255 })).map(([{ value }, at, byte]) => {
    const bytes = Buffer.from(JSON.stringify(value) ?? 'null');
    bytes[at % bytes.length] = byte;
    return byte % 2 === 0 ? bytes : bytes.subarray(0, at % bytes.length);
  });
  const text = fc.string({ unit: 'binary', maxLength: 60 }).map((value) => Buffer.from(value));
  const yaml = fc
    .array(
      fc.constantFrom(
        'a: ',
        '- ',
        '&x ',
        '*x',
        '<<: ',
        '!!binary ',
        '"',
        "'",
        '{',
        '}',
        '[',
        ']',
        '\n',
        '  ',
        '|',
        '>',
        '%',
        '\t',
        'metadata: ',
        'name: live',
        '? ',
        '---\n',
        '0x1',
        '!!js/function ',
      ),
      { maxLength: 20 },
    )
    .map((parts) => Buffer.from(parts.join('')));
  const bytes = fc.oneof(
    cut,
    text,
    yaml,
    fc.uint8Array({ maxLength: 80 }).map((value) => Buffer.from(value)),
  );
  return fuzz(t, fc.tuple(kind, type, bytes), {
    numRuns: 1000,
    send: ([info, contentType, body]) => server.send('POST', pathOf(info), body, { 'content-type': contentType }),
  });
});

test('protobuf with bytes changed, cut and added', (t) => {
  const encoded = new Map(
    kinds.map((info) => {
      const schema = schemaOf(info.group, info.version, info.kind)!;
      const object = decodeTyped(schema, {
        apiVersion: apiVersionOf(info),
        kind: info.kind,
        metadata: { name: 'fuzz', creationTimestamp: '2026-01-01T00:00:00Z' },
        ...samples[info.kind],
      }).object;
      return [info, Buffer.from(encodeProtobuf(schema, object))] as const;
    }),
  );
  const change = fc.record({ at: fc.nat(), byte: fc.nat({ max: 255 }), cut: fc.boolean() });
  return fuzz(t, fc.tuple(kind, fc.array(change, { maxLength: 4 }), verb), {
    numRuns: 1000,
    send: ([info, changes, method]) => {
      let bytes = Buffer.from(encoded.get(info)!);
      for (const { at, byte, cut } of changes) {
        if (cut && bytes.length > 8) bytes = bytes.subarray(0, 4 + (at % (bytes.length - 4)));
        else bytes[4 + (at % (bytes.length - 4))] = byte;
      }
      return server.send(method, method === 'POST' ? pathOf(info) : `${pathOf(info)}/live`, bytes, {
        'content-type': 'application/vnd.kubernetes.protobuf',
      });
    },
  });
});

const pointer = fc
  .array(
    oneOf('metadata labels spec template containers 0 - -1 99 a~0b ~1 ~  name data __proto__ constructor ports', 'x'),
    { maxLength: 5 },
  )
  .map((parts) => (parts.length === 0 ? '' : `/${parts.join('/')}`));
const operation = fc.record(
  {
    op: fc.oneof(fc.constantFrom('add', 'remove', 'replace', 'move', 'copy', 'test'), odd),
    path: fc.oneof(pointer, odd),
    from: fc.oneof(pointer, odd),
    value: odd,
  },
  { requiredKeys: [] },
);
const mergeKeys = oneOf(
  'metadata labels spec template containers name data $patch $retainKeys $setElementOrder/containers',
  '$deleteFromPrimitiveList/finalizers ports finalizers volumes selector matchLabels taints x __proto__',
  'managedFields strategy',
);
const { tree: mergeTree } = fc.letrec<{ tree: unknown; leaf: unknown }>((tie) => ({
  leaf: fc.oneof(odd, fc.constantFrom<unknown>('replace', 'delete', 'merge', 'c', 'live', 80)),
  tree: fc.oneof(
    { maxDepth: 5 },
    tie('leaf'),
    fc.dictionary(mergeKeys, tie('tree'), { maxKeys: 3 }),
    fc.array(tie('tree'), { maxLength: 3 }),
  ),
}));

test('patches of the four kinds', (t) => {
  const patch = fc.oneof(
    fc.tuple(fc.constant('application/json-patch+json'), fc.oneof(fc.array(operation, { maxLength: 4 }), odd)),
    fc.tuple(fc.constantFrom('application/merge-patch+json', 'application/strategic-merge-patch+json'), mergeTree),
    fc.tuple(
      fc.constant('application/apply-patch+yaml'),
      fc.oneof(
        mergeTree,
        fc.tuple(kind, mergeTree).map(([info, tree]) => ({
          apiVersion: apiVersionOf(info),
          kind: info.kind,
          metadata: { name: 'live' },
          ...(typeof tree === 'object' ? tree : {}),
        })),
      ),
    ),
  );
  const subresource = fc.constantFrom('', '', '', '/status', '/scale', '/resize', '/ephemeralcontainers');
  return fuzz(t, fc.tuple(kind, patch, subresource), {
    numRuns: 1500,
    send: ([info, [type, value], sub]) =>
      server.send(
        'PATCH',
        `${pathOf(info)}/live${sub}?fieldManager=f${sub === '/scale' ? '&force=true' : ''}`,
        JSON.stringify(value) ?? 'null',
        { 'content-type': type },
      ),
  });
});

test('selectors, options and continue tokens', (t) => {
  const piece = fc.constantFrom(
    'a',
    'b',
    '=',
    '==',
    '!=',
    ' in ',
    ' notin ',
    '(',
    ')',
    ',',
    '!',
    '>',
    '<',
    ' ',
    '\\',
    'metadata.name',
    'spec.nodeName',
    'x/y',
    '/',
    '.',
    '\u0000',
    'é',
    '%',
    'Gt',
    '1',
  );
  const selector = fc.array(piece, { maxLength: 8 }).map((parts) => parts.join(''));
  const token = fc.oneof(
    fc.string({ maxLength: 40 }),
    fc
      .record({
        v: fc.oneof(fc.constant('meta.k8s.io/v1'), odd),
        rv: fc.oneof(fc.integer(), odd),
        start: fc.oneof(fc.string(), odd),
      })
      .map((value) => Buffer.from(JSON.stringify(value)).toString('base64url')),
    fc.uint8Array({ maxLength: 30 }).map((value) => Buffer.from(value).toString('base64url')),
  );
  const value = fc.oneof(
    selector,
    token,
    fc.constantFrom('0', '1', '-1', '999999999', 'true', 'All', 'Exact', 'NotOlderThan', 'Strict', '1e3', '10s'),
  );
  const name = oneOf(
    'labelSelector fieldSelector limit resourceVersionMatch continue timeoutSeconds sendInitialEvents',
    'pretty dryRun fieldValidation fieldManager gracePeriodSeconds propagationPolicy orphanDependents',
    'includeObject timeout zzz',
  );
  const query = fc.array(fc.tuple(name, value), { minLength: 1, maxLength: 3 });
  const accept = fc.constantFrom(
    'application/json',
    'application/json;as=Table;v=v1;g=meta.k8s.io',
    'application/vnd.kubernetes.protobuf, */*;q=0',
    'application/yaml;q=2',
    ';;=,',
    'application/json;as=;v=v9',
  );
  return fuzz(t, fc.tuple(kind, query, accept), {
    numRuns: 1000,
    send: ([info, parts, type]) =>
      server.send('GET', `${pathOf(info)}?${new URLSearchParams(parts).toString()}`, undefined, { accept: type }),
  });
});

test('paths and methods', (t) => {
  const segment = fc.oneof(
    oneOf(
      'api apis v1 apps namespaces default pods live status log exec proxy scale watch  .. . % %00 %2e%2e',
      '%ff %E2%82 * openapi v3 v2 healthz readyz version metrics deployments nodes binding eviction',
      'configmaps token serviceaccounts',
    ),
    fc.string({ maxLength: 5 }).map((text) => encodeURIComponent(text.toWellFormed())),
  );
  const path = fc.array(segment, { maxLength: 8 }).map((parts) => `/${parts.join('/')}`);
  const method = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS', 'FOO');
  const body = fc.constantFrom<unknown>(undefined, {}, { metadata: { name: 'live' } });
  return fuzz(t, fc.tuple(method, path, body), { numRuns: 1000, send: ([verbOf, at, sent]) => send(verbOf, at, sent) });
});

/** Watches and plain texts are valid responses too. */
async function send(method: string, path: string, body: unknown): Promise<TestAnswer> {
  try {
    return await server.send(method, path, body);
  } catch (error) {
    const response = /unexpected stream response/.test((error as Error).message);
    assert.ok(response, error as Error);
    return {
      status: 200,
      headers: {},
      text: '',
      body: undefined,
      response: { kind: 'bytes', status: 200, headers: {}, chunks: [] },
    };
  }
}
