/**
 * A hostile container runtime on its socket: each call and each subscription fails on its own, never with an internal fault, and
 * the next one is answered.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { hostilePeers } from '../grpc/hostile-peers-fixture.ts';
import { frame } from '../grpc/grpc-frames.ts';
import { createMessageCodec } from '../grpc/message-codec.ts';
import { settleWhileTimePasses } from '../platform/node/settle-fixture.ts';
import { createSeededRandom } from '../platform/sim/random.ts';
import { VirtualClock } from '../platform/sim/virtual-clock.ts';
import { isProgramError } from '../platform/unexpected.ts';
import { eventsTable } from './containerd-events.ts';
import { createCriClient, type CriClient } from './cri-client.ts';
import { criTable } from './gen/cri-table.ts';

type Behaviour = (stream: ServerHttp2Stream, path: string) => void;

let socketPath: string;
let directory: string;
let behave: Behaviour;
const sessions = new Set<ServerHttp2Session>();
const server = createServer();
const codec = createMessageCodec([criTable, eventsTable]);

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'keelson-runtime-'));
  socketPath = join(directory, 'socket');
  server.on('session', (session) => void sessions.add(session.on('error', () => undefined)));
  server.on('stream', (stream, headers) =>
    behave(
      stream.on('error', () => undefined),
      headers[':path'] ?? '',
    ),
  );
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
});
after(async () => {
  for (const session of sessions) session.destroy();
  server.close();
  await rm(directory, { recursive: true });
});

/** Sends messages, then a status. */
const answering =
  (...messages: readonly Uint8Array[]): Behaviour =>
  (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.concat(messages.map(frame)));
  };

interface Outcome<T> {
  readonly value?: T;
  readonly error?: Error;
}

/** The outcome of a call, with virtual deadlines that pass without waiting. */
async function outcomeOf<T>(call: (client: CriClient, signal: AbortSignal) => Promise<T>): Promise<Outcome<T>> {
  const clock = new VirtualClock();
  const client = createCriClient({ clock }, { endpoint: socketPath });
  const leave = new AbortController();
  clock.setTimer(600_000, () => leave.abort(new Error('enough')));
  return settleWhileTimePasses(clock, call(client, leave.signal), 121_000);
}

const unary = Object.entries({ runtime: criTable.services.RuntimeService, images: criTable.services.ImageService })
  .flatMap(([service, methods]) => Object.entries(methods).map(([name, types]) => ({ service, name, types })))
  .filter(({ types }) => !types.includes(' stream '))
  .map(({ service, name }) => ({ service, name: name.charAt(0).toLowerCase() + name.slice(1) }));

type Methods = Readonly<Record<string, (request: object, options: object) => Promise<unknown>>>;

const ask =
  ({ service, name }: { readonly service: string; readonly name: string }) =>
  (client: CriClient, signal: AbortSignal): Promise<unknown> =>
    (client[service as 'runtime'] as unknown as Methods)[name]!({}, { signal });

/** One that sends, one that reads much, one that removes, one without a deadline of its own. */
const chosen = new Set(['runPodSandbox', 'listContainers', 'removeContainer', 'pullImage']);

for (const method of unary.filter(({ name }) => chosen.has(name)))
  describe(method.name, () => {
    for (const [what, how] of Object.entries(hostilePeers))
      test(`a runtime that ${what} ends the call alone`, async () => {
        behave = how;
        const { error } = await outcomeOf(ask(method));
        assert.ok(error !== undefined && !isProgramError(error), String(error?.stack));
        assert.ok(error.message.length < 100_000);
        behave = answering(new Uint8Array());
        assert.equal((await outcomeOf(ask(method))).error, undefined);
      });
  });

test('random bytes as the answer of every call are decoded or refused', async () => {
  const random = createSeededRandom(11);
  const client = createCriClient({ clock: new VirtualClock() }, { endpoint: socketPath });
  for (const method of unary)
    for (let round = 0; round < 10; round++) {
      const length = Math.floor(random.next() * 60);
      behave = answering(Uint8Array.from({ length }, () => Math.floor(random.next() * 256)));
      const error = await ask(method)(client, new AbortController().signal).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      assert.ok(!isProgramError(error), `${method.name}: ${String((error as Error | undefined)?.stack)}`);
    }
});

