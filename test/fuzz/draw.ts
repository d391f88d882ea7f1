// Random choices of a generator, from one stream of the randomness port, so that a seed gives the same exchanges again.
import type { Random } from '../../src/platform/random.ts';

export type { Random };

export function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[random.int(choices.length)]!;
}

export function chance(random: Random, probability: number): boolean {
  return random.next() < probability;
}

/** One of the choices, with probabilities by weight. */
export function weighted<T>(random: Random, choices: readonly (readonly [weight: number, choice: T])[]): T {
  let left = random.next() * choices.reduce((sum, [weight]) => sum + weight, 0);
  for (const [weight, choice] of choices) {
    left -= weight;
    if (left < 0) return choice;
  }
  return choices.at(-1)![1];
}

/** Up to `most` of the choices, with repetitions. */
export function several<T>(random: Random, most: number, choices: readonly T[]): T[] {
  return Array.from({ length: random.int(most + 1) }, () => pick(random, choices));
}
