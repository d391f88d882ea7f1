/** Which driver makes a kubelet's cgroups. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import type { RuntimeConfigResponse } from '../../cri/gen/cri-types.ts';
import { completeConfiguration } from '../../kubelet/configuration/fields.ts';
import { BusRefusal, serveBus, type BusAnswer } from '../../kubelet/dbus/bus-fixture.ts';
import { createDuplexPair } from '../../platform/sim/streams.ts';
import { createSimPlatform } from '../../platform/sim/sim-platform.ts';
import { cgroupsByDriver } from './cgroup-driver.ts';

describe('the driver of cgroups', () => {
  const says = (cgroupDriver: 'SYSTEMD' | 'CGROUPFS') => (): RuntimeConfigResponse => ({ linux: { cgroupDriver } });
  const fails = (code: 'Unimplemented' | 'Unavailable') => (): never => {
    throw new CriError(code, 'no');
  };
  const cases: {
    about: string;
    configured: string;
    answers: (() => RuntimeConfigResponse)[];
    parent: string;
  }[] = [
    {
      about: "is the runtime's: systemd",
      configured: 'cgroupfs',
      answers: [says('SYSTEMD')],
      parent: 'kubepods.slice',
    },
    { about: "is the runtime's: files", configured: 'systemd', answers: [says('CGROUPFS')], parent: '/kubepods' },
    {
      about: 'is the configured one where the runtime cannot tell: systemd',
      configured: 'systemd',
      answers: [fails('Unimplemented')],
      parent: 'kubepods.slice',
    },
    {
      about: 'is the configured one where the runtime cannot tell: files',
      configured: 'cgroupfs',
      answers: [fails('Unimplemented')],
      parent: '/kubepods',
    },
    {
      about: 'is asked for again',
      configured: 'cgroupfs',
      answers: [fails('Unavailable'), fails('Unavailable'), says('SYSTEMD')],
      parent: 'kubepods.slice',
    },
    {
      about: 'is the configured one where nobody answers',
      configured: 'systemd',
      answers: [fails('Unavailable'), fails('Unavailable'), fails('Unavailable')],
      parent: 'kubepods.slice',
    },
  ];
  for (const { about, configured, answers, parent } of cases) {
    it(about, async () => {
      const sim = createSimPlatform();
      sim.net.dial = async () => {
        const [ours, theirs] = createDuplexPair();
        serveBus(theirs, () => ['s', [':1.1']]).catch(() => undefined); // It ends with the test.
        return ours;
      };
      const left = answers.values();
      const runtime = { runtimeConfig: async () => left.next().value!() };
      const platform = { ...sim, cgroups: { ...sim.cgroups, criParent: (name: string) => name } };
      const config = completeConfiguration({ cgroupDriver: configured });
      const { signal } = new AbortController();
      const cgroups = await sim.clock.drive(cgroupsByDriver({ platform, cri: { runtime } }, config, signal));
      assert.equal(cgroups.criParent('/kubepods'), parent);
      assert.equal(left.next().done, true);
    });
  }

  it('ends the start where systemd cannot be reached', async () => {
    const platform = createSimPlatform();
    const runtime = { runtimeConfig: async () => says('SYSTEMD')() };
    await assert.rejects(
      platform.clock.drive(
        cgroupsByDriver({ platform, cri: { runtime } }, completeConfiguration({}), new AbortController().signal),
      ),
      /^PreflightError: cgroup driver systemd: the system bus cannot be reached: /,
    );
  });

  /** A machine with a bus; `far` records the state of its connections. */
  function machine(hello: () => ReturnType<BusAnswer>) {
    const sim = createSimPlatform();
    const far: ('open' | 'over')[] = [];
    sim.net.dial = async () => {
      const [ours, theirs] = createDuplexPair();
      const at = far.push('open') - 1;
      const over = (): void => void (far[at] = 'over');
      serveBus(theirs, hello).then(over, over);
      return ours;
    };
    const lifetime = new AbortController();
    const runtime = { runtimeConfig: async () => says('SYSTEMD')() };
    const start = () =>
      sim.clock.drive(cgroupsByDriver({ platform: sim, cri: { runtime } }, completeConfiguration({}), lifetime.signal));
    return { sim, far, lifetime, start };
  }

  it('leaves no connection to systemd behind, and makes none after', async () => {
    const { sim, far, lifetime, start } = machine(() => ['s', [':1.1']]);
    const cgroups = await start();
    await sim.clock.settle();
    assert.deepEqual(far, ['open']);
    lifetime.abort(new Error('the kubelet is stopping'));
    await sim.clock.settle();
    assert.deepEqual(far, ['over']);
    await assert.rejects(sim.clock.drive(cgroups.destroy('/kubepods')), /the kubelet is stopping/);
    assert.equal(far.length, 1);
  });

  it('leaves no connection behind where systemd refuses it', async () => {
    const { sim, far, start } = machine(() => {
      throw new BusRefusal('org.freedesktop.DBus.Error.AccessDenied');
    });
    await assert.rejects(start(), /the system bus cannot be reached: .*AccessDenied/);
    await sim.clock.settle();
    assert.deepEqual(far, ['over']);
  });

  it('aborts a connection that is being opened', async () => {
    const { sim, lifetime, start } = machine(() => ['s', []]);
    let isOver = false;
    sim.net.dial = async () => {
      const [ours, theirs] = createDuplexPair();
      const listen = async (): Promise<void> => {
        // The bus never answers.
        for await (const _ of theirs.incoming) lifetime.abort(new Error('the kubelet is stopping'));
      };
      const over = (): void => void (isOver = true);
      listen().then(over, over);
      return ours;
    };
    await assert.rejects(start(), /the system bus cannot be reached: the kubelet is stopping/);
    await sim.clock.settle();
    assert.equal(isOver, true);
  });
});
