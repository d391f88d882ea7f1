/** `keelson why can`: why a user may do something, or may not. */
import { Command } from 'commander';
import type { ClusterChoice } from '../kube-client.ts';
import { UserError } from '../usage-error.ts';
import { answerText } from './answer.ts';

interface RawCanOptions extends ClusterChoice {
  readonly group: readonly string[];
  readonly subresource?: string;
  readonly allNamespaces?: true;
  readonly output: string;
  readonly watch?: true;
  readonly selector?: string;
}

export function canCommand(): Command {
  return new Command('can')
    .description('which rule and binding let a user do something, or what would have to be granted')
    .argument('<user>', 'name of the user; a service account is system:serviceaccount:NAMESPACE:NAME')
    .argument('<verb>', 'get, list, create, ...')
    .argument('<resource>', 'RESOURCE, RESOURCE/NAME, or a path such as /metrics')
    .option(
      '--group <group>',
      'a group of the user, beyond system:authenticated and those of service accounts; more than once',
      (group: string, others: readonly string[]) => [...others, group],
      [],
    )
    .option('--subresource <name>', 'sub-resource, such as log')
    .configureHelp({ showGlobalOptions: true })
    .action(async function (this: Command, user: string, verb: string, resource: string) {
      const raw = this.optsWithGlobals<RawCanOptions>();
      if (raw.watch === true || raw.selector !== undefined)
        throw new UserError('why can: --watch and --selector are of objects, not of rights', 2);
      await explainRight({ user, verb, resource }, raw);
    });
}

async function explainRight(
  { user, verb, resource }: { readonly user: string; readonly verb: string; readonly resource: string },
  raw: RawCanOptions,
): Promise<void> {
  const [{ openKubeClient }, { discoverResources }, { accessRequestOf }, { explainRequest }] = await Promise.all([
    import('../kube-client.ts'),
    import('../../client/discovery.ts'),
    import('../../why/access/access-request.ts'),
    import('../../why/explain.ts'),
  ]);
  const { client, namespace, nowMs, close } = await openKubeClient(raw, 'keelson-why');
  try {
    const { resources } = await discoverResources(client);
    const { group: groups, subresource = '', allNamespaces } = raw;
    const place = allNamespaces === true ? '' : namespace;
    const request = accessRequestOf({ user, verb, resource, groups, subresource, namespace: place }, resources);
    const explanation = await explainRequest(request, { client, nowMs: nowMs() });
    process.stdout.write(await answerText([explanation], { output: raw.output, isList: false }));
  } finally {
    close();
  }
}
