/**
 * This machine's network for a simulated cluster: servers of the test on loopback ports. Virtual time stands during a request,
 * from its head to the end of the response. Loaded at the first call.
 */
import type { Clock } from '../platform/clock.ts';
import type { HttpAnswer, HttpCall, HttpUpgrade } from '../platform/net.ts';
import type { NodeNet } from '../platform/node/net.ts';
import type { RealNet } from '../platform/sim/net.ts';

/** The network, and a function that closes its kept connections. */
export interface TestNet extends RealNet {
  close(): void;
}

export function createTestNet(clock: Clock): TestNet {
  let loaded: Promise<NodeNet> | undefined;
  const load = (): Promise<NodeNet> =>
    (loaded ??= import('../platform/node/net.ts').then(({ createNodeNet }) => createNodeNet()));
  const held = async <T>(what: string, work: (net: NodeNet) => Promise<T>): Promise<T> => {
    const release = clock.holdBusy(what);
    try {
      return await work(await load());
    } finally {
      release();
    }
  };
  const exchange = async <T extends HttpAnswer | HttpUpgrade>(
    call: HttpCall,
    send: (net: NodeNet) => Promise<T>,
  ): Promise<T> => {
    const release = clock.holdBusy(`${call.method} ${call.url}`);
    try {
      const answer = await send(await load());
      if (!('body' in answer)) {
        release();
        return answer;
      }
      return { ...answer, ...heldAnswer(answer, release) };
    } catch (error) {
      release();
      throw error;
    }
  };
  return {
    http: (call) => exchange(call, (net) => net.http(call)),
    upgrade: (call) => exchange(call, (net) => net.upgrade(call)),
    dial: (target) => held(`a connection to port ${target.port}`, (net) => net.dial(target)),
    close: () => void loaded?.then((net) => net.close()),
  };
}

function heldAnswer(answer: HttpAnswer, release: () => void): Pick<HttpAnswer, 'body' | 'cancel'> {
  return {
    body: releasing(answer.body, release),
    cancel() {
      release();
      answer.cancel();
    },
  };
}

async function* releasing(body: AsyncIterable<Uint8Array>, release: () => void): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } finally {
    release();
  }
}
