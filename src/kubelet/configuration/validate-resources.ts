/** Validation of reservations and of the CPU, memory and topology managers. Upstream: pkg/kubelet/apis/config/validation. */
import { parseCpuSet } from '../cpu-manager/cpu-set.ts';
import { tryParseQuantity } from '../../api/quantity.ts';
import { type Check, between, ms, quoted } from './configuration-check.ts';
import { gateEnabled } from './feature-gates.ts';

const ENFORCEABLE = [
  'none',
  'pods',
  'system-reserved',
  'system-reserved-compressible',
  'kube-reserved',
  'kube-reserved-compressible',
];
export const resources: Check = (c) => {
  const enforced = c.enforceNodeAllocatable;
  const wants = (kind: 'system' | 'kube', cgroup: string): string | false =>
    enforced.some((option) => option.startsWith(`${kind}-reserved`)) &&
    cgroup === '' &&
    `${kind}ReservedCgroup (--${kind}-reserved-cgroup) must be specified when "${kind}-reserved" or "${kind}-reserved-compressible" included in enforceNodeAllocatable (--enforce-node-allocatable)`;
  return [
    !between(ms(c.cpuCFSQuotaPeriod), 1, 1000) &&
      `cpuCFSQuotaPeriod (--cpu-cfs-quota-period) ${c.cpuCFSQuotaPeriod} must be between 1ms and 1sec, inclusive`,
    ms(c.cpuCFSQuotaPeriod) !== 100 &&
      !gateEnabled(c.featureGates, 'CustomCPUCFSQuotaPeriod') &&
      `cpuCFSQuotaPeriod (--cpu-cfs-quota-period) ${c.cpuCFSQuotaPeriod} requires feature gate CustomCPUCFSQuotaPeriod`,
    !c.cgroupsPerQOS &&
      enforced.some((option) => option !== 'none') &&
      'enforceNodeAllocatable (--enforce-node-allocatable) is not supported unless cgroupsPerQOS (--cgroups-per-qos) is set to true',
    enforced.includes('none') &&
      enforced.length > 1 &&
      'enforceNodeAllocatable (--enforce-node-allocatable) may not contain additional enforcements when "none" is specified',
    ...enforced.map(
      (option) =>
        !ENFORCEABLE.includes(option) &&
        `option ${quoted(option)} specified for enforceNodeAllocatable (--enforce-node-allocatable). Valid options are ${ENFORCEABLE.map((enforceable) => quoted(enforceable)).join(', ')}`,
    ),
    wants('system', c.systemReservedCgroup),
    wants('kube', c.kubeReservedCgroup),
    Object.keys(c.qosReserved).length > 0 &&
      !gateEnabled(c.featureGates, 'QOSReserved') &&
      `qosReserved (--qos-reserved) ${quoted(c.qosReserved)} requires feature gate QOSReserved`,
    ...Object.entries(c.qosReserved).flatMap(([resource, share]) => [
      resource !== 'memory' &&
        `qosReserved (--qos-reserved): unsupported resource ${quoted(resource)}: only memory can be reserved`,
      !(/^\d{1,3}%$/.test(share) && Number.parseInt(share, 10) <= 100) &&
        `qosReserved (--qos-reserved): ${quoted(share)} is no percentage from 0% to 100%`,
    ]),
    !['cgroupfs', 'systemd'].includes(c.cgroupDriver) &&
      `cgroupDriver (--cgroup-driver) ${quoted(c.cgroupDriver)} is not known: it must be cgroupfs or systemd`,
    c.systemCgroups !== '' &&
      c.cgroupRoot === '' &&
      'systemCgroups (--system-cgroups) was specified and cgroupRoot (--cgroup-root) was not specified',
    ...(['systemReserved', 'kubeReserved'] as const).flatMap((name) => reservation(name, c[name])),
    !between(c.memoryThrottlingFactor, 0, 1) &&
      `memoryThrottlingFactor ${c.memoryThrottlingFactor} must be greater than 0 and less than or equal to 1.0`,
  ];
};

const CPU_OPTIONS = ['full-pcpus-only', 'distribute-cpus-across-numa', 'strict-cpu-reservation'];
export const managers: Check = (c) => {
  const options = Object.entries(c.cpuManagerPolicyOptions);
  const isStatic = c.cpuManagerPolicy === 'static';
  return [
    parseCpuSet(c.reservedSystemCPUs) === undefined &&
      `unable to parse reservedSystemCPUs (--reserved-cpus) ${quoted(c.reservedSystemCPUs)}`,
    c.reservedSystemCPUs !== '' &&
      (c.systemReservedCgroup !== '' || c.kubeReservedCgroup !== '') &&
      "can't use reservedSystemCPUs (--reserved-cpus) with systemReservedCgroup (--system-reserved-cgroup) or kubeReservedCgroup (--kube-reserved-cgroup)",
    (c.userNamespaces.idsPerPod < 65536 || c.userNamespaces.idsPerPod % 65536 !== 0) &&
      `userNamespaces.idsPerPod ${c.userNamespaces.idsPerPod} must be a multiple of 65536`,
    isStatic &&
      !(ms(c.cpuManagerReconcilePeriod) > 0) &&
      `cpuManagerReconcilePeriod (--cpu-manager-reconcile-period) ${c.cpuManagerReconcilePeriod} must be greater than 0`,
    options.length > 0 && !isStatic && 'cpuManagerPolicyOptions need the cpuManagerPolicy "static"',
    ...options.flatMap(([name, value]) => [
      !CPU_OPTIONS.includes(name) && `unsupported cpumanager option: ${quoted(name)} (${quoted(value)})`,
      !['true', 'false'].includes(value) && `bad value for option ${quoted(name)}: ${quoted(value)}`,
    ]),
    ...Object.entries(c.topologyManagerPolicyOptions).map(([name, value]) => topologyOption(name, value)),
    ...c.reservedMemory.flatMap(({ numaNode, limits }, at) => [
      c.reservedMemory.findIndex((other) => other.numaNode === numaNode) !== at &&
        `the reserved memory has a duplicate value for NUMA node ${numaNode} and resource`,
      ...Object.entries(limits).map(
        ([type, amount]) =>
          ((type !== 'memory' && !type.startsWith('hugepages-')) || tryParseQuantity(amount) === undefined) &&
          `the limit type ${quoted(type)} for NUMA node ${numaNode} is not allowed or its value ${quoted(amount)} is no quantity`,
      ),
    ]),
  ];
};

function topologyOption(name: string, value: string): string | false {
  if (name === 'prefer-closest-numa-nodes')
    return !['true', 'false'].includes(value) && `bad value for option ${quoted(name)}: ${quoted(value)}`;
  if (name !== 'max-allowable-numa-nodes')
    return `unsupported topologymanager option: ${quoted(name)} (${quoted(value)})`;
  if (!/^\d+$/.test(value)) return `unable to convert policy option to integer ${quoted(name)}: ${quoted(value)}`;
  return Number(value) < 8 && `the minimum value of ${quoted(name)} should not be less than 8`;
}

export function reservation(name: string, amounts: Readonly<Record<string, string>>): (string | false)[] {
  return Object.entries(amounts).flatMap(([resource, amount]) => {
    const isKnown = ['cpu', 'memory', 'ephemeral-storage', 'pid'].includes(resource);
    const parsed = tryParseQuantity(amount);
    return [
      !isKnown && `${name}: cannot reserve ${quoted(resource)} resource`,
      (parsed === undefined || parsed.nanos < 0n) &&
        `${name}: resource quantity for ${quoted(resource)} cannot be ${quoted(amount)}`,
    ];
  });
}
