/**
 * What a serving process may have its parent open. A primary of Node's cluster opens whatever its worker asks for: unix sockets
 * in folders of root's, where the kubelet looks for plugins, and descriptors of its own.
 */
import type { ChildProcess } from 'node:child_process';

/** What a worker sends to have a socket opened. */
interface OpenRequest {
  readonly act?: unknown;
  readonly address?: unknown;
  readonly port?: unknown;
  readonly addressType?: unknown;
  readonly fd?: unknown;
}

/** Ports of TCP on all addresses, and the control socket. */
export function isAllowedRequest(message: OpenRequest, controlPath: string): boolean {
  const { act, address, port, addressType, fd = null } = message;
  // Node.js looks its handler up by the value, for which `['queryServer']` is the same key.
  if (act !== undefined && typeof act !== 'string') return false;
  if (act !== 'queryServer') return true;
  if (fd !== null) return false;
  if (addressType === -1) return port === -1 && address === controlPath;
  const isPort = Number.isInteger(port) && Number(port) > 0 && Number(port) <= 0xffff;
  return (addressType === 4 || addressType === 6) && isPort && (address ?? null) === null;
}

/** Calls back in place of a request that is not allowed. */
export function filterRequests(worker: ChildProcess, controlPath: string, onRefused: () => void): void {
  const event = 'internalMessage';
  const listeners = worker.rawListeners(event);
  worker.removeAllListeners(event);
  worker.on(event, (message: OpenRequest, ...others: unknown[]) => {
    if (!isAllowedRequest(message, controlPath)) return onRefused();
    for (const listener of listeners) listener.call(worker, message, ...others);
  });
}
