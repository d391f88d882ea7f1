/** Reads lists page by page, up to a limit. */
import type { KubernetesObject } from '../api/object.ts';
import type { ResourceInfo } from '../api/resource-info.ts';
import type { Client, ListOptions } from '../client/client.ts';

/** The limit of objects of one kind. */
const MAX_READ = 5000;
const PAGE_SIZE = 500;

/** The list's selectors and page size. */
export interface PagesOptions extends Pick<ListOptions, 'namespace' | 'labelSelector' | 'fieldSelector' | 'signal'> {
  readonly client: Client;
  /** Called with the number of objects beyond the limit. */
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
