// Every family of exchanges with its weight.
import { createSeededRandom } from '../../../src/platform/sim/random.ts';
import { type Random, weighted } from '../draw.ts';
import type { Exchange } from '../exchange.ts';
import { apiRequest, otherRequest } from './api-requests.ts';
import { customRequest } from './custom-resources.ts';
import { extensionRequest } from './extensions.ts';
import { peersExchange, pluginExchange, socketCall } from './grpc.ts';
import { h2Exchange } from './h2-frames.ts';
import { kubeletConnection, kubeletRequest, tokenRequest } from './kubelet-requests.ts';
import { rawRequest, upgradeExchange } from './raw-http.ts';

interface Family {
  readonly name: string;
  readonly weight: number;
  readonly generate: (random: Random) => Exchange;
}

/** Families of the API server. */
const serverFamilies: readonly Family[] = [
  { name: 'api', weight: 60, generate: apiRequest },
  { name: 'custom', weight: 15, generate: customRequest },
  { name: 'extensions', weight: 6, generate: extensionRequest },
  { name: 'other', weight: 5, generate: otherRequest },
  { name: 'raw', weight: 3, generate: (random) => rawRequest(random) },
  { name: 'upgrade', weight: 3, generate: (random) => upgradeExchange(random) },
  { name: 'h2', weight: 3, generate: (random) => h2Exchange(random) },
];

/** Families of a kubelet with peers. */
const kubeletFamilies: readonly Family[] = [
  { name: 'kubelet', weight: 40, generate: kubeletRequest },
  { name: 'kubelet-tokens', weight: 2, generate: tokenRequest },
  { name: 'kubelet-connections', weight: 12, generate: kubeletConnection },
  { name: 'sockets', weight: 20, generate: socketCall },
  { name: 'plugins', weight: 12, generate: pluginExchange },
  { name: 'peers', weight: 14, generate: peersExchange },
];

const families = [...serverFamilies, ...kubeletFamilies];
const namesOf = (list: readonly Family[]): readonly string[] => list.map(({ name }) => name);

export const serverFamilyNames = namesOf(serverFamilies);
export const kubeletFamilyNames = namesOf(kubeletFamilies);

/** The exchange with this number for this seed, independent of earlier exchanges. */
export function exchangeAt(seed: string, number: number, only = serverFamilyNames): Exchange {
  const random = createSeededRandom(seed).fork(String(number));
  const chosen = families.filter(({ name }) => only.includes(name));
  return weighted(
    random,
    chosen.map(({ weight, generate }) => [weight, generate] as const),
  )(random);
}
