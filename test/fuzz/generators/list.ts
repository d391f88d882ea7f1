// Every family of exchanges, with how often it is drawn.
import { createSeededRandom } from '../../../src/platform/sim/random.ts';
import { type Random, weighted } from '../draw.ts';
import type { Exchange } from '../exchange.ts';
import { apiRequest, otherRequest } from './api-requests.ts';
import { customRequest } from './custom-resources.ts';
import { extensionRequest } from './extensions.ts';
import { h2Exchange } from './h2-frames.ts';
import { rawRequest, upgradeExchange } from './raw-http.ts';

interface Family {
  readonly name: string;
  readonly weight: number;
  readonly generate: (random: Random) => Exchange;
}

const families: readonly Family[] = [
  { name: 'api', weight: 60, generate: apiRequest },
  { name: 'custom', weight: 15, generate: customRequest },
  { name: 'extensions', weight: 6, generate: extensionRequest },
  { name: 'other', weight: 5, generate: otherRequest },
  { name: 'raw', weight: 3, generate: (random) => rawRequest(random) },
  { name: 'upgrade', weight: 3, generate: (random) => upgradeExchange(random) },
  { name: 'h2', weight: 3, generate: h2Exchange },
];

export const familyNames: readonly string[] = families.map(({ name }) => name);

/** The exchange with this number under this seed; the same whatever came before. */
export function exchangeAt(seed: string, number: number, only: readonly string[] = []): Exchange {
  const random = createSeededRandom(seed).fork(String(number));
  const chosen = families.filter(({ name }) => only.length === 0 || only.includes(name));
  return weighted(
    random,
    chosen.map(({ weight, generate }) => [weight, generate] as const),
  )(random);
}