const containerEvent = (fields: object): Uint8Array => codec.encode('runtime.v1.ContainerEventResponse', fields);
const envelope = (fields: object): Uint8Array => codec.encode('containerd.services.events.v1.Envelope', fields);
const unimplemented = (stream: ServerHttp2Stream): void =>
  stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' }, { endStream: true });

/** A runtime with CRI's own events, and one that has only containerd's. */
const sources: Readonly<Record<string, (how: Behaviour) => Behaviour>> = {
  'CRI events': (how) => how,
  "containerd's events": (how) => (stream, path) =>
    path.endsWith('GetContainerEvents') ? unimplemented(stream) : how(stream, path),
};

const firstEvents = (count: number) => async (client: CriClient, signal: AbortSignal) => {
  const events = [];
  for await (const event of client.events(signal)) if (events.push(event) >= count) break;
  return events;
};

for (const [name, only] of Object.entries(sources))
  describe(`a subscription to ${name}`, () => {
    for (const [what, how] of Object.entries(hostilePeers)) {
      // No event is no error; nor are many irrelevant ones.
      if (what === 'never answers' || (what === 'sends small messages without end' && name !== 'CRI events')) continue;
      test(`a runtime that ${what} ends it alone`, async () => {
        behave = only(how);
        const { error } = await outcomeOf(firstEvents(1000));
        assert.ok(!isProgramError(error), String(error?.stack));
      });
    }

    test('messages of random bytes are read or refused', async () => {
      const random = createSeededRandom(13);
      for (let round = 0; round < 30; round++) {
        const bytes = (): Uint8Array =>
          Uint8Array.from({ length: Math.floor(random.next() * 50) }, () => Math.floor(random.next() * 256));
        behave = only(answering(bytes(), bytes(), bytes()));
        const { error } = await outcomeOf(firstEvents(1000));
        assert.ok(!isProgramError(error), String(error?.stack));
      }
    });

    test('a reader that throws ends its own subscription, at the runtime too', async () => {
      const left = Promise.withResolvers<void>();
      behave = only((stream) => {
        stream.on('close', () => left.resolve());
        stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
        const created = {
          topic: '/containers/create',
          namespace: 'k8s.io',
          event: { typeUrl: '', value: new Uint8Array() },
        };
        stream.write(frame(name === 'CRI events' ? containerEvent({ containerId: 'c' }) : envelope(created)));
      });
      const { error } = await outcomeOf(async (client, signal) => {
        for await (const _ of client.events(signal)) throw new Error('broken reader');
      });
      assert.equal(error?.message, 'broken reader');
      await left.promise;
    });
  });

test("containerd's events of every shape: those that mean nothing are passed over", async () => {
  const value = Uint8Array.from([0x0a, 1, 0x63, 0x12, 1, 0x63]);
  const shapes = [
    {},
    { topic: '/tasks/exit', namespace: 'k8s.io' },
    { topic: 'constructor', namespace: 'k8s.io', event: { typeUrl: '', value } },
    { topic: '__proto__', namespace: 'k8s.io', event: { typeUrl: '', value } },
    { topic: '/containers/delete', namespace: 'moby', event: { typeUrl: '', value } },
    { topic: '/tasks/start', namespace: 'k8s.io', event: { typeUrl: '', value: Uint8Array.from([0x0a, 0xff, 0xff]) } },
    { topic: '/tasks/start', namespace: 'k8s.io', event: { typeUrl: '', value: new Uint8Array(200).fill(0x80) } },
    { topic: '/containers/delete', namespace: 'k8s.io', event: { typeUrl: '', value } },
  ];
  behave = sources["containerd's events"]!(answering(...shapes.map(envelope)));
  const { value: events, error } = await outcomeOf(firstEvents(1000));
  assert.equal(error, undefined);
  assert.deepEqual(events?.at(-1), { containerId: 'c', type: 'deleted' });
  assert.ok(
    events!.every(({ type }) => typeof type === 'string'),
    JSON.stringify(events),
  );
});
