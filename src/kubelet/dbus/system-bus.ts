/**
 * The system's D-Bus message bus: connects at the first call, and again after the connection has broken; the signal
 * closes it.
 */
import { onAbort } from '../../base/abort.ts';
import type { Net } from '../../platform/net.ts';
import { connectDbus, type DbusConnection } from './dbus-connection.ts';

/** systemd's path of the socket. */
export const SYSTEM_BUS = '/run/dbus/system_bus_socket';

/** The address of the bus, and the user that connects. */
export interface SystemBusConfig {
  readonly uid: number;
  readonly socket?: string;
  /** Closes the connection; calls are rejected from then on. */
  readonly signal: AbortSignal;
}

/** Shares one connection among all callers. Rejects when there is no bus or it refuses us; the next call tries again. */
export function createSystemBus(
  { net }: { readonly net: Pick<Net, 'dial'> },
  { uid, socket = SYSTEM_BUS, signal }: SystemBusConfig,
): () => Promise<DbusConnection> {
  let current: Promise<DbusConnection> | undefined;
  const connect = async (): Promise<DbusConnection> => {
    try {
      signal.throwIfAborted();
      const stream = await net.dial({ unixPath: socket, signal });
      const close = (): void => stream.destroy(signal.reason as Error);
      const over = onAbort(signal, close);
      if (signal.aborted) close();
      const connection = await connectDbus(stream, { uid, onSignal: () => undefined }).catch((error: Error) => {
        over();
        throw error;
      });
      const end = (): void => {
        over();
        forget();
      };
      connection.closed.then(end, end);
      return connection;
    } catch (error) {
      forget();
      throw error;
    }
  };
  const forget = (): void => {
    current = undefined;
  };
  return () => (current ??= connect());
}
