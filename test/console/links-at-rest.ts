import { readFileSync } from 'node:fs';
import { until } from '../integration/fixtures/until.ts';

/** IFA_F_TENTATIVE: duplicate address detection has not ended. */
const TENTATIVE = 0x40;

/**
 * Waits until no address of the machine is tentative. Chromium drops all its connections when an address is added, as for a pod's
 * link a second or two after the pod is Ready.
 */
export async function linksAtRest(): Promise<void> {
  await until('addresses that are there for certain', async () => {
    const addresses = readFileSync('/proc/net/if_inet6', 'utf8').trim().split('\n');
    return addresses.every((line) => (Number.parseInt(line.split(/\s+/)[4] ?? '0', 16) & TENTATIVE) === 0);
  });
}
