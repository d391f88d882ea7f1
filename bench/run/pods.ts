// Pods through the whole cluster: from creation to Ready and from deletion to removal, as a watching client sees them.
import { Agent, request } from 'node:https';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { DEMO_IMAGE_NAME } from '../../tools/demo-image.ts';
import type { KubeClient } from '../../tools/up/kube-client.ts';
import type { BenchInstance } from './instance.ts';
import { inParallel, median, sleep } from './wait.ts';

/** In milliseconds. */
export interface PodTimes {
  readonly ready: number;
  readonly gone: number;
}

const COLLECTION = '/api/v1/namespaces/default/pods';
const TIMEOUT_MS = 60_000;

const podSpec = { terminationGracePeriodSeconds: 1, containers: [{ name: 'c', image: DEMO_IMAGE_NAME }] };

/** One pod after the other. */
export async function onePod(instance: BenchInstance, rounds: number): Promise<PodTimes> {
  const samples: PodTimes[] = [];
  for (let round = 0; round < rounds; round++) {
    samples.push(await podsAtOnce(instance, 1, `one-${round}`));
    await sleep(300); // the pod's sandbox is removed after the pod
  }
  return { ready: median(samples.map(({ ready }) => ready)), gone: median(samples.map(({ gone }) => gone)) };
}

/** Many at once: until the last is Ready, until the last is removed. */
export async function podsAtOnce(instance: BenchInstance, count: number, prefix: string): Promise<PodTimes> {
  const client = instance.client();
  const watch = await watchPods(instance);
  try {
    const createdMs = performance.now();
    const ready = watch.seen('Ready', prefix, count);
    await createPods(client, count, prefix);
    const readyMs = (await ready) - createdMs;
    const deletedMs = performance.now();
    const gone = watch.seen('DELETED', prefix, count);
    await inParallel({ count, width: 30 }, (index) =>
      expectSuccess(client, 'DELETE', { path: `${COLLECTION}/${prefix}-${index}` }),
    );
    return { ready: readyMs, gone: (await gone) - deletedMs };
  } finally {
    watch.close();
  }
}

async function createPods(client: KubeClient, count: number, prefix: string): Promise<void> {
  await inParallel({ count, width: 30 }, async (index) => {
    const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name: `${prefix}-${index}` }, spec: podSpec };
    await expectSuccess(client, 'POST', { path: COLLECTION, body });
  });
}

/** Pods that stay; resolves when all are Ready. */
export async function startPods(instance: BenchInstance, count: number, prefix: string): Promise<void> {
  const watch = await watchPods(instance);
  try {
    const ready = watch.seen('Ready', prefix, count);
    await createPods(instance.client(), count, prefix);
    await ready;
  } finally {
    watch.close();
  }
}

/** Scales a Deployment from 0 to `replicas` and back. */
export async function scaleDeployment(instance: BenchInstance, replicas: number): Promise<PodTimes> {
  const client = instance.client();
  const path = '/apis/apps/v1/namespaces/default/deployments';
  const labels = { app: 'bench' };
  const template = { metadata: { labels }, spec: podSpec };
  const metadata = { name: 'bench' };
  const body = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: { replicas: 0, selector: { matchLabels: labels }, template },
  };
  await expectSuccess(client, 'POST', { path, body });
  const watch = await watchPods(instance);
  const scaled = async (to: number, event: 'Ready' | 'DELETED'): Promise<number> => {
    const startedMs = performance.now();
    const done = watch.seen(event, 'bench', replicas);
    const type = 'application/merge-patch+json';
    await expectSuccess(client, 'PATCH', { path: `${path}/bench`, body: { spec: { replicas: to } }, type });
    return (await done) - startedMs;
  };
  try {
    return { ready: await scaled(replicas, 'Ready'), gone: await scaled(0, 'DELETED') };
  } finally {
    watch.close();
    await client.send(`${path}/bench`, { method: 'DELETE' });
  }
}

/** Sends one request. @throws when the response is not a success */
export async function expectSuccess(
  client: KubeClient,
  method: string,
  call: { path: string; body?: object; type?: string },
): Promise<void> {
  const { status, body } = await client.send(call.path, {
    method,
    body: call.body,
    ...(call.type && { contentType: call.type }),
  });
  if (status >= 300) throw new Error(`${method} ${call.path} was answered ${status}: ${JSON.stringify(body)}`);
}

interface PodEvent {
  readonly type: string;
  readonly object: {
    readonly metadata: { readonly name: string };
    readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
  };
}

/** Events of a watch on all pods of the default namespace. */
export interface PodWatch {
  /** Resolves to the time at which this many pods with this prefix have been Ready or deleted. */
  seen(what: 'Ready' | 'DELETED', prefix: string, count: number): Promise<number>;
  close(): void;
}

/** Watches the pods of the default namespace, which has none with the requested prefixes yet. */
export async function watchPods({ server, dataDir }: BenchInstance): Promise<PodWatch> {
  const read = (name: string): Buffer => readFileSync(join(dataDir, 'pki', name));
  const agent = new Agent({ ca: read('ca.crt'), cert: read('admin.crt'), key: read('admin.key') });
  const listeners = new Set<(event: PodEvent) => void>();
  const close = await new Promise<() => void>((resolve, reject) => {
    const call = request(new URL(`${COLLECTION}?watch=true`, server), { agent }, (response) => {
      resolve(() => call.destroy());
      let rest = '';
      response
        .setEncoding('utf8')
        .on('error', () => undefined)
        .on('data', (part: string) => {
          const lines = (rest + part).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) for (const listener of listeners) listener(JSON.parse(line) as PodEvent);
        });
    });
    call.on('error', reject).end();
  });
  return {
    close,
    seen: (what, prefix, count) =>
      new Promise((resolve, reject) => {
        const names = new Set<string>();
        const timer = setTimeout(
          () => reject(new Error(`${names.size} of ${count} pods were ${what} in ${TIMEOUT_MS / 1000} s`)),
          TIMEOUT_MS,
        );
        const listener = ({ type, object }: PodEvent): void => {
          const ready = object.status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True') === true;
          if (!object.metadata.name.startsWith(prefix) || (what === 'Ready' ? !ready : type !== 'DELETED')) return;
          names.add(object.metadata.name);
          if (names.size < count) return;
          clearTimeout(timer);
          listeners.delete(listener);
          resolve(performance.now());
        };
        listeners.add(listener);
      }),
  };
}
