/** Which driver makes a kubelet's cgroups. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CriError } from '../cri/cri-error.ts';
import type { RuntimeConfigResponse } from '../cri/gen/cri-types.ts';
import { completeConfiguration } from '../kubelet/configuration/fields.ts';
import { serveBus } from '../kubelet/dbus/bus-fixture.ts';
import { createDuplexPair } from '../platform/sim/streams.ts';
import { createSimPlatform } from '../platform/sim/sim-platform.ts';
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
      const cgroups = await sim.clock.drive(cgroupsByDriver({ platform, cri: { runtime } }, config));
      assert.equal(cgroups.criParent('/kubepods'), parent);
      assert.equal(left.next().done, true);
    });
  }

  it('ends the start where systemd cannot be reached', async () => {
    const platform = createSimPlatform();
    const runtime = { runtimeConfig: async () => says('SYSTEMD')() };
    await assert.rejects(
      platform.clock.drive(cgroupsByDriver({ platform, cri: { runtime } }, completeConfiguration({}))),
      /^PreflightError: cgroup driver systemd: the system bus cannot be reached: /,
    );
  });
});
