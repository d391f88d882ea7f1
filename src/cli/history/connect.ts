/** Connects a command to its cluster and finds the object it is about, with the kubeconfig's permissions. */
import { Option, type Command } from 'commander';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import { StatusError } from '../../api/status-error.ts';
import type { Client, ObjectKey } from '../../client/client.ts';
import { discoverResources } from '../../client/discovery.ts';
import { objectPath } from '../../client/request-path.ts';
import { findResource } from '../../why/find-resource.ts';
import { dataDirOption } from '../cluster-options.ts';
import { type ClusterChoice, openKubeClient } from '../kube-client.ts';
import { UserError } from '../usage-error.ts';

/** Options that name the object and the cluster. */
export type RawObjectOptions = ClusterChoice;

/** A kind on the command line, and the namespace. */
export interface NamedKind {
  readonly client: Client;
  readonly info: ResourceInfo<KubernetesObject>;
  readonly resources: readonly ResourceInfo<KubernetesObject>[];
  readonly namespace: string;
  readonly nowMs: number;
}

/** An object by its name; it may have been deleted. */
export interface NamedObject extends Omit<NamedKind, 'namespace'> {
  readonly key: ObjectKey;
  /** Its path in the API. */
  readonly path: string;
}

/** Adds the argument and the options. */
export function withObjectOptions(command: Command, target = 'KIND/NAME, or KIND NAME'): Command {
  return command
    .argument('<target...>', target)
    .option('-n, --namespace <namespace>', 'namespace of the object (default: the one of the kubeconfig)')
    .option('--kubeconfig <file>', 'how to reach the API (default: KUBECONFIG, or that of the cluster on --data-dir)')
    .addOption(dataDirOption());
}

/** `-o text|json`. */
export function textOrJsonOption(): Option {
  return new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text');
}

/** Runs work with the object; a refusal by the server becomes a `UserError`. */
export async function withNamedObject<T>(
  words: readonly string[],
  options: RawObjectOptions,
  work: (object: NamedObject) => Promise<T>,
): Promise<T> {
  const { kind, name } = targetOf(words);
  return await withNamedKind(kind, options, ({ namespace, ...named }) => {
    const { info } = named;
    const key = info.namespaced ? { namespace, name } : { name };
    return work({ ...named, key, path: objectPath(info, key) });
  });
}

/** Runs work with a kind and the namespace; a refusal by the server becomes a `UserError`. */
export async function withNamedKind<T>(
  kind: string,
  options: RawObjectOptions,
  work: (kind: NamedKind) => Promise<T>,
): Promise<T> {
  const { client, namespace, nowMs, close } = await openKubeClient(options, 'keelson-history');
  try {
    const { resources } = await discoverResources(client);
    const info = findResource(kind, resources);
    if (info === undefined) throw new UserError(`the server has no kind ${kind}`);
    return await work({ client, info, resources, namespace, nowMs: nowMs() });
  } catch (error) {
    throw error instanceof StatusError ? new UserError(error.message) : error;
  } finally {
    close();
  }
}

/** Throws `UserError` with exit code 2. */
export function targetOf(words: readonly string[]): { readonly kind: string; readonly name: string } {
  const parts = words.length === 1 ? words[0]!.split('/') : words;
  const [kind = '', name = '', more] = parts;
  if (kind === '' || name === '' || more !== undefined || kind.includes('/') || name.includes('/'))
    throw new UserError(`${words.join(' ')} is not of the form KIND/NAME: one object`, 2);
  return { kind, name };
}
