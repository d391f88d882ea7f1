// Runs one load on a new cluster: its cost, and whether other clients are served meanwhile.
import type { JsonObject } from '../../../src/api/codec/own-property.ts';
import { apiVersionOf } from '../../../src/api/resource-info.ts';
import { StatusError } from '../../../src/api/status-error.ts';
import { Cluster } from '../../../src/testing/cluster.ts';
import { resources } from '../generators/objects.ts';
import type { Load } from './load.ts';
import { passesOfMachines, storeWithPasses } from './loop-passes.ts';
import { meterTurns, Sampler } from './turns.ts';

export interface LoadResult {
  readonly name: string;
  readonly created: number;
  readonly refused: readonly string[];
  /** The longest turns while objects are sent, and while the cluster processes them. */
  readonly sendMs: number;
  readonly workMs: number;
  readonly totalMs: number;
  readonly heapMiB: number;
  readonly served: boolean;
  readonly problem?: string;
  readonly where?: readonly string[];
}

const probe = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'probe', namespace: 'beside' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'probe' } },
    template: {
      metadata: { labels: { app: 'probe' } },
      spec: { tolerations: [{ operator: 'Exists' }], containers: [{ name: 'c', image: 'i' }] },
    },
  },
};

function heapMiB(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** The path of an object's collection. */
export function collectionOf(object: JsonObject): string {
  const info = resources.find(
    (one) => apiVersionOf(one) === object['apiVersion'] && one.kind === object['kind'] && one.verbs.includes('create'),
  );
  if (info === undefined) throw new Error(`no resource for ${String(object['apiVersion'])} ${String(object['kind'])}`);
  const { namespace = 'default' } = object['metadata'] as { namespace?: string };
  const root = info.group === '' ? `/api/${info.version}` : `/apis/${apiVersionOf(info)}`;
  return `${root}${info.namespaced ? `/namespaces/${namespace}` : ''}/${info.resource}`;
}

export async function runLoad(load: Load, { profile = false, minutes = 5 } = {}): Promise<LoadResult> {
  let onPass = (): void => {};
  passesOfMachines(() => onPass());
  const cluster = await Cluster.start({
    clock: 'virtual',
    nodes: load.nodes ?? 10,
    runtimeConfig: 'api/all=true',
    store: (clock) => storeWithPasses(clock, () => onPass()),
  });
  await cluster.settle();
  const before = heapMiB();
  const sampler = profile ? new Sampler() : undefined;
  sampler?.start();
  let longest: [number, number] = [0, 0];
  const meter = meterTurns((from, to) => (longest = [from, to]));
  onPass = () => meter.pass();
  const refused: string[] = [];
  let [created, sendMs, workMs] = [0, 0, 0];
  let [served, problem]: [boolean, string | undefined] = [false, undefined];
  try {
    await cluster.client.raw({ method: 'POST', path: '/api/v1/namespaces', body: { metadata: { name: 'beside' } } });
    const objects = load.objects();
    let next = objects.next();
    meter.skip();
    while (next.done !== true) {
      const object = next.value;
      let isCreated = false;
      try {
        const body = Buffer.from(JSON.stringify(object));
        meter.skip();
        await cluster.client.raw({ method: 'POST', path: collectionOf(object), body });
        isCreated = true;
        created++;
      } catch (error) {
        if (!(error instanceof StatusError)) throw error;
        refused.push(`${String(object['kind'])}: ${error.message.slice(0, 300)}`);
      }
      meter.pass();
      next = objects.next(isCreated);
      meter.skip();
    }
    meter.pass();
    sendMs = meter.longestMs;
    const sendWhere = longest;
    meter.reset();
    longest = [0, 0];
    await cluster.client.raw({ method: 'POST', path: collectionOf(probe), body: probe });
    await cluster.waitFor(probe, 'Available', { within: `${minutes}m` });
    served = true;
    await cluster.advance('2m');
    await load.afterwards?.(cluster);
    await cluster.advance('1m');
    meter.pass();
    workMs = meter.longestMs;
    if (workMs < sendMs) longest = sendWhere;
  } catch (error) {
    workMs = meter.longestMs;
    problem = error instanceof Error ? (error.stack ?? error.message).slice(0, 600) : String(error);
  }
  const totalMs = meter.totalMs;
  meter.stop();
  const where = sampler?.stop(...longest);
  const heap = heapMiB() - before;
  await cluster.stop();
  const rounded = (value: number): number => Math.round(value);
  return {
    name: load.name,
    created,
    refused: refused.slice(0, 3),
    sendMs: rounded(sendMs),
    workMs: rounded(workMs),
    totalMs: rounded(totalMs),
    heapMiB: rounded(heap),
    served,
    ...(problem !== undefined && { problem }),
    ...(where !== undefined && Math.max(sendMs, workMs) > 50 && { where }),
  };
}
