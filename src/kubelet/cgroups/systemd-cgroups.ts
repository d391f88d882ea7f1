/**
 * Cgroups created by systemd, for machines whose containers use the systemd cgroup driver: each is a slice, started
 * and limited over D-Bus, so that systemd keeps its limits. Limits without a systemd property are then written to the
 * files, as with the other driver, which also reads. Upstream: opencontainers/cgroups/systemd (v1.go, v2.go).
 */
import { type CgroupResources, type Cgroups, cpuSharesToWeight } from '../../platform/cgroups.ts';
import type { Clock } from '../../platform/clock.ts';
import type { DbusConnection } from '../dbus/dbus-connection.ts';
import type { DbusValue } from '../dbus/dbus-wire.ts';
import { childNameOf, parentSliceOf, ROOT_SLICE, type SliceName, sliceNameOf } from './systemd-names.ts';

export interface SystemdCgroupsDeps {
  /** The file-based cgroups of the same machine, from its root. */
  readonly cgroups: Cgroups;
  readonly clock: Clock;
  /** A connection to the system bus; reopened after it has broken. */
  readonly bus: () => Promise<Pick<DbusConnection, 'call'>>;
}

type Property = readonly [name: string, value: readonly [type: string, value: DbusValue]];

const SYSTEMD = 'org.freedesktop.systemd1';
const MANAGER = { destination: SYSTEMD, path: '/org/freedesktop/systemd1', interface: `${SYSTEMD}.Manager` };
/** As long as upstream's library waits for a job. */
const START_TIMEOUT_MS = 30_000;
const POLL_MS = 5;
const INFINITY = 2n ** 64n - 1n;
const DEFAULT_PERIOD_US = 100_000;
/** systemd rounds quotas to steps of 10 ms per second. */
const QUOTA_STEP_US = 10_000;

/** Nothing is opened before the first use. */
export function createSystemdCgroups(deps: SystemdCgroupsDeps): Cgroups {
  const { cgroups } = deps;
  const path = (name: string): string => sliceNameOf(name).path;
  const update = async (slice: SliceName, resources: CgroupResources): Promise<void> => {
    const properties = propertiesOf(resources, cgroups.version);
    if (properties.length > 0) await setProperties(deps, slice.unit, properties);
    await cgroups.update(slice.path, resources);
  };
  return {
    version: cgroups.version,
    exists: (name) => cgroups.exists(path(name)),
    async create(name, resources) {
      const slice = sliceNameOf(name);
      if (slice.unit !== ROOT_SLICE) await startSlice(deps, slice, resources);
      await cgroups.create(slice.path, resources);
    },
    update: (name, resources) => update(sliceNameOf(name), resources),
    async destroy(name) {
      const slice = sliceNameOf(name);
      await cgroups.destroy(slice.path);
      await ignoreGone(manage(deps, 'StopUnit', 'ss', [slice.unit, 'replace']));
      await ignoreGone(manage(deps, 'ResetFailedUnit', 's', [slice.unit]));
    },
    addProcess: (name, pid) => cgroups.addProcess(path(name), pid),
    pids: (name) => cgroups.pids(path(name)),
    stats: (name) => cgroups.stats(path(name)),
    memoryMax: (name) => cgroups.memoryMax(path(name)),
    pressures: (name, containerId) => cgroups.pressures(path(name), containerId),
    counters: (name, containerId) => cgroups.counters(path(name), containerId),
    async children(name) {
      const slice = sliceNameOf(name);
      return (await cgroups.children(slice.path)).map((directory) => childNameOf(slice, directory));
    },
    criParent: (name) => sliceNameOf(name).unit,
  };
}

async function manage(
  { bus }: SystemdCgroupsDeps,
  member: string,
  ...[signature, body]: [string, readonly DbusValue[]]
): Promise<readonly DbusValue[]> {
  return (await bus()).call({ ...MANAGER, member, signature, body });
}

