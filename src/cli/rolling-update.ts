/** `keelson rolling-update OLD -f NEW`: the early releases' update from one ReplicationController to another. */
import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { parseYaml } from '../api/codec/yaml.ts';
import { parseDurationMs } from '../api/duration.ts';
import type { ReplicationController } from '../api/gen/core-v1.ts';
import { errorMessage } from '../base/errors.ts';
import { UserError } from './usage-error.ts';

interface RawOptions {
  readonly filename: string;
  readonly kubeconfig?: string;
  readonly namespace?: string;
  readonly updatePeriod: string;
  readonly pollInterval: string;
  readonly timeout: string;
}

export function rollingUpdateCommand(): Command {
  return new Command('rolling-update')
    .description('replace a ReplicationController by another, pod by pod; an interrupted update is resumed')
    .argument('<old>', 'name of the ReplicationController to replace')
    .requiredOption('-f, --filename <file>', 'the ReplicationController that takes its place, YAML or JSON')
    .option('--kubeconfig <file>', 'how to reach the API (default: $KUBECONFIG)')
    .option('-n, --namespace <name>', "namespace (default: the kubeconfig's)")
    .option('--update-period <duration>', 'time between one pod and the next', '1m0s')
    .option('--poll-interval <duration>', 'time between looks at the pods', '3s')
    .option('--timeout <duration>', 'how long a pod may take to be ready or gone', '5m0s')
    .action(run);
}

async function run(oldName: string, raw: RawOptions): Promise<void> {
  const kubeconfig = raw.kubeconfig ?? process.env['KUBECONFIG'];
  if (kubeconfig === undefined || kubeconfig === '')
    throw new UserError('no cluster is named: give --kubeconfig FILE or set KUBECONFIG', 2);
  const next = await readController(raw.filename);
  const [updatePeriodMs, pollIntervalMs, timeoutMs] = [
    duration('--update-period', raw.updatePeriod),
    duration('--poll-interval', raw.pollInterval),
    duration('--timeout', raw.timeout),
  ];
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const { loadKubeconfig } = await import('../client/kubeconfig.ts');
  const { createRestClient } = await import('../client/rest-client.ts');
  const { rollingUpdate } = await import('./rolling-update/roll.ts');
  const platform = createNodePlatform({ startSpawner: false });
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort(new UserError('interrupted; run the same command to go on')));
  try {
    const config = await loadKubeconfig({ ...platform, userAgent: 'keelson-rolling-update' }, kubeconfig);
    const namespace = raw.namespace ?? next.metadata.namespace ?? config.namespace;
    const print = (line: string): void => {
      process.stdout.write(`${line}\n`);
    };
    const deps = { client: createRestClient(config), clock: platform.clock, print };
    await rollingUpdate(deps, { namespace, oldName, next, updatePeriodMs, pollIntervalMs, timeoutMs }, stop.signal);
    print(`replicationcontroller "${next.metadata.name ?? ''}" rolling updated`);
  } finally {
    platform.close();
  }
}

async function readController(file: string): Promise<ReplicationController> {
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new UserError(`cannot read ${file}: ${error.message}`, 1, { cause: error });
  });
  let parsed: unknown;
  try {
    parsed = parseYaml(text).value;
  } catch (error) {
    throw new UserError(`${file} is not valid YAML: ${errorMessage(error)}`, 1, { cause: error });
  }
  const object = parsed as Partial<ReplicationController> | null;
  if (object?.kind !== 'ReplicationController' || object.apiVersion !== 'v1' || object.metadata === undefined)
    throw new UserError(`${file} does not hold a v1 ReplicationController`, 2);
  return object as ReplicationController;
}

function duration(flag: string, text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined || ms < 0) throw new UserError(`${flag}: ${text} is not a duration like 1m30s`, 2);
  return ms;
}
