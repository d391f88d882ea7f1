/**
 * Restricts what a serving process may have its parent open. The primary of Node's cluster module opens whatever its worker
 * requests: unix sockets in root's folders, where the kubelet searches for plugins, and its own descriptors.
 */
import type { ChildProcess } from 'node:child_process';

/** A worker's request to open a socket. */
interface OpenRequest {
  readonly act?: unknown;
  readonly address?: unknown;
  readonly port?: unknown;
  readonly addressType?: unknown;
  readonly fd?: unknown;
}

/** Allowed are TCP ports on all addresses, and the control socket. */
export function isAllowedRequest(message: OpenRequest, controlPath: string): boolean {
  const { act, address, port, addressType, fd = null } = message;
  // Node.js looks up its handler by this value, for which `['queryServer']` is the same key.
  if (act !== undefined && typeof act !== 'string') return false;
  if (act !== 'queryServer') return true;
  if (fd !== null) return false;
  if (addressType === -1) return port === -1 && address === controlPath;
  const isPort = Number.isInteger(port) && Number(port) > 0 && Number(port) <= 0xffff;
  return (addressType === 4 || addressType === 6) && isPort && (address ?? null) === null;
}

/** Calls `onRefused` instead of handling a request that is not allowed. */
export function filterRequests(worker: ChildProcess, controlPath: string, onRefused: () => void): void {
  const event = 'internalMessage';
  const listeners = worker.rawListeners(event);
  worker.removeAllListeners(event);
  worker.on(event, (message: OpenRequest, ...others: unknown[]) => {
    if (!isAllowedRequest(message, controlPath)) return onRefused();
    for (const listener of listeners) listener.call(worker, message, ...others);
  });
}
