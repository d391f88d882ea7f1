import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forbidden } from '../api/status-error.ts';
import type { ApiResponse } from '../api/transport.ts';
import type { AdmissionPlugin } from './admission/contract.ts';
import { startWithAll } from './all-resources-fixture.ts';

type Lease = { metadata: Record<string, unknown>; spec: Record<string, unknown> };
type Server = Awaited<ReturnType<typeof startWithAll>>;

const PATH = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const at = (second: number): string => `2026-01-02T03:04:${String(second).padStart(2, '0')}.000001Z`;

/** The changes of the lease, and the user agent of each. */
const changes: readonly (readonly [string, (lease: Lease) => object, string?])[] = [
  ['a renewal', (lease) => ({ ...lease, spec: { ...lease.spec, renewTime: at(1) } })],
  ['another renewal', (lease) => ({ ...lease, spec: { ...lease.spec, renewTime: at(2) } })],
  ['the same again', (lease) => lease],
  ['a time in another form', (lease) => ({ ...lease, spec: { ...lease.spec, renewTime: '2026-01-31T03:04:05Z' } })],
  ['the last day of a month', (l) => ({ ...l, spec: { ...l.spec, renewTime: '2026-01-31T03:04:05.000001Z' } })],
  ['no time at all', (lease) => ({ ...lease, spec: { ...lease.spec, renewTime: '2026-02-30T03:04:05.000001Z' } })],
  ['an old revision', (l) => ({ metadata: { ...l.metadata, resourceVersion: '1' }, spec: { renewTime: at(3) } })],
  ['no revision', (l) => ({ metadata: { name: 'l' }, spec: { ...l.spec, renewTime: at(4) } })],
  ['a holder too', (lease) => ({ ...lease, spec: { ...lease.spec, holderIdentity: 'b', renewTime: at(5) } })],
  ['a label too', (l) => ({ metadata: { ...l.metadata, labels: { a: 'b' } }, spec: { ...l.spec, renewTime: at(6) } })],
  [
    'a field less',
    ({ metadata, spec: { holderIdentity: _, ...spec } }) => ({ metadata, spec: { ...spec, renewTime: at(7) } }),
  ],
  ['somebody else', (lease) => ({ ...lease, spec: { ...lease.spec, renewTime: at(8) } }), 'other/1'],
  ['one of two managers', (lease) => ({ ...lease, spec: { ...lease.spec, renewTime: at(9) } })],
];

async function answerOf(response: ApiResponse | Promise<ApiResponse>): Promise<{ status: number; body: unknown }> {
  const answer = await response;
  if (answer.kind !== 'object') throw new Error(`unexpected ${answer.kind} response`);
  return { status: answer.status, body: JSON.parse(JSON.stringify(answer.object)) };
}

/** Applies all changes to a lease; returns the response and the stored text of each. */
async function lifeOf(send: (server: Server, lease: object, agent: string) => Promise<unknown>): Promise<unknown[]> {
  const server = await startWithAll();
  const made = { metadata: { name: 'l' }, spec: { holderIdentity: 'a', leaseDurationSeconds: 40, renewTime: at(0) } };
  await server.send('POST', PATH, made, { 'user-agent': 'kubelet/1' });
  const life: unknown[] = [];
  for (const [what, change, agent = 'kubelet/1'] of changes) {
    await server.platform.clock.advance(10_000);
    const before = await storedIn(server);
    const answer = await send(server, change(before.lease), agent);
    life.push([what, answer, (await storedIn(server)).text]);
  }
  return life;
}

/** Read from the store: the server would cache the text that it returns in place of the stored one. */
async function storedIn({ storage }: Server): Promise<{ text: string; lease: Lease }> {
  const { value, modRevision } = (await storage.store.get('/registry/leases/default/l'))!;
  const text = Buffer.from(value).toString();
  const { metadata, ...rest } = JSON.parse(text) as Lease;
  return { text, lease: { ...rest, metadata: { ...metadata, resourceVersion: String(modRevision) } } };
}

test('a renewal inside the process has the same effect as one over the network, byte for byte', async () => {
  const short = await lifeOf(({ server, request }, object, agent) => {
    const parts = { headers: { 'user-agent': agent }, wantsObjects: true, body: { kind: 'object', object } } as const;
    return answerOf(server.handler(request('PUT', `${PATH}/l`, parts)));
  });
  const long = await lifeOf(async ({ send }, object, agent) => {
    const { status, body } = await send('PUT', `${PATH}/l`, object, { 'user-agent': agent });
    return { status, body };
  });
  assert.deepEqual(short, long);
});

