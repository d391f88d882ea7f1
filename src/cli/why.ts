/** `keelson why pod/NAME`: why a pod is where it is, or nowhere. */
import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { Pods } from '../api/gen/resources.ts';
import { podWhyText, type PodWhy } from '../component-helpers/pod-why.ts';
import { dataDirOption } from './cluster-options.ts';
import { UserError } from './usage-error.ts';

interface RawWhyOptions {
  readonly dataDir: string;
  readonly namespace?: string;
  readonly kubeconfig?: string;
  readonly output: string;
  readonly nodes: string;
}

export function whyCommand(): Command {
  return new Command('why')
    .description('explain why a pod runs where it does, or what each node lacks for it')
    .argument('<pod>', 'pod/NAME, or NAME')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: the one of the kubeconfig)')
    .option('--kubeconfig <file>', 'how to reach the API (default: KUBECONFIG, or that of the cluster on --data-dir)')
    .addOption(dataDirOption())
    .option('--nodes <count>', 'how many nodes to show', '5')
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .action(async (target: string, raw: RawWhyOptions) => {
      const name = podName(target);
      const nodes = Number(raw.nodes);
      if (!Number.isInteger(nodes) || nodes < 0) throw new UserError(`--nodes: ${raw.nodes} is not a whole number`, 2);
      const why = await ask(name, raw);
      process.stdout.write(raw.output === 'json' ? `${JSON.stringify(why, undefined, 2)}\n` : podWhyText(why, nodes));
    });
}

/** The pod's name, from `pod/NAME`, `pods/NAME`, `po/NAME` or `NAME`. Throws `UserError` with exit code 2. */
export function podName(target: string): string {
  const parts = target.split('/');
  const [kind, name = ''] = parts.length === 1 ? ['pod', target] : parts;
  if (parts.length > 2 || !['pod', 'pods', 'po'].includes(kind ?? ''))
    throw new UserError(`why: ${target} is not of the form pod/NAME`, 2);
  if (name === '') throw new UserError('why: the name of the pod is missing', 2);
  return name;
}

async function ask(name: string, raw: RawWhyOptions): Promise<PodWhy> {
  const { loadKubeconfig } = await import('../client/kubeconfig.ts');
  const { createRestClient } = await import('../client/rest-client.ts');
  const { createNodePlatform } = await import('../platform/node/node-platform.ts');
  const platform = createNodePlatform({ startSpawner: false, log: { level: 'error' } });
  try {
    const path = resolve(raw.kubeconfig ?? (process.env['KUBECONFIG'] || `${raw.dataDir}/admin.kubeconfig`));
    if (!(await platform.files.exists(path))) throw new UserError(`no cluster: ${path} is not there`);
    const found = await loadKubeconfig({ ...platform, userAgent: 'keelson-why' }, path);
    const client = createRestClient(found);
    return await client
      .resource(Pods)
      .getSubresource<PodWhy>({ namespace: raw.namespace ?? found.namespace, name }, 'why');
  } finally {
    platform.close();
  }
}
