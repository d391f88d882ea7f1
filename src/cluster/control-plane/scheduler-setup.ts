/**
 * Reads a scheduler configuration file into what a scheduler is created from: validated profiles, and extenders with
 * their certificates.
 */
import { parseYaml } from '../../api/codec/yaml.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Files } from '../../platform/files.ts';
import type { Net, TlsOptions } from '../../platform/net.ts';
import { SchedulerConfigError } from '../../scheduler/config/fields.ts';
import { readSchedulerConfig } from '../../scheduler/config/read-config.ts';
import type { ExtenderConfig } from '../../scheduler/config/read-extenders.ts';
import type { SchedulerConfig } from '../../scheduler/config/scheduler-config.ts';
import { readPolicy } from '../../scheduler/policy/read-policy.ts';
import { createExtender, type Extender } from '../../scheduler/extenders/extender.ts';
import { PreflightError } from '../preflight-error.ts';

export interface SchedulerSetup {
  readonly config: SchedulerConfig;
  readonly extenders: readonly Extender[];
}

interface SetupPlatform {
  readonly files: Pick<Files, 'readText'>;
  readonly net: Pick<Net, 'http'>;
}

/** Reads the file of `--scheduler-config`. Throws `PreflightError`. */
export async function loadSchedulerSetup(platform: SetupPlatform, path: string): Promise<SchedulerSetup> {
  try {
    return await readSchedulerSetup(platform, await platform.files.readText(path));
  } catch (error) {
    throw new PreflightError(`--scheduler-config: ${path}: ${errorMessage(error)}`);
  }
}

/**
 * Reads a KubeSchedulerConfiguration or a Policy for the scheduler of a whole cluster, which has its own client and
 * leader election: `clientConnection` and `leaderElection` of the file are only for `keelson scheduler`. Rejects when
 * the file is invalid.
 */
export async function readSchedulerSetup(platform: SetupPlatform, text: string): Promise<SchedulerSetup> {
  if (isPolicy(text)) {
    const policy = readPolicy(text, 'default-scheduler');
    return { config: policy, extenders: await makeExtenders(platform, policy.extenders) };
  }
  const config = readSchedulerConfig(text);
  if (config.kubeconfig !== '')
    throw new SchedulerConfigError(['clientConnection.kubeconfig: Forbidden: this scheduler belongs to the cluster']);
  return { config, extenders: await makeExtenders(platform, config.extenders) };
}

function isPolicy(text: string): boolean {
  try {
    const { value } = parseYaml(text);
    return typeof value === 'object' && value !== null && (value as { readonly kind?: unknown }).kind === 'Policy';
  } catch {
    return false; // the reader of the other kind reports the error
  }
}

/** Creates the extenders; reads the files of their certificates. */
export async function makeExtenders(
  platform: SetupPlatform,
  configs: readonly ExtenderConfig[],
): Promise<readonly Extender[]> {
  return Promise.all(
    configs.map(async (config) => {
      const tls = await readTls(platform, config);
      return createExtender({ net: platform.net, tls }, config);
    }),
  );
}

async function readTls({ files }: SetupPlatform, { tls }: ExtenderConfig): Promise<TlsOptions | undefined> {
  if (tls === undefined) return undefined;
  const pem = async (inline: string, file: string): Promise<string> =>
    inline !== '' || file === '' ? inline : files.readText(file);
  const [certPem, keyPem, caPem] = await Promise.all([
    pem(tls.certPem, tls.certFile),
    pem(tls.keyPem, tls.keyFile),
    pem(tls.caPem, tls.caFile),
  ]);
  return {
    certPem: certPem === '' ? undefined : certPem,
    keyPem: keyPem === '' ? undefined : keyPem,
    caPem: caPem === '' ? undefined : caPem,
    serverName: tls.serverName === '' ? undefined : tls.serverName,
    insecureSkipVerify: tls.insecure ? true : undefined,
  };
}
