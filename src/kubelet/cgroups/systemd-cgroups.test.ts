/** Pods' cgroups as slices of a systemd on a bus of the test's own, under virtual time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Cgroups } from '../../platform/cgroups.ts';
import { createSimCgroups, type SimCgroups } from '../../platform/sim/cgroups.ts';
import { createSimPlatform, type SimPlatform } from '../../platform/sim/sim-platform.ts';
import { createDuplexPair } from '../../platform/sim/streams.ts';
import { BusRefusal, serveBus } from '../dbus/bus-fixture.ts';
import type { DbusMessage } from '../dbus/dbus-codec.ts';
import type { DbusValue } from '../dbus/dbus-wire.ts';
import { createSystemBus } from '../dbus/system-bus.ts';
import { createPodContainerManager } from './create-pod-container-manager.ts';
import { createSystemdCgroups } from './systemd-cgroups.ts';
import { childNameOf, parentSliceOf, sliceNameOf } from './systemd-names.ts';

describe('names of slices', () => {
  const cases: { name: string; path: string; unit: string; parent: string }[] = [
    { name: '/', path: '/', unit: '-.slice', parent: '-.slice' },
    { name: '/kubepods', path: '/kubepods.slice', unit: 'kubepods.slice', parent: '-.slice' },
    {
      name: '/kubepods/burstable/pod1-2',
      path: '/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice',
      unit: 'kubepods-burstable-pod1_2.slice',
      parent: 'kubepods-burstable.slice',
    },
    {
      name: '/my-root/kubepods',
      path: '/my_root.slice/my_root-kubepods.slice',
      unit: 'my_root-kubepods.slice',
      parent: 'my_root.slice',
    },
    { name: '/system.slice', path: '/system.slice', unit: 'system.slice', parent: '-.slice' },
    {
      name: '/system.slice/containerd.service',
      path: '/system.slice/containerd.service',
      unit: 'containerd.service',
      parent: 'system.slice',
    },
  ];
  for (const { name, path, unit, parent } of cases) {
    it(name, () => {
      const slice = sliceNameOf(name);
      assert.deepEqual(slice, { unit, path });
      assert.equal(parentSliceOf(slice), parent);
    });
  }

  it('are parsed, and a name that is no slice of ours is unchanged', () => {
    const burstable = sliceNameOf('/kubepods/burstable');
    assert.equal(childNameOf(burstable, 'kubepods-burstable-pod1_2.slice'), 'pod1-2');
    assert.equal(childNameOf(burstable, 'cri-containerd-abc.scope'), 'cri-containerd-abc.scope');
    assert.equal(childNameOf(sliceNameOf('/'), 'kubepods.slice'), 'kubepods');
  });
});

interface Machine {
  readonly platform: SimPlatform;
  readonly files: SimCgroups;
  readonly cgroups: Cgroups;
  /** Units that are there, with their properties. */
  readonly units: Map<string, Map<string, DbusValue>>;
  readonly calls: string[];
  /** The number of replies in which a unit is still activating. */
  activating: number;
  drop(): void;
}

function machine(): Machine {
  const platform = createSimPlatform();
  const files = createSimCgroups('');
  let drop = (): void => undefined;
  platform.net.dial = async ({ unixPath }) => {
    assert.equal(unixPath, '/run/dbus/system_bus_socket');
    const [ours, theirs] = createDuplexPair();
    drop = () => theirs.destroy();
    serveBus(theirs, (message) => answer(made, message)).catch(() => undefined); // The test closes the connection.
    return ours;
  };
  const bus = createSystemBus(platform, { uid: 0, signal: new AbortController().signal });
  const cgroups = createSystemdCgroups({ cgroups: files, clock: platform.clock, bus });
  const made: Machine = {
    platform,
    files,
    cgroups,
    units: new Map(),
    calls: [],
    activating: 0,
    drop: () => drop(),
  };
  return made;
}

function answer(made: Machine, { member = '', path = '', body }: DbusMessage): readonly [string, readonly DbusValue[]] {
  if (member === 'Hello') return ['s', [':1.1']];
  if (member === 'LoadUnit') return ['o', [`/unit/${Buffer.from(String(body[0])).toString('hex')}`]];
  if (member === 'Get') {
    const unit = Buffer.from(path.slice('/unit/'.length), 'hex').toString();
    const state = !made.units.has(unit) ? 'inactive' : made.activating-- > 0 ? 'activating' : 'active';
    return ['v', [['s', state]]];
  }
  const unit = String(body[0]);
  made.calls.push(`${member} ${unit}`);
  const known = made.units.get(unit);
  if (member === 'StartTransientUnit') {
    if (known !== undefined) throw new BusRefusal('org.freedesktop.systemd1.UnitExists');
    made.units.set(unit, new Map(body[2] as unknown as [string, DbusValue][]));
    return ['o', ['/job/1']];
  }
  if (known === undefined) throw new BusRefusal('org.freedesktop.systemd1.NoSuchUnit');
  if (member === 'SetUnitProperties')
    for (const [name, value] of body[2] as unknown as [string, DbusValue][]) known.set(name, value);
  if (member === 'StopUnit') made.units.delete(unit);
  return ['', []];
}

