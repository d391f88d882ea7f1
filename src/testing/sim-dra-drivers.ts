/**
 * Drivers of devices on a simulated machine, as dynamic resource allocation has them: programs of their own behind sockets,
 * which register with whatever kubelet there is and go on when it dies. Each gets any claim of its name ready, which takes a
 * moment, and gives it back; what they are told twice they do once. Simulated: the sockets and the devices. What devices
 * there are is the test's to say, in ResourceSlices.
 */
import { GrpcError } from '../grpc/grpc-error.ts';
import type { SocketConnector } from '../grpc/socket-connector.ts';
import type { Clock } from '../platform/clock.ts';

/** The drivers of a machine. */
export interface SimDraDrivers {
  /** The machine's unix sockets, as far as something listens there. */
  readonly connect: SocketConnector;
  /** Where drivers announce themselves: files for a kubelet to find. */
  readonly sockets: readonly string[];
  /** Claims whose devices are ready, each driver's apart: `driver/uid`. */
  readonly ready: ReadonlySet<string>;
  /** The machine has lost its power, and the devices what they were told. What was under way fails, and does nothing more. */
  reset(): void;
}

interface Claims {
  readonly claims: readonly { readonly uid: string }[];
}

type Method = (request: Claims) => object | Promise<object>;

/** A device takes so long to be got ready or given back. */
const WORK_MS = 500;

/** Makes the drivers of these names. */
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
  const servers = new Map(
    names.map((driver) => {
      const socket = `${kubeletRoot}/plugins_registry/${driver}.sock`;
      return [socket, methodsOf(driver, socket)];
    }),
  );
  return {
    sockets: [...servers.keys()],
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
