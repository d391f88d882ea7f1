/** What a tool of `keelson mcp` is: a name, the arguments it takes, and a read of the cluster. */
import { z } from 'zod';
import type { KubernetesObject } from '../../api/object.ts';
import type { ResourceInfo } from '../../api/resource-info.ts';
import type { Client } from '../../client/client.ts';
import { discoverResources } from '../../client/discovery.ts';
import { findResource } from '../../why/find-resource.ts';

/** The cluster a tool reads, with the rights of the kubeconfig. */
export interface ToolContext {
  readonly client: Client;
  /** Where the caller names none. */
  readonly namespace: string;
  nowMs(): number;
  /** Whether values of secrets are in answers. */
  readonly showsSecrets: boolean;
  readonly signal: AbortSignal;
}

/** A tool. It never changes anything. */
export interface Tool<Input extends z.ZodObject = z.ZodObject> {
  readonly name: string;
  readonly title: string;
  /** For the assistant: what the answer holds and when to ask for it. */
  readonly description: string;
  readonly input: Input;
  /** The answer: a text, or plain data. Rejects with an error whose message is for the assistant. */
  run(input: z.infer<Input>, context: ToolContext): Promise<unknown>;
}

/** A row for the list of tools: the types of its arguments are known to itself alone. */
export function tool<Input extends z.ZodObject>(made: Tool<Input>): Tool {
  return made;
}

export const namespaceField = z
  .string()
  .optional()
  .describe('namespace; the one of the kubeconfig when absent; means nothing for cluster-scoped kinds');

export const kindField = z
  .string()
  .min(1)
  .describe('kind, plural or short name: pod, deploy, services, widgets.example.com');

/** The resource a word means. Rejects when the server has none. */
export async function resourceOf(
  word: string,
  { client, signal }: ToolContext,
): Promise<ResourceInfo<KubernetesObject>> {
  const { resources } = await discoverResources(client, signal);
  const info = findResource(word, resources);
  if (info === undefined) throw new Error(`the server has no kind ${word}; the tool kinds lists what it has`);
  return info;
}

/** The key of an object: cluster-scoped ones have no namespace. */
export function keyOf(
  info: ResourceInfo,
  { name, namespace }: { readonly name: string; readonly namespace?: string | undefined },
  context: ToolContext,
): { readonly namespace?: string; readonly name: string } {
  return info.namespaced ? { namespace: namespace ?? context.namespace, name } : { name };
}
