/** The addresses of this machine for pods and other machines, and the names in its certificates. */
import { rangeFamily, rangesOf } from '../../base/cidr.ts';
import type { Net } from '../../platform/net.ts';
import type { PkiNames } from '../../component-helpers/pki/cluster-pki.ts';
import type { Instance } from './instance.ts';

/** Devices with addresses of pods or of other software, which are not the machine's own. */
const NOT_OURS = /^(lo|docker|br-|virbr|veth|cni|flannel|cali|k[lnsvw][0-9a-f]{6})/;

/** The first address of a real device; loopback when there is none. */
export function hostAddress(interfaces: ReturnType<Net['interfaces']>): string {
  const real = interfaces.filter((i) => !i.internal && !NOT_OURS.test(i.name));
  return (real.find((i) => i.family === 4) ?? real.find((i) => !i.address.startsWith('fe80')))?.address ?? '127.0.0.1';
}

/**
 * Addresses of this machine's node: the configured or detected one, and one for each further family of the pods'
 * ranges.
 */
export function nodeAddresses(
  interfaces: ReturnType<Net['interfaces']>,
  { nodeIp, clusterCidr }: { readonly nodeIp: string | undefined; readonly clusterCidr: string },
): readonly string[] {
  const first = nodeIp ?? hostAddress(interfaces);
  const family = (address: string): 4 | 6 => (address.includes(':') ? 6 : 4);
  const others = rangesOf(clusterCidr)
    .map(rangeFamily)
    .filter((wanted) => wanted !== family(first))
    .flatMap((wanted) => hostAddresses(interfaces).find((address) => family(address) === wanted) ?? []);
  return [first, ...others];
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

/** Default issuer and audience of service-account tokens. */
export function defaultIssuer({ clusterDomain }: Pick<Instance, 'clusterDomain'>): string {
  return `https://kubernetes.default.svc.${clusterDomain}`;
}