/** Properties that last until the next boot, like the kubelet's own settings. */
async function setProperties(deps: SystemdCgroupsDeps, unit: string, properties: readonly Property[]): Promise<void> {
  await manage(deps, 'SetUnitProperties', 'sba(sv)', [unit, true, properties]);
}

/** Starts the slice, or uses an existing one; resolves when it is active. */
async function startSlice(deps: SystemdCgroupsDeps, slice: SliceName, resources: CgroupResources): Promise<void> {
  const { version } = deps.cgroups;
  const limits = propertiesOf(resources, version);
  const parent = parentSliceOf(slice);
  const properties: Property[] = [
    ['Description', ['s', `cgroup ${slice.path}`]],
    ...(parent === ROOT_SLICE ? [] : [['Wants', ['as', [parent]]] as const]),
    ['DefaultDependencies', ['b', false]],
    ...[
      'MemoryAccounting',
      'CPUAccounting',
      version === 2 ? 'IOAccounting' : 'BlockIOAccounting',
      'TasksAccounting',
    ].map((name): Property => [name, ['b', true]]),
    ...limits,
  ];
  try {
    await manage(deps, 'StartTransientUnit', 'ssa(sv)a(sa(sv))', [slice.unit, 'replace', properties, []]);
  } catch (error) {
    if (!isNamed(error, `${SYSTEMD}.UnitExists`)) throw error;
    if (limits.length > 0) await setProperties(deps, slice.unit, limits);
  }
  await untilActive(deps, slice.unit);
}

async function untilActive(deps: SystemdCgroupsDeps, unit: string): Promise<void> {
  const { bus, clock } = deps;
  const [path = ''] = await manage(deps, 'LoadUnit', 's', [unit]);
  const to = { destination: SYSTEMD, path: String(path), interface: 'org.freedesktop.DBus.Properties', member: 'Get' };
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    const question = { ...to, signature: 'ss', body: [`${SYSTEMD}.Unit`, 'ActiveState'] };
    const [state] = await (await bus()).call(question);
    if (state === 'active') return;
    if (state === 'failed' || waitedMs >= START_TIMEOUT_MS)
      throw new Error(`error creating systemd unit \`${unit}\`: got \`${String(state)}\``);
    await clock.sleep(POLL_MS);
  }
}

async function ignoreGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isNamed(error, `${SYSTEMD}.NoSuchUnit`)) throw error;
  }
}

/** D-Bus errors begin with their name. */
function isNamed(error: unknown, name: string): boolean {
  return error instanceof Error && error.message.startsWith(`${name}:`);
}

/** The limits with systemd properties; the others are only in the files. */
function propertiesOf(resources: CgroupResources, version: 1 | 2): Property[] {
  const { memoryMaxBytes, cpuShares, cpuQuotaUs, cpuPeriodUs = DEFAULT_PERIOD_US, pidsMax } = resources;
  const properties: Property[] = [];
  const add = (name: string, value: number | 'max'): void => {
    properties.push([name, ['t', value === 'max' ? INFINITY : BigInt(value)]]);
  };
  if (memoryMaxBytes !== undefined) add(version === 2 ? 'MemoryMax' : 'MemoryLimit', memoryMaxBytes);
  if (cpuShares !== undefined && version === 1) add('CPUShares', Math.max(2, cpuShares));
  if (cpuShares !== undefined && version === 2) add('CPUWeight', cpuSharesToWeight(cpuShares));
  if (cpuQuotaUs !== undefined) {
    if (cpuPeriodUs !== DEFAULT_PERIOD_US) add('CPUQuotaPeriodUSec', cpuPeriodUs);
    const perSecond = cpuQuotaUs === 'max' ? cpuQuotaUs : (cpuQuotaUs * 1_000_000) / cpuPeriodUs;
    add('CPUQuotaPerSecUSec', perSecond === 'max' ? perSecond : Math.ceil(perSecond / QUOTA_STEP_US) * QUOTA_STEP_US);
  }
  if (pidsMax !== undefined) add('TasksMax', pidsMax);
  return properties;
}
