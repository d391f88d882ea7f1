/**
 * Drivers of devices on a simulated machine for dynamic resource allocation: programs behind sockets, which register with any
 * kubelet and outlive it. Each prepares any claim for its devices, which takes a moment, and unprepares it; a repeated call has
 * no further effect. Sockets and devices are simulated. Tests define the devices by ResourceSlices; the drivers only publish
 * deleted slices again.
 */
import type { ResourceSlice } from '../api/gen/resource-v1.ts';
import { ResourceSlices } from '../api/gen/resources.ts';
import { isReason } from '../api/status-error.ts';
import { createBackoff } from '../base/backoff.ts';
import { createInformerFactory, type InformerFactoryDeps } from '../client/informer-factory.ts';
import { GrpcError } from '../grpc/grpc-error.ts';
import type { GrpcConnector } from '../grpc/grpc-connector.ts';
import { sleepUnlessAborted, type Clock } from '../platform/clock.ts';

/** The drivers of a machine. */
export interface SimDraDrivers {
  /** Connects to the machine's unix sockets that have a listener. */
  readonly connect: GrpcConnector;
  /** The registration sockets, as files for a kubelet to find. */
  readonly sockets: readonly string[];
  readonly socketOf: (driver: string) => string;
  /** Prepared claims for each driver: `driver/uid`. */
  readonly ready: ReadonlySet<string>;
  /** The machine has lost its power, and the devices their state. Pending calls fail without further effect. */
  reset(): void;
}

interface Claims {
  readonly claims: readonly { readonly uid: string }[];
}

type Method = (request: Claims) => object | Promise<object>;

/** The time for preparing or unpreparing a device. */
const WORK_MS = 500;

/** Creates the drivers with these names. */
export function createSimDraDrivers(clock: Clock, names: readonly string[], kubeletRoot: string): SimDraDrivers {
  const ready = new Set<string>();
  let boots = 0;
  const each = async (claims: Claims['claims'], work: (uid: string) => object): Promise<object> => {
    const boot = boots;
    await clock.sleep(WORK_MS);
    if (boot !== boots) throw new GrpcError('Unavailable', 'error reading from server: EOF');
    return { claims: Object.fromEntries(claims.map(({ uid }) => [uid, { error: '', ...work(uid) }])) };
  };
  const methodsOf = (driver: string, endpoint: string): Readonly<Record<string, Method>> => ({
    GetInfo: () => ({ type: 'DRAPlugin', name: driver, endpoint, supportedVersions: ['v1.DRAPlugin'] }),
    NotifyRegistrationStatus: () => ({}),
    NodePrepareResources: ({ claims }) =>
      each(claims, (uid) => {
        ready.add(`${driver}/${uid}`);
        const cdiDeviceIds = [`${driver}/claim=${uid}`];
        return { devices: [{ requestNames: [], poolName: driver, deviceName: uid, cdiDeviceIds }] };
      }),
    NodeUnprepareResources: ({ claims }) =>
      each(claims, (uid) => {
        ready.delete(`${driver}/${uid}`);
        return {};
      }),
  });
  const socketOf = (driver: string): string => `${kubeletRoot}/plugins_registry/${driver}.sock`;
  const servers = new Map(
    names.map((driver) => {
      const socket = socketOf(driver);
      return [socket, methodsOf(driver, socket)];
    }),
  );
  return {
    sockets: [...servers.keys()],
    socketOf,
    ready,
    reset() {
      boots++;
      ready.clear();
    },
    connect: (socketPath) => ({
      async unary({ method }, request) {
        const run = servers.get(socketPath)?.[method];
        if (run === undefined) throw new GrpcError('Unavailable', `connect ENOENT ${socketPath}`, { sent: false });
        return await run(request as Claims);
      },
      stream() {
        throw new GrpcError('Unimplemented', 'drivers of devices have no streams');
      },
      disconnect: () => undefined,
    }),
  };
}

/**
 * Publishes slices of the node again after their deletion, as drivers do and as starting kubelets rely on: once `runs` reports
 * that the driver's program runs and the API server responds. Continues until the signal aborts.
 */
export function keepSlices(
  deps: InformerFactoryDeps & { readonly runs: (driver: string) => Promise<boolean> },
  nodeName: string,
  signal: AbortSignal,
): void {
  const { client, clock } = deps;
  const publish = async ({ apiVersion, kind, metadata, spec }: ResourceSlice): Promise<void> => {
    const { name, labels = {} } = metadata;
    const slice = { apiVersion, kind, metadata: { name, labels }, spec } as ResourceSlice;
    const backoff = createBackoff({ initialMs: 1000, maxMs: 30_000 });
    while (!signal.aborted) {
      try {
        if (await deps.runs(spec.driver)) return void (await client.resource(ResourceSlices).create(slice, { signal }));
      } catch (error) {
        if (isReason(error, 'AlreadyExists')) return;
      }
      await sleepUnlessAborted(clock, backoff.nextMs(), signal);
    }
  };
  const informers = createInformerFactory(deps);
  const slices = informers.informer(ResourceSlices, { fieldSelector: `spec.nodeName=${nodeName}` });
  slices.addHandler({ onDelete: (slice) => void publish(slice) });
  informers.start(signal);
}
