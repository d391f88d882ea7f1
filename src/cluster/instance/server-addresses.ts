/**
 * The address on which the API server listens (`--bind-address`), the one at which others reach it
 * (`--advertise-address`), and the one for this machine. Upstream: SecureServingOptions and apimachinery's
 * ResolveBindAddress.
 */
import { parseIp } from '../../base/cidr.ts';
import type { Net } from '../../platform/net.ts';
import type { ClusterOptions } from '../cluster-options.ts';
import { PreflightError } from '../preflight-error.ts';
import { hostAddress } from './host-address.ts';

type AddressOptions = Pick<ClusterOptions, 'bindAddress' | 'advertiseAddress' | 'nodeIp' | 'disableAgent'>;
type Interfaces = ReturnType<Net['interfaces']>;

const ANY_ADDRESSES = ['0.0.0.0', '::'];
const LOOPBACK = '127.0.0.1';

/** Whether it means all addresses of the machine. */
export const isAnyAddress = (address: string): boolean => ANY_ADDRESSES.includes(address);

const isLoopback = (address: string): boolean => address === '::1' || address.startsWith('127.');

/** The configured address, or all IPv4 addresses. */
export const listenAddress = ({ bindAddress = '0.0.0.0' }: Pick<AddressOptions, 'bindAddress'>): string => bindAddress;

/** The address for programs of this machine. */
export function localAddress({ bindAddress }: Pick<AddressOptions, 'bindAddress'>): string {
  return bindAddress === undefined || isAnyAddress(bindAddress) ? LOOPBACK : bindAddress;
}

/** The server's URL for programs of this machine. */
export function localServerUrl(options: Pick<AddressOptions, 'bindAddress'>, port: number): string {
  const host = localAddress(options);
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** The address for pods and other machines: the advertised one, the one it listens on, or the node's. */
export function advertisedAddress(options: AddressOptions, interfaces: Interfaces): string {
  const { advertiseAddress, bindAddress, nodeIp } = options;
  const bound = bindAddress === undefined || isAnyAddress(bindAddress) || isLoopback(bindAddress);
  return advertiseAddress ?? (bound ? undefined : bindAddress) ?? nodeIp ?? hostAddress(interfaces);
}

/** Refuses an address that is not this machine's, and loopback where pods need the server. @throws PreflightError */
export function checkBindAddress({ bindAddress, disableAgent }: AddressOptions, interfaces: Interfaces): void {
  if (bindAddress === undefined || isAnyAddress(bindAddress)) return;
  if (isLoopback(bindAddress)) {
    if (disableAgent === true) return;
    throw new PreflightError(
      `--bind-address: pods do not reach the API server at ${bindAddress}; name another address of this machine`,
    );
  }
  const wanted = parseIp(bindAddress)?.value;
  if (!interfaces.some(({ address }) => parseIp(address)?.value === wanted))
    throw new PreflightError(`--bind-address: ${bindAddress} is not an address of this machine`);
}
