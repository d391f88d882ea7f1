/** Reads lists of any length page by page, up to a bound. */
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { Client, ListOptions } from '../client/client.ts';

/** Objects of one kind that are read. */
const MAX_READ = 5000;
const PAGE_SIZE = 500;

/** What is listed, and how. */
export interface PagesOptions extends Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector' | 'signal'> {
  readonly client: Client;
  /** Called with the number of objects that are not read: there are too many. */
  readonly onRest?: (count: number) => void;
}

export async function* pagesOf(
  info: ResourceInfo<KubernetesObject>,
  { client, onRest, ...options }: PagesOptions,
): AsyncGenerator<readonly KubernetesObject[]> {
  let next = '';
  for (let read = 0; read < MAX_READ; read += PAGE_SIZE) {
    const { items, metadata } = await client.resource(info).list({ ...options, limit: PAGE_SIZE, continue: next });
    yield items;
    next = metadata.continue ?? '';
    if (next === '') return;
    if (read + PAGE_SIZE >= MAX_READ) onRest?.(Number(metadata.remainingItemCount ?? 1));
  }
}
