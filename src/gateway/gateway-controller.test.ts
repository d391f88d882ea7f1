/** Snapshots are built after changes, in steps between other tasks, and never two at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ingresses } from '../api/gen/resources.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import { createDeferred, type Deferred } from '../base/deferred.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
import { turn } from './data-plane/data-plane-fixture.ts';
import { GatewayController, type PublishedSnapshot } from './gateway-controller.ts';

const path = { pathType: 'Prefix', path: '/', backend: { resource: { kind: 'Bucket', name: 'b' } } };
const ingress = (name: string) => ({
  metadata: { name, namespace: 'ns', uid: name, resourceVersion: '1' },
  spec: { ingressClassName: 'keelson', rules: [{ host: name, http: { paths: [path] } }] },
});

/** A controller whose clock and steps the test controls. */
function startController() {
  const timers: { readonly delayMs: number; readonly run: () => void }[] = [];
  const published: string[] = [];
  const world = { ingresses: [ingress('a')], nowMs: 0, gate: undefined as Deferred<void> | undefined };
  /** By kind: calls the handlers of a changed object. */
  const changes = new Map<string, (object: unknown) => void>();
  const objectsOf = (kind: string): readonly unknown[] => (kind === Ingresses.kind ? world.ingresses : []);
  const informer = ({ kind }: ResourceInfo<never>) => ({
    addIndex: () => undefined,
    addHandler: ({ onUpdate }: { onUpdate: (before: unknown, after: unknown) => void }) => {
      changes.set(kind, (object) => onUpdate(object, object));
    },
    waitForSync: () => Promise.resolve(),
    list: () => objectsOf(kind),
    byIndex: () => [],
    get: () => (kind === 'IngressClass' ? { spec: { controller: 'keelson.dev/gateway' } } : undefined),
  });
  const clock = {
    monotonicMs: () => world.nowMs,
    setTimer: (delayMs: number, run: () => void) => {
      timers.push({ delayMs, run });
      return () => undefined;
    },
    turn: () => world.gate?.promise,
  };
  const deps = {
    informers: { informer },
    recorder: { event: () => undefined },
    clock,
    log: createSimPlatform().log,
    inspect: () => [],
    publish: ({ pieces }: PublishedSnapshot) => published.push(pieces.join('')),
  };
  const config = {
    ports: { http: 80, https: 443 },
    defaultCertificate: { certPem: 'c', keyPem: 'k' },
    portUser: () => undefined,
  };
  return { controller: new GatewayController(deps as never, config as never), timers, published, world, changes };
}

test('a change during a build causes another build after it', async () => {
  const { controller, timers, published, world } = startController();
  await controller.start(new AbortController().signal);
  assert.equal(published.length, 1);

  world.gate = createDeferred();
  world.ingresses = [ingress('b')];
  controller.touch();
  timers.shift()?.run();
  world.ingresses = [ingress('c')];
  controller.touch();
  controller.touch();
  assert.deepEqual([timers.length, published.length], [0, 1]);

  world.gate.resolve();
  await turn();
  assert.match(published[1] ?? '', /Ingress ns\/b/);
  assert.equal(timers.length, 1);
  timers.shift()?.run();
  await turn();
  assert.match(published[2] ?? '', /Ingress ns\/c/);
  assert.deepEqual([timers.length, published.length], [0, 3]);
});

test('a long build is followed by a pause', async () => {
  const { controller, timers, world } = startController();
  await controller.start(new AbortController().signal);
  controller.touch();
  world.gate = createDeferred();
  timers.shift()?.run();
  world.nowMs += 100;
  world.gate.resolve();
  await turn();
  controller.touch();
  assert.deepEqual(
    timers.map(({ delayMs }) => delayMs),
    [305],
  );
});

test('an unchanged snapshot is not published again', async () => {
  const { controller, timers, published } = startController();
  await controller.start(new AbortController().signal);
  controller.touch();
  timers.shift()?.run();
  await turn();
  assert.equal(published.length, 1);
});

test('objects that no route depends on cause no build', async () => {
  const { controller, timers, world, changes } = startController();
  const service = { service: { name: 's', port: { number: 80 } } };
  const [used] = world.ingresses;
  Object.assign(used!.spec, { tls: [{ secretName: 'c' }], defaultBackend: service });
  await controller.start(new AbortController().signal);
  const change = (kind: string, name: string, namespace = 'ns'): number => {
    const labels = { 'kubernetes.io/service-name': name };
    changes.get(kind)?.({ metadata: { name: kind === 'EndpointSlice' ? 'any' : name, namespace, labels } });
    return timers.splice(0).length;
  };
  for (const kind of ['Service', 'EndpointSlice', 'Secret'])
    assert.deepEqual(
      [change(kind, 'other'), change(kind, 's', 'elsewhere'), change(kind, 'c', 'elsewhere')],
      [0, 0, 0],
    );
  // Each is tested alone, because a pending timer is not set again.
  for (const [kind, name] of [
    ['Service', 's'],
    ['EndpointSlice', 's'],
    ['Secret', 'c'],
  ] as const) {
    const other = startController();
    Object.assign(other.world.ingresses[0]!.spec, { tls: [{ secretName: 'c' }], defaultBackend: service });
    await other.controller.start(new AbortController().signal);
    const labels = { 'kubernetes.io/service-name': name };
    other.changes.get(kind)?.({ metadata: { name, namespace: 'ns', labels } });
    assert.equal(other.timers.length, 1, kind);
  }
});
