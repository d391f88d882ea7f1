/** The address of this machine that pods and other machines can reach, and the names its certificates carry. */
import type { Net } from '../platform/net.ts';
import type { PkiNames } from '../component-helpers/pki/cluster-pki.ts';
import type { Instance } from './instance.ts';

/** Devices that hold addresses of pods or of other software, never the machine's own. */
const NOT_OURS = /^(lo|docker|br-|virbr|veth|cni|flannel|cali|k[lsv][0-9a-f]{6})/;

/** The first address of a real device; loopback where the machine has none. */
export function hostAddress(interfaces: ReturnType<Net['interfaces']>): string {
  const real = interfaces.filter((i) => !i.internal && !NOT_OURS.test(i.name));
  return (real.find((i) => i.family === 4) ?? real.find((i) => !i.address.startsWith('fe80')))?.address ?? '127.0.0.1';
}

/** Every address of a real device. */
export function hostAddresses(interfaces: ReturnType<Net['interfaces']>): readonly string[] {
  const real = interfaces.filter((i) => !i.internal && !NOT_OURS.test(i.name) && !i.address.startsWith('fe80'));
  return real.map(({ address }) => address).toSorted();
}

/** Names and addresses of the serving certificates. */
export function servingNames(
  instance: Pick<Instance, 'nodeName' | 'clusterDomain'>,
  ipAddresses: readonly string[],
): PkiNames {
  const service = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    `kubernetes.default.svc.${instance.clusterDomain}`,
  ];
  return {
    nodeName: instance.nodeName,
    dnsNames: ['localhost', instance.nodeName, ...service],
    ipAddresses: [...new Set(ipAddresses)],
  };
}
