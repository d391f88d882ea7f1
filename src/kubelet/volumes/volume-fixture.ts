/** A volume manager on a simulated host, for tests. */
import { secondsToMs } from '../../api/int64.ts';
import type { Pod, Volume } from '../../api/gen/core-v1.ts';
import { Nodes } from '../../api/gen/resources.ts';
import { formatTime } from '../../api/time.ts';
import { createFakeSockets, type FakeSockets } from '../../grpc/grpc-connector-fixture.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import { createFakeClient, type FakeClient } from './client-fixture.ts';
import type { PluginHandler } from '../plugin-manager/plugin-manager.ts';
import { createObjectCache, type WatchingObjectCache } from './object-cache.ts';
import type { VolumeManager } from './volume-manager-contract.ts';
import { createVolumeManager } from './volume-manager.ts';

/** The kubelet's root of the fixture. */
export const FIXTURE_ROOT = '/var/lib/kubelet';

/** All parts of it. */
export interface VolumeFixture {
  readonly platform: SimPlatform;
  readonly client: FakeClient;
  readonly objects: WatchingObjectCache;
  readonly manager: VolumeManager;
  readonly events: string[];
  /** Requested tokens: `audience/expirationSeconds`. */
  readonly tokenRequests: string[];
  /** Makes token requests fail while set. */
  tokenError: Error | undefined;
  pods: Pod[];
  sourcesReady: boolean;
  start(): void;
  stop(): void;
  readonly sockets: FakeSockets;
  /** The handler for calls of the plugin manager. */
  readonly csiHandler: PluginHandler;
  onNodeStatusChange: () => void;
}

/** What differs between fixtures. */
export interface VolumeFixtureOptions {
  readonly attachesItself?: boolean;
  readonly gitRepo?: boolean;
  /** The client of an earlier fixture, after whose end this one starts. */
  readonly client?: FakeClient;
  readonly sockets?: FakeSockets;
}

/** Makes the fixture; the manager is not started. */
export function createVolumeFixture(
  platform: SimPlatform = createSimPlatform(),
  options: VolumeFixtureOptions = {},
): VolumeFixture {
  const client = options.client ?? createFakeClient();
  const sockets = options.sockets ?? createFakeSockets(platform.clock);
  let csiHandler: PluginHandler | undefined;
  const objects = createObjectCache({ client, platform });
  const controller = new AbortController();
  const events: string[] = [];
  const tokenRequests: string[] = [];
  const manager = createVolumeManager(
    {
      platform,
      client,
      objects,
      recorder: { event: (_target, ...texts) => void events.push(texts.join(' ')) },
      async requestToken(_namespace, serviceAccount, request) {
        if (fixture.tokenError !== undefined) throw fixture.tokenError;
        const { expirationSeconds = 0, audiences = [] } = request.spec ?? {};
        tokenRequests.push(
          `${serviceAccount}/${audiences.join()}/${expirationSeconds}/${request.spec?.boundObjectRef?.uid ?? ''}`,
        );
        const expirationTimestamp = formatTime(platform.clock.nowMs() + secondsToMs(expirationSeconds));
        return { ...request, status: { token: `token-${tokenRequests.length}`, expirationTimestamp } };
      },
      podsLister: () => fixture.pods,
      sourcesReady: () => fixture.sourcesReady,
      ownNode: () => fixture.client.peek(Nodes, { name: 'node-1' }),
      nodeStatusChanged: () => fixture.onNodeStatusChange(),
      plugins: { addHandler: (_type, handler) => void (csiHandler = handler) },
      connectGrpc: sockets.connect,
      node: () => ({ nodeName: 'node-1', hostIps: ['10.0.0.1'], allocatable: { cpu: '4', memory: '8Gi' } }),
    },
    {
      kubeletRoot: FIXTURE_ROOT,
      nodeName: 'node-1',
      attachesItself: options.attachesItself ?? false,
      settings: { pluginDir: '/flex/', gitRepo: options.gitRepo ?? false },
    },
  );
  const fixture: VolumeFixture = {
    platform,
    client,
    objects,
    manager,
    events,
    tokenRequests,
    tokenError: undefined,
    pods: [],
    sourcesReady: true,
    sockets,
    get csiHandler() {
      if (csiHandler === undefined) throw new Error('there is no handler');
      return csiHandler;
    },
    onNodeStatusChange: () => undefined,
    start: () => manager.start(controller.signal),
    stop() {
      controller.abort(new Error('the test is over'));
      objects.stop();
    },
  };
  return fixture;
}

/** A pod whose one container mounts all the volumes. */
export function podWith(
  volumes: readonly Volume[],
  change: { spec?: Pod['spec']; metadata?: Pod['metadata'] } = {},
): Pod {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/mnt/${name}` }));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'default', uid: 'uid-1', ...change.metadata },
    spec: {
      serviceAccountName: 'robot',
      ...change.spec,
      containers: [{ name: 'app', volumeMounts, ...change.spec?.containers?.[0] }],
      volumes: [...volumes],
    },
  };
}

/** Base64 of a text. */
export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
