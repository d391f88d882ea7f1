/** Probes and hooks against servers that stall, drip or never end: one deadline holds for head and body. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HttpAnswer, Net } from '../../platform/net.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import { createHookRunner } from '../lifecycle/hooks.ts';
import { probeHttp } from './http-probe.ts';

const kib = new Uint8Array(1024).fill(0x78);

/** Bodies that a server may send. */
const bodies: Readonly<Record<string, (platform: SimPlatform) => AsyncIterable<Uint8Array>>> = {
  async *stalls() {
    yield kib;
    await new Promise(() => undefined);
  },
  async *drips({ clock }) {
    for (;;) {
      await clock.sleep(400);
      yield new Uint8Array(1);
    }
  },
  async *endless() {
    for (;;) yield kib;
  },
  async *short() {
    yield kib;
  },
};

function serving(name: string): {
  readonly platform: SimPlatform;
  readonly net: Net;
  readonly cancelled: () => number;
} {
  const platform = createSimPlatform();
  let cancels = 0;
  const answer: HttpAnswer = { status: 200, headers: {}, body: bodies[name]!(platform), cancel: () => void cancels++ };
  return { platform, net: { http: async () => answer } as unknown as Net, cancelled: () => cancels };
}

describe('a body of an untrusted server', () => {
  const expected: Readonly<Record<string, 'late' | 'done'>> = {
    stalls: 'late',
    drips: 'late',
    endless: 'done',
    short: 'done',
  };
  for (const [name, end] of Object.entries(expected)) {
    it(`that is ${name}: the probe ${end === 'late' ? 'fails at its deadline' : 'succeeds at once'}`, async () => {
      const { platform, net, cancelled } = serving(name);
      const { clock } = platform;
      const target = {
        action: { path: '/', port: 80 },
        container: { name: 'c' },
        podIp: '10.0.0.9',
        timeoutMs: 1000,
      };
      const startMs = clock.monotonicMs();
      const outcome = await clock.drive(probeHttp({ net, clock }, target));
      assert.equal(clock.monotonicMs() - startMs, end === 'late' ? 1000 : 0);
      assert.equal(outcome.result, end === 'late' ? 'failure' : 'success');
      if (end === 'late') assert.match(outcome.output, /context deadline exceeded .*while reading body/);
      else assert.equal(outcome.output.length, name === 'endless' ? 10 * 1024 : 1024);
      assert.equal(cancelled(), 1);
    });

    it(`that is ${name}: the hook ${end === 'late' ? 'fails at its deadline' : 'succeeds at once'}`, async () => {
      const { platform, net, cancelled } = serving(name);
      const { clock } = platform;
      const execSync = async (): Promise<never> => Promise.reject(new Error('no'));
      const hooks = createHookRunner({ clock, net, execSync, podIp: async () => '10.0.0.9' });
      const startMs = clock.monotonicMs();
      const run = hooks.run({
        pod: { metadata: { name: 'p', namespace: 'd', uid: 'u' } },
        container: { name: 'c' },
        containerId: 'id',
        handler: { httpGet: { path: '/', port: 80 } },
      });
      if (end === 'late') await assert.rejects(clock.drive(run), /context deadline exceeded .*while reading body/);
      else await clock.drive(run);
      assert.equal(clock.monotonicMs() - startMs, end === 'late' ? 30_000 : 0);
      assert.equal(cancelled(), 1);
    });
  }
});