test('a renewal passes admission: plugins may refuse and change it', async () => {
  const refusing: AdmissionPlugin = {
    name: 'Refusing',
    handles: (operation) => operation === 'UPDATE',
    validate({ object, resource, name }) {
      if ((object as unknown as Lease).spec['renewTime'] === at(1)) throw forbidden(resource, name, 'too early');
    },
  };
  const changing: AdmissionPlugin = {
    name: 'Changing',
    handles: (operation) => operation === 'UPDATE',
    mutate: ({ object }) => void (object!.metadata.labels = { a: 'b' }),
  };
  for (const admission of [[refusing], [refusing, changing]]) {
    const { server, send, request } = await startWithAll(admission);
    await send('POST', PATH, { metadata: { name: 'l' }, spec: { holderIdentity: 'a', renewTime: at(0) } });
    const renew = async (renewTime: string): Promise<{ status: number; body: unknown }> => {
      const { body } = (await send('GET', `${PATH}/l`)) as { body: Lease };
      const object = { ...body, spec: { ...body.spec, renewTime } };
      const parts = { headers: { 'user-agent': 'test/1' }, wantsObjects: true, body: { kind: 'object', object } };
      return answerOf(server.handler(request('PUT', `${PATH}/l`, parts as Parameters<typeof request>[2])));
    };
    assert.equal((await renew(at(1))).status, 403);
    const { status, body } = await renew(at(2));
    assert.equal(status, 200);
    assert.deepEqual((body as Lease).metadata['labels'], admission.includes(changing) ? { a: 'b' } : undefined);
  }
});

test('renewals share memory with each other, not with events, which stay longer', async () => {
  const { server, send, request, storage } = await startWithAll();
  const sharedMemoryOf = async (key: string): Promise<ArrayBufferLike> => {
    const { buffer, byteLength } = (await storage.store.get(key))!.value;
    assert.ok(buffer.byteLength > byteLength);
    return buffer;
  };
  const renewals: ArrayBufferLike[] = [];
  const events: ArrayBufferLike[] = [];
  for (const name of ['a', 'b']) {
    await send('POST', PATH, { metadata: { name }, spec: { holderIdentity: 'a', renewTime: at(0) } });
    const { body } = (await send('GET', `${PATH}/${name}`)) as { body: Lease };
    const object = { ...body, spec: { ...body.spec, renewTime: at(1) } };
    const parts = {
      headers: { 'user-agent': 'test/1' },
      wantsObjects: true,
      body: { kind: 'object', object },
    } as const;
    assert.equal((await answerOf(server.handler(request('PUT', `${PATH}/${name}`, parts)))).status, 200);
    renewals.push(await sharedMemoryOf(`/registry/leases/default/${name}`));
    const involvedObject = { kind: 'Pod', name: 'p', namespace: 'default' };
    await send('POST', '/api/v1/namespaces/default/events', { metadata: { name }, involvedObject });
    events.push(await sharedMemoryOf(`/registry/events/default/${name}`));
  }
  assert.ok(!renewals.some((memory) => events.includes(memory)));
});

test('renewals from inside the process are stamped into the bytes of the revision before, not encoded', async () => {
  const { server, send, request, storage } = await startWithAll();
  await send('POST', PATH, { metadata: { name: 'l' }, spec: { holderIdentity: 'a', renewTime: at(0) } });
  const cell = () => storage.hub.cache('/registry/leases/').get('/registry/leases/default/l')!;
  const stamped: string[][] = [];
  for (const second of [1, 2]) {
    const { metadata, ...rest } = cell().object() as unknown as Lease;
    const object = { ...rest, metadata, spec: { ...rest.spec, renewTime: at(second) } };
    const parts = {
      headers: { 'user-agent': 'test/1' },
      wantsObjects: true,
      body: { kind: 'object', object },
    } as const;
    assert.equal((await answerOf(server.handler(request('PUT', `${PATH}/l`, parts)))).status, 200);
    stamped.push(Object.keys(cell().own?.places ?? {}));
  }
  assert.deepEqual(stamped, [['renewTime'], ['renewTime']]);
});
