/**
 * What a WireGuard device has, as `wg show DEVICE dump` prints it, and the arguments of `wg set` that make it what it
 * should be. Pure.
 */
import { WIREGUARD_PORT, type Peer } from './peers.ts';

/** k3s's interval: packets in both directions keep ways through NAT and firewalls open. */
const KEEPALIVE_SECONDS = 25;
/** WireGuard makes a new handshake every two minutes and gives up a session after three. */
export const SESSION_SECONDS = 180;

export interface DevicePeer {
  readonly publicKey: string;
  /** Undefined: none is known. */
  readonly endpoint: string | undefined;
  /** Sorted. */
  readonly allowedIps: readonly string[];
  /** Seconds since the epoch; 0: there was none. */
  readonly handshakeSeconds: number;
  readonly keepaliveSeconds: number;
}

export interface DeviceState {
  /** `(none)` before it is set. */
  readonly publicKey: string;
  readonly port: number;
  readonly peers: readonly DevicePeer[];
}

export function parseDump(dump: string): DeviceState {
  const [own = [], ...peers] = dump
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t'));
  return {
    publicKey: own[1] ?? '(none)',
    port: Number(own[2]),
    peers: peers.map(([publicKey = '', , endpoint, allowed = '', handshake, , , keepalive]) => ({
      publicKey,
      endpoint: endpoint === '(none)' ? undefined : endpoint,
      allowedIps: allowed === '(none)' ? [] : allowed.split(',').toSorted(),
      handshakeSeconds: Number(handshake),
      keepaliveSeconds: keepalive === 'off' ? 0 : Number(keepalive),
    })),
  };
}

export interface DesiredDevice {
  readonly publicKey: string;
  readonly keyFile: string;
  readonly peers: readonly Peer[];
}

export interface Moment {
  readonly nowSeconds: number;
  /** The endpoints that were set last, by key; a peer behind NAT has another one since its first packet. */
  readonly setEndpoints: ReadonlyMap<string, string>;
}

/** The arguments of `wg set DEVICE`; empty where the device is as desired. */
export function wgChanges(state: DeviceState, desired: DesiredDevice, moment: Moment): readonly string[] {
  const isOurs = state.publicKey === desired.publicKey && state.port === WIREGUARD_PORT;
  const own = isOurs ? [] : ['listen-port', String(WIREGUARD_PORT), 'private-key', desired.keyFile];
  // Removed first: a range belongs to one peer at a time.
  const gone = state.peers.filter(({ publicKey }) => !desired.peers.some((peer) => peer.publicKey === publicKey));
  return [
    ...own,
    ...gone.flatMap(({ publicKey }) => ['peer', publicKey, 'remove']),
    ...desired.peers.flatMap((peer) => {
      const present = state.peers.find(({ publicKey }) => publicKey === peer.publicKey);
      const changes = peerChanges(present, peer, moment);
      return changes.length === 0 ? [] : ['peer', peer.publicKey, ...changes];
    }),
  ];
}

function peerChanges(present: DevicePeer | undefined, peer: Peer, moment: Moment): readonly string[] {
  const allowed = peer.allowedIps.join();
  return [
    ...(present?.keepaliveSeconds === KEEPALIVE_SECONDS ? [] : ['persistent-keepalive', String(KEEPALIVE_SECONDS)]),
    ...(needsEndpoint(present, peer, moment) ? ['endpoint', peer.endpoint] : []),
    ...(present?.allowedIps.join() === allowed ? [] : ['allowed-ips', allowed]),
  ];
}

/** An endpoint that WireGuard learnt from the peer's packets stays while the tunnel works and the Node has not moved. */
function needsEndpoint(
  present: DevicePeer | undefined,
  { publicKey, endpoint }: Peer,
  { nowSeconds, setEndpoints }: Moment,
): boolean {
  if (present?.endpoint === undefined) return true;
  if (present.endpoint === endpoint) return false;
  const last = setEndpoints.get(publicKey);
  return (last !== undefined && last !== endpoint) || nowSeconds - present.handshakeSeconds > SESSION_SECONDS;
}

/**
 * The nodes whose tunnel has had no handshake for longer than a session lasts. `sinceSeconds`: when a peer was first
 * desired, by key.
 */
export function silentPeers(
  state: DeviceState,
  peers: readonly Peer[],
  { nowSeconds, sinceSeconds }: { readonly nowSeconds: number; readonly sinceSeconds: ReadonlyMap<string, number> },
): readonly string[] {
  return peers.flatMap(({ nodeName, publicKey }) => {
    const present = state.peers.find((peer) => peer.publicKey === publicKey);
    const lastHandshake = Math.max(present?.handshakeSeconds ?? 0, sinceSeconds.get(publicKey) ?? nowSeconds);
    return nowSeconds - lastHandshake > SESSION_SECONDS ? [nodeName] : [];
  });
}
