/** The client of a process that has no API server. */
import type { Clock } from '../platform/clock.ts';
import type { Client } from './client.ts';
import { createTransportClient, type ClientTransport } from './transport-client.ts';

/** All requests of the client reject with an Error of this text. */
export function createAbsentClient(clock: Clock, reason: string): Client {
  const refuse = (): never => {
    throw new Error(reason);
  };
  const transport: ClientTransport = {
    call: async () => refuse(),
    // oxlint-disable-next-line require-yield -- it refuses at the first step
    watch: async function* () {
      refuse();
    },
    raw: async () => refuse(),
    upgrade: async () => refuse(),
  };
  return createTransportClient(transport, clock);
}