const limitsOf = (made: Machine, unit: string): object =>
  Object.fromEntries(
    [...(made.units.get(unit) ?? [])].filter(([name]) => /Max|Weight|Quota|Shares|Limit|Wants/.test(name)),
  );

describe('cgroups by systemd', () => {
  it('are slices with limits in the properties of systemd and in the files', async () => {
    const made = machine();
    made.activating = 3;
    const resources = {
      memoryMaxBytes: 2 ** 30,
      cpuShares: 1024,
      cpuQuotaUs: 12_345,
      cpuPeriodUs: 100_000,
      pidsMax: 7,
    };
    await made.platform.clock.drive(made.cgroups.create('/kubepods/pod1-2', resources));
    assert.deepEqual(limitsOf(made, 'kubepods-pod1_2.slice'), {
      Wants: ['kubepods.slice'],
      MemoryMax: 2n ** 30n,
      CPUWeight: 100n,
      CPUQuotaPerSecUSec: 130_000n,
      TasksMax: 7n,
    });
    const directory = made.files.groups.get('/kubepods.slice/kubepods-pod1_2.slice');
    assert.deepEqual(directory?.resources, resources);
    assert.equal(made.cgroups.criParent('/kubepods/pod1-2'), 'kubepods-pod1_2.slice');
    assert.equal(await made.cgroups.exists('/kubepods/pod1-2'), true);
    assert.deepEqual(await made.cgroups.children('/kubepods'), ['pod1-2']);
    await made.platform.clock.drive(
      made.cgroups.update('/kubepods/pod1-2', { cpuQuotaUs: 'max', cpuPeriodUs: 50_000, memoryMaxBytes: 'max' }),
    );
    const infinity = 2n ** 64n - 1n;
    assert.deepEqual(limitsOf(made, 'kubepods-pod1_2.slice'), {
      Wants: ['kubepods.slice'],
      MemoryMax: infinity,
      CPUWeight: 100n,
      CPUQuotaPerSecUSec: infinity,
      CPUQuotaPeriodUSec: 50_000n,
      TasksMax: 7n,
    });
    await made.platform.clock.drive(made.cgroups.destroy('/kubepods/pod1-2'));
    assert.equal(made.units.size, 0);
    assert.equal(await made.cgroups.exists('/kubepods/pod1-2'), false);
    await made.platform.clock.drive(made.cgroups.destroy('/kubepods/pod1-2'));
  });

  it('are adopted where they exist, and requested again over a new connection', async () => {
    const made = machine();
    await made.platform.clock.drive(made.cgroups.create('/kubepods', { memoryMaxBytes: 1 }));
    made.drop();
    await made.platform.clock.settle();
    await made.platform.clock.drive(made.cgroups.create('/kubepods', { memoryMaxBytes: 2 }));
    assert.deepEqual(limitsOf(made, 'kubepods.slice'), { MemoryMax: 2n });
    assert.deepEqual(made.calls, [
      'StartTransientUnit kubepods.slice',
      'StartTransientUnit kubepods.slice',
      'SetUnitProperties kubepods.slice',
    ]);
  });

  it('contain pods by QoS class, under the names that the runtime gets', async () => {
    const made = machine();
    const pod = {
      metadata: { name: 'a', namespace: 'default', uid: '1-2' },
      spec: { containers: [{ name: 'c', resources: { requests: { cpu: '100m' } } }] },
    };
    const manager = createPodContainerManager(
      {
        cgroups: made.cgroups,
        platform: made.platform,
        nodeAllocatable: async () => ({ milliCpu: 2000, memoryBytes: 2 ** 31 }),
        activePods: () => [pod],
      },
      {
        cgroupRoot: '/',
        cgroupsPerQos: true,
        enforceNodeAllocatable: ['pods'],
        enforceCpuLimits: true,
        cpuQuotaPeriodUs: 100_000,
        hugePageSizesBytes: [],
      },
    );
    const stop = new AbortController();
    await made.platform.clock.drive(manager.start(stop.signal));
    await made.platform.clock.drive(manager.ensurePodCgroup(pod));
    assert.deepEqual([...made.units.keys()].toSorted(), [
      'kubepods-besteffort.slice',
      'kubepods-burstable-pod1_2.slice',
      'kubepods-burstable.slice',
      'kubepods.slice',
    ]);
    assert.equal(manager.criParent(pod), 'kubepods-burstable-pod1_2.slice');
    assert.deepEqual(await manager.podUids(), ['1-2']);
    assert.deepEqual(limitsOf(made, 'kubepods.slice'), { MemoryMax: 2n ** 31n, CPUWeight: 174n });
    await made.platform.clock.drive(manager.destroyPodCgroup('1-2'));
    assert.deepEqual(await manager.podUids(), []);
    stop.abort();
  });

  it('fail with the error of the bus', async () => {
    const made = machine();
    made.platform.net.dial = () => Promise.reject(new Error('connect ENOENT /run/dbus/system_bus_socket'));
    await assert.rejects(made.platform.clock.drive(made.cgroups.create('/kubepods', {})), /ENOENT/);
  });
});
