/** `keelson snapshot verify`: whether a snapshot can be started, and serves what it holds. */
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import type { Verification } from '../../cluster/snapshots/verify/verify-snapshot.ts';
import { dataDirOption } from '../cluster-options.ts';
import { withSnapshotFile } from './bucket.ts';
import { fileUnlessAt, type RawMoment, withMoment, withMomentFile } from './moment.ts';
import { withS3Options } from './s3-options.ts';
import { snapshotConfigOption } from './schedule-options.ts';

interface RawVerify extends RawMoment {
  readonly dataDir: string;
  readonly encryptionProviderConfig?: string;
  readonly runtimeConfig?: string;
  readonly output: string;
}

const SHOWN_PROBLEMS = 20;

export function verifyCommand(): Command {
  return withMoment(withS3Options(new Command('verify')))
    .description('start a snapshot in memory and compare what it serves with what the file holds; touches no cluster')
    .argument('[file]', 'the snapshot; with --s3 its name')
    .addOption(dataDirOption('where the cluster of --s3-config-secret keeps everything'))
    .addOption(snapshotConfigOption())
    .option('--encryption-provider-config <file>', 'EncryptionConfiguration of the cluster, where it has one')
    .option('--runtime-config <list>', 'API versions that the cluster serves or not, as it was started')
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .action(async (named: string | undefined, raw: RawVerify) => {
      const file = fileUnlessAt(named, raw);
      if (file === undefined) await withMomentFile(raw, (path) => report(`the state at ${raw.at}`, path, raw));
      else await withSnapshotFile(raw, file, (path) => report(file, path, raw));
    });
}

async function report(name: string, path: string, raw: RawVerify): Promise<void> {
  const verification = await verify(path, raw);
  const text = raw.output === 'json' ? `${JSON.stringify(verification, undefined, 2)}\n` : reportOf(name, verification);
  process.stdout.write(text);
  if (verification.problemCount > 0) process.exitCode = 1;
}

async function verify(file: string, raw: RawVerify): Promise<Verification> {
  const { createNodePlatform } = await import('../../platform/node/node-platform.ts');
  const { verifySnapshot } = await import('../../cluster/snapshots/verify/verify-snapshot.ts');
  const platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
  const { encryptionProviderConfig, runtimeConfig = '' } = raw;
  const encryptionConfigFile = encryptionProviderConfig && resolve(encryptionProviderConfig);
  try {
    return await verifySnapshot(platform, { file, encryptionConfigFile, runtimeConfig });
  } finally {
    platform.close();
  }
}

function reportOf(file: string, found: Verification): string {
  const { revision, keyCount, equal, renewed, internal, problems, problemCount } = found;
  const lines = problems.slice(0, SHOWN_PROBLEMS).map((problem) => `✖ ${problem}\n`);
  if (problemCount > SHOWN_PROBLEMS) lines.push(`✖ and ${problemCount - SHOWN_PROBLEMS} more (-o json)\n`);
  const verdict =
    problemCount === 0
      ? `✓ ${file} is whole and can be restored: ${keyCount} objects at revision ${revision}`
      : `✖ ${file} starts, but ${problemCount} of its ${keyCount} objects are not served as they are stored`;
  return `${lines.join('')}${verdict} (${equal} equal, ${renewed} written anew by the start, ${internal} internal)\n`;
}
