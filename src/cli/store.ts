/** `keelson store`: where a cluster keeps its state, and another place for it while the cluster runs. */
import { resolve } from 'node:path';
import { Command } from 'commander';
import { controlLines } from '../cluster/instance/control-client.ts';
import type { ClusterStatus } from '../cluster/cluster-status.ts';
import { dataDirOption, parseStore, type RawStoreOptions } from './cluster-options.ts';
import type { MoveRequest } from './store-move.ts';
import { UserError } from './usage-error.ts';

interface RawMigrate extends Omit<RawStoreOptions, 'store'> {
  readonly dataDir: string;
  readonly to: string;
}

export function storeCommand(): Command {
  return new Command('store')
    .description('where a cluster keeps its state')
    .addCommand(
      new Command('status')
        .description('show the store of a running cluster')
        .addOption(dataDirOption())
        .action(async ({ dataDir }: { readonly dataDir: string }) => {
          const status = await firstLine<ClusterStatus>(resolve(dataDir), 'status');
          const { store } = status;
          if (store === undefined) throw new UserError('this machine keeps no state of the cluster: ask a server');
          const { kind, revision, compactedRevision, keyCount, sizeBytes } = store;
          process.stdout.write(
            `store      ${kind}\nrevision   ${revision} (compacted ${compactedRevision})\nkeys       ${keyCount}\nsize       ${sizeBytes} bytes\n`,
          );
        }),
    )
    .addCommand(
      new Command('migrate')
        .description('move the state of a running server to another store: SQLite to etcd, or back')
        .addOption(dataDirOption())
        .requiredOption('--to <store>', 'sqlite, or etcd=URL,... with nothing below its prefix')
        .option('--etcd-cafile <file>', "certificate authority of etcd's servers (default: the system's)")
        .option('--etcd-certfile <file>', 'client certificate for etcd')
        .option('--etcd-keyfile <file>', 'its private key')
        .action(migrate),
    );
}

async function migrate({ to, dataDir, ...files }: RawMigrate): Promise<void> {
  const paths = Object.fromEntries(Object.entries(files).map(([name, path]) => [name, path && resolve(path)]));
  const store = parseStore({ ...paths, store: to });
  const request: MoveRequest = {
    store,
    settings: {
      store: to,
      'etcd-cafile': store.kind === 'etcd' ? store.caFile : undefined,
      'etcd-certfile': store.kind === 'etcd' ? store.certFile : undefined,
      'etcd-keyfile': store.kind === 'etcd' ? store.keyFile : undefined,
    },
  };
  for await (const line of controlLines(resolve(dataDir), `store ${JSON.stringify(request)}`)) {
    const { step, done, error } = line as { readonly step?: string; readonly done?: string; readonly error?: string };
    if (error !== undefined) throw new UserError(error);
    process.stdout.write(`${step ?? done}\n`);
    if (done !== undefined) return;
  }
  throw new UserError(
    `no cluster runs on ${resolve(dataDir)}: a store is moved while it runs (keelson status shows whether it has)`,
  );
}

async function firstLine<T>(dataDir: string, command: string): Promise<T> {
  for await (const line of controlLines(dataDir, command)) return line as T;
  throw new UserError(`no cluster runs on ${dataDir}`);
}
