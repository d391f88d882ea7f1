/** `keelson kubelet` and its peers: each stored failure, then 3,000 exchanges of a seed. `npm run fuzz` runs more. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Campaign } from './campaign.ts';
import type { Exchange } from './exchange.ts';
import { kubeletFamilyNames } from './generators/list.ts';
import { replay } from './replay.ts';
import { startKubelet } from './targets/kubelet.ts';
import type { Target } from './targets/target.ts';

const SEED = '20260101';
const EXCHANGES = 3000;
const regressions = join(import.meta.dirname, 'regressions/kubelet');

interface Regression {
  readonly title: string;
  readonly exchanges: readonly Exchange[];
}

describe('keelson kubelet, fuzzed', { skip: process.getuid?.() === 0 ? false : 'needs root' }, () => {
  let target: Target;
  before(async () => {
    target = await startKubelet();
  });
  after(() => target?.stop());

  for (const file of readdirSync(regressions)) {
    const { title, exchanges } = JSON.parse(readFileSync(join(regressions, file), 'utf8')) as Regression;
    test(`${file}: ${title}`, async () => assert.deepEqual(await replay(target, exchanges), []));
  }

  test(`${EXCHANGES} exchanges of seed ${SEED}`, async (t) => {
    const report = (line: string): void => t.diagnostic(line);
    const campaign = new Campaign(target, { seed: SEED, exchanges: EXCHANGES, only: kubeletFamilyNames, report });
    const findings = await campaign.run();
    target = campaign.target;
    assert.deepEqual(
      findings.map(({ signature, detail, times }) => `${times} x ${signature}: ${detail}`),
      [],
    );
  });
});
