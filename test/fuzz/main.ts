// npm run fuzz -- [--seed S] [--exchanges N] [--only FAMILY,...]
// Prints the seed first. Findings are shrunk and stored in a folder, each as a file for test/fuzz/regressions.
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Campaign } from './campaign.ts';
import type { Exchange } from './exchange.ts';
import { kubeletFamilyNames, serverFamilyNames } from './generators/list.ts';
import { shrink } from './shrink/shrink.ts';
import { startKeelsonUp } from './targets/keelson-up.ts';
import { startKubelet } from './targets/kubelet.ts';
import type { Target } from './targets/target.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now()) },
    exchanges: { type: 'string', default: '1000000' },
    only: { type: 'string', default: '' },
  },
});
const only = values.only.split(',').filter((name) => name !== '');
const all = [...serverFamilyNames, ...kubeletFamilyNames];
const unknown = only.find((name) => !all.includes(name));
if (unknown !== undefined) throw new Error(`no family ${unknown}; there are ${all.join(', ')}`);

/** The kubelet's share of the exchanges when both are fuzzed. */
const KUBELET_SHARE = 0.1;
const targets = [
  { start: startKeelsonUp, families: serverFamilyNames, share: 1 - KUBELET_SHARE },
  { start: startKubelet, families: kubeletFamilyNames, share: KUBELET_SHARE },
]
  .map((target) => ({
    ...target,
    families: target.families.filter((name) => only.length === 0 || only.includes(name)),
  }))
  .filter(({ families }) => families.length > 0);

console.log(`seed ${values.seed}`);
const report = (line: string): void => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);
const folder = join(tmpdir(), `keelson-fuzz-findings-${values.seed}`);
let kept = 0;
const keep = (title: string, exchanges: readonly Exchange[], name = String(kept++)): void => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify({ title, exchanges }, undefined, 1)}\n`);
};

async function fuzz(start: () => Promise<Target>, families: readonly string[], exchanges: number): Promise<number> {
  const first = kept;
  const campaign = new Campaign(await start(), {
    seed: values.seed,
    exchanges,
    only: families,
    report,
    onFinding({ signature, detail, exchanges: suspects }) {
      report(`found: ${signature}\n  ${detail}`);
      keep(signature, suspects);
    },
  });
  const findings = await campaign.run();
  await campaign.target.stop();
  for (const [at, finding] of findings.entries()) {
    console.log(`\n${finding.times} x ${finding.signature}\n  ${finding.detail}`);
    const small = await shrink(finding, start);
    if (small === undefined) console.log('  it does not come again by itself: all exchanges before it are kept');
    else keep(finding.signature, small, String(first + at));
  }
  const counts = [...campaign.counts].toSorted().map(([what, count]) => `${what}: ${count}`);
  console.log(counts.join(', '));
  return findings.length;
}

let found = 0;
for (const { start, families, share } of targets)
  found += await fuzz(start, families, Math.ceil(Number(values.exchanges) * (targets.length === 1 ? 1 : share)));
if (found > 0) console.log(`${found} findings; their exchanges are in ${folder}`);
process.exitCode = found > 0 ? 1 : 0;
