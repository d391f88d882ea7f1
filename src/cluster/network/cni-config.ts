/**
 * The CNI configuration of this instance's pods: the `bridge` plugin with host-local addresses, or `ptp` where the kernel
 * cannot run bridged traffic through netfilter (service rules would not see it). Pure. Host ports are the service proxy's,
 * so no further plugin runs per pod.
 */
import { rangeFamily, rangesOf } from '../../base/cidr.ts';
import type { Instance } from '../instance/instance.ts';

/** How pods are attached to the host. */
export type Attachment = 'bridge' | 'ptp';

/** Name of the configuration list's file. */
export const CNI_FILE = '10-keelson.conflist';

/** The configuration list for one node's pod range, or its two (with a comma): each pod gets an address of each. */
export function cniConfigList(
  instance: Instance,
  { podCidr, attachment, mtu }: { readonly podCidr: string; readonly attachment: Attachment; readonly mtu?: number },
): string {
  const ipam = {
    type: 'host-local',
    ranges: rangesOf(podCidr).map((subnet) => [{ subnet }]),
    routes: rangesOf(podCidr).map((range) => ({ dst: rangeFamily(range) === 6 ? '::/0' : '0.0.0.0/0' })),
    dataDir: instance.cniConfig.ipamDir,
  };
  const sized = mtu === undefined ? {} : { mtu };
  const plugin =
    attachment === 'bridge'
      ? { type: 'bridge', bridge: instance.bridge, isGateway: true, ipMasq: false, hairpinMode: true, ...sized, ipam }
      : { type: 'ptp', ipMasq: false, ...sized, ipam };
  return `${JSON.stringify({ cniVersion: '0.4.0', name: instance.cniConfig.networkName, plugins: [plugin] }, undefined, 2)}\n`;
}
