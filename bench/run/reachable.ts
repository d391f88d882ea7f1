// From an endpoint's readiness to the first connection through its Service: status, EndpointSlice, rule in the kernel.
import { connect } from 'node:net';

import { demoObjects } from '../../tools/up/demo.ts';
import type { BenchInstance } from './instance.ts';
import { expectSuccess, watchPods } from './pods.ts';
import { sleep } from './wait.ts';

const PODS = '/api/v1/namespaces/default/pods';
const SERVICES = '/api/v1/namespaces/default/services';
const labels = { app: 'reachable' };

/**
 * Milliseconds from the Ready event to an accepted connection, for several pods one after the other, each the only endpoint of a
 * Service. The demo's image must be imported.
 */
export async function readyToReachableMs(instance: BenchInstance, rounds: number): Promise<number[]> {
  const client = instance.client();
  const ports = [{ port: 80, targetPort: demoPort() }];
  const body = {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'reachable' },
    spec: { selector: labels, ports },
  };
  await expectSuccess(client, 'POST', { path: SERVICES, body });
  const { body: made } = await client.send(`${SERVICES}/reachable`);
  const address = (made as { spec: { clusterIP: string } }).spec.clusterIP;
  const watch = await watchPods(instance);
  try {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const name = `reachable-${round}`;
      const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name, labels }, spec: demoPodSpec() };
      const ready = watch.seen('Ready', name, 1);
      await expectSuccess(client, 'POST', { path: PODS, body: pod });
      const readyMs = await ready;
      while (!(await accepts(address))) await sleep(1);
      times.push(performance.now() - readyMs);
      const gone = watch.seen('DELETED', name, 1);
      await expectSuccess(client, 'DELETE', { path: `${PODS}/${name}` });
      await gone;
      while (await accepts(address)) await sleep(10);
    }
    return times;
  } finally {
    watch.close();
    await client.send(`${SERVICES}/reachable`, { method: 'DELETE' });
  }
}

interface DemoTemplate {
  readonly spec: { readonly template: { readonly spec: DemoPod } };
}

interface DemoPod {
  readonly containers: readonly { readonly ports?: readonly { readonly containerPort: number }[] }[];
}

function demoPodSpec(): DemoPod & { readonly terminationGracePeriodSeconds: number } {
  const deployment = demoObjects().find(({ kind }) => kind === 'Deployment') as unknown as DemoTemplate;
  return { ...deployment.spec.template.spec, terminationGracePeriodSeconds: 1 };
}

function demoPort(): number {
  return demoPodSpec().containers[0]?.ports?.[0]?.containerPort ?? 80;
}

/** Without an endpoint the proxy rejects packets, so connections are refused at once. */
function accepts(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port: 80, timeout: 1000 });
    const end = (accepted: boolean) => (): void => {
      socket.destroy();
      resolve(accepted);
    };
    socket.on('connect', end(true)).on('error', end(false)).on('timeout', end(false));
  });
}
