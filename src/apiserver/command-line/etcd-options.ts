/** The store of objects: flags of upstream's EtcdOptions. */
import { parseDurationMs } from '../../api/duration.ts';
import { FlagError, type FlagValues, type OptionSet } from '../../component-helpers/command-line/flags.ts';

export interface EtcdOptions {
  readonly servers: readonly string[];
  readonly prefix: string;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  /** 0: never. */
  readonly compactionPeriodMs: number;
  readonly eventTtlSeconds: number;
  readonly encryptionConfigFile?: string;
  /** Whether the file is read again when it changes. */
  readonly encryptionReload: boolean;
}

const MINUTE_MS = 60_000;

/** `--etcd-*`, `--event-ttl` and encryption at rest. */
export const etcdOptions: OptionSet<EtcdOptions> = {
  flags: [
    {
      name: 'etcd-servers',
      type: 'list',
      description: 'etcd servers to connect with (scheme://ip:port), comma separated',
    },
    { name: 'etcd-prefix', type: 'string', description: 'prefix of all resource paths in etcd (default "/registry")' },
    { name: 'etcd-cafile', type: 'string', description: 'certificate authority of the etcd servers' },
    { name: 'etcd-certfile', type: 'string', description: 'client certificate for etcd' },
    { name: 'etcd-keyfile', type: 'string', description: 'its private key' },
    {
      name: 'etcd-compaction-interval',
      type: 'string',
      description: 'interval of compaction; 0 disables it (default 5m0s)',
    },
    { name: 'storage-backend', type: 'string', description: 'the storage backend: etcd3 (default)' },
    { name: 'event-ttl', type: 'string', description: 'how long events are kept (default 1h0m0s)' },
    {
      name: 'encryption-provider-config',
      type: 'string',
      description: 'file with the encryption of resources at rest',
    },
    {
      name: 'encryption-provider-config-automatic-reload',
      type: 'bool',
      description: 'read that file again when it changes',
    },
  ],
  read(values) {
    const servers = values.list('etcd-servers') ?? [];
    if (servers.length === 0) throw new FlagError('--etcd-servers must be specified');
    const backend = values.text('storage-backend') ?? 'etcd3';
    if (backend !== 'etcd3')
      throw new FlagError(
        `--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'`,
      );
    const [caFile, certFile, keyFile, encryptionConfigFile] = [
      values.text('etcd-cafile'),
      values.text('etcd-certfile'),
      values.text('etcd-keyfile'),
      values.text('encryption-provider-config'),
    ];
    if ((certFile === undefined) !== (keyFile === undefined))
      throw new FlagError('--etcd-certfile and --etcd-keyfile go together');
    const encryptionReload = values.bool('encryption-provider-config-automatic-reload') ?? false;
    if (encryptionReload && encryptionConfigFile === undefined)
      throw new FlagError(
        '--encryption-provider-config-automatic-reload must be set with --encryption-provider-config',
      );
    return {
      servers,
      prefix: prefixOf(values.text('etcd-prefix') ?? '/registry'),
      caFile,
      certFile,
      keyFile,
      compactionPeriodMs: durationMs(values, 'etcd-compaction-interval') ?? 5 * MINUTE_MS,
      eventTtlSeconds: (durationMs(values, 'event-ttl') ?? 60 * MINUTE_MS) / 1000,
      encryptionConfigFile,
      encryptionReload,
    };
  },
};

function prefixOf(text: string): string {
  const prefix = `/${text}`.replace(/^\/+/, '/').replace(/\/+$/, '');
  if (prefix === '') throw new FlagError('--etcd-prefix must not be empty');
  return prefix;
}

function durationMs(values: FlagValues, name: string): number | undefined {
  const text = values.text(name);
  const value = text === undefined ? undefined : parseDurationMs(text);
  if (text !== undefined && (value === undefined || value < 0))
    throw new FlagError(
      `invalid argument ${JSON.stringify(text)} for "--${name}" flag: it is no duration such as 1h30m`,
    );
  return value;
}
