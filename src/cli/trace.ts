/** `keelson trace pod/NAME`: where the time of a pod's start went, step by step, from the request to the first ready probe. */
import { Command, Option } from 'commander';
import type { PodTrace } from '../component-helpers/pod-trace/pod-trace.ts';
import { dataDirOption } from './cluster-options.ts';
import { UserError } from './usage-error.ts';

interface RawTraceOptions {
  readonly namespace?: string;
  readonly kubeconfig?: string;
  readonly dataDir: string;
  readonly output: string;
}

export function traceCommand(): Command {
  return new Command('trace')
    .description("show where the time of a pod's start went, step by step, from the request until it was ready")
    .argument('<pod>', 'pod/NAME, or NAME')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: the one of the kubeconfig)')
    .option('--kubeconfig <file>', 'how to reach the API (default: KUBECONFIG, or that of the cluster on --data-dir)')
    .addOption(dataDirOption())
    .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text'))
    .action(async (pod: string, options: RawTraceOptions) => {
      const trace = await readTrace(podNameOf(pod), options);
      const { waterfall } = await import('../component-helpers/pod-trace/waterfall.ts');
      process.stdout.write(options.output === 'json' ? `${JSON.stringify(trace, undefined, 2)}\n` : waterfall(trace));
    });
}

/** Throws `UserError` with exit code 2. */
export function podNameOf(word: string): string {
  const [, name] = /^(?:(?:pods?|po)\/)?([^/]+)$/.exec(word) ?? [];
  if (name === undefined) throw new UserError(`trace: ${word} is not of the form pod/NAME`, 2);
  return name;
}

async function readTrace(name: string, options: RawTraceOptions): Promise<PodTrace> {
  const { openKubeClient } = await import('./kube-client.ts');
  const { StatusError } = await import('../api/status-error.ts');
  const { client, namespace, close } = await openKubeClient(options, 'keelson-trace');
  try {
    const { objectPath } = await import('../client/request-path.ts');
    const { Pods } = await import('../api/gen/resources.ts');
    const path = objectPath(Pods, { namespace, name });
    const { body } = await client.raw({ path: `/keelson/v1/trace${path}` });
    return JSON.parse(Buffer.from(body).toString()) as PodTrace;
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const isOther = error.reason === 'NotFound' && error.status.details?.name === undefined;
    throw new UserError(isOther ? "this server keeps no steps of pods' starts: it is not Keelson" : error.message);
  } finally {
    close();
  }
}
