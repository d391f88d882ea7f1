/**
 * A copy of a request for another backend, whose answer is read and dropped. It holds up nothing: a mirror that does not keep
 * pace with the request's body is given up.
 */
import type { BackendRequest, BodyTarget } from './backends/backend-call.ts';
import type { Backends } from './backends/backends.ts';
import type { Backend } from '../snapshot/snapshot.ts';

const MAX_PENDING_BYTES = 256 * 1024;

export interface Mirror {
  write(chunk: Buffer): void;
  end(): void;
}

/** Sends the head now; `write` and `end` are for a request with a body. */
export function startMirror(
  backends: Backends,
  backend: Backend,
  { clientAddress, ...request }: Omit<BackendRequest, 'sendBody'> & { readonly clientAddress: string },
): Mirror {
  const [endpoint] = backends.order(backend, clientAddress);
  if (endpoint === undefined) return { write: () => undefined, end: () => undefined };
  let target: BodyTarget | undefined;
  let pending: Buffer[] = [];
  let pendingBytes = 0;
  let isEnded = false;
  let isBlocked = false;
  const flush = (): void => {
    if (target === undefined || isBlocked) return;
    for (const chunk of pending) isBlocked = !target.write(chunk) || isBlocked;
    [pending, pendingBytes] = [[], 0];
    if (isEnded) target.end([]);
  };
  const sendBody = (opened: BodyTarget): void => {
    target = opened;
    opened.onDrain(() => {
      isBlocked = false;
      flush();
    });
    flush();
  };
  const call = backends.call(endpoint, { ...request, sendBody }, backend);
  call.answer.then(
    ({ body }) => {
      body.on('error', () => undefined);
      body.resume();
    },
    () => backends.failed(endpoint),
  );
  return {
    write(chunk) {
      pending.push(chunk);
      pendingBytes += chunk.length;
      if (pendingBytes > MAX_PENDING_BYTES) call.cancel();
      else flush();
    },
    end() {
      isEnded = true;
      flush();
    },
  };
}
