import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryLog } from '../../platform/sim/log.ts';
import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import type { TokenAuthenticator } from './bearer-token.ts';
import { createReloadedTokens } from './reloaded-tokens.ts';

test('a changed file counts after a minute; one that cannot be used changes nothing', async () => {
  const clock = new VirtualClock();
  const log = createMemoryLog();
  let file = 'a';
  let reads = 0;
  const issuersOf = (text: string): TokenAuthenticator[] =>
    text.split(',').map((name) => ({
      authenticateToken: async (token) => (token === name ? { name, groups: [] } : undefined),
    }));
  const tokens = createReloadedTokens(
    {
      clock,
      log,
      read: async () => {
        reads++;
        return file;
      },
      parse: async (text) => {
        if (text === 'bad') throw new Error('bad file');
        return issuersOf(text);
      },
    },
    { text: 'a', issuers: issuersOf('a') },
  );
  const known = async (...names: string[]): Promise<(string | undefined)[]> =>
    await Promise.all(names.map(async (name) => (await tokens.authenticateToken(name))?.name));
  file = 'b,c';
  await clock.advance(59_999);
  assert.deepEqual([await known('a', 'b'), reads], [['a', undefined], 0]);
  await clock.advance(1);
  assert.deepEqual([await known('a', 'b', 'c'), reads], [[undefined, 'b', 'c'], 1]);
  file = 'bad';
  await clock.advance(60_000);
  assert.deepEqual([await known('b'), await known('c'), reads], [['b'], ['c'], 2]);
  assert.deepEqual(
    log.entries.map(({ level }) => level),
    ['info', 'error'],
  );
});
