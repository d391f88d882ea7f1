// The checks of a kubelet: it is healthy, its pod runs, its sockets respond, and a new pod starts and ends.
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createGrpcConnector } from '../../../src/grpc/grpc-connector.ts';
import { podResourcesTable } from '../../../src/kubelet/pod-resources/pod-resources-api.ts';
import { createNodeClock } from '../../../src/platform/node/clock.ts';
import { createNodeLog } from '../../../src/platform/node/log.ts';
import type { Problem } from '../oracles/answers.ts';
import { startTime, unexpectedErrors } from '../oracles/process.ts';
import type { Peers } from '../peers/steady-peers.ts';
import type { Access } from '../transports/access.ts';
import { OwnClient } from './own-client.ts';
import type { Checks } from './target.ts';

export const NODE = 'fuzzed';

const PODS = '/api/v1/namespaces/fuzz/pods';
const STEADY = 'steady';
const DEADLINE_MS = 60_000;

interface Places {
  readonly server: Access;
  readonly kubelet: Access;
  readonly peers: Peers;
  readonly root: string;
}

interface PodObject {
  readonly metadata: { readonly name: string };
  readonly spec?: { readonly nodeName?: string };
  readonly status?: {
    readonly phase?: string;
    readonly containerStatuses?: readonly { readonly containerID?: string; readonly restartCount?: number }[];
  };
}

/** A pod of the node with a device and a CSI volume; `spec` replaces fields. */
export function podOf(name: string): object {
  return {
    metadata: { name },
    spec: {
      nodeName: NODE,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers: [
        {
          name: 'c',
          image: 'i:1',
          imagePullPolicy: 'IfNotPresent',
          resources: { limits: { 'steady.example/device': '1' } },
          volumeMounts: [{ name: 'v', mountPath: '/v' }],
        },
      ],
      volumes: [{ name: 'v', csi: { driver: 'steady.example' } }],
      tolerations: [{ operator: 'Exists' }],
    },
  };
}

async function until(what: string, condition: () => Promise<unknown>): Promise<void> {
  const deadlineMs = performance.now() + DEADLINE_MS;
  let last: unknown;
  while (performance.now() < deadlineMs) {
    try {
      last = await condition();
      if (last === true) return;
    } catch (error) {
      last = error;
    }
    await pause(100);
  }
  throw new Error(`not within a minute: ${what}: ${String(last)}`);
}

/** A token of the namespace's service account. */
export async function accountToken(server: Access): Promise<string> {
  const client = new OwnClient(server);
  const path = '/api/v1/namespaces/fuzz/serviceaccounts/default/token';
  const { body } = await client.send('POST', path, { spec: { expirationSeconds: 86_400 } });
  client.close();
  return (body['status'] as { token: string }).token;
}

export function kubeletChecks({ server, kubelet, peers, root }: Places): Checks {
  const [api, own] = [new OwnClient(server), new OwnClient(kubelet)];
  const connect = createGrpcConnector(createNodeClock(createNodeLog({ level: 'error' })));
  const resources = connect(join(root, 'pod-resources/kubelet.sock'), [podResourcesTable]);
  const phaseOf = async (name: string): Promise<string> => {
    const { status, body } = await api.send('GET', `${PODS}/${name}`);
    return status === 404 ? 'gone' : ((body as unknown as PodObject).status?.phase ?? '');
  };
  const ends = async (name: string, phases: readonly string[]): Promise<string> => {
    let phase = '';
    await until(`pod ${name} is ${phases.join(' or ')}`, async () => {
      phase = await phaseOf(name);
      return phases.includes(phase) || phase;
    });
    return phase;
  };
  const has = async (name: string, phase: string): Promise<void> => void (await ends(name, [phase]));
  const hasDevices = (): Promise<void> =>
    until('the node has its devices', async () => {
      const { body } = await api.send('GET', `/api/v1/nodes/${NODE}`);
      const { allocatable = {} } = body['status'] as { allocatable?: Record<string, string> };
      return allocatable['steady.example/device'] === '100' ? true : JSON.stringify(allocatable);
    });
  const remove = async (name: string): Promise<void> => {
    await api.send('DELETE', `${PODS}/${name}?gracePeriodSeconds=0`);
    await has(name, 'gone');
  };
  const ready = async (): Promise<void> => {
    await until('the kubelet is healthy', async () => (await own.send('GET', '/healthz')).status === 200);
    await peers.servePlugins(root);
    await hasDevices();
  };
  return {
    ready,
    async prepare() {
      peers.behave();
      await api.send('POST', '/apis/storage.k8s.io/v1/csidrivers', {
        metadata: { name: 'steady.example' },
        spec: { attachRequired: false, volumeLifecycleModes: ['Ephemeral'] },
      });
      await api.send('POST', PODS, podOf(STEADY));
      await has(STEADY, 'Running');
    },
    async serves() {
      const health = await own.send('GET', '/healthz');
      if (health.status !== 200) throw new Error(`/healthz answers ${health.status}: ${JSON.stringify(health.body)}`);
      const { body } = await own.send('GET', '/pods');
      const pods = body['items'] as readonly PodObject[];
      if (!pods.some(({ metadata }) => metadata.name === STEADY)) throw new Error('/pods does not list the steady pod');
      const method = { service: 'v1.PodResourcesLister', method: 'Get' };
      const request = { podName: STEADY, podNamespace: 'fuzz' };
      const answer = await resources.unary(method, request, { timeoutMs: 20_000 });
      if (!JSON.stringify(answer).includes('steady.example/device')) throw new Error('the steady pod has no device');
    },
    async works() {
      peers.behave();
      await peers.servePlugins(root); // a device plugin whose connection broke registers again
      await hasDevices();
      await api.send('DELETE', `${PODS}?labelSelector=fuzz&gracePeriodSeconds=0`);
      await has(STEADY, 'Running');
      // The first attempt may meet a plugin that is ending, and fail because its device is missing.
      await until('a new pod runs', async () => {
        await remove('works');
        await api.send('POST', PODS, podOf('works'));
        return ends('works', ['Running', 'Failed']).then((phase) => phase === 'Running' || phase);
      });
      await remove('works');
    },
    startTime: () => startTime(own),
    async problems(): Promise<Problem[]> {
      return unexpectedErrors(own);
    },
    async sample() {
      const { body } = await api.send('GET', PODS);
      const pods = (body['items'] as readonly PodObject[]).filter(({ metadata }) => metadata.name === STEADY);
      const runs = ({ status }: PodObject): object =>
        (status?.containerStatuses ?? []).map(({ containerID, restartCount }) => ({ containerID, restartCount }));
      return new Map(pods.map((pod) => [pod.metadata.name, runs(pod)]));
    },
    differences: (before, after) =>
      JSON.stringify([...before]) === JSON.stringify([...after])
        ? []
        : [{ signature: 'after a restart: the steady pod', detail: JSON.stringify([[...before], [...after]]) }],
    close() {
      api.close();
      own.close();
      resources.disconnect();
    },
  };
}
